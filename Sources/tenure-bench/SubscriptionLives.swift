import Postgres

/// Lives of subscriptions, laid into the tables of facts by SQL: what the ingester would have stored of them.
///
/// Five products of four lengths, six countries with their currencies. Every transaction has a renewal status. Of the
/// chains 15 % begin with a trial, 5 % renew once after days of retry, 10 % have renewal switched off in their last period,
/// and about half have ended; 3 % of the transactions are refunded. The same number gives the same lives.
struct SubscriptionLives: Sendable {
  /// How many chains.
  let chains: Int
  /// How many transactions a chain has, on average; they have from 1 to nearly twice as many.
  let periods: Int
  /// Of each so many chains the last renewal came within the last day, and can be laid in later than the rest.
  let lateEvery: Int
  /// Whether every period is a week, so that a long history stays within the years of the others.
  var isWeekly = false

  /// The moment up to which they are told: the as-of moment of the runs.
  static let end: Int64 = 1_782_864_000_000_000  // 2026-07-01

  /// What a run fills.
  static let derived = """
    ledger.period, ledger.entry, ledger.chain, ledger.identity, ledger.subscriber_entry, ledger.product, \
    ledger.unsettled, ledger.customer, ledger.course, ledger.doubt, measure.run, measure.book, \
    measure.daily_movement, measure.daily_movement_change, measure.daily_revenue, \
    measure.daily_revenue_change, measure.daily_subscriber, measure.daily_subscriber_change, measure.period_churn, \
    measure.period_churn_change, measure.daily_mrr, measure.daily_mrr_change, \
    measure.daily_trial, measure.daily_trial_change, measure.daily_renewal, measure.daily_renewal_change, \
    measure.daily_failure, measure.daily_failure_change, measure.daily_customer, measure.daily_customer_change, \
    measure.cohort_value, measure.posted_day
    """

  /// Empties the database and lays in everything but the late renewals, or, when there are none to come later,
  /// everything. What is laid in is also put down to be settled.
  func lay(withLate isWithLate: Bool, on connection: Connection) async throws {
    try await connection.execute(
      """
      truncate ingest.app, fact.chain, fact.transaction, fact.renewal, fact.subscriber, \(Self.derived);
      insert into ingest.app (app_id, app_key, created_at) values (1, 'video', now());
      drop table if exists life, bought;
      """)
    try await connection.query(life)
    try await connection.execute(bought)
    try await connection.execute(
      """
      insert into fact.chain
      select subscription_key, 1, 'app_store', 'Production', 'o' || chain, null from life order by starts_at;
      insert into fact.subscriber
      select subscription_key, 'customer-' || chain - mod(chain, 20) / 19, starts_at, 'app_store', 'e' || chain || '-0'
      from life order by starts_at;
      """)
    try await add(isWithLate ? "true" : "not is_late", on: connection)
    // What the server does by itself soon after a load.
    try await vacuum(["fact.chain", "fact.transaction", "fact.renewal", "fact.subscriber"], on: connection)
  }

  /// Lays in the late renewals: one new transaction with its status in each of their chains.
  ///
  /// - Returns: How many transactions that are.
  func layLate(on connection: Connection) async throws -> Int {
    try await add("is_late", on: connection)
    return Int(try await connection.query("select count(*) as late from bought where is_late")[0].int("late"))
  }

  /// Forgets what runs derived, and puts all facts down to be settled.
  static func forgetRuns(on connection: Connection) async throws {
    try await connection.execute(
      """
      truncate \(derived);
      insert into ledger.unsettled
      select subscription_key, transaction_id, coalesce(revoked_at, purchased_at), signed_at from fact.transaction
      union all
      select subscription_key, null, signed_at, signed_at from fact.renewal
      union all
      select subscription_key, null, occurred_at, occurred_at from fact.subscriber
      """)
  }

  /// Vacuums tables, as the server does by itself after a while.
  func vacuum(_ tables: [String], on connection: Connection) async throws {
    try await connection.execute("vacuum (analyze) \(tables.joined(separator: ", "))")
  }

  // MARK: -

  /// One row per chain: what it buys, and when it bought last.
  private var life: String {
    """
    create temporary table life as
    with drawn as (
      select
        chain,
        hashint8extended(chain, 0) as subscription_key,
        chain % \(lateEvery) = 0 as is_late,
        1 + mod(chain * 7, 2 * \(periods) - 1) as periods,
        (chain % 5)::int as product,
        abs(hashint8extended(chain, 1) % 6)::int as country,
        abs(hashint8extended(chain, 2) % 100) < 15 as has_trial,
        abs(hashint8extended(chain, 3) % 100) < 5 as has_retry,
        abs(hashint8extended(chain, 4) % 100) < 10 as is_switched_off,
        abs(hashint8extended(chain, 5) % 100) < 50 as is_running,
        abs(hashint8extended(chain, 6) % 100000) / 100000.0 as share
      from generate_series(1, \(chains)::bigint) as chain
    ),
    priced as (
      select
        drawn.*,
        '2026-07-01 00:00+00'::timestamptz as ends_at,
        (array['weekly', 'monthly', 'monthly.plus', 'quarterly', 'halfyearly'])[product + 1] as product_id,
        \(isWeekly
          ? "'P1W'" : "(array['P1W', 'P1M', 'P1M', 'P3M', 'P6M'])[product + 1]") as period,
        make_interval(days => \(isWeekly ? "7" : "(array[7, 30, 30, 91, 182])[product + 1]")) as length,
        (array['USA', 'DEU', 'FRA', 'GBR', 'JPN', 'BRA'])[country + 1] as country_code,
        (array['USD', 'EUR', 'EUR', 'GBP', 'JPY', 'BRL'])[country + 1] as currency,
        (array[2990000, 9990000, 14990000, 24990000, 44990000])[product + 1]::bigint
        * (array[1, 1, 1, 1, 150, 5])[country + 1] as price,
        case when is_late then greatest(periods, 2) else periods end as bought
      from drawn
    ),
    placed as (
      select
        *,
        ends_at - case
          when is_late then interval '1 hour' + share * interval '22 hours'
          when is_running then share * length
          else length + interval '2 days' + share * interval '700 days'
        end as last_at
      from priced
    )
    select
      *,
      last_at - (bought - 1) * length
      - case when has_retry and bought > 1 then interval '5 days' else interval '0' end as starts_at
    from placed
    """
  }

