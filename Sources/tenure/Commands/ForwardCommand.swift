import Forward

/// `tenure forward`: sends what is due to the targets.
struct ForwardCommand: Command {
  static let syntax = CommandSyntax(
    "forward", summary: "sends what is due to the targets",
    options: [
      OptionSyntax("once", help: "stop when nothing is due now"),
      OptionSyntax("dry-run", help: "print the requests that would be made, with secrets masked, and make none"),
    ],
    notes: """
      An event is due to a target when it happened at most max_age before it was first received, and after the target was
      added: importing history sends nothing. What fails is tried again by a schedule for three days; tenure targets shows
      what waits and why. Several may run at once. TERM gives requests in hand five seconds.
      """)

  static let interruption = Interruption.finishesWork

  private let isOnce: Bool
  private let isDry: Bool

  init(_ arguments: Arguments) throws(UsageError) {
    isOnce = arguments.flag("once")
    isDry = arguments.flag("dry-run")
  }

  private struct Preview: Encodable, Sendable {
    let target: String
    let request: String
  }

  func run(_ context: Context) async throws -> ExitCode {
    let configuration = try context.configuration()
    let targets = try configuration.makeTargets()
    if targets.isEmpty { context.log.warning("no targets are configured: there is nothing to send to") }
    return try await context.withDatabase { database in
      let forwarder = Forwarder(
        connectionString: database.connectionString, targets: targets, settings: configuration.forwarderSettings,
        report: { [log = context.log] in Self.tell($0, log) })
      if isDry {
        let previews = try await forwarder.preview().map { Preview(target: $0.target, request: $0.request) }
        if context.isJSON {
          try context.output.json(previews)
        } else {
          for preview in previews { try context.output.write("# \(preview.target)\n\(preview.request)\n\n") }
        }
      } else if isOnce {
        try Self.show(try await forwarder.runOnce(), context)
      } else {
        try await forwarder.run()
      }
      return .done
    }
  }

  static func show(_ summary: ForwardSummary, _ context: Context) throws {
    if context.isJSON {
      try context.output.json(summary)
    } else {
      try context.output.line(
        "delivered \(summary.delivered), refused \(summary.refused), waiting \(summary.waiting), held \(summary.held)")
    }
  }

  /// Turns what the forwarder tells into log lines: what went well is seen in the summary.
  static func tell(_ report: ForwardReport, _ log: Log) {
    switch report {
    case .attempted(_, _, _, .delivered): break
    case .attempted(let target, let eventID, let status, let verdict):
      let words: String =
        switch verdict {
        case .delivered: "delivered"
        case .retry, .doubtful: "not delivered, and tried again later"
        case .reworded: "not taken in this form, and sent again in another"
        case .moved: "the target has moved; what it gets goes there from now on"
        case .throttled: "the target asks for a wait"
        case .delayed: "the target asks for a wait of this one alone"
        case .again: "not taken because of others in its request, and sent again at once"
        case .divided: "not taken in one request, and sent again in smaller ones"
        case .refused: "refused"
        case .paused: "the target is paused: see to it, then run tenure targets resume"
        }
      let fields: KeyValuePairs<String, Log.Value> = [
        "target": .init(target), "event_id": .init(eventID), "status": .init(status.map(String.init) ?? "none"),
        "error": .init(verdict.reason ?? ""),
      ]
      log.warning(words, fields)
    case .lost(let target, let eventID, let reason):
      log.warning("refused", ["target": .init(target), "event_id": .init(eventID), "error": .init(reason)])
    case .databaseLost(let error): log.warning("the database is away, and tried again", ["error": .init(error)])
    }
  }
}
