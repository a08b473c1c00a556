import Postgres
import Vocabulary

/// How far fetching history of an app in an environment has come, kept in the database.
///
/// Written after what was fetched has been committed: a process that ends in between fetches one page again, whose events
/// are there already.
struct BackfillJournal: Sendable {
  /// A span of notification history.
  struct Span: Sendable, Equatable {
    /// Its first moment, in whole milliseconds.
    var from: Instant
    /// The first moment after it, in whole milliseconds.
    var until: Instant
    /// Where its next page begins.
    var page: String?
    /// When it had been read to its end.
    var readAt: Instant?
  }

  /// A chain whose transactions are to be asked for.
  struct Chain: Sendable, Equatable {
    /// Its key.
    let key: Int64
    /// Its first transaction.
    let originalTransactionID: String
    /// What was read of it before.
    let revision: String?
  }

  let connection: Connection
  let app: String
  let bundleID: String
  let environment: StoreEnvironment

  // MARK: - Spans

  /// The spans that were asked for and touch this one, in order.
  func spans(from start: Instant, until end: Instant) async throws -> [Span] {
    let rows = try await connection.query(
      """
      select from_at, until_at, pagination_token, read_at from ingest.backfill_span
      where bundle_id = $1 and environment = $2 and from_at < $4 and until_at > $3 order by from_at, until_at
      """, identity + [.timestamp(microseconds: start.microseconds), .timestamp(microseconds: end.microseconds)])
    return try rows.map { row in
      Span(
        from: Instant(microseconds: try row.timestamp("from_at")),
        until: Instant(microseconds: try row.timestamp("until_at")), page: try row.optionalText("pagination_token"),
        readAt: try row.optionalTimestamp("read_at").map { Instant(microseconds: $0) })
    }
  }

  /// Puts down how far a span has come.
  func note(_ span: Span) async throws {
    try await connection.query(
      """
      insert into ingest.backfill_span (bundle_id, environment, from_at, until_at, pagination_token, read_at)
      values ($1, $2, $3, $4, $5, $6)
      on conflict (bundle_id, environment, from_at, until_at)
      do update set pagination_token = excluded.pagination_token, read_at = excluded.read_at
      """,
      identity + [
        .timestamp(microseconds: span.from.microseconds), .timestamp(microseconds: span.until.microseconds),
        Parameter(span.page), Parameter(microseconds: span.readAt?.microseconds),
      ])
  }

  /// Forgets the spans that touch this one.
  func forgetSpans(from start: Instant, until end: Instant) async throws {
    try await connection.query(
      "delete from ingest.backfill_span where bundle_id = $1 and environment = $2 and from_at < $4 and until_at > $3",
      identity + [.timestamp(microseconds: start.microseconds), .timestamp(microseconds: end.microseconds)])
  }

  // MARK: - Chains

  /// Begins to ask for the transactions of all chains, or goes on with that.
  ///
  /// - Returns: When it began.
  func beginPass(at now: Instant) async throws -> Instant {
    let rows = try await connection.query(
      """
      insert into ingest.backfill_pass as pass (bundle_id, environment, started_at) values ($1, $2, $3)
      on conflict (bundle_id, environment) do update set
        started_at = case when pass.ended_at is null then pass.started_at else excluded.started_at end, ended_at = null
      returning started_at
      """, identity + [.timestamp(microseconds: now.microseconds)])
    return Instant(microseconds: try rows[0].timestamp("started_at"))
  }

  /// Puts down that all chains have been asked for.
  func endPass(at now: Instant) async throws {
    try await connection.query(
      "update ingest.backfill_pass set ended_at = $3 where bundle_id = $1 and environment = $2",
      identity + [.timestamp(microseconds: now.microseconds)])
  }

  /// The next chains that have not been read since a moment, in the order of their keys.
  func chains(after key: Int64?, notReadSince moment: Instant, limit: Int) async throws -> [Chain] {
    let rows = try await connection.query(
      """
      select chain.subscription_key, chain.original_transaction_id, backfill.revision
      from fact.chain as chain
      inner join ingest.app as app on app.app_id = chain.app_id
      left join ingest.backfill_chain as backfill on backfill.subscription_key = chain.subscription_key
      where app.app_key = $1 and chain.environment = $2 and chain.store in ('app_store', 'mac_app_store')
        and ($3::bigint is null or chain.subscription_key > $3) and (backfill.read_at is null or backfill.read_at < $4)
      order by chain.subscription_key limit $5
      """,
      [
        .text(app), .text(environment.rawValue), Parameter(key), .timestamp(microseconds: moment.microseconds),
        .int(Int64(limit)),
      ])
    return try rows.map { row in
      Chain(
        key: try row.int("subscription_key"), originalTransactionID: try row.text("original_transaction_id"),
        revision: try row.optionalText("revision"))
    }
  }

  /// How many chains have not been read since a moment.
  func chainCount(notReadSince moment: Instant) async throws -> Int {
    let rows = try await connection.query(
      """
      select count(*) as chains
      from fact.chain as chain
      inner join ingest.app as app on app.app_id = chain.app_id
      left join ingest.backfill_chain as backfill on backfill.subscription_key = chain.subscription_key
      where app.app_key = $1 and chain.environment = $2 and chain.store in ('app_store', 'mac_app_store')
        and (backfill.read_at is null or backfill.read_at < $3)
      """, [.text(app), .text(environment.rawValue), .timestamp(microseconds: moment.microseconds)])
    return Int(try rows[0].int("chains"))
  }

  /// Puts down how far a chain has come.
  func note(_ key: Int64, revision: String?, readAt: Instant?) async throws {
    try await connection.query(
      """
      insert into ingest.backfill_chain (subscription_key, revision, read_at) values ($1, $2, $3)
      on conflict (subscription_key) do update set revision = excluded.revision, read_at = excluded.read_at
      """, [.int(key), Parameter(revision), Parameter(microseconds: readAt?.microseconds)])
  }

  /// Forgets what was read of the chains.
  func forgetChains() async throws {
    try await connection.query(
      """
      delete from ingest.backfill_chain where subscription_key in (
        select chain.subscription_key from fact.chain as chain
        inner join ingest.app as app on app.app_id = chain.app_id
        where app.app_key = $1 and chain.environment = $2)
      """, [.text(app), .text(environment.rawValue)])
    try await connection.query(
      "delete from ingest.backfill_pass where bundle_id = $1 and environment = $2", identity)
  }

  private var identity: [Parameter] { [.text(bundleID), .text(environment.rawValue)] }
}
