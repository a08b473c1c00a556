import Measure
import Postgres
import TestSupport
import Testing
import Vocabulary

/// What a run does beside the figures: how much it reads, when it refuses, and that it happens whole or not at all.
@Suite struct MeasurerTests {
  private let start = Instant(microseconds: 1_577_836_800_000_000)  // 2020-01-01

  private func day(_ number: Int64) -> Instant { start.adding(seconds: number * 86_400) }

  private func prepared() async throws -> (TestDatabase, Connection, FactFixture) {
    let database = try await TestDatabase.clone()
    let connection = try await database.connect()
    return (database, connection, try await FactFixture(connection))
  }

  private func measure(
    _ database: TestDatabase, asOf: Instant, rebuild: Bool = false, settings: MeasureSettings = MeasureSettings()
  ) async throws -> MeasureResult {
    let connection = try await database.connect()
    let result = try await Measurer(connection: connection, settings: settings).run(asOf: asOf, isRebuild: rebuild)
    await connection.close()
    return result
  }

  @Test("one new renewal in a chain of 500 periods reads it, the one that ended, and two before, and posts one entry")
  func costFollowsChange() async throws {
    let (database, connection, facts) = try await prepared()
    try await facts.renewals(chain: 7, first: start, count: 500)
    let first = try await measure(database, asOf: day(30 * 499 + 1))
    #expect(first.settled == 1)
    #expect(first.transactionsRead == 500)
    #expect(first.entries == 500)
    try await facts.renewals(chain: 7, first: start, count: 1, from: 500)
    let second = try await measure(database, asOf: day(30 * 500 + 1))
    #expect(second.facts == 1)
    #expect(second.settled == 1)
    #expect(second.transactionsRead == 4)
    #expect(second.entries == 1)
    let third = try await measure(database, asOf: day(30 * 500 + 2))
    #expect(third.settled == 0)
    #expect(third.entries == 0)
    await connection.close()
  }

  /// Where in a chain of 500 periods a fact comes late, what it says, and what that makes a run read and post.
  struct LateFact: CustomTestStringConvertible {
    let name: String
    let number: Int
    let column: String
    let value: String
    let read: Int64
    let entries: Int64
    var testDescription: String { name }
  }

  @Test(
    "a fact that comes late reads two periods before it and two after, unless what is carried on differs",
    arguments: [
      // Two charges anew, in other rows, and twice what leaves the row before.
      LateFact(
        name: "a country", number: 250, column: "country", value: "'CAN'", read: 5, entries: 6),
      LateFact(
        name: "a price, of the charge and of what the next one leaves", number: 3, column: "price", value: "5000000",
        read: 5, entries: 4),
      LateFact(
        name: "an earlier end, after which the charge was in retry", number: 498, column: "expires_at",
        value: "expires_at - interval '10 days'", read: 4, entries: 4),
      LateFact(
        name: "the same early on: it parts the paid time, and that is carried on to the end", number: 100,
        column: "expires_at",
        value: "expires_at - interval '10 days'", read: 402, entries: 4),
    ])
  func lateFactIsLocal(fact: LateFact) async throws {
    let (database, connection, facts) = try await prepared()
    try await facts.renewals(chain: 7, first: start, count: 500)
    let asOf = day(30 * 499 + 1)
    _ = try await measure(database, asOf: asOf)
    try await facts.version(of: "o7-\(fact.number)", chain: 7, with: fact.column, fact.value)
    let result = try await measure(database, asOf: asOf)
    #expect(result.settled == 1)
    #expect(result.transactionsRead == fact.read)
    #expect(result.entries == fact.entries)
    let rebuilt = try await measure(database, asOf: asOf, rebuild: true)
    #expect(rebuilt.transactionsRead == 500)
    #expect(rebuilt.entries == 0)
    await connection.close()
  }

  @Test("a new day among a thousand chains settles only those for which a moment has come")
  func onlyWhatIsDueIsSettled() async throws {
    let (database, connection, facts) = try await prepared()
    for chain in Int64(1)...30 { try await facts.renewals(chain: chain, first: day(chain), count: 1) }
    for chain in Int64(31)...1000 { try await facts.renewals(chain: chain, first: day(10), count: 2) }
    _ = try await measure(database, asOf: day(31))
    // Chain 1 expires at day 31, and is waited for until day 32.
    let waiting = try await measure(database, asOf: day(31).adding(seconds: 1))
    #expect(waiting.settled == 1)
    #expect(waiting.entries == 0)
    let lost = try await measure(database, asOf: day(32).adding(seconds: 1))
    // Chain 1 is lost, chain 2 begins to be waited for.
    #expect(lost.settled == 2)
    #expect(lost.entries == 1)
    await connection.close()
  }

  @Test("a rebuild reads everything and posts nothing")
  func rebuildPostsNothing() async throws {
    let (database, connection, facts) = try await prepared()
    for chain in Int64(1)...5 { try await facts.renewals(chain: chain, first: day(chain), count: 12) }
    _ = try await measure(database, asOf: day(500))
    let rebuilt = try await measure(database, asOf: day(500), rebuild: true)
    #expect(rebuilt.transactionsRead == 60)
    #expect(rebuilt.entries == 0)
    await connection.close()
  }

