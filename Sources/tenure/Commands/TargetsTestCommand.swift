import Forward

/// `tenure targets test`: sends a sample event to a target now and says what came back.
struct TargetsTestCommand: Command {
  static let syntax = CommandSyntax(
    "targets test", summary: "sends a sample event to a target now and says what came back",
    operands: [TargetsCommand.operand],
    notes: "The sample is of environment Sandbox and its event id begins with test_. Nothing is stored.")

  private let name: String

  init(_ arguments: Arguments) throws(UsageError) { name = arguments.operands[0] }

  private struct Result: Encodable {
    let name: String
    let isDelivered: Bool
    let status: Int?
    let error: String?

    enum CodingKeys: String, CodingKey {
      case name
      case isDelivered = "delivered"
      case status, error
    }

    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(name, forKey: .name)
      try container.encode(isDelivered, forKey: .isDelivered)
      try container.encode(status, forKey: .status)
      try container.encode(error, forKey: .error)
    }
  }

  func run(_ context: Context) async throws -> ExitCode {
    let configuration = try context.configuration()
    guard let target = try configuration.makeTargets(named: name).first else {
      throw TargetsCommand.unknown(name, among: configuration.targets.map(\.name))
    }
    let trial = await Trial.run(target, at: Forwarder.systemClock())
    let isDelivered = trial.verdict == .delivered
    if context.isJSON {
      try context.output.json(
        Result(name: name, isDelivered: isDelivered, status: trial.status, error: trial.verdict.reason))
    } else if isDelivered {
      try context.output.line("\(name) took the sample event (status \(trial.status ?? 0))")
    } else {
      try context.output.line("\(name) did not take the sample event: \(trial.verdict.reason ?? "")")
    }
    return isDelivered ? .done : .failed
  }
}
