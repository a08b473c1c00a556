import Ingest
import Postgres
import SQL
import Signatures
import Vocabulary

/// `tenure backfill app_store`: fetches what the App Store knows with the developer's own key.
struct BackfillCommand: Command {
  static let syntax = CommandSyntax(
    "backfill app_store", summary: "fetches notification and transaction history from the App Store",
    options: [
      OptionSyntax(
        "from", value: "T", help: "notifications from this moment or day on (default: all that the App Store keeps)"),
      OptionSyntax("to", value: "T", help: "notifications before this moment, or up to this day (default: now)"),
      OptionSyntax(
        "transactions", help: "also the transactions of every known chain, whole whatever --from and --to say"),
      OptionSyntax("app", value: "KEY", help: "of this app only (default: of every app with app_store_server)"),
      OptionSyntax("again", help: "fetch also what has been fetched"),
    ],
    notes: """
      It asks with the key of app_store_server in the app's configuration, in the environments that the app's source app_store
      lists. The App Store keeps notifications for 180 days, those of Sandbox for 30; days are UTC's. Ended at any moment, the
      same command goes on where it stopped, and later fetches only what has come since. What is known already is counted as a
      duplicate; the notifications stored are those that had been missed.
      """)

  private let from: Instant?
  private let until: Instant?
  private let app: String?
  private let wantsTransactions: Bool
  private let again: Bool

  init(_ arguments: Arguments) throws(UsageError) {
    from = try arguments.instant("from")
    let to = try arguments.instant("to")
    // A day is meant whole.
    until = arguments.value("to")?.count == 10 ? to?.adding(seconds: 86_400) : to
    if let from, let until, from >= until { throw UsageError("backfill app_store: --from comes after --to") }
    app = arguments.value("app")
    wantsTransactions = arguments.flag("transactions")
    again = arguments.flag("again")
  }

  private struct Result: Encodable {
    let received, stored, duplicates, rejected, unrecognised, undelivered, spans, chains: Int
    let missed: [BackfillSummary.Missed]
  }

  func run(_ context: Context) async throws -> ExitCode {
    let sources = try context.configuration().backfillSources(only: app, file: context.configurationName)
    let summary = try await context.withDatabase { database in
      // The lock is the session's, so it is free again when this process ends, however that happens.
      let lock = try await database.open()
      let taken = try await lock.query("select pg_try_advisory_lock(hashtextextended('tenure.backfill', 0)) as taken")
      guard try taken[0].bool("taken") else {
        throw Failure("another tenure backfill is at work on this database; this one ends")
      }
      defer { context.log.endProgress() }
      var summary = BackfillSummary()
      for source in sources {
        summary = try await summary + fetch(source, from: database, context)
      }
      return summary
    }
    try show(summary, context)
    return summary.ingest.rejected > 0 || summary.refusedSpans > 0 ? .rejected : .done
  }

  private func fetch(_ source: BackfillSource, from database: Database, _ context: Context) async throws
    -> BackfillSummary
  {
    let log = context.log
    let name = "\(source.app.key) \(source.environment.rawValue)"
    let report: @Sendable (BackfillProgress) -> Void = { Self.tell($0, of: name, log) }
    let ingester = Ingester(
      try await database.open(), source: .appStore, apps: [source.app],
      afterStoring: SQLFiles.folder("forward").filter { $0.name == "announce" }, now: { .now },
      report: { if case .appAdded(let key) = $0 { log.info("app added", ["app": .init(key)]) } })
    let backfiller = Backfiller(
      source.app, bundleID: source.bundleID, in: source.environment,
      server: AppStoreServer(source.settings, key: source.key, now: { .now }, report: report), ingester: ingester,
      connection: try await database.open(), now: { .now }, report: report)
    do {
      try await backfiller.fetchNotifications(from: from, until: until, again: again)
      if wantsTransactions { try await backfiller.fetchTransactions(again: again) }
    } catch let error as AppStoreServerError {
      let fetched = await backfiller.fetched.ingest
      throw Failure("fetching \(name): \(error) (until then: stored \(fetched.stored) of \(fetched.received))")
    }
    return await backfiller.fetched
  }

  private static func tell(_ progress: BackfillProgress, of name: String, _ log: Log) {
    switch progress {
    case .stored(let summary, let left):
      log.progress(
        "backfill \(name): \(summary.ingest.received) received, \(summary.ingest.stored) stored, "
          + "\(summary.spans) spans and \(summary.chains) chains read, \(left) left")
    case .held(let moment):
      log.info("the App Store asks for a wait", ["of": .init(name), "until": .init("\(moment)")])
    case .failedForNow(let words): log.warning("asked for again", ["of": .init(name), "error": .init(words)])
    case .spanRestarted(let moment):
      log.info(
        "a day is read from its beginning, since its pages have expired",
        [
          "of": .init(name), "from": .init("\(moment)"),
        ])
    }
  }

  private func show(_ summary: BackfillSummary, _ context: Context) throws {
    let ingest = summary.ingest
    if context.isJSON {
      try context.output.json(
        Result(
          received: ingest.received, stored: ingest.stored, duplicates: ingest.duplicates, rejected: ingest.rejected,
          unrecognised: ingest.unrecognised, undelivered: summary.undelivered, spans: summary.spans,
          chains: summary.chains, missed: summary.missed))
    } else {
      try context.output.line(
        "received \(ingest.received): stored \(ingest.stored), duplicates \(ingest.duplicates), "
          + "rejected \(ingest.rejected); of the notifications the App Store could not deliver \(summary.undelivered)")
      for missed in summary.missed {
        let more = (missed.chains ?? 1) > 1 ? " and of \((missed.chains ?? 1) - 1) more chains" : ""
        try context.output.line(
          "not fetched: \(missed.app) \(missed.environment): \(missed.what)\(more): \(missed.reason)")
      }
    }
    if ingest.rejected > 0 {
      context.log.warning(
        "some input was rejected; tenure report rejections says what and why", ["rejected": .init(ingest.rejected)])
    }
  }
}
