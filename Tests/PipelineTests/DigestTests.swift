import Foundation
import Postgres
import TestSupport
import Testing
import Vocabulary

/// The digests that runs make for targets that ask for them.
@Suite("Daily digests", .fewAtOnce)
struct DigestTests {
  /// An installation with a chat that wants digests of the days since `from`.
  private func installation(
    reporting: String = "", at: String = "09:00", zone: String = "Europe/Berlin", from: String = "2025-06-13",
    settings: String = ""
  ) async throws -> (Installation, Connection) {
    let program = try await Installation(
      reporting: reporting,
      targets: """
        { name: "team", type: "slack", url: "https://hooks.slack.com/services/T0/B0/secret", max_age: "36500d",
          from: "\(from)T00:00:00Z", digest: { at: "\(at)", timezone: "\(zone)" }, \(settings) }
        """)
    let connection = try await program.connect()
    try await program.run(["migrate"])
    try await connection.query(
      "update forward.target set digest_at = $1::text::time, digest_zone = $2", [.text(at), .text(zone)])
    return (program, connection)
  }

  /// The digests there are: their days and moments.
  private func days(_ connection: Connection) async throws -> [String] {
    try await connection.query(
      "select day || ' ' || to_char(occurred_at at time zone 'UTC', 'MM-DD HH24:MI') as told from forward.digest order by day"
    ).map { try $0.text("told") }
  }

  /// What a digest says, as JSON.
  private func text(_ connection: Connection, day: String) async throws -> String {
    try await connection.query(
      "select body -> 'detail' ->> 'digest' as digest from forward.digest where day = $1::text::date", [.text(day)])[0]
      .text("digest")
  }

  private func digest(_ connection: Connection, day: String) async throws -> DailyDigest {
    try JSONDecoder().decode(DailyDigest.self, from: Data(try await text(connection, day: day).utf8))
  }

  /// JSON with its keys sorted.
  private func sorted(_ json: String) throws -> String {
    let value = try JSONSerialization.jsonObject(with: Data(json.utf8))
    return String(decoding: try JSONSerialization.data(withJSONObject: value, options: .sortedKeys), as: UTF8.self)
  }

  private static let lives = [
    Life("new").buys("2025-06-13 10:00", until: "2025-07-13"),
    Life("renewed").buys("2025-05-13", until: "2025-06-13").renews(until: "2025-07-13"),
    Life("lost").buys("2025-05-13", until: "2025-06-13", "weekly", price: 5, with: ["period": "P1M"])
      .says("2025-05-14", autoRenew: false),
    Life("trial").tries("2025-06-13", until: "2025-06-20"),
    Life("recovered").buys("2025-05-01", until: "2025-06-01", "premium", price: 8, "EUR")
      .says("2025-06-01 00:01", retry: true).renews("2025-06-13", until: "2025-07-13"),
    Life("elsewhere", environment: "Sandbox").buys("2025-06-13", until: "2025-07-13"),
  ]

  @Test("the day's movements, renewals by currency and converted, MRR with its change, and what moved most")
  func content() async throws {
    let (program, connection) = try await installation()
    try await program.import("catalogue", "product_id,group_id,level,period\npremium,g,1,P1M\n", ["--app", "video"])
    try await program.ingest(Self.lives)
    try await program.measure(asOf: "2025-06-14 07:00")
    let expected = """
      {"day": "2025-06-13", "timezone": "UTC", "apps": ["video"],
       "new": 1, "trial_converted": 0, "reactivated": 0, "recovered": 1, "churned": 1, "suspended": 0,
       "trials_started": 1, "active_subscriptions": 3, "active_subscriptions_change": 1,
       "renewal_revenue": {
         "charges": 2, "unpriced_charges": 0,
         "net": [{"currency": "EUR", "amount": 8}, {"currency": "USD", "amount": 10}],
         "converted": 10, "converted_to": "USD", "unconverted_charges": 1},
       "mrr": {
         "by_currency": [
           {"currency": "EUR", "amount": 8, "change": 8}, {"currency": "USD", "amount": 20, "change": 5}],
         "converted": null, "change": null, "converted_to": "USD", "unpriced_subscriptions": 0},
       "movers": [
         {"app": "video", "product_id": "monthly", "name": null, "active_subscriptions_change": 1, "mrr_change": 10},
         {"app": "video", "product_id": "weekly", "name": null, "active_subscriptions_change": -1, "mrr_change": -5},
         {"app": "video", "product_id": "premium", "name": null, "active_subscriptions_change": 1,
          "mrr_change": null}]}
      """
    try await expect(sorted(text(connection, day: "2025-06-13")), is: sorted(expected))
    await connection.close()
  }