  @Test("another time zone opens a new book: totals are summed anew, no entry is posted, and back again is as before")
  func newBook() async throws {
    let (database, connection, facts) = try await prepared()
    for chain in Int64(1)...5 { try await facts.renewals(chain: chain, first: day(chain), count: 12) }
    _ = try await measure(database, asOf: day(500))
    let totals =
      "select md5(string_agg(t::text, ',' order by t::text)) as sum from measure.daily_movement as t where new + renewed + churned_unconfirmed <> 0"
    let before = try await connection.query(totals)[0]["sum"]
    let pacific = try await measure(
      database, asOf: day(500), settings: MeasureSettings(timeZone: "America/Los_Angeles"))
    #expect(pacific.entries == 0)
    #expect(try await connection.query(totals)[0]["sum"] != before)
    let back = try await measure(database, asOf: day(500))
    #expect(back.entries == 0)
    #expect(try await connection.query(totals)[0]["sum"] == before)
    #expect(try await connection.query("select count(*) as n from measure.book")[0].int("n") == 3)
    await connection.close()
  }

  @Test("an as-of moment before the last run's is refused and says what to give")
  func asOfDoesNotGoBack() async throws {
    let (database, connection, _) = try await prepared()
    _ = try await measure(database, asOf: day(10))
    await #expect(throws: MeasureError.asOfGoesBack(asked: day(9), last: day(10))) {
      try await measure(database, asOf: day(9))
    }
    await connection.close()
  }

  @Test("an unknown time zone is refused")
  func unknownTimeZone() async throws {
    let (database, connection, _) = try await prepared()
    await #expect(throws: MeasureError.unknownTimeZone("Mars/Olympus")) {
      try await measure(database, asOf: day(9), settings: MeasureSettings(timeZone: "Mars/Olympus"))
    }
    await connection.close()
  }

  /// Ways to spoil the books, each with the check that must see it.
  static let spoilers: [(check: String, sql: String)] = [
    ("active_is_what_periods_cover", "update measure.daily_movement set active = active + 1 where new = 1"),
    ("chain_is_active_once", "update ledger.entry set active = 2 where kind = 'new'"),
    ("mrr_is_what_periods_cover", "update measure.daily_mrr set new = new + 1 where new > 0"),
    (
      "history_is_what_periods_cover",
      """
      insert into measure.daily_movement
      select (jsonb_populate_record(
        total, jsonb_build_object('offer', 'code', 'day', moved.day, 'active', moved.active)
      )).*
      from (select * from measure.daily_movement order by day limit 1) as first_day
      inner join measure.daily_movement as total using (day)
      cross join (values ('2019-12-01', 1), ('2020-06-03', -1)) as moved (day, active)
      """
    ),
    (
      "totals_are_sums_of_entries",
      """
      insert into measure.daily_revenue
      select (jsonb_populate_record(total, '{"day": "2020-05-30", "offer": "code", "charges": 5}')).*
      from measure.daily_revenue as total limit 1
      """
    ),
    ("cohorts_are_new_customers", "update measure.daily_customer set paid_14d = paid_14d + 1 where new_customers > 0"),
    ("renewals_are_in_one_column", "update measure.daily_renewal set lost = lost + 1"),
    ("reporting_currency_is_itself", "update measure.daily_revenue set converted = converted - 1"),
    ("reporting_currency_is_itself", "update measure.daily_mrr set mrr = mrr + 1"),
    (
      "trials_are_in_one_column",
      """
      insert into measure.daily_trial values (1, 'Production', 'app_store', '', '', '2020-01-01', 2, 1, 0, 0, 0, 0)
      """
    ),
  ]

  @Test("a check that finds rows rolls the run back and names them", arguments: spoilers)
  func failingCheck(spoiler: (check: String, sql: String)) async throws {
    let (database, connection, facts) = try await prepared()
    try await facts.renewals(chain: 3, first: start, count: 5)
    _ = try await measure(database, asOf: day(135))
    try await connection.execute(spoiler.sql)
    try await facts.renewals(chain: 3, first: start, count: 1, from: 5, price: 8_990_000)
    let error = await #expect(throws: MeasureError.self) { try await measure(database, asOf: day(151)) }
    guard case .checksFailed(let checks) = error else {
      Issue.record("another error: \(String(describing: error))")
      return
    }
    #expect(checks.contains { $0.name == spoiler.check && !$0.rows.isEmpty })
    let state = try await connection.query(
      """
      select
        (select count(*) from ledger.unsettled) as unsettled,
        (select count(*) from measure.run where outcome = 'failed' and error is not null) as failed,
        (select count(*) from ledger.entry where at >= '2020-05-20') as entries
      """)[0]
    #expect(try state.int("unsettled") == 1)
    #expect(try state.int("failed") == 1)
    #expect(try state.int("entries") == 0)
    await connection.close()
  }

  @Test("facts that come while a run is at work neither wait for it nor are lost")
  func ingestIsNotBlocked() async throws {
    let (database, connection, facts) = try await prepared()
    try await facts.renewals(chain: 3, first: start, count: 1)
    let held = try await database.connect()
    // A run held open after all its writing, as long as the test likes.
    try await held.execute("begin isolation level repeatable read; delete from ledger.unsettled")
    try await connection.execute("set lock_timeout = '1ms'")
    try await facts.renewals(chain: 3, first: start, count: 1, from: 1)
    try await held.execute("commit")
    let result = try await measure(database, asOf: day(31))
    #expect(result.facts == 1)
    await held.close()
    await connection.close()
  }
}
