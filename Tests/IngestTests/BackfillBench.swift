import Postgres
import Synchronization
import TestSupport
import Vocabulary

@testable import Ingest

/// Fetches history of the app `video` from a service on the loopback interface into a database of its own. Its clock stands
/// still but for waits.
final class BackfillBench: Sendable {
  static let start = "2026-03-10T12:00:00Z"

  let service: AppStoreService
  let receiver: HTTPReceiver
  let database: TestDatabase
  private let environment: StoreEnvironment
  private let moment: Mutex<Instant>
  private let waits = Mutex<[Duration]>([])
  private let told = Mutex<[BackfillProgress]>([])

  init(environment: StoreEnvironment = .production, pageSize: Int = 2) async throws {
    let service = AppStoreService(pageSize: pageSize, environment: environment)
    self.service = service
    self.environment = environment
    receiver = HTTPReceiver { _, request in service.answer(request) }
    database = try await TestDatabase.clone()
    moment = Mutex(Self.moment(Self.start))
  }

  static func moment(_ text: String) -> Instant { Instant(text) ?? Instant(microseconds: 0) }

  /// How long it has waited, wait by wait.
  var pauses: [Duration] { waits.withLock { $0 } }

  /// The restarts of spans that were told.
  var restarts: Int {
    told.withLock { $0.count { if case .spanRestarted = $0 { true } else { false } } }
  }

  func pass(seconds: Int64) { moment.withLock { $0 = $0.adding(seconds: seconds) } }

  /// A backfiller, as a new process makes one.
  func backfiller(
    attempts: Int = 3, timeout: Duration = .seconds(60), issuerID: String = AppStoreService.issuerID
  ) async throws -> Backfiller {
    var settings = AppStoreServer.Settings(environment)
    settings.baseURL = "http://127.0.0.1:\(receiver.port)"
    settings.allowsPrivateNetwork = true
    settings.attempts = attempts
    settings.timeout = timeout
    settings.pause = { [self] wait in
      waits.withLock { $0.append(wait) }
      moment.withLock { $0 = $0.adding(seconds: Int64((wait / .seconds(1)).rounded(.up))) }
    }
    let now: @Sendable () -> Instant = { [self] in moment.withLock { $0 } }
    let report: @Sendable (BackfillProgress) -> Void = { [self] progress in told.withLock { $0.append(progress) } }
    let key = AppStoreServerKey(
      issuerID: issuerID, keyID: AppStoreService.keyID, bundleID: AppStoreService.bundleID, key: service.key)
    let app = AppConfiguration(
      key: "video", bundleID: AppStoreService.bundleID, environments: [environment],
      roots: TestCertificateAuthority.shared.roots)
    return Backfiller(
      app, bundleID: AppStoreService.bundleID, in: environment,
      server: AppStoreServer(settings, key: key, now: now, report: report),
      ingester: Ingester(try await database.connect(), source: .appStore, apps: [app], now: now),
      connection: try await database.connect(), width: 1, now: now, report: report)
  }

  /// Fetches notifications from a day on.
  func fetchNotifications(from start: String = "2026-03-08", again: Bool = false) async throws -> BackfillSummary {
    let backfiller = try await backfiller()
    try await backfiller.fetchNotifications(from: Self.moment("\(start)T00:00:00Z"), until: nil, again: again)
    return await backfiller.fetched
  }

  /// Fetches the transactions of all chains.
  func fetchTransactions(again: Bool = false) async throws -> BackfillSummary {
    let backfiller = try await backfiller()
    try await backfiller.fetchTransactions(again: again)
    return await backfiller.fetched
  }

  /// The ids of all events that are stored.
  func events() async throws -> [String] {
    let connection = try await database.connect()
    let rows = try await connection.query("select event_id from ingest.event order by event_id collate \"C\"")
    await connection.close()
    return try rows.map { try $0.text("event_id") }
  }

  /// The ids of all transactions that are stored.
  func transactions() async throws -> [String] {
    let connection = try await database.connect()
    let rows = try await connection.query(
      "select transaction_id from fact.transaction group by transaction_id order by transaction_id collate \"C\"")
    await connection.close()
    return try rows.map { try $0.text("transaction_id") }
  }
}