  @Test("with rates all is converted, and a quiet day is told too, with zeros")
  func converted() async throws {
    let (program, connection) = try await installation(from: "2025-06-13")
    try await program.import("rates", "Date,USD,\n2025-05-01,1.25,\n")
    try await program.ingest(Self.lives)
    try await program.measure(asOf: "2025-06-15 12:00")
    try await expect(
      days(connection), is: ["2025-06-12 06-13 07:00", "2025-06-13 06-14 07:00", "2025-06-14 06-15 07:00"])
    let busy = try await digest(connection, day: "2025-06-13")
    #expect(busy.renewalRevenue.converted == 20)
    #expect(busy.mrr.converted == 30 && busy.mrr.change == 15)
    #expect(busy.movers.map(\.mrrChange) == [10, 10, -5])
    let quiet = try await digest(connection, day: "2025-06-14")
    #expect(quiet.renewalRevenue.converted == 0 && quiet.renewalRevenue.net.isEmpty)
    #expect(quiet.activeSubscriptions == 3 && quiet.activeSubscriptionsChange == 0)
    #expect(quiet.mrr.change == 0 && quiet.movers.isEmpty)
    await connection.close()
  }

  @Test("made once, by the first run after its moment; later facts and runs leave it as it was told")
  func once() async throws {
    let (program, connection) = try await installation(from: "2025-06-14")
    try await program.ingest(Self.lives)
    try await program.measure(asOf: "2025-06-14 06:59")
    try await expect(days(connection), is: [])
    try await program.measure(asOf: "2025-06-14 07:00")
    try await expect(days(connection), is: ["2025-06-13 06-14 07:00"])
    let told = try await digest(connection, day: "2025-06-13")
    try await program.ingest([Life("late").buys("2025-06-13 12:00", until: "2025-07-13")])
    for options in [[], ["--rebuild"]] {
      try await program.measure(asOf: "2025-06-14 08:00", options)
      try await expect(days(connection), is: ["2025-06-13 06-14 07:00"])
      #expect(try await digest(connection, day: "2025-06-13") == told)
    }
    // It belongs to no app and no store, and is no event of any.
    try await expect(
      program.lines("deliveries", "app environment store target state"), is: ["- Production - team waiting"])
    try await expect(program.rows("events").filter { $0["source"] == "measure" }.count, is: 0)
    await connection.close()
  }

  @Test("of the last reporting day that is over: where the clock strikes before, it is told a day later")
  func otherZone() async throws {
    // That day ends at 07:00 UTC, which is 9 o'clock in Berlin.
    let (program, connection) = try await installation(reporting: "timezone: \"America/Los_Angeles\"")
    try await program.ingest(Self.lives)
    try await program.measure(asOf: "2025-06-15 07:00")
    try await expect(
      days(connection), is: ["2025-06-12 06-13 07:00", "2025-06-13 06-14 07:00", "2025-06-14 06-15 07:00"])
    #expect(try await digest(connection, day: "2025-06-12").timezone == "America/Los_Angeles")
    await connection.close()
    let (early, other) = try await installation(reporting: "timezone: \"America/Los_Angeles\"", at: "08:59")
    try await early.ingest(Self.lives)
    try await early.measure(asOf: "2025-06-15 07:00")
    try await expect(days(other), is: ["2025-06-11 06-13 06:59", "2025-06-12 06-14 06:59", "2025-06-13 06-15 06:59"])
    await other.close()
  }

  @Test("when clocks change every day is told once, at the hour that the clock shows")
  func summerTime() async throws {
    let (program, connection) = try await installation(from: "2025-03-29")
    try await program.ingest([Life("a").buys("2025-03-01", until: "2026-03-01")])
    try await program.measure(asOf: "2025-03-31 12:00")
    try await expect(
      days(connection), is: ["2025-03-28 03-29 08:00", "2025-03-29 03-30 07:00", "2025-03-30 03-31 07:00"])
    await connection.close()
  }

  @Test(
    "a time of day that a change of the clocks leaves out, or shows twice, tells every day once all the same",
    arguments: [
      ("2025-03-29", ["2025-03-28 03-29 01:30", "2025-03-29 03-30 01:30", "2025-03-30 03-31 00:30"]),
      ("2025-10-25", ["2025-10-24 10-25 00:30", "2025-10-25 10-26 01:30", "2025-10-26 10-27 01:30"]),
    ])
  func changedClocks(from: String, told: [String]) async throws {
    let (program, connection) = try await installation(at: "02:30", from: from)
    try await program.ingest([Life("a").buys("2025-03-01", until: "2026-03-01")])
    try await program.measure(asOf: "\(told[2].prefix(4))-\(told[2].dropFirst(11).prefix(5)) 12:00")
    try await expect(days(connection), is: told)
    await connection.close()
  }

