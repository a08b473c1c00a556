import Forward

/// `tenure targets resume`: sends to a target again.
struct TargetsResumeCommand: Command {
  static let syntax = CommandSyntax(
    "targets resume", summary: "sends to a target again; what has failed starts anew",
    operands: [TargetsCommand.operand])

  private let name: String

  init(_ arguments: Arguments) throws(UsageError) { name = arguments.operands[0] }

  private struct Result: Encodable {
    let name: String
    let state: String
  }

  func run(_ context: Context) async throws -> ExitCode {
    try await context.withDatabase { database in
      let register = TargetRegister(try await database.open())
      guard try await register.resume(name) else {
        throw TargetsCommand.unknown(name, among: try await register.standings().map(\.name))
      }
    }
    if context.isJSON {
      try context.output.json(Result(name: name, state: "active"))
    } else {
      try context.output.line("\(name) is active")
    }
    return .done
  }
}
