import Testing

@Suite("Figures: revenue", .fewAtOnce)
struct RevenueTests {
  private let plain = Life("a").buys("2025-02-01", until: "2025-03-03")
  private static let both = "day gross refunds net refunds_by_purchase_day net_by_purchase_day"

  @Test("a full refund ends access at its moment, is negative on its day, and is restated by purchase day beside it")
  func fullRefund() async throws {
    let program = try await Installation([plain.isRefunded("2025-02-04 12:00")], asOf: "2025-02-06")
    let active = try await program.lines("active_subscriptions", "day active_subscriptions")
    #expect(active == ["2025-02-01 1", "2025-02-02 1", "2025-02-03 1", "2025-02-04 0", "2025-02-05 0"])
    try await expect(program.lines("revenue", Self.both), is: ["2025-02-01 10 0 10 -10 0", "2025-02-04 0 -10 -10 0 0"])
    try await expect(program.movements(), is: ["2025-02-01 new", "2025-02-04 churned_refunded"])
    try await expect(
      program.lines("subscriptions", "status churned_on ends_at"),
      is: [
        "revoked 2025-02-04 2025-02-04T12:00:00.000Z"
      ])
  }

  @Test(
    "what a refund returns goes by its type",
    arguments: [
      ("full", nil, "-10 -10"), (nil, nil, "-10 -10"), ("prorated", 3.333333, "-3.333333 -3.333333"),
      ("family", nil, nil), ("assignment", nil, nil), ("prorated", nil, "- -"),
    ] as [(String?, Double?, String?)])
  func refundTypes(type: String?, amount: Double?, expected: String?) async throws {
    let program = try await Installation(
      [plain.isRefunded("2025-02-04 12:00", type, amount: amount)], asOf: "2025-02-06")
    // Each ends access.
    try await expect(program.movements(), is: ["2025-02-01 new", "2025-02-04 churned_refunded"])
    let lines = try await program.lines("revenue", "refunds net", ["--from", "2025-02-04"])
    // What returns nothing is no refund, and leaves no row.
    expect(lines, is: expected.map { [$0] } ?? [])
    let byPurchaseDay = try await program.lines("revenue", "gross refunds_by_purchase_day", ["--to", "2025-02-01"])
    let known = expected.flatMap { $0 == "- -" ? nil : $0.split(separator: " ").first.map(String.init) }
    #expect(byPurchaseDay == ["10 \(known ?? "0")"])
  }

  /// What was bought for a time that is empty.
  private func bare(_ life: Life, _ at: String, _ product: String = "monthly", with more: [String: any Sendable] = [:])
    -> Life
  { life.buys(at, until: at, product, price: 3, with: more) }

  @Test("what gives no time is a charge of the kind that the period before it makes")
  func bareKinds() async throws {
    let winBack: [String: any Sendable] = ["offer": ["type": "win_back", "offer_id": "o", "discount": "pay_as_you_go"]]
    let renewal = ["reason": "renewal"]
    let lost = { (chain: String) in
      Life(chain).buys("2025-01-01", until: "2025-02-01").says("2025-01-20", autoRenew: false)
    }
    let trial = Life("trial").tries("2025-02-01", until: "2025-03-01")
    for (life, kind) in [
      (bare(trial, "2025-02-10"), "trial_conversion"), (bare(Life("new"), "2025-02-10"), "initial"),
      (bare(Life("late"), "2025-02-10", with: renewal), "renewal"), (bare(plain, "2025-02-10"), "renewal"),
      (bare(plain, "2025-02-10", "other"), "crossgrade"), (bare(lost("a"), "2025-02-10"), "reactivation"),
      (bare(lost("b"), "2025-02-10", with: winBack), "win_back"),
      (bare(lost("c"), "2025-02-10", with: renewal), "billing_recovery"),
      (
        bare(Life("d").tries("2025-01-01", until: "2025-01-08").says("2025-01-03", autoRenew: false), "2025-02-10"),
        "initial"
      ), (bare(plain.isRefunded("2025-02-05"), "2025-02-10", with: renewal), "reactivation"),
    ] {
      let program = try await Installation([life], asOf: "2025-02-12")
      let charged = try await program.lines("revenue", "day kind charges gross", ["--from", "2025-02-10"])
      #expect(charged == ["2025-02-10 \(kind) 1 3"])
    }
  }

