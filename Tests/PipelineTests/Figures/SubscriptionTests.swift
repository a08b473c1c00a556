import Testing

@Suite("Figures: subscriptions, products and events", .fewAtOnce)
struct SubscriptionTests {
  struct Price: CustomTestStringConvertible {
    let price: Double
    let period: String
    let until: String
    let mrr: String
    var offer: [String: any Sendable]?
    var testDescription: String { "\(price) for \(period): \(mrr)" }
  }

  @Test(
    "the price of the running period, brought to a month",
    arguments: [
      Price(price: 8, period: "P1M", until: "2025-03-01", mrr: "8"),
      Price(price: 120, period: "P1Y", until: "2026-02-01", mrr: "10"),
      Price(price: 2.99, period: "P1W", until: "2025-02-08", mrr: "12.956667"),
      Price(price: 12, period: "P1Y", until: "2026-02-01", mrr: "1"),
      Price(price: 240, period: "P1Y", until: "2026-02-01", mrr: "20"),
      Price(price: 30, period: "P1M", until: "2025-03-01", mrr: "30"),
      Price(price: 108, period: "P1Y", until: "2026-02-01", mrr: "9"),
      Price(price: 1200, period: "P1Y", until: "2026-02-01", mrr: "100"),
      Price(price: 6, period: "P2W", until: "2025-02-15", mrr: "13"),
      Price(price: 6, period: "P14D", until: "2025-02-15", mrr: "13"),
      Price(price: 1, period: "P1D", until: "2025-02-02", mrr: "30.416667"),
      Price(price: 30, period: "P3M", until: "2025-05-01", mrr: "10"),
      Price(price: 30, period: "P6M", until: "2025-08-01", mrr: "5"),
      Price(
        price: 15, period: "P1M", until: "2025-05-01", mrr: "5",
        offer: ["type": "introductory", "discount": "pay_up_front", "period": "P3M"]),
    ])
  func monthlyPrice(price: Price) async throws {
    // Told, and shown by the dates alone; of a single day they show nothing, since stores sell no such length.
    let told = Life("a").buys(
      "2025-02-01", until: price.until, "p", price: price.price, offer: price.offer, with: ["period": price.period])
    let shown = Life("b").buys("2025-02-01", until: price.until, "q", price: price.price, offer: price.offer)
    let program = try await Installation(price.period == "P1D" ? [told] : [told, shown], asOf: "2025-02-01 12:00")
    let figures = try await program.lines("subscriptions", "mrr currency")
    expect(Set(figures), is: ["\(price.mrr) USD"])
  }

  @Test("two yearly ones of 240 and ten monthly ones of 30 make 340")
  func sumOfMonthlyPrices() async throws {
    let yearly = (1...2).map { Life("y\($0)").buys("2025-02-01", until: "2026-02-01", "yearly", price: 240) }
    let monthly = (1...10).map { Life("m\($0)").buys("2025-02-01", until: "2025-03-01", price: 30) }
    let program = try await Installation(yearly + monthly, asOf: "2025-02-10")
    let sum = try await program.rows("subscriptions").reduce(0) {
      $0 + (Int($1["mrr", default: .null].description) ?? 0)
    }
    #expect(sum == 340)
  }

  @Test("a subscription says where it stands: product, country, auto-renew, starts, ends, first paid, paid months")
  func columns() async throws {
    let life = Life("a", subscriber: "u").tries("2025-01-01", until: "2025-01-08")
      .renews(until: "2025-02-08", without: ["offer"], with: ["price": 10, "country": "DEU"]).renews(
        until: "2025-03-08"
      )
      .says("2025-02-20", autoRenew: true)
    let program = try await Installation([life], asOf: "2025-03-01")
    try await expect(
      program.lines(
        "subscriptions",
        "app environment store subscriber_id original_transaction_id status product_id country auto_renew starts_at ends_at first_paid_at paid_months"
      ),
      is: [
        "video Production app_store u a active monthly DEU true 2025-02-08T00:00:00.000Z 2025-03-08T00:00:00.000Z 2025-01-08T00:00:00.000Z 1"
      ])
  }

  @Test("products: the catalogue's word, else what the transactions show")
  func products() async throws {
    let program = try await Installation([], asOf: "2025-02-01")
    try await program.ingest([
      Life("a").buys("2025-02-01", until: "2025-03-01", "seen", with: ["group_id": "g1"]),
      Life("b").buys("2025-02-01", until: "2025-05-03", "listed"),
    ])
    try await program.import(
      "catalogue", "product_id,group_id,level,period\nlisted,g2,1,P3M\nunsold,g2,2,P1M\n", ["--app", "video"])
    try await program.measure(asOf: "2025-02-03")
    try await expect(
      program.lines("products", "product_id period level group").sorted(),
      is: ["listed P3M 1 g2", "seen P1M - g1", "unsold P1M 2 g2"])
  }

  @Test("events need no run, and show what each moved")
  func events() async throws {
    let program = try await Installation()
    try await program.ingest([Life("a").buys("2025-02-01", until: "2025-03-01").says("2025-02-02", autoRenew: false)])
    try await expect(
      program.lines(
        "events", "event_id source kind original_transaction_id transaction_id product_id occurred_at"
      )
      .sorted(),
      is: [
        "a/1 tenure entitlement_changed a a-1 monthly 2025-02-01T00:00:00.000Z",
        "a/2 tenure entitlement_changed a - - 2025-02-02T00:00:00.000Z",
      ])
  }

  @Test("a refund at or after the as-of moment takes no paid months away yet")
  func refundToCome() async throws {
    let life = Life("a").buys("2025-01-01", until: "2025-02-01").renews(until: "2025-03-01")
      .renews(until: "2025-04-01").isRefunded("2025-03-20", nth: 2)
    let program = try await Installation([life], asOf: "2025-03-20")
    try await expect(program.lines("subscriptions", "paid_months"), is: ["2"])
    try await program.measure(asOf: "2025-03-20 00:01")
    try await expect(program.lines("subscriptions", "paid_months"), is: ["1"])
  }

