import Foundation
import Postgres
import TestSupport
import Testing

@Suite("Figures: win-back rate and the events of becoming eligible", .fewAtOnce)
struct WinBackRateTests {
  private static let anytime = #"[{"offer_id": "o", "app": "video"}]"#

  /// A life that was paid for a month and ended with auto-renew off.
  private func ended(_ chain: String, _ until: String = "2025-02-01", price: Double? = 10) -> Life {
    Life(chain, subscriber: chain).buys("2025-01-01", until: until, price: price).says("2025-01-02", autoRenew: false)
  }

  private func rates(_ program: Installation, _ options: [String] = []) async throws -> [String] {
    try await program.lines(
      "win_back_rate", "month offer_id became_eligible came_back came_back_with_offer rate is_complete", options)
  }

  private func rates(_ lives: [Life], asOf: String, rules: String = Self.anytime, reporting: String = "") async throws
    -> [String]
  {
    let program = try await Installation(reporting: reporting)
    try await program.import("winback", rules)
    try await program.ingest(lives)
    try await program.measure(asOf: asOf)
    return try await rates(program)
  }

  /// The events that runs made: chain, kind and moment.
  private func events(_ program: Installation) async throws -> [String] {
    try await program.rows("events").filter { $0["source"] == "measure" }.map { row in
      ["original_transaction_id", "kind", "occurred_at", "product_id"].map { "\(row[$0, default: .null])" }
        .joined(separator: " ").replacing("T00:00:00.000Z", with: "")
    }.sorted()
  }

  @Test("those that came back within 30 days of becoming eligible, with the offer, with another and at full price")
  func rate() async throws {
    func back(_ chain: String, _ at: String, offer: String? = nil, discount: String = "pay_as_you_go") -> Life {
      ended(chain).buys(
        at, until: "2025-05-01", price: discount == "free_trial" ? 0 : 5,
        offer: offer.map { ["type": "win_back", "id": $0, "discount": discount] })
    }
    let lives = [
      back("offer", "2025-02-10", offer: "o"), back("other offer", "2025-02-10", offer: "p"),
      back("full price", "2025-02-10"), back("free trial", "2025-03-03", offer: "o", discount: "free_trial"),
      back("a day late", "2025-03-04", offer: "o"), ended("never"), ended("in march", "2025-03-01"),
      Life("running").buys("2025-01-01", until: "2026-01-01"),
      Life("trial").tries("2025-01-01", until: "2025-02-01").says("2025-01-02", autoRenew: false),
      Life("shared").buys("2025-01-01", until: "2025-02-01", with: ["ownership": "family_shared"])
        .says("2025-01-02", autoRenew: false),
    ]
    try await expect(
      rates(lives, asOf: "2025-04-01"),
      is: ["2025-02-01 o 6 4 2 0.666667 true", "2025-03-01 o 1 0 0 0 false"])
  }

  @Test("a month is complete when it and the 30 days after it are over, and days are of the reporting zone")
  func complete() async throws {
    let program = try await Installation()
    try await program.import("winback", Self.anytime)
    try await program.ingest([ended("a").buys("2025-03-04", until: "2025-04-04")])
    try await program.measure(asOf: "2025-03-30")
    try await expect(rates(program), is: ["2025-02-01 o 1 0 0 0 false"])
    try await program.measure(asOf: "2025-03-31")
    try await expect(rates(program), is: ["2025-02-01 o 1 0 0 0 true"])
    // There it was lost on 31 January, and came back on 3 March, the 31st day after it.
    try program.configure(reporting: "timezone: \"America/New_York\"")
    try await program.measure(asOf: "2025-03-31 12:00")
    try await expect(rates(program), is: ["2025-01-01 o 1 0 0 0 true"])
    // In Tokyo's night the month has begun already.
    try program.configure(reporting: "timezone: \"Asia/Tokyo\"")
    try await program.measure(asOf: "2025-03-31 12:00")
    try await expect(rates(program), is: ["2025-02-01 o 1 0 0 0 true"])
  }