  @Test("days can be those of App Store Connect")
  func pacificDays() async throws {
    let life = Life("a").buys("2025-02-01 07:59:59", until: "2025-03-01").isRefunded("2025-02-03 08:00")
    let program = try await Installation([life], asOf: "2025-02-06", reporting: "timezone: \"pacific\"")
    try await expect(program.lines("revenue", "day net"), is: ["2025-01-31 10", "2025-02-03 -10"])
  }

  @Test("a charge of 0 that is refunded is a refunded charge, of 0")
  func refundOfNothing() async throws {
    let program = try await Installation(
      [
        Life("a").buys("2025-02-01", until: "2025-03-03", price: 0).isRefunded("2025-02-04"),
        Life("b").buys("2025-02-01", price: 0, with: ["type": "consumable"]).isRefunded("2025-02-04"),
        Life("c").buys("2025-02-01", price: 0, with: ["type": "consumable"]).isRefunded("2025-02-04", "family"),
      ], asOf: "2025-02-06")
    try await expect(
      program.lines("refunds", "day charges refunded_charges amount refunded_charges_by_purchase_day"),
      is: ["2025-02-01 3 0 0 2", "2025-02-04 0 2 0 0"])
  }

  @Test("a change of product recovered in grace is a charge of the change, not of the recovery")
  func changeInGrace() async throws {
    let life = plain.says("2025-03-03 00:01", retry: true, grace: "2025-03-17")
      .renews("2025-03-08", until: "2025-04-08", with: ["product_id": "premium", "price": 20])
    let program = try await Installation([life], asOf: "2025-03-10")
    try await expect(program.movements(), is: ["2025-02-01 new", "2025-03-08 moved_in moved_out upgraded"])
    try await expect(program.revenue(), is: ["2025-02-01 initial 1 10 0 USD", "2025-03-08 upgrade 1 20 0 USD"])
  }

  @Test("a refund after the period's end returns money and changes no access")
  func refundAfterEnd() async throws {
    let life = plain.renews(until: "2025-04-03").isRefunded("2025-03-10", nth: 1)
    let program = try await Installation([life], asOf: "2025-03-12")
    try await expect(program.movements(), is: ["2025-02-01 new", "2025-03-03 renewed"])
    try await expect(
      program.revenue(),
      is: [
        "2025-02-01 initial 1 10 0 USD", "2025-03-03 renewal 1 10 0 USD", "2025-03-10 initial 0 0 -10 USD",
      ])
  }

  @Test("a refund reversed before the period's end gives access and money back")
  func reversedBeforeEnd() async throws {
    let life = plain.isRefunded("2025-02-04").isRestored("2025-02-10")
    let program = try await Installation([plain.isRefunded("2025-02-04")], asOf: "2025-02-06")
    try await program.ingest([life])
    try await program.measure(asOf: "2025-02-12")
    try await expect(program.stocks("2025-02-09"), is: "")
    try await expect(program.stocks("2025-02-10"), is: "active_subscriptions 1")
    try await expect(
      program.movements(), is: ["2025-02-01 new", "2025-02-04 churned_refunded", "2025-02-10 refund_reversed"])
    try await expect(
      program.lines("revenue", Self.both),
      is: ["2025-02-01 10 0 10 0 10", "2025-02-04 0 -10 -10 0 0", "2025-02-10 0 10 10 0 0"])
    try await expect(program.lines("subscriptions", "status churned_on"), is: ["active -"])
  }

