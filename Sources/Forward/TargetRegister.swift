public import Postgres
import SQL
public import Vocabulary

/// The targets as the database knows them: which there are, whether they are paused, and how far their deliveries are.
public struct TargetRegister: Sendable {
  /// Where one target stands.
  public struct Standing: Sendable, Equatable {
    /// Its name.
    public var name: String
    /// What it is.
    public var type: String
    /// Whether someone or an answer has paused it.
    public var isPaused: Bool
    /// Deliveries not yet made.
    public var waiting: Int
    /// When the oldest of them came or comes due.
    public var oldestDue: Instant?
    /// Deliveries made.
    public var delivered: Int
    /// Deliveries refused.
    public var refused: Int
    /// Which share of the attempts was taken, from 0 to 1, by how often each was made; `nil` before the first.
    public var successRate: Double?
    /// When it last took one.
    public var lastSuccess: Instant?
    /// Why it last did not.
    public var lastError: String?
  }

  private let connection: Connection

  /// Creates the register on a connection.
  public init(_ connection: Connection) {
    self.connection = connection
  }

  /// In SQL, the moment up to which a target is held whose day's limit is used up.
  static let endOfQuota = "((quota_on + 1)::timestamp at time zone 'UTC')"

  /// Puts down the targets of the configuration: those it has not known exist from now on, and those that are no longer
  /// configured get no further deliveries.
  ///
  /// - Parameter now: from when on events are sent to new ones. Sources give whole seconds: an event of the same second
  ///   is sent.
  public func register(_ targets: [TargetConfiguration], at now: Instant) async throws {
    let second = now.microseconds - (now.microseconds % 1_000_000 + 1_000_000) % 1_000_000
    try await connection.transaction { connection in
      for target in targets.sorted(by: { $0.name < $1.name }) {
        // What was made for a service of another kind is made anew.
        try connection.query(
          """
          update forward.delivery set body = null
          from forward.target
          where target.name = $1 and target.type <> $2 and delivery.target = target.name and delivery.body is not null
          """, [.text(target.name), .text(target.type)])
        try connection.query(
          """
          insert into forward.target as known (
            name, type, added_at, starts_at, max_age, events, apps, environments, countries, minimum_amount, is_ordered,
            digest_at, digest_zone)
          values ($1, $2, $3, coalesce($4, $3), make_interval(secs => $5), $6, $7, $8, $9, $10, $11, $12::time, $13)
          on conflict (name) do update
          set type = excluded.type, is_configured = true,
            added_at = case when known.is_configured then known.added_at else excluded.added_at end,
            starts_at = case
              when excluded.starts_at is distinct from excluded.added_at then excluded.starts_at
              when known.is_configured then known.added_at
              else excluded.added_at
            end,
            max_age = excluded.max_age, events = excluded.events, apps = excluded.apps,
            environments = excluded.environments, countries = excluded.countries,
            minimum_amount = excluded.minimum_amount, is_ordered = excluded.is_ordered,
            digest_at = excluded.digest_at, digest_zone = excluded.digest_zone
          where not known.is_configured
            or known.starts_at <> case
              when excluded.starts_at is distinct from excluded.added_at then excluded.starts_at
              else known.added_at
            end
            or (known.type, known.max_age, known.events, known.apps, known.environments, known.countries,
              known.minimum_amount, known.is_ordered, known.digest_at, known.digest_zone)
            is distinct from (excluded.type, excluded.max_age, excluded.events, excluded.apps, excluded.environments,
              excluded.countries, excluded.minimum_amount, excluded.is_ordered,
              excluded.digest_at, excluded.digest_zone)
          """,
          [
            .text(target.name), .text(target.type), .timestamp(microseconds: second),
            Parameter(microseconds: target.from?.microseconds), .int(target.maximumAge),
            target.events.map { .texts($0.map(\.rawValue)) } ?? nil, target.apps.map { .texts($0) } ?? nil,
            .texts(target.environments.map(\.rawValue)), target.countries.map { .texts($0) } ?? nil,
            Parameter(target.minimumAmount?.value), .bool(target.isOrdered), Parameter(target.digest?.at),
            Parameter(target.digest?.timezone),
          ])
        // A day's limit that was raised or taken away holds nothing any more.
        try connection.query(
          """
          update forward.target set held_until = null, last_error = null, last_error_at = null
          where name = $1 and held_until = \(Self.endOfQuota) and ($2::bigint is null or quota_used < $2)
          """, [.text(target.name), target.dailyQuota.map { .int($0) } ?? nil])
      }
      try connection.query(
        "update forward.target set is_configured = false where is_configured and name <> all($1)",
        [.texts(targets.map { Optional($0.name) })])
    }
  }