  @Test(
    "eligible from the last condition on: months away, the wait, open retry, the offer's dates, auto-renew, the list")
  func conditions() async throws {
    let rules = """
      [{"offer_id": "away", "app": "video", "min_months_since": 2, "max_months_since": 3},
       {"offer_id": "dated", "app": "video", "starts_on": "2025-05-10", "ends_on": "2025-05-20"},
       {"offer_id": "long", "app": "video", "min_paid_months": 6},
       {"offer_id": "far", "app": "video", "territories": ["DEU"]},
       {"offer_id": "other", "app": "video", "product_ids": ["yearly"]}]
      """
    let program = try await Installation()
    try await program.import("winback", rules)
    try await program.ingest([
      ended("a"),
      // Still long enough away, and not too long, when auto-renew is switched off at last.
      ended("switched").says("2025-01-05", autoRenew: true).says("2025-05-12", autoRenew: false),
      // Retry ends after 60 days, on 2 April.
      Life("retried").buys("2025-01-01", until: "2025-02-01").says("2025-02-01 00:01", retry: true),
      // The store's list stands for the months that are counted, not for the dates.
      ended("listed").says("2025-02-10", offers: ["long", "dated"]).says("2025-03-10", offers: [])
        .says("2025-03-20", offers: ["long"]),
      // Back before it was long enough away.
      ended("early").buys("2025-03-20", until: "2026-03-20"),
    ])
    try await program.measure(asOf: "2025-06-15")
    let found = try await program.connect().query(
      """
      select chain.original_transaction_id || ' ' || offer_id || ' ' || (eligible_at at time zone 'UTC')::date as row
      from ledger.winback inner join fact.chain using (subscription_key) order by 1
      """
    ).map { try $0.text("row") }
    expect(
      found,
      is: [
        "a away 2025-04-01", "a dated 2025-05-10", "listed long 2025-02-10", "listed long 2025-03-20",
        "retried away 2025-04-02", "retried dated 2025-05-10", "switched away 2025-05-12", "switched dated 2025-05-12",
      ])
    // Listed a second time it becomes eligible again, in another month.
    try await expect(
      rates(program).map { $0.split(separator: " ").prefix(3).joined(separator: " ") },
      is: ["2025-02-01 long 1", "2025-03-01 long 1", "2025-04-01 away 2", "2025-05-01 away 1", "2025-05-01 dated 3"])
  }

  @Test("the wait counts from the end of the last use of the same offer, and each absence of a chain by itself")
  func wait() async throws {
    let rules = #"[{"offer_id": "o", "app": "video", "wait_months": 3}]"#
    let life = ended("a").buys("2025-02-10", until: "2025-03-10", offer: ["type": "win_back", "id": "o"])
      .says("2025-02-11", autoRenew: false)
    try await expect(
      rates([life], asOf: "2025-08-01", rules: rules),
      is: ["2025-02-01 o 1 1 1 1 true", "2025-06-01 o 1 0 0 0 true"])
  }

  @Test("chains that continue one another come back as one")
  func joined() async throws {
    let lives = [
      ended("old"),
      Life("new").continues("old", at: "2025-02-10").buys(
        "2025-02-10", until: "2025-03-10", offer: ["type": "win_back", "id": "o"]
      )
      .says("2025-02-11", autoRenew: true),
    ]
    try await expect(rates(lives, asOf: "2025-03-01"), is: ["2025-02-01 o 1 1 1 1 false"])
  }