  @Test("a refund reversed after the period's end gives only the money back")
  func reversedAfterEnd() async throws {
    let program = try await Installation([plain.isRefunded("2025-02-04").isRestored("2025-03-10")], asOf: "2025-03-12")
    try await expect(program.movements(), is: ["2025-02-01 new", "2025-02-04 churned_refunded"])
    try await expect(
      program.revenue(),
      is: [
        "2025-02-01 initial 1 10 0 USD", "2025-02-04 initial 0 0 -10 USD", "2025-03-10 initial 0 0 10 USD",
      ])
  }

  @Test("a reversal whose refund was never seen changes nothing")
  func reversalAlone() async throws {
    let program = try await Installation([plain.isRestored("2025-02-10")], asOf: "2025-02-12")
    try await expect(program.movements(), is: ["2025-02-01 new"])
    try await expect(program.revenue(), is: ["2025-02-01 initial 1 10 0 USD"])
  }

  @Test("a charge belongs to the day of its purchase, not of its notice")
  func dayOfPurchase() async throws {
    let life = Life("a").buys("2025-02-02 00:00:20", until: "2025-03-02", said: "2025-02-01 23:59:50")
    let program = try await Installation([life], asOf: "2025-02-04")
    try await expect(program.revenue(), is: ["2025-02-02 initial 1 10 0 USD"])
  }

  @Test("amounts of different currencies are never added")
  func currencies() async throws {
    let lives = [
      Life("a").buys("2026-03-15", until: "2026-04-15", price: 9.99),
      Life("b").buys("2026-03-15", until: "2026-04-15", price: 8.5, "EUR"),
      Life("c").buys("2026-03-15", until: "2026-04-15", price: 300, "JPY"),
      Life("d").buys("2026-03-15", until: "2026-04-15", price: 3000, "JPY"),
      Life("e").buys("2026-03-15", until: "2026-04-15", price: 1.49, "KWD"),
    ]
    let program = try await Installation(lives, asOf: "2026-03-17")
    try await expect(
      program.lines("revenue", "currency charges gross", ["--group-by", "app"]).sorted(),
      is: ["EUR 1 8.5", "JPY 2 3300", "KWD 1 1.49", "USD 1 9.99"])
  }

  @Test("a charge of unknown price is counted, and its amount is unknown, not 0")
  func unpriced() async throws {
    let lives = [plain, Life("b").buys("2025-02-05", until: "2025-03-05", price: nil)]
    let program = try await Installation(lives, asOf: "2025-02-07")
    try await expect(
      program.lines("revenue", "day charges unpriced_charges gross net net_by_purchase_day currency"),
      is: ["2025-02-01 1 0 10 10 10 USD", "2025-02-05 1 1 - - - -"])
    try await expect(program.movements(), is: ["2025-02-01 new", "2025-02-05 new"])
    try await expect(
      program.lines("subscriptions", "original_transaction_id mrr currency").sorted(),
      is: [
        "a 10 USD", "b - -",
      ])
  }

  @Test("a price that comes later fills the charge; what a newer version leaves out is kept")
  func correctedPrice() async throws {
    let life = Life("a").buys("2025-02-01", until: "2025-03-01", price: nil)
    let program = try await Installation([life], asOf: "2025-02-03")
    let corrected = life.corrects("2025-02-03", ["price": 7.5, "currency": "USD"])
      .corrects("2025-02-04", ["expires_at": "2025-03-05T00:00:00Z"])
    try await program.ingest([corrected])
    try await program.measure(asOf: "2025-03-05 12:00")
    try await expect(program.revenue(), is: ["2025-02-01 initial 1 7.5 0 USD"])
    try await expect(program.stocks("2025-03-04"), is: "active_subscriptions 1")
  }