  /// One row per transaction.
  private var bought: String {
    """
    create temporary table bought as
    with numbered as (
      select
        life.*,
        n,
        life.has_trial and n = 0 as is_trial,
        life.is_late and n = life.bought - 1 as is_late_one,
        case when n = life.bought - 1 then last_at else starts_at + n * length end as regular_at
      from life
      cross join generate_series(0, life.bought - 1) as n
    )
    select
      subscription_key,
      'o' || chain || '-' || n as transaction_id,
      'e' || chain || '-' || n as event_id,
      n,
      chain,
      product_id,
      period,
      -- A trial is a week, before what is bought next.
      case
        when is_trial and bought > 1 then regular_at + length - interval '7 days'
        else regular_at
      end as purchased_at,
      case when is_trial and bought = 1 then regular_at + interval '7 days' else regular_at + length end as expires_at,
      case when is_trial then 0 else price end as price,
      currency,
      country_code,
      is_trial,
      is_late_one as is_late,
      n = bought - 1 as is_last,
      n = bought - 2 and has_retry as is_retried,
      is_switched_off,
      ends_at,
      not is_trial and abs(hashint8extended(chain * 1000 + n, 7) % 100) < 3 as is_refunded
    from numbered;
    analyze bought;
    """
  }

  /// Stores the facts of the transactions that a condition picks, in the order of their moments, as they came in.
  private func add(_ condition: String, on connection: Connection) async throws {
    try await connection.execute(
      """
      create temporary table said as
      select *, purchased_at as signed_at, null::timestamptz as revoked_at from bought where \(condition)
      union all
      select *, purchased_at + interval '5 days', purchased_at + interval '5 days' from bought
      where \(condition) and is_refunded and purchased_at + interval '5 days' < ends_at;

      insert into fact.transaction (
        subscription_key, transaction_id, source, signed_at, digest, source_rank, stated, event_id, type, product_id,
        group_id, period, purchased_at, expires_at, price, currency, country, reason, ownership, offer_type,
        offer_discount, offer_period, revoked_at, revocation
      )
      select
        subscription_key, transaction_id, 'app_store', signed_at, md5(transaction_id || signed_at)::uuid, 4,
        (1 << 19) - 1, event_id || case when revoked_at is null then '' else '-refund' end, 'auto_renewable', product_id,
        'premium', period, purchased_at, expires_at, price, currency, country_code,
        case when n = 0 then 'purchase' else 'renewal' end, 'purchased',
        case when is_trial then 'introductory' end, case when is_trial then 'free_trial' end,
        case when is_trial then 'P1W' end, revoked_at, case when revoked_at is not null then 'full' end
      from said
      order by signed_at;

      create temporary table told as
      select
        *, purchased_at as signed_at, true as auto_renew, null::text as expiration_reason, false as in_billing_retry,
        '' as suffix
      from bought where \(condition)
      union all
      select *, purchased_at + interval '1 day', false, null, false, '-off' from bought
      where \(condition) and is_last and is_switched_off and purchased_at + interval '1 day' < least(ends_at, expires_at)
      union all
      select *, expires_at, true, 'billing', true, '-retry' from bought
      where \(condition) and is_retried and expires_at < ends_at
      union all
      select
        *, expires_at, false, case when is_switched_off or chain % 3 > 0 then 'voluntary' else 'billing' end, false,
        '-expired'
      from bought
      where \(condition) and is_last and expires_at < ends_at;

      insert into fact.renewal (
        subscription_key, source, signed_at, digest, source_rank, stated, event_id, auto_renew, auto_renew_product_id,
        renews_at, renewal_price, currency, expiration_reason, in_billing_retry
      )
      select
        subscription_key, 'app_store', signed_at, md5(event_id || suffix)::uuid, 4, (1 << 11) - 1, event_id || suffix,
        auto_renew, product_id, expires_at, price, currency, expiration_reason, in_billing_retry
      from told
      order by signed_at;

      insert into ledger.unsettled
      select subscription_key, transaction_id, coalesce(revoked_at, purchased_at), signed_at from said
      union all
      select subscription_key, null, signed_at, signed_at from told;

      drop table said, told;
      """)
  }
}
