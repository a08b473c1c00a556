public import Postgres
public import SQL
public import Vocabulary

/// Stores what decoders make of input: every event once, every version of its facts, and the chains put down to be
/// settled, a batch in one transaction.
///
/// Several ingesters may work at once, in one process or many: rows are inserted in the order of their keys, and what
/// another one stored meanwhile is counted as a duplicate. A run of `measure` is never waited for.
public actor Ingester {
  /// How much is done at once.
  public struct Limits: Sendable {
    /// A batch has at most so many events and rejections,
    public var batchItems = 5000
    /// and is made of documents of about so many bytes.
    public var batchBytes = 8 << 20
    /// The longest document that is read, in bytes.
    public var documentLength = InputReader.maximumLength

    /// The usual limits.
    public init() {}
  }

  private let connection: Connection
  private let source: Source
  private let configured: [String: AppConfiguration]
  private let afterStoring: [SQLFile]
  private let limits: Limits
  private let now: @Sendable () -> Instant
  private let report: @Sendable (IngestProgress) -> Void
  private var apps = AppDirectory()
  private var erased = ErasedIdentifiers()
  private var isReady = false
  /// Whether the last batch was new throughout: then the next one is stored as if it were, too.
  private var isLikelyNew = true
  /// The day whose month of payloads was made last.
  private var preparedDay: Int64?

  /// Creates an ingester.
  ///
  /// - Parameters:
  ///   - connection: Used by this ingester alone.
  ///   - apps: What is configured of apps: their bundle ids are put down with them, and they are put down as soon as
  ///     anything comes for them, be it refused.
  ///   - afterStoring: Statements run in each batch's transaction after its rows are stored. They find the events that
  ///     are new in the temporary table `stored_event` (`sql/ingest/staging.sql`).
  ///   - now: The clock, read once per batch.
  ///   - report: Told of progress, from any thread.
  public init(
    _ connection: Connection, source: Source, apps: [AppConfiguration] = [], afterStoring: [SQLFile] = [],
    limits: Limits = Limits(), now: @escaping @Sendable () -> Instant,
    report: @escaping @Sendable (IngestProgress) -> Void = { _ in }
  ) {
    self.connection = connection
    self.source = source
    configured = Dictionary(apps.map { ($0.key, $0) }, uniquingKeysWith: { first, _ in first })
    self.afterStoring = afterStoring
    self.limits = limits
    self.now = now
    self.report = report
  }

  /// Reads files and folders (`-` is standard input), decodes and stores them. A batch is decoded while the one before
  /// it is stored.
  ///
  /// - Throws: ``InputError`` for input that cannot be read, `PostgresError` for trouble with the database, ``IngestError``.
  ///   What was committed before stays; the same input can be given again.
  public func ingest(
    _ paths: [String], decoder: @escaping @Sendable () -> any EventDecoder
  ) async throws -> IngestSummary {
    let reader = BatchReader(paths, source: source, limits: limits, now: now, decoder: decoder)
    var summary = IngestSummary()
    var current = try await reader.next(apps.ids, erased)
    while let batch = current {
      try await number(batch.items)
      async let upcoming = reader.next(apps.ids, erased)
      let staged =
        batch.staged
        ?? staged(batch.items, receivedAt: batch.receivedAt)
      summary = try await summary + store(staged).summary
      report(.committed(summary))
      current = try await upcoming
    }
    return summary
  }

  /// Stores decoded input that came otherwise than by files, in one transaction.
  public func store(_ items: [BatchItem]) async throws -> IngestSummary {
    try await number(items)
    return try await store(staged(items, receivedAt: now())).summary
  }

  /// Stores decoded input of several senders in one transaction, and tells what became of each item, in their order. An
  /// event that came twice is stored once: the second is the duplicate.
  public func storeEach(_ items: [BatchItem]) async throws -> [StoredItem] {
    try await number(items)
    return try await store(staged(items, receivedAt: now()), namesNew: true).items
  }

  /// Stores as ``storeEach(_:)``, and leaves a connection that takes longer than a while: this then throws as when it is
  /// lost, and what was sent may be stored all the same.
  public func storeEach(_ items: [BatchItem], within patience: Duration) async throws -> [StoredItem] {
    try await connection.within(patience) { try await storeEach(items) }
  }

  // MARK: - Storing

  /// The keys of the apps that a batch puts down: those of its events, and of what it refuses those that are configured.
  private func appKeys(of items: [BatchItem]) -> Set<String> {
    items.appKeys.union(items.rejectedAppKeys.filter { configured[$0] != nil })
  }

  /// Finds the numbers of a batch's apps.
  private func number(_ items: [BatchItem]) async throws {
    apps = try await apps.adding(appKeys(of: items), mentioned: items.rejectedAppKeys, on: connection)
  }

  private func staged(_ items: [BatchItem], receivedAt: Instant) -> StagedBatch {
    StagedBatch(items, source: source, appIDs: apps.ids, erased: erased, receivedAt: receivedAt)
  }

  /// - Parameter namesNew: Whether the answer is to say what became of each item.
  private func store(
    _ batch: StagedBatch, namesNew: Bool = false
  ) async throws -> (summary: IngestSummary, items: [StoredItem]) {
    if !isReady {
      try await connection.execute(SQLFiles.text("ingest/staging.sql"))
      isReady = true
    }
    if !batch.payloads.isEmpty { try await addMonth(of: batch.receivedAt) }
    let keys = appKeys(of: batch.items)
    let newApps = keys.intersection(apps.newKeys).sorted().map {
      NewApp(key: $0, id: apps.ids[$0] ?? 0, bundleID: configured[$0]?.bundleID)
    }
    var current = batch
    var attempt = 1
    while true {
      do {
        let afterStoring = afterStoring
        let (batch, isLikelyNew) = (current, isLikelyNew)
        let stored = try await connection.transaction { connection in
          try connection.store(
            batch, isLikelyNew: isLikelyNew, newApps: newApps, afterStoring: afterStoring, namesNew: namesNew)
        }
        self.isLikelyNew = stored.isNew
        apps.settle(keys)
        for app in newApps { report(.appAdded(key: app.key)) }
        return (stored.summary, namesNew ? stored.items(of: batch, appIDs: apps.ids) : [])
      } catch let meanwhile as ErasedMeanwhile {
        erased = meanwhile.erased
        current = staged(batch.items, receivedAt: batch.receivedAt)
      } catch let error as PostgresError where error.isConflict && attempt < 5 {
        // Another session was in the way, and this one was chosen to give way.
        attempt += 1
      } catch let error as PostgresError where error.isAboutData {
        return try await divide(batch, after: error, namesNew: namesNew)
      }
    }
  }

  /// Stores the halves of a batch that the database refuses for its data, so that one bad row does not take the others
  /// with it. What is refused alone becomes a rejection.
  private func divide(
    _ batch: StagedBatch, after error: PostgresError, namesNew: Bool
  ) async throws -> (summary: IngestSummary, items: [StoredItem]) {
    let items = batch.items
    if items.count == 1 {
      guard case .event(let event, _) = items[0].decoded else { throw error }
      let rejection = Rejection(
        .malformed, app: event.app, excerpt: Excerpt.of(Array("the database refuses it: \(error.message)".utf8)))
      return try await store(
        staged([BatchItem(.rejection(rejection), place: items[0].place)], receivedAt: batch.receivedAt),
        namesNew: namesNew)
    }
    report(.batchDivided(pieces: 2))
    var summary = IngestSummary()
    var stored: [StoredItem] = []
    for half in [items[..<(items.count / 2)], items[(items.count / 2)...]] {
      let part = try await store(staged(Array(half), receivedAt: batch.receivedAt), namesNew: namesNew)
      summary = summary + part.summary
      stored += part.items
    }
    return (summary, stored)
  }

  /// Makes the month's partition of payloads before a transaction needs it: making it waits for those who write.
  private func addMonth(of moment: Instant) async throws {
    let day = moment.microseconds / 86_400_000_000
    guard preparedDay != day else { return }
    try await connection.query(
      "select ingest.add_payload_month($1)", [.timestamp(microseconds: moment.microseconds)])
    preparedDay = day
  }
}

/// An app on its way into the database.
struct NewApp: Sendable {
  let key: String
  let id: Int64
  let bundleID: String?
}

/// What an ingester cannot go on after.
public struct IngestError: Error, Sendable, CustomStringConvertible {
  /// What was being done, what went wrong and what to do.
  public let description: String

  init(_ description: String) { self.description = description }
}

extension PostgresError {
  /// Whether the database refused values of rows.
  fileprivate var isAboutData: Bool { ["22", "23", "54"].contains { sqlState?.hasPrefix($0) == true } }

  /// Whether trying again helps: a deadlock or a serialisation failure.
  fileprivate var isConflict: Bool { sqlState == "40P01" || sqlState == "40001" }
}
