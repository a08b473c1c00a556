import Forward
import Vocabulary

/// `tenure targets replay`: sends older events to a target.
struct TargetsReplayCommand: Command {
  static let syntax = CommandSyntax(
    "targets replay", summary: "sends what a target refused, or older events, and says how many first",
    operands: [TargetsCommand.operand],
    options: [
      OptionSyntax("from", value: "T", help: "also events since then that were never sent, however old"),
      OptionSyntax("to", value: "T", help: "with --from: only those that happened before"),
      OptionSyntax("event", value: "ID", help: "one event, also when it was delivered"),
    ],
    notes: """
      Without an option: all that was refused. What was delivered is not sent again, but for an event that is named. The
      event's id stays the same, so the target can tell what it has had. Events that the target's settings leave out
      are not sent; where only other facts tell of which kind an event is, it is counted and then left out.
      """)

  static let interruption = Interruption.finishesWork

  private let name: String
  private let selection: TargetRegister.Selection

  init(_ arguments: Arguments) throws(UsageError) {
    name = arguments.operands[0]
    let end = try arguments.instant("to")
    switch (try arguments.instant("from"), arguments.value("event")) {
    case (nil, _) where end != nil: throw UsageError("targets replay: --to needs --from")
    case (.some, .some): throw UsageError("targets replay: --from and --event exclude each other")
    case (let from?, nil) where end.map { $0 <= from } == true:
      throw UsageError("targets replay: --to must be later than --from: events from it on are left out")
    case (let from?, nil): selection = .since(from, until: end)
    case (nil, let event?): selection = .event(event)
    case (nil, nil): selection = .refused
    }
  }

  private struct Result: Encodable, Sendable {
    let name: String
    let replayed: Int
    let delivered: Int
    let refused: Int
    let waiting: Int
    let held: Int
  }

  func run(_ context: Context) async throws -> ExitCode {
    let configuration = try context.configuration()
    guard let target = try configuration.makeTargets(named: name).first else {
      throw TargetsCommand.unknown(name, among: configuration.targets.map(\.name))
    }
    return try await context.withDatabase { database in
      let register = TargetRegister(try await database.open())
      let count = try await register.replay(name, selection, at: Forwarder.systemClock())
      if case .event(let id) = selection, count == 0 {
        throw Failure(
          "there is no event \(id) that \(name) wants; tenure report events lists the events, and what a target wants is "
            + "in its settings")
      }
      context.log.info("events to send", ["target": .init(name), "events": .init(count)])
      let forwarder = Forwarder(
        connectionString: database.connectionString, targets: [target], settings: configuration.forwarderSettings,
        report: { [log = context.log] in ForwardCommand.tell($0, log) })
      let summary = try await forwarder.runOnce()
      if context.isJSON {
        try context.output.json(
          Result(
            name: name, replayed: count, delivered: summary.delivered, refused: summary.refused,
            waiting: summary.waiting, held: summary.held))
      } else {
        try context.output.line("\(count) events of \(name) were due again")
        try ForwardCommand.show(summary, context)
      }
      return .done
    }
  }
}
