import Forward

/// `tenure targets pause`: stops sending to a target.
struct TargetsPauseCommand: Command {
  static let syntax = CommandSyntax(
    "targets pause", summary: "stops sending to a target; what is due waits", operands: [TargetsCommand.operand])

  private let name: String

  init(_ arguments: Arguments) throws(UsageError) { name = arguments.operands[0] }

  private struct Result: Encodable {
    let name: String
    let state: String
  }

  func run(_ context: Context) async throws -> ExitCode {
    try await context.withDatabase { database in
      let register = TargetRegister(try await database.open())
      guard try await register.pause(name) else {
        throw TargetsCommand.unknown(name, among: try await register.standings().map(\.name))
      }
    }
    if context.isJSON {
      try context.output.json(Result(name: name, state: "paused"))
    } else {
      try context.output.line("\(name) is paused")
    }
    return .done
  }
}