  @Test("offers that are imported later are judged for the months before them, and those taken away are not")
  func offersChange() async throws {
    let program = try await Installation()
    try await program.ingest([ended("a")])
    try await program.measure(asOf: "2025-03-01")
    try await expect(rates(program), is: [])
    try await program.import("winback", Self.anytime)
    try await program.measure(asOf: "2025-03-01")
    try await expect(rates(program), is: ["2025-02-01 o 1 0 0 0 false"])
    try await expect(events(program), is: ["a winback_eligible 2025-02-01 monthly"])
    try await program.import("winback", #"[{"offer_id": "p", "app": "video", "min_months_since": 1}]"#)
    try await program.measure(asOf: "2025-03-02")
    try await expect(rates(program), is: ["2025-03-01 p 1 0 0 0 false"])
    try await expect(events(program), is: ["a winback_eligible 2025-03-01 monthly"])
  }

  @Test("it cannot be read as it was known, but from a month on")
  func options() async throws {
    let program = try await Installation()
    try await program.import("winback", Self.anytime)
    try await program.ingest([ended("a"), ended("b", "2025-03-01")])
    try await program.measure(asOf: "2025-04-01")
    try await expect(rates(program, ["--from", "2025-03-01"]), is: ["2025-03-01 o 1 0 0 0 false"])
    let refused = try await program.start(["report", "win_back_rate", "--as-known-at", "2025-04-01T00:00:00Z"]).ended()
    expect(refused.code, is: 2)
  }

  // MARK: - Events

  @Test("a run makes an event of each beginning once its time has come, and a second run makes none")
  func eventsOnce() async throws {
    let program = try await Installation()
    try await program.import("winback", #"[{"offer_id": "o", "app": "video", "min_months_since": 2}]"#)
    try await program.ingest([ended("a")])
    try await program.measure(asOf: "2025-03-31")
    try await expect(events(program), is: [])
    // Without a new fact.
    try await program.measure(asOf: "2025-04-01")
    try await expect(events(program), is: ["a winback_eligible 2025-04-01 monthly"])
    let ids = try await program.rows("events").filter { $0["source"] == "measure" }.map { $0["event_id"] }
    for options in [[], ["--rebuild"]] {
      try await program.measure(asOf: "2025-04-02", options)
      let again = try await program.rows("events").filter { $0["source"] == "measure" }.map { $0["event_id"] }
      expect(again, is: ids)
    }
    // No figure is made of it.
    try await expect(program.measure(asOf: "2025-04-03", ["--rebuild"]), is: 0)
  }

  @Test("what later facts take back is no event any more, whatever the order in which they came")
  func order() async throws {
    let life = ended("a").corrects("2025-02-03", ["expires_at": "2025-03-01T00:00:00Z"])
      .corrects("2025-02-04", ["product_id": "yearly"])
    var found: [[String]] = []
    for runs in [[life.events], life.events.map { [$0] }, life.events.reversed().map { [$0] }] {
      let program = try await Installation()
      try await program.import("winback", Self.anytime)
      for (index, lines) in runs.enumerated() {
        try await program.ingest(lines: lines)
        try await program.measure(asOf: "2025-04-0\(index + 1)")
      }
      found.append(try await events(program))
    }
    expect(found, is: Array(repeating: ["a winback_eligible 2025-03-01 yearly"], count: 3))
  }

  @Test("targets are told each offer once, with its id, also when the run was killed and done again; not of history")
  func announced() async throws {
    let receiver = HTTPReceiver()
    let program = try await Installation(targets: Self.target(receiver))
    try await program.run(["migrate"])
    try await program.import(
      "winback", #"[{"offer_id": "o", "app": "video"}, {"offer_id": "p", "app": "video", "min_months_since": 1}]"#)
    let now = Date.now
    func moment(_ days: Double) -> String {
      now.addingTimeInterval(days * 86_400).formatted(.iso8601).replacing("T", with: " ").replacing("Z", with: "")
    }
    func life(_ chain: String, until days: Double) -> Life {
      Life(chain, subscriber: "u-\(chain)").buys(moment(days - 30), until: moment(days)).says(
        moment(days - 29), autoRenew: false)
    }
    // Lost an hour ago, long ago, and long ago with auto-renew on until an hour ago.
    try await program.ingest([
      life("fresh", until: -1.0 / 24), life("old", until: -400),
      life("switched", until: -70).says(moment(-80), autoRenew: true).says(moment(-1.0 / 24), autoRenew: false),
    ])
    let connection = try await program.connect()
    try await connection.execute("begin; lock table forward.delivery in exclusive mode")
    let run = try program.start(["measure"])
    try await waiting(for: "the run to wait for the table") {
      try await !connection.query("select from pg_locks where relation = 'forward.delivery'::regclass and not granted")
        .isEmpty
    }
    run.send(SIGKILL)
    _ = await run.ended()
    try await connection.execute("rollback")
    for _ in 1...2 { try await program.run(["measure"]) }
    try await program.run(["forward", "--once"])
    let bodies = try receiver.requests.map { request in
      let body = try #require(try JSONSerialization.jsonObject(with: Data(request.body)) as? [String: Any])
      let data = try #require(body["data"] as? [String: Any])
      let detail = try #require(data["detail"] as? [String: Any])
      return [body["type"], data["original_transaction_id"], data["subscriber_id"], detail["offer_id"]]
        .map { "\($0 ?? "-")" }.joined(separator: " ")
    }
    expect(
      bodies.sorted(),
      is: [
        "winback_eligible fresh u-fresh o", "winback_eligible switched u-switched o",
        "winback_eligible switched u-switched p",
      ])
    let deliveries = try await program.lines("deliveries", "app environment store target state")
    expect(deliveries, is: Array(repeating: "video Production app_store backend delivered", count: 3))
    // All of them are listed.
    try await expect(events(program).count, is: 5)
    await connection.close()
  }

  private static func target(_ receiver: HTTPReceiver) -> String {
    """
    { name: "backend", type: "webhook", url: "\(receiver.url)", secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
      allow_private_network: true, from: "2020-01-01T00:00:00Z", events: ["winback_eligible"] }
    """
  }
}
