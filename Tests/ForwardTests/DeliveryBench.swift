import Forward
import Postgres
import SQL
import Synchronization
import TestSupport
import Vocabulary

/// A clock that stands still until it is moved.
final class TestClock: Sendable {
  private let moment: Mutex<Instant>

  init(_ text: String = "2026-03-01T12:00:00Z") {
    moment = Mutex(Instant(text) ?? Instant(microseconds: 0))
  }

  var now: Instant { moment.withLock { $0 } }

  func advance(seconds: Int64) { moment.withLock { $0 = $0.adding(seconds: seconds) } }
}

/// A database with targets, into which events can be put as the ingester puts them.
struct DeliveryBench: Sendable {
  let database: TestDatabase
  let connection: Connection
  let clock = TestClock()

  init(_ targets: [TargetConfiguration] = []) async throws {
    database = try await TestDatabase.clone()
    connection = try await database.connect()
    try await connection.execute(
      "insert into ingest.app (app_id, app_key, created_at) values (1, 'video', now()), (2, 'music', now())")
    try await register(targets)
  }

  var register: TargetRegister { TargetRegister(connection) }

  func register(_ targets: [TargetConfiguration]) async throws {
    // Known for long, so that a test's events are young enough.
    try await register.register(targets, at: clock.now.adding(seconds: -30 * 86_400))
  }

  /// Takes away all events, deliveries and targets.
  func empty() async throws {
    try await connection.execute(
      """
      delete from forward.delivery; delete from forward.target; delete from ingest.event; delete from fact.transaction;
      delete from fact.renewal; delete from fact.chain
      """)
  }

  func forwarder(
    _ targets: [TargetConfiguration], settings: Forwarder.Settings = Forwarder.Settings(),
    report: @escaping @Sendable (ForwardReport) -> Void = { _ in }
  ) throws -> Forwarder {
    Forwarder(
      connectionString: database.connectionString, targets: try targets.map { try $0.makeTarget() }, settings: settings,
      now: { [clock] in clock.now }, chance: { 0.5 }, report: report)
  }

  /// One pass over what is due.
  func forward(_ targets: TargetConfiguration...) async throws -> ForwardSummary {
    try await forwarder(targets).runOnce()
  }

  /// One pass with a clock on which time goes by, a second at each look, so that a service's pace is waited for.
  func pass(_ targets: TargetConfiguration...) async throws -> ForwardSummary {
    var settings = Forwarder.Settings()
    settings.pause = .milliseconds(5)
    return try await Forwarder(
      connectionString: database.connectionString, targets: try targets.map { try $0.makeTarget() },
      settings: settings,
      now: { [clock] in
        clock.advance(seconds: 1)
        return clock.now
      }, chance: { 0.5 }
    ).runOnce()
  }

  /// An event of a chain that happened a minute before the clock's moment.
  func event(
    _ id: String, _ kind: EventKind = .subscriptionRenewed, chain: String = "1000", transaction: String? = "t1",
    secondsAgo: Int64 = 60
  ) -> Event {
    var event = Event(
      eventID: id, kind: kind, occurredAt: clock.now.adding(seconds: -secondsAgo), app: "video", store: .appStore,
      environment: .production, originalTransactionID: chain)
    if let transaction {
      event.transaction = TransactionFact(transactionID: transaction, signedAt: event.signedAt)
    }
    return event
  }

  /// Stores events with their facts and makes their deliveries, in one transaction, as the ingester does.
  ///
  /// - Parameter chainKey: the chain's key, the same for events of one chain.
  func store(_ events: Event..., source: Source = .appStore, appID: Int64 = 1) async throws {
    try await connection.transaction { [clock] connection in
      try connection.execute(
        """
        create temporary table stored_event (
          subscription_key bigint, app_id bigint, source text, event_id text, kind text, also text[],
          occurred_at timestamptz, received_at timestamptz, environment text, transaction_id text, country text,
          amount bigint, currency text) on commit drop
        """)
      for event in events {
        let key = Int64(event.originalTransactionID ?? "") ?? 0
        let transaction = event.transaction
        try connection.query(
          """
          insert into ingest.event (subscription_key, app_id, source, event_id, kind, also, occurred_at, signed_at,
            received_at, store, environment, original_transaction_id, transaction_id, country, amount, currency, body)
          values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)
          """,
          [
            .int(key), .int(appID), .text(source.rawValue), .text(event.eventID), .text(event.kind.rawValue),
            .texts(event.also.map(\.rawValue)), .timestamp(microseconds: event.occurredAt.microseconds),
            .timestamp(microseconds: event.signedAt.microseconds), .timestamp(microseconds: clock.now.microseconds),
            .text(event.store.rawValue), .text(event.environment.rawValue), Parameter(event.originalTransactionID),
            Parameter(transaction?.transactionID), Parameter(transaction?.country.value),
            Parameter(event.amount?.amount.value), Parameter(event.amount?.currency), .json(event.json),
          ])
        try connection.query(
          """
          insert into stored_event
          select subscription_key, app_id, source, event_id, kind, also, occurred_at, received_at, environment,
            transaction_id, country, amount, currency
          from ingest.event where event_id = $1 and source = $2
          """, [.text(event.eventID), .text(source.rawValue)])
        try connection.query(
          "insert into fact.chain values ($1, $2, $3, $4, $5) on conflict do nothing",
          [
            .int(key), .int(appID), .text(event.store.rawValue), .text(event.environment.rawValue),
            .text(event.originalTransactionID ?? ""),
          ])
        if let transaction { try Self.store(transaction, of: event, chain: key, source, on: connection) }
        if let renewal = event.renewal { try Self.store(renewal, of: event, chain: key, source, on: connection) }
      }
      try connection.execute(SQLFiles.text("forward/announce.sql"))
    }
  }

