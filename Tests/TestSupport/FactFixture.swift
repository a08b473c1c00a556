public import Postgres
public import Vocabulary

/// Facts laid directly into the database, for tests of `measure` alone: what the ingester would store, without it.
///
/// Everything is of one app, the App Store, Production, and of the source `app_store`: each version is a snapshot.
public struct FactFixture: Sendable {
  private let connection: Connection

  /// Creates a fixture that writes on a connection.
  public init(_ connection: Connection) async throws {
    self.connection = connection
    try await connection.execute(
      "insert into ingest.app values (1, 'video', null, now()) on conflict do nothing")
  }

  /// A run of monthly periods of one chain, each bought when the one before it expires.
  ///
  /// - Parameters:
  ///   - key: The chain's subscription key.
  ///   - first: When the first is bought.
  ///   - count: How many.
  ///   - from: The number of the first of them in the chain.
  public func renewals(chain key: Int64, first: Instant, count: Int, from: Int = 0, price: Int64 = 9_990_000)
    async throws
  {
    try await connection.query(
      """
      insert into fact.chain values ($1, 1, 'app_store', 'Production', 'o' || $1, null) on conflict do nothing
      """, [.int(key)])
    try await connection.query(
      """
      with bought as (
        select
          'o' || $1 || '-' || n as transaction_id,
          $2::timestamptz + make_interval(days => 30 * n::int) as purchased_at,
          n
        from generate_series($3::bigint, $3::bigint + $4::bigint - 1) as n
      ),
      stored as (
        insert into fact.transaction (
          subscription_key, transaction_id, source, signed_at, digest, source_rank, stated, event_id, type, product_id,
          period, purchased_at, expires_at, price, currency, country, reason, ownership
        )
        select
          $1, transaction_id, 'app_store', purchased_at, md5(transaction_id)::uuid, 4, (1 << 19) - 1, 'e' || transaction_id,
          'auto_renewable', 'monthly', 'P1M', purchased_at, purchased_at + interval '30 days', $5::bigint, 'USD', 'USA',
          case when n = 0 then 'purchase' else 'renewal' end, 'purchased'
        from bought
        returning subscription_key, transaction_id, purchased_at
      )
      insert into ledger.unsettled select subscription_key, transaction_id, purchased_at, purchased_at from stored
      """,
      [
        .int(key), .timestamp(microseconds: first.microseconds), .int(Int64(from)), .int(Int64(count)), .int(price),
      ])
  }

  /// A later version of a transaction, signed a moment after the newest, in which one column says something else.
  public func version(of transaction: String, chain key: Int64, with column: String, _ value: String) async throws {
    try await connection.query(
      """
      with changed as (
        select (jsonb_populate_record(
          version,
          jsonb_build_object(
            'signed_at', signed_at + interval '1 second', 'digest', md5(signed_at::text)::uuid, $3::text, \(value)
          )
        )).*
        from fact.transaction as version
        where subscription_key = $1 and transaction_id = $2
        order by signed_at desc limit 1
      ),
      stored as (
        insert into fact.transaction select * from changed
        returning subscription_key, transaction_id, purchased_at, signed_at
      )
      insert into ledger.unsettled select subscription_key, transaction_id, purchased_at, signed_at from stored
      """, [.int(key), .text(transaction), .text(column)])
  }
}
