import Forward
import Vocabulary

/// `tenure targets`: lists the targets and where their deliveries stand.
struct TargetsCommand: Command {
  static let syntax = CommandSyntax(
    "targets", summary: "lists the targets with their backlog, last success and last error")

  init(_ arguments: Arguments) throws(UsageError) {}

  /// Every name is there also where nothing is known: null.
  private struct Line: Encodable, Sendable {
    let standing: TargetRegister.Standing

    enum CodingKeys: String, CodingKey {
      case name, type, state, waiting, oldestDue, delivered, refused, lastSuccess,
        lastError
    }

    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(standing.name, forKey: .name)
      try container.encode(standing.type, forKey: .type)
      try container.encode(standing.isPaused ? "paused" : "active", forKey: .state)
      try container.encode(standing.waiting, forKey: .waiting)
      try container.encode(standing.oldestDue, forKey: .oldestDue)
      try container.encode(standing.delivered, forKey: .delivered)
      try container.encode(standing.refused, forKey: .refused)
      try container.encode(standing.lastSuccess, forKey: .lastSuccess)
      try container.encode(standing.lastError, forKey: .lastError)
    }
  }

  func run(_ context: Context) async throws -> ExitCode {
    let standings = try await context.withDatabase { database in
      try await TargetRegister(database.open()).standings()
    }
    if context.isJSON {
      try context.output.json(standings.map(Line.init))
    } else {
      try context.output.table(
        [
          "name", "type", "state", "waiting", "oldest due", "delivered", "refused", "success rate",
          "last success",
          "last error",
        ],
        standings.map {
          [
            $0.name, $0.type, $0.isPaused ? "paused" : "active", "\($0.waiting)",
            $0.oldestDue?.description ?? "",
            "\($0.delivered)", "\($0.refused)", $0.successRate.map { "\($0)" } ?? "",
            $0.lastSuccess?.description ?? "", $0.lastError ?? "",
          ]
        })
    }
    return .done
  }

  /// What the commands about one target take.
  static let operand = OperandSyntax("NAME", help: "the target's name")

  /// The failure for a target that there is not.
  static func unknown(_ name: String, among names: [String]) -> Failure {
    Failure("there is no target \"\(name)\"\(Suggestion.hint(for: name, among: names)); tenure targets lists them")
  }
}
