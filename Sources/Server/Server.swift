import Dispatch
import Ingest
public import Postgres
public import SQL
import Synchronization
public import Vocabulary

/// The HTTP server: one listener receives events, the other serves reports.
public final class Server: Sendable {
  /// What it serves, and where.
  public struct Settings: Sendable {
    /// Where events are received.
    public var ingest: ListenAddress
    /// Where reports are served.
    public var reports: ListenAddress
    /// The token of the reports listener.
    public var token: String
    /// The names the reports listener is known by, beside loopback; with or without a port.
    public var hosts: [String] = []
    /// The largest request body, in bytes, before and after inflating.
    public var maximumBody = 1 << 20
    /// Where events are received.
    public var endpoints: [IngestEndpoint] = []
    /// Statements that are run in each transaction after its events are stored (``Ingester``).
    public var afterStoring: [SQLFile] = []
    /// How long a request may take to come whole.
    public var requestTime = Duration.seconds(30)
    /// How long the database may take to answer. A connection that has not by then is left for a new one.
    public var databaseTime = Duration.seconds(8)
    /// How many connections each listener holds open; further ones wait to be accepted.
    public var connections = 4096
    /// How many chains of certificates that are not known are verified in a second.
    public var chainsPerSecond = 20
    /// How many refusals are stored in a second.
    public var rejectionsPerSecond = 100
    /// How many requests each address may make in a minute where the proof is public (`app_client`).
    public var requestsPerAddress = 60

    /// Settings that are otherwise as usual.
    public init(ingest: ListenAddress, reports: ListenAddress, token: String) {
      self.ingest = ingest
      self.reports = reports
      self.token = token
    }
  }

  private let ingest: HTTPListener
  private let reports: HTTPListener
  private let patience: Duration
  /// Where events are received, with the port that was got.
  public var ingestAddress: ListenAddress { ingest.address }
  /// Where reports are served, with the port that was got.
  public var reportsAddress: ListenAddress { reports.address }

  /// Begins to listen.
  ///
  /// - Parameters:
  ///   - open: Connects to the database, whose schema is there.
  ///   - now: The clock.
  ///   - report: Told of what happens, from any thread.
  /// - Throws: ``ServerError`` when an address cannot be listened on.
  public init(
    _ settings: Settings, open: @escaping @Sendable () async throws -> Connection,
    now: @escaping @Sendable () -> Instant, report: @escaping @Sendable (ServerReport) -> Void
  ) throws {
    let metrics = Metrics(startedAt: now())
    let health = Health(readiness: Readiness(patience: settings.databaseTime, open: open))
    var receivers: [Source: EventReceiver] = [:]
    var commits: [Source: GroupCommit] = [:]
    for source in Set(settings.endpoints.map(\.source)) {
      receivers[source] = EventReceiver(chainsPerSecond: settings.chainsPerSecond, now: now)
      let apps = settings.endpoints.filter { $0.source == source }.map(\.app)
      commits[source] = GroupCommit(answerTime: settings.databaseTime) {
        let connection = try await open()
        // What is left may be half done, and would keep what is stored again waiting.
        try await connection.within(settings.databaseTime) {
          try await connection.beNoticedWhenGone()
          try await connection.execute("set idle_in_transaction_session_timeout = '10s'")
        }
        return Ingester(
          connection, source: source, apps: apps, afterStoring: settings.afterStoring, now: now,
          report: { if case .appAdded(let key) = $0 { report(.appAdded(key: key)) } })
      } report: { [state = StoringState()] result in
        switch result {
        case .success:
          metrics.add(1, to: .commits, ["source": source.rawValue])
          if state.change(toFailing: false) { report(.storingResumed(source: source.rawValue)) }
        case .failure(let error):
          metrics.add(1, to: .failures, ["source": source.rawValue])
          if state.change(toFailing: true) { report(.storingFailed(source: source.rawValue, error: "\(error)")) }
        }
      }
    }
    var limits = HTTPListener.Limits()
    limits.requestTime = settings.requestTime
    limits.connections = settings.connections
    ingest = try HTTPListener(
      "ingest", on: settings.ingest, limits: limits, metrics: metrics,
      service: IngestService(
        settings.endpoints, receivers: receivers, commits: commits, maximumBody: settings.maximumBody,
        rejectionsPerSecond: settings.rejectionsPerSecond, requestsPerAddress: settings.requestsPerAddress,
        health: health, metrics: metrics))
    reports = try HTTPListener(
      "reports", on: settings.reports, limits: limits, metrics: metrics,
      service: ReportsService(
        token: settings.token, hosts: settings.hosts, health: health, open: open,
        metrics: { [streams = StreamMetrics(patience: settings.databaseTime, open: open)] in
          await metrics.text + streams.text()
        }, report: report))
    patience = settings.requestTime * 2
  }

  /// Takes no further connections, finishes the requests in hand, and closes the rest.
  ///
  /// - Returns: How many requests were left unanswered after twice the time that a request may take.
  public func stop() async -> Int {
    async let receiving = ingest.stop(within: patience)
    async let serving = reports.stop(within: patience)
    return await receiving + serving
  }
}

/// Whether storing fails, so that only a change is told.
private final class StoringState: Sendable {
  private let isFailing = Mutex(false)

  /// Returns whether it was otherwise before.
  func change(toFailing isFailing: Bool) -> Bool {
    self.isFailing.withLock { known in
      defer { known = isFailing }
      return known != isFailing
    }
  }
}
