public import Postgres
public import Vocabulary

/// Fetches what the App Store knows of one app in one environment: the notifications that it sent, and the transactions of
/// every known chain.
///
/// It can be ended at any moment: the next one goes on where it stopped. What was fetched whole is not fetched again, so
/// that a later one asks only for what has come since.
public actor Backfiller {
  /// How long the App Store keeps the history of notifications, in days
  /// (https://developer.apple.com/documentation/appstoreserverapi/get-notification-history).
  static func daysKept(in environment: StoreEnvironment) -> Int64 { environment == .production ? 180 : 30 }

  /// How long after a moment its notifications are sure to be in the history, in seconds: what was read sooner is read once
  /// more by the next one.
  static let settling: Int64 = 3600

  private static let day: Int64 = 86_400_000_000

  /// The App Store does not know the app, whatever it is asked for
  /// (https://developer.apple.com/documentation/appstoreserverapi/appnotfounderror).
  private static let appUnknown: Int64 = 4_040_003

  private let app: AppConfiguration
  private let environment: StoreEnvironment
  private let server: AppStoreServer
  private let ingester: Ingester
  private let journal: BackfillJournal
  private let decoder: AppStoreDecoder
  private let width: Int
  private let now: @Sendable () -> Instant
  private let report: @Sendable (BackfillProgress) -> Void
  private var summary = BackfillSummary()
  private var left = 0
  /// Why a span of notification history was refused, the last time.
  private var refusal: AppStoreServerError?

  /// - Parameters:
  ///   - app: The app. What is of another one is refused.
  ///   - bundleID: Its bundle id.
  ///   - ingester: An ingester of the source `app_store`.
  ///   - connection: Where progress is kept; used by this alone.
  ///   - width: How many requests are made at once.
  ///   - now: The clock.
  ///   - report: Told of progress, from any thread.
  public init(
    _ app: AppConfiguration, bundleID: String, in environment: StoreEnvironment, server: AppStoreServer,
    ingester: Ingester, connection: Connection, width: Int = 4, now: @escaping @Sendable () -> Instant,
    report: @escaping @Sendable (BackfillProgress) -> Void
  ) {
    self.app = app
    self.environment = environment
    self.server = server
    self.ingester = ingester
    self.width = width
    self.now = now
    self.report = report
    journal = BackfillJournal(connection: connection, app: app.key, bundleID: bundleID, environment: environment)
    decoder = AppStoreDecoder { _ in app }
  }

  /// What was fetched so far.
  public var fetched: BackfillSummary { summary }

  // MARK: - Notifications

  /// Fetches the notifications of a span of time that have not been fetched.
  ///
  /// - Parameters:
  ///   - start: Its first moment; nil for the earliest that the App Store keeps.
  ///   - end: The first moment after it; nil for now.
  ///   - again: Whether what has been fetched is fetched once more.
  /// - Throws: ``AppStoreServerError`` and `PostgresError`; what was fetched before stays.
  public func fetchNotifications(from start: Instant?, until end: Instant?, again: Bool = false) async throws {
    let now = now().wholeMilliseconds
    // A little later than the earliest, which passes while pages are read.
    let days = Self.daysKept(in: environment)
    let earliest = now.adding(seconds: 3600 - days * 86_400)
    let from = max(start ?? earliest, earliest).wholeMilliseconds
    let until = min(end ?? now, now).wholeMilliseconds
    if let start, start < earliest {
      note("notifications before \(min(earliest, end ?? earliest))", "the App Store keeps them for \(days) days")
    }
    guard from < until else { return }
    if again { try await journal.forgetSpans(from: from, until: until) }
    let known = try await journal.spans(from: from, until: until)
    let spans = Self.plan(from: from, until: until, known: known, earliest: earliest)
    left = spans.count
    let refusedBefore = summary.refusedSpans
    do {
      try await forEach(spans) { try await self.fetch($0) }
    } catch AppStoreServerError.refused(let code, let words) {
      refusal = .refused(code: code, words: words)
      summary.refusedSpans += left
    }
    if let refusal, summary.refusedSpans > refusedBefore {
      note(
        "\(summary.refusedSpans - refusedBefore) of \(spans.count) spans of notification history", refusal.description)
    }
  }

  /// What is left to be read of a span of time: what was begun, and the days, or parts of them, that were not.
  static func plan(
    from start: Instant, until end: Instant, known: [BackfillJournal.Span], earliest: Instant
  ) -> [BackfillJournal.Span] {
    let begun = known.filter { $0.readAt == nil && $0.from >= earliest }
    let covered = known.compactMap { span -> (from: Instant, until: Instant)? in
      guard let readAt = span.readAt else { return nil }
      return (span.from, min(span.until, readAt.adding(seconds: -settling)))
    }
    var planned = begun
    var from = start
    for span in (covered + begun.map { ($0.from, $0.until) }).sorted(by: { $0.from < $1.from }) {
      planned += days(from: from, until: min(span.from, end))
      from = max(from, span.until)
    }
    return planned + days(from: from, until: end)
  }

  private static func days(from start: Instant, until end: Instant) -> [BackfillJournal.Span] {
    var spans: [BackfillJournal.Span] = []
    var from = start
    while from < end {
      let midnight = Instant(microseconds: (from.microseconds / day + 1) * day)
      spans.append(BackfillJournal.Span(from: from, until: min(midnight, end)))
      from = midnight
    }
    return spans
  }

  private func fetch(_ first: BackfillJournal.Span) async throws {
    var span = first
    var restarts = 0
    while span.readAt == nil {
      let page: AppStoreServer.Page
      do {
        page = try await server.notifications(from: span.from, until: span.until, page: span.page)
      } catch AppStoreServerError.pageUnknown where span.page != nil && restarts < 3 {
        restarts += 1
        span.page = nil
        report(.spanRestarted(from: span.from))
        continue
      } catch AppStoreServerError.refused(let code, let words) where code != Self.appUnknown {
        // It costs this span alone, and the next run asks for it again.
        refusal = .refused(code: code, words: words)
        summary.refusedSpans += 1
        left -= 1
        return
      }
      try await store(page, place: "\(span.from.description.prefix(10))")
      summary.undelivered += page.undelivered
      try check(page, after: span.page)
      span.page = page.hasMore ? page.next : nil
      if !page.hasMore { span.readAt = now() }
      try await journal.note(span)
    }
    summary.spans += 1
    left -= 1
    report(.stored(summary, left: left))
  }

  // MARK: - Transactions

  /// Fetches the transactions of every known chain, and of those that become known by it; of a chain that was read before,
  /// what has changed since.
  ///
  /// - Parameter again: Whether chains are read whole that have been.
  /// - Throws: ``AppStoreServerError`` and `PostgresError`; what was fetched before stays.
  public func fetchTransactions(again: Bool = false) async throws {
    if again { try await journal.forgetChains() }
    let startedAt = try await journal.beginPass(at: now())
    var last: Int64?
    while true {
      if last == nil { left = try await journal.chainCount(notReadSince: startedAt) }
      let chains = try await journal.chains(after: last, notReadSince: startedAt, limit: 500)
      if chains.isEmpty {
        if last == nil { break }
        // The transactions of one chain may have brought another one.
        last = nil
        continue
      }
      last = chains.last?.key
      try await forEach(chains) { try await self.fetch($0) }
    }
    try await journal.endPass(at: now())
  }

  private func fetch(_ chain: BackfillJournal.Chain) async throws {
    var revision = chain.revision
    var hasRestarted = false
    var hasMore = true
    while hasMore {
      let page: AppStoreServer.Page
      do {
        page = try await server.transactions(of: chain.originalTransactionID, revision: revision)
      } catch AppStoreServerError.pageUnknown where revision != nil && !hasRestarted {
        hasRestarted = true
        revision = nil
        continue
      } catch AppStoreServerError.refused(let code, let words) {
        let reason = AppStoreServerError.refused(code: code, words: words).description
        note("transactions of \(chain.originalTransactionID)", reason, chains: 1)
        try await journal.note(chain.key, revision: revision, readAt: now())
        left -= 1
        return
      }
      try await store(page, place: chain.originalTransactionID)
      try check(page, after: revision)
      hasMore = page.hasMore
      revision = page.next ?? revision
      try await journal.note(chain.key, revision: revision, readAt: hasMore ? nil : now())
    }
    summary.chains += 1
    left -= 1
    report(.stored(summary, left: left))
  }

  // MARK: -

  private func store(_ page: AppStoreServer.Page, place: String) async throws {
    guard !page.body.isEmpty else { return }
    let items = decoder.decode(page.body, receivedAt: now()).map {
      BatchItem($0, place: "backfill:\(environment.rawValue):\(place)")
    }
    let stored = try await ingester.store(items)
    summary.ingest = summary.ingest + stored
    report(.stored(summary, left: left))
  }

  /// Makes sure that the next page is another one.
  private func check(_ page: AppStoreServer.Page, after token: String?) throws {
    guard page.hasMore, page.next == nil || page.next == token else { return }
    throw AppStoreServerError.unavailable("the App Store says that there are more pages, and does not say where")
  }

  private func note(_ what: String, _ reason: String, chains: Int? = nil) {
    summary.note(
      .init(app: app.key, environment: environment.rawValue, what: what, reason: reason, chains: chains))
  }

  /// Does something with each, a few at once. The first error ends it.
  private func forEach<Item: Sendable>(
    _ items: [Item], _ body: @escaping @Sendable (Item) async throws -> Void
  ) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      var left = items[...]
      for _ in 0..<width {
        if let item = left.popFirst() { group.addTask { try await body(item) } }
      }
      while try await group.next() != nil {
        if let item = left.popFirst() { group.addTask { try await body(item) } }
      }
    }
  }
}

extension Instant {
  /// The moment without what is below a millisecond: the App Store knows no finer one.
  fileprivate var wholeMilliseconds: Instant { Instant(microseconds: microseconds / 1000 * 1000) }
}
