import Vocabulary

/// `tenure doctor`: looks whether everything is as it should be, and says what to do.
struct DoctorCommand: Command {
  static let syntax = CommandSyntax(
    "doctor", summary: "checks configuration, certificates, database, clock, targets and figures, and says what to do",
    notes: """
      It changes nothing and sends nothing. It ends with 0 when everything is as it should be, else with 1. With --json it
      prints [{"check", "ok", "found", "do"}]. What makes figures doubtful beyond that is in tenure report data_quality.
      """)

  init(_ arguments: Arguments) throws(UsageError) {}

  func run(_ context: Context) async throws -> ExitCode {
    let findings = await Examination(context, now: .now).findings()
    if context.isJSON {
      try context.output.json(findings)
    } else {
      let width = findings.map(\.check.count).max() ?? 0
      for finding in findings {
        let check = finding.check + String(repeating: " ", count: width - finding.check.count)
        try context.output.line("\(finding.ok ? "ok    " : "not ok")  \(check)  \(finding.found)")
        if let remedy = finding.do {
          try context.output.line(String(repeating: " ", count: 10 + width) + "-> \(remedy)")
        }
      }
    }
    return findings.allSatisfy(\.ok) ? .done : .failed
  }
}