  @Test("every status at one moment: a trial in grace is a trial, and who is in grace is active and earns")
  func statuses() async throws {
    let program = try await Installation(
      [
        Life("a").tries("2025-03-01", until: "2025-03-08"),
        Life("b").tries("2025-02-22", until: "2025-03-01").says("2025-03-01 00:01", retry: true, grace: "2025-03-17"),
        Life("c").buys("2025-02-15", until: "2025-03-15"),
        Life("d").buys("2025-02-01", until: "2025-03-01").says("2025-03-01 00:01", retry: true, grace: "2025-03-17"),
        Life("e").tries("2025-02-22", until: "2025-03-01").says("2025-03-01 00:01", retry: true),
        Life("f").buys("2025-02-01", until: "2025-03-01").says("2025-03-01 00:01", retry: true),
        Life("g").buys("2025-02-01", until: "2025-03-01").says("2025-02-20", autoRenew: false),
        Life("h").buys("2025-02-15", until: "2025-03-15").isRefunded("2025-03-02"),
        Life("i").buys("2025-02-01", until: "2025-03-01").says(
          "2025-02-10", with: ["paused_at": "2025-03-01T00:00:00Z", "resumes_at": "2025-04-01T00:00:00Z"]),
      ], asOf: "2025-03-05")
    try await expect(
      program.lines("subscriptions", "original_transaction_id status mrr churned_on").sorted(),
      is: [
        "a trial - -", "b trial - -", "c active 10 -", "d grace 10 -", "e billing_retry - -", "f billing_retry - -",
        "g expired - 2025-03-01", "h revoked - 2025-03-02", "i paused - -",
      ])
  }

  @Test("a family-shared chain in a free period is a trial by its status, and in no other report")
  func familyTrial() async throws {
    let life = Life("a").buys(
      "2025-01-01", until: "2025-01-08", price: 0, offer: ["type": "introductory", "discount": "free_trial"],
      with: ["ownership": "family_shared"]
    ).renews(until: "2025-02-08", without: ["offer"], with: ["price": 10])
    let program = try await Installation([life], asOf: "2025-01-03")
    let columns = "status is_family_shared first_paid_at paid_months mrr currency"
    try await expect(program.lines("subscriptions", columns), is: ["trial true - - - -"])
    try await expect(program.stocks("2025-01-02"), is: "family_shared 1")
    try await expect(program.lines("trials", "started"), is: [])
    try await program.measure(asOf: "2025-01-10")
    try await expect(program.lines("subscriptions", columns), is: ["active true - - - -"])
    try await expect(program.stocks("2025-01-09"), is: "family_shared 1")
  }

  @Test("access that a pause ended has ended there, also when the pause is over; revoked is what a revocation ended")
  func endsAt() async throws {
    let paused = Life("a").buys("2025-04-01", until: "2025-05-15").says(
      "2025-04-05", with: ["paused_at": "2025-04-10T00:00:00Z", "resumes_at": "2025-05-10T00:00:00Z"])
    let late = Life("b").buys("2025-04-01", until: "2025-05-01").isRefunded("2025-05-01")
    let early = Life("c").buys("2025-04-01", until: "2025-05-01").isRefunded("2025-04-01")
    let midway = Life("d").buys("2025-04-01", until: "2025-05-01").isRefunded("2025-04-20")
    let program = try await Installation([paused, late, early, midway], asOf: "2025-04-20")
    let columns = "original_transaction_id status ends_at"
    try await expect(
      program.lines("subscriptions", columns).sorted().first, is: "a paused 2025-04-10T00:00:00.000Z")
    try await program.measure(asOf: "2025-06-02")
    try await expect(
      program.lines("subscriptions", columns).sorted(),
      is: [
        "a expired 2025-04-10T00:00:00.000Z", "b expired 2025-05-01T00:00:00.000Z",
        "c revoked 2025-04-01T00:00:00.000Z", "d revoked 2025-04-20T00:00:00.000Z",
      ])
  }

  @Test("each entry of a history names the event that says so, none that came after")
  func causes() async throws {
    let life = Life("a").buys("2025-01-01", until: "2025-02-01")
      .says("2025-02-01 00:01", autoRenew: true, retry: true, grace: "2025-02-07")
      .says("2025-02-07 00:01", autoRenew: true, retry: true)
      .says("2025-03-01", autoRenew: true, retry: false, reason: "billing")
      .isRefunded("2025-03-05")
    let silent = Life("b").buys("2025-01-01", until: "2025-02-01")
      .says("2025-05-01", autoRenew: false, reason: "voluntary")
    let columns = "original_transaction_id occurred_at kind event_id"
    let program = try await Installation([life, silent], asOf: "2025-02-05")
    func history() async throws -> [String] {
      try await program.lines("subscription_history", columns).map { $0.replacing("T00:00:00.000Z", with: "") }
    }
    try await expect(
      history().sorted(),
      is: [
        "a 2025-01-01 new a/1", "a 2025-02-01 grace_entered a/2", "b 2025-01-01 new b/1",
        "b 2025-02-01 churned_unconfirmed b/1",
      ])
    try await program.measure(asOf: "2025-03-10")
    try await expect(
      history().filter { $0.hasPrefix("a") },
      is: [
        "a 2025-01-01 new a/1", "a 2025-02-01 grace_entered a/2", "a 2025-02-07 churned_billing a/4",
        "a 2025-03-01 retry_ended a/4", "a 2025-03-05 refunded a/5",
      ])
  }
}