  @Test(
    "on either side of the date line a day is told once, at the first such hour there after it is over",
    arguments: [("Pacific/Kiritimati", "19:00"), ("Pacific/Pago_Pago", "20:00")])
  func dateLine(zone: String, hour: String) async throws {
    let (program, connection) = try await installation(zone: zone)
    try await program.ingest(Self.lives)
    try await program.measure(asOf: "2025-06-15 07:00")
    try await expect(days(connection), is: ["2025-06-12 06-13 \(hour)", "2025-06-13 06-14 \(hour)"])
    await connection.close()
  }

  @Test("of the apps and the environment that the target wants; one that wants no digest gets none")
  func scope() async throws {
    let (program, connection) = try await installation(
      from: "2025-06-14", settings: "apps: [\"video\"], environments: [\"Sandbox\"]")
    try await program.ingest(Self.lives)
    try await program.measure(asOf: "2025-06-14 12:00")
    let told = try await digest(connection, day: "2025-06-13")
    #expect(told.new == 1 && told.activeSubscriptions == 1)
    let body = try await connection.query(
      "select body ->> 'app' as app, body ->> 'environment' as environment from forward.digest")[0]
    #expect(body["app"] == "video")
    #expect(body["environment"] == "Sandbox")
    await connection.close()
    let silent = try await Installation(
      targets: "{ name: \"team\", type: \"slack\", url: \"https://hooks.slack.com/services/T0/B0/secret\" }")
    try await silent.ingest(Self.lives)
    try await silent.run(["measure"])
    let looking = try await silent.connect()
    try await expect(days(looking), is: [])
    await looking.close()
  }

  @Test("what is sent is the event as it was made, the same on every attempt")
  func sent() async throws {
    let receiver = HTTPReceiver { index, _ in .status(index == 0 ? 500 : 200) }
    let program = try await Installation(
      targets: """
        { name: "backend", type: "webhook", url: "\(receiver.url)", secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
          allow_private_network: true }
        """)
    let connection = try await program.connect()
    try await program.run(["migrate"])
    try await connection.execute(
      """
      insert into forward.digest values (
        'backend', '2025-06-13', 'digest-1', '2025-06-14 07:00Z', now(),
        '{"app": null, "detail": {"digest": {"day": "2025-06-13", "timezone": "UTC", "apps": [], "new": 1,
        "trial_converted": 0, "reactivated": 0, "recovered": 0, "churned": 0, "suspended": 0, "trials_started": 0,
        "active_subscriptions": 1, "active_subscriptions_change": 1, "renewal_revenue": {"charges": 0,
        "unpriced_charges": 0, "net": [], "converted": 0, "converted_to": "USD", "unconverted_charges": 0},
        "mrr": {"by_currency": [{"currency": "USD", "amount": 9.99, "change": 0.1}], "converted": 9.99, "change": null,
        "converted_to": "USD", "unpriced_subscriptions": 0}, "movers": []}}, "environment": "Production",
        "event_id": "digest-1", "kind": "daily_digest", "occurred_at": "2025-06-14T07:00:00.000000Z",
        "store": "other"}');
      insert into forward.delivery (target, source, event_id, subscription_key, announces, due_at, created_at)
      values ('backend', 'measure', 'digest-1', 0, 'daily_digest:2025-06-13', now(), now())
      """)
    try await program.run(["forward", "--once"])
    try await connection.execute("update forward.delivery set due_at = now()")
    try await program.run(["forward", "--once"])
    let bodies = receiver.requests.map(\.text)
    try #require(bodies.count == 2)
    expect(bodies[0], is: bodies[1])
    #expect(receiver.requests[0].headers["webhook-id"] == "digest-1")
    #expect(bodies[0].contains(#""type":"daily_digest","timestamp":"2025-06-14T07:00:00.000Z""#), "\(bodies[0])")
    #expect(bodies[0].contains(#""by_currency":[{"amount":9.99,"change":0.1,"currency":"USD"}]"#), "\(bodies[0])")
    try await expect(program.lines("deliveries", "target state last_status"), is: ["backend delivered 200"])
    await connection.close()
  }
}