  /// Where the targets stand, by name; those that are no longer configured are left out.
  public func standings() async throws -> [Standing] {
    let rows = try await connection.query(
      """
      select target.name, target.type, target.state = 'paused' as is_paused,
        count(*) filter (where delivery.state = 'waiting') as waiting,
        min(delivery.due_at) filter (where delivery.state = 'waiting') as oldest_due,
        count(*) filter (where delivery.state = 'delivered') as delivered,
        count(*) filter (where delivery.state = 'refused') as refused, target.last_success_at, target.last_error,
        round(target.delivered::numeric / nullif(target.attempts, 0), 4)::text as success_rate
      from forward.target
      left join forward.delivery on delivery.target = target.name
      where target.is_configured
      group by target.name
      order by target.name
      """)
    return try rows.map { row in
      Standing(
        name: try row.text("name"), type: try row.text("type"), isPaused: try row.bool("is_paused"),
        waiting: Int(try row.int("waiting")),
        oldestDue: try row.optionalTimestamp("oldest_due").map { Instant(microseconds: $0) },
        delivered: Int(try row.int("delivered")), refused: Int(try row.int("refused")),
        successRate: try row.optionalText("success_rate").flatMap(Double.init),
        lastSuccess: try row.optionalTimestamp("last_success_at").map { Instant(microseconds: $0) },
        lastError: try row.optionalText("last_error"))
    }
  }

  /// Stops sending to a target: what is due waits.
  ///
  /// - Returns: Whether there is such a target.
  public func pause(_ name: String) async throws -> Bool {
    try await !connection.query(
      "update forward.target set state = 'paused' where name = $1 returning name", [.text(name)]
    ).isEmpty
  }

  /// Sends to a target again. What has failed starts its schedule anew.
  ///
  /// - Returns: Whether there is such a target.
  public func resume(_ name: String) async throws -> Bool {
    try await connection.transaction { connection in
      let found = try connection.query(
        "update forward.target set state = 'active', held_until = null where name = $1 returning name", [.text(name)])
      try connection.query(
        """
        update forward.delivery set failures = 0, failing_since = null
        where target = $1 and state = 'waiting' and failures > 0
        """, [.text(name)])
      return !found.isEmpty
    }
  }

  /// What ``replay(_:_:at:)`` sends again.
  public enum Selection: Sendable, Equatable {
    /// What was refused.
    case refused
    /// What was refused, and every event since a moment, and before another, that the target wants and was never sent.
    case since(Instant, until: Instant? = nil)
    /// One event, also when it was delivered.
    case event(String)
  }

  /// Makes older events due for a target, however long ago they happened.
  ///
  /// - Returns: How many deliveries that makes due.
  public func replay(_ name: String, _ selection: Selection, at now: Instant) async throws -> Int {
    try await connection.transaction { connection in
      var again: [Row]
      var made: [Row] = []
      // Its claim is left: what a forwarder has in hand is being sent.
      let renewed = """
        update forward.delivery
        set state = 'waiting', due_at = $2, failures = 0, failing_since = null, delivered_at = null
        where target = $1
        """
      let moment = Parameter.timestamp(microseconds: now.microseconds)
      switch selection {
      case .refused:
        again = try connection.query(
          "\(renewed) and state = 'refused' returning delivery_id", [.text(name), moment])
      case .since(let start, let end):
        let from = Parameter.timestamp(microseconds: start.microseconds)
        let until = Parameter(microseconds: end?.microseconds)
        again = try connection.query(
          """
          \(renewed) and state = 'refused' and exists (
            select from ingest.event
            where event.subscription_key = delivery.subscription_key and event.app_id = delivery.app_id
              and event.source = delivery.source and event.event_id = delivery.event_id and event.occurred_at >= $3
              and event.occurred_at < coalesce($4::timestamptz, 'infinity'))
          returning delivery_id
          """, [.text(name), moment, from, until])
        made = try connection.query(
          SQLFiles.text("forward/replay.sql"), [.text(name), moment, from, nil, until])
      case .event(let eventID):
        again = try connection.query(
          "\(renewed) and event_id = $3 returning delivery_id", [.text(name), moment, .text(eventID)])
        if again.isEmpty {
          made = try connection.query(
            SQLFiles.text("forward/replay.sql"), [.text(name), moment, nil, .text(eventID), nil])
        }
      }
      return again.count + made.count
    }
  }
}