  @Test("renewal revenue holds renewals and recovered charges")
  func renewalRevenue() async throws {
    let life = Life("a").tries("2025-01-01", until: "2025-01-08")
      .renews(until: "2025-02-08", without: ["offer"], with: ["price": 10]).renews(
        until: "2025-03-08", with: ["price": 11]
      )
      .says("2025-03-08 00:01", retry: true).renews("2025-03-12", until: "2025-04-12", with: ["price": 12])
      .buys("2025-04-12", until: "2025-05-12", "premium", price: 20, reason: "renewal")
    let program = try await Installation([life], asOf: "2025-04-14")
    try await expect(
      program.revenue(),
      is: [
        "2025-01-08 trial_conversion 1 10 0 USD", "2025-02-08 renewal 1 11 0 USD",
        "2025-03-12 billing_recovery 1 12 0 USD", "2025-04-12 upgrade 1 20 0 USD",
      ])
    try await expect(
      program.lines("renewal_revenue", "day kind gross"),
      is: ["2025-02-08 renewal 11", "2025-03-12 billing_recovery 12"])
    try await expect(
      program.lines("renewal_revenue", "day charges gross", ["--by", "month", "--group-by", "app"]),
      is: ["2025-02-01 1 11", "2025-03-01 1 12"])
  }

  @Test("reported tax, commission and proceeds are used as given, and a refund takes back its share")
  func reportedProceeds() async throws {
    let life = Life("a").buys(
      "2025-02-01", until: "2025-03-01", price: 100,
      with: ["tax": 14.42, "commission": 30, "proceeds": 55.58])
    let other = Life("b").buys("2025-02-05", until: "2025-03-05")
    let program = try await Installation(
      [life.isRefunded("2025-02-10", "prorated", amount: 50), other], asOf: "2025-02-12")
    try await expect(
      program.lines("revenue", "day tax commission proceeds proceeds_basis"),
      is: [
        "2025-02-01 14.42 30 55.58 reported", "2025-02-05 - - - -", "2025-02-10 -7.21 -15 -27.79 reported",
      ])
  }

  @Test("a refund taken back on the day of another charge makes no unknown tax known")
  func reversalBesideCharge() async throws {
    let life = Life("a").buys("2025-02-01", until: "2025-03-01").renews(until: "2025-04-01").renews(until: "2025-05-01")
      .isRefunded("2025-04-10", nth: 2).isRestored("2025-05-01 12:00", nth: 2).renews(until: "2025-06-01")
    let program = try await Installation([life], asOf: "2025-05-02")
    try await expect(
      program.lines(
        "revenue", "charges gross refunds net tax commission proceeds proceeds_basis", ["--from", "2025-05-01"]),
      is: ["1 10 10 20 - - - -"])
  }

  @Test("a refund that ends the period of an upgrade is of the upgrade's kind, and so is its reversal")
  func refundedUpgrade() async throws {
    let life = Life("a").buys("2025-02-01", until: "2025-03-01").buys(
      "2025-02-10", until: "2025-03-10", "premium", price: 20
    ).isRefunded("2025-02-12")
    let program = try await Installation([life], asOf: "2025-02-14")
    let charges = ["2025-02-01 initial 1 10 0 USD", "2025-02-10 upgrade 1 20 0 USD"]
    try await expect(program.revenue(), is: charges + ["2025-02-12 upgrade 0 0 -20 USD"])
    try await program.ingest([life.isRestored("2025-02-15")])
    try await program.measure(asOf: "2025-02-17")
    try await expect(
      program.revenue(), is: charges + ["2025-02-12 upgrade 0 0 -20 USD", "2025-02-15 upgrade 0 0 20 USD"])
  }

  @Test("revenue is not spread over the period")
  func notSpread() async throws {
    let life = Life("a").buys("2025-02-01", until: "2026-02-01", "yearly", price: 12)
    let program = try await Installation([life], asOf: "2025-04-01")
    try await expect(
      program.lines("revenue", "day gross", ["--by", "month", "--group-by", "app"]), is: ["2025-02-01 12"])
    try await expect(program.lines("subscriptions", "mrr"), is: ["1"])
  }
}