  private static func store(
    _ transaction: TransactionFact, of event: Event, chain: Int64, _ source: Source, on connection: isolated Connection
  ) throws {
    try connection.query(
      """
      insert into fact.transaction (subscription_key, transaction_id, source, signed_at, digest, source_rank, stated,
        event_id, type, product_id, period, purchased_at, expires_at, price, currency, reason, ownership, offer_type,
        offer_discount, offer_period, revoked_at)
      values ($1, $2, $3, $4, gen_random_uuid(), $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20)
      """,
      [
        .int(chain), .text(transaction.transactionID), .text(source.rawValue),
        .timestamp(microseconds: transaction.signedAt.microseconds), .int(Int64(source.rank)),
        .int(transaction.stated), .text(event.eventID), Parameter(transaction.type.value?.rawValue),
        Parameter(transaction.productID.value), Parameter(transaction.period.value),
        Parameter(microseconds: transaction.purchasedAt.value?.microseconds),
        Parameter(microseconds: transaction.expiresAt.value?.microseconds),
        Parameter(transaction.price.value?.amount.value), Parameter(transaction.price.value?.currency),
        Parameter(transaction.reason.value?.rawValue), Parameter(transaction.ownership.value?.rawValue),
        Parameter(transaction.offer.value?.type.rawValue), Parameter(transaction.offer.value?.discount?.rawValue),
        Parameter(transaction.offer.value?.period),
        Parameter(microseconds: transaction.revokedAt.value?.microseconds),
      ])
  }

  private static func store(
    _ renewal: RenewalFact, of event: Event, chain: Int64, _ source: Source, on connection: isolated Connection
  ) throws {
    try connection.query(
      """
      insert into fact.renewal (subscription_key, source, signed_at, digest, source_rank, stated, event_id, auto_renew,
        expiration_reason, in_billing_retry, grace_expires_at, paused_at)
      values ($1, $2, $3, gen_random_uuid(), $4, $5, $6, $7, $8, $9, $10, $11)
      """,
      [
        .int(chain), .text(source.rawValue), .timestamp(microseconds: renewal.signedAt.microseconds),
        .int(Int64(source.rank)), .int(renewal.stated), .text(event.eventID),
        renewal.autoRenew.value.map { .bool($0) } ?? nil, Parameter(renewal.expirationReason.value?.rawValue),
        renewal.inBillingRetry.value.map { .bool($0) } ?? nil,
        Parameter(microseconds: renewal.graceExpiresAt.value?.microseconds),
        Parameter(microseconds: renewal.pausedAt.value?.microseconds),
      ])
  }

  /// The deliveries as the report shows them, in the order they were made.
  func deliveries() async throws -> [Row] {
    try await connection.query("select * from report.deliveries order by delivery_id")
  }
}

extension TargetConfiguration {
  /// A webhook that a receiver of this test gets.
  static func webhook(_ receiver: HTTPReceiver, name: String = "backend") -> TargetConfiguration {
    webhook(url: receiver.url, name: name)
  }

  /// A webhook at an address on this machine or elsewhere.
  static func webhook(url: String, name: String = "backend") -> TargetConfiguration {
    var target = TargetConfiguration(name: name, type: "webhook")
    target.url = url
    target.secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    target.allowsPrivateNetwork = true
    return target
  }
}

extension TargetConfiguration {
  /// A Slack channel whose webhook a receiver of this test gets.
  static func slack(_ receiver: HTTPReceiver, name: String = "team") -> TargetConfiguration {
    var target = TargetConfiguration(name: name, type: "slack")
    target.url = receiver.url
    target.allowsPrivateNetwork = true
    return target
  }

  /// A Telegram chat whose bot's messages a receiver of this test gets.
  static func telegram(_ receiver: HTTPReceiver, chatID: String = "-1001234567890") -> TargetConfiguration {
    var target = TargetConfiguration(name: "phone", type: "telegram")
    target.token = "12345:secret-token"
    target.chatID = chatID
    target.baseURL = "http://127.0.0.1:\(receiver.port)/"
    target.allowsPrivateNetwork = true
    return target
  }
}
