import Testing

@Suite("Figures: MRR and its movements", .fewAtOnce)
struct MRRTests {
  @Test("MRR is the running period's price brought to a month, per currency, and ARR is twelve of it")
  func stock() async throws {
    let program = try await Installation(
      [
        Life("a").buys("2025-02-01", until: "2026-02-01", "yearly", price: 240, with: ["period": "P1Y"]),
        Life("b").buys("2025-02-01", until: "2026-02-01", "yearly", price: 240, with: ["period": "P1Y"]),
        Life("c").buys("2025-02-01", until: "2025-03-01", price: 30),
        Life("d").buys("2025-02-02", until: "2025-03-02", price: 8.5, "EUR", country: "DEU"),
        Life("e").buys("2025-02-02", until: "2025-03-02", price: nil),
        Life("f").tries("2025-02-02", until: "2025-02-09"),
      ], asOf: "2025-02-03")
    try await expect(
      program.lines("mrr", "day product_id country currency mrr arr unpriced_subscriptions"),
      is: [
        "2025-02-01 monthly USA USD 30 360 0", "2025-02-01 yearly USA USD 40 480 0",
        "2025-02-02 monthly DEU EUR 8.5 102 0", "2025-02-02 monthly USA USD 30 360 0",
        "2025-02-02 monthly USA - - - 1", "2025-02-02 yearly USA USD 40 480 0",
      ])
    try await expect(
      program.lines("mrr", "currency mrr", ["--group-by", "app", "--from", "2025-02-02"]),
      is: ["EUR 8.5", "USD 70", "- -"])
  }

  @Test("where the transaction does not tell its length the catalogue does, and then what is nearest")
  func lengthFromCatalogue() async throws {
    let program = try await Installation()
    try await program.import("catalogue", "product_id,level,period\nmonthly,1,P1M\n", ["--app", "video"])
    try await program.ingest([
      Life("a").buys("2025-02-01", until: "2025-02-13", price: 12),
      Life("b").buys("2025-02-01", until: "2025-02-13", "other", price: 12),
    ])
    try await program.measure(asOf: "2025-02-03")
    let columns = "product_id mrr"
    let now = ["--from", "2025-02-02"]
    try await expect(program.lines("mrr", columns, now), is: ["monthly 12", "other 26"])
    // A catalogue that says otherwise is a changed setting.
    try await program.import("catalogue", "product_id,level,period\nmonthly,1,P2M\n", ["--app", "video"])
    let posted = try await program.measure(asOf: "2025-02-03")
    #expect(posted == 0)
    try await expect(program.lines("mrr", columns, now), is: ["monthly 6", "other 26"])
  }

  @Test(
    "half a micro goes to the even neighbour",
    arguments: [(0.000005, "0.000002"), (0.000007, "0.000004"), (0.000001, "0")]
  )
  func halfToEven(price: Double, mrr: String) async throws {
    let life = Life("a").buys("2025-02-01", until: "2025-04-01", price: price, with: ["period": "P2M"])
    let program = try await Installation([life], asOf: "2025-02-02")
    try await expect(program.lines("mrr", "mrr"), is: mrr == "0" ? [] : [mrr])
    try await expect(program.lines("subscriptions", "mrr"), is: [mrr])
  }

  @Test("RevenueCat's factors are day x 30 and week x 4, and a change of factors posts nothing")
  func factors() async throws {
    let program = try await Installation(
      [
        Life("a").buys("2025-02-01", until: "2025-02-08", "weekly", price: 2.99, with: ["period": "P1W"]),
        Life("b").buys("2025-02-01", until: "2025-02-15", "fortnight", price: 6, with: ["period": "P14D"]),
        Life("c").buys("2025-02-01", until: "2025-02-04", "days", price: 1, with: ["period": "P3D"]),
      ], asOf: "2025-02-02")
    try await expect(
      program.lines("mrr", "product_id mrr"), is: ["days 10.138889", "fortnight 13", "weekly 12.956667"])
    try program.configure(reporting: "mrr_factors: \"revenuecat\"")
    try await expect(program.measure(asOf: "2025-02-02"), is: 0)
    try await expect(program.lines("mrr", "product_id mrr"), is: ["days 10", "fortnight 12", "weekly 11.96"])
    try await expect(program.lines("subscriptions", "mrr").sorted(), is: ["10", "11.96", "12"])
    try await expect(
      program.mrrMovements(by: "product_id"),
      is: [
        "2025-02-01 days USD new 10", "2025-02-01 fortnight USD new 12", "2025-02-01 weekly USD new 11.96",
      ])
  }

  @Test("a higher price at a renewal is expansion, a lower one contraction, the same nothing")
  func priceChange() async throws {
    let life = Life("a").buys("2025-01-01", until: "2025-02-01").renews(until: "2025-03-01", with: ["price": 12])
      .renews(until: "2025-04-01", with: ["price": 12]).renews(until: "2025-05-01", with: ["price": 9])
    let program = try await Installation([life], asOf: "2025-04-02")
    try await expect(
      program.mrrMovements(),
      is: ["2025-01-01 USD new 10", "2025-02-01 USD expansion 2", "2025-04-01 USD contraction -3"])
  }

  @Test("a change of product or country moves the old MRR and posts the difference in the new row")
  func rowChange() async throws {
    let life = Life("a").buys("2025-01-01", until: "2025-02-01")
      .buys("2025-02-01", until: "2025-03-01", "premium", price: 15, reason: "renewal")
      .renews(until: "2025-04-01", with: ["country": "CAN"])
    let program = try await Installation([life], asOf: "2025-03-02")
    try await expect(
      program.mrrMovements(by: "product_id,country"),
      is: [
        "2025-01-01 monthly USA USD new 10", "2025-02-01 monthly USA USD moved_out -10",
        "2025-02-01 premium USA USD expansion 5 moved_in 10", "2025-03-01 premium CAN USD moved_in 15",
        "2025-03-01 premium USA USD moved_out -15",
      ])
  }

  @Test("a change of offer alone stays in its row: the offer's end is expansion")
  func offerChange() async throws {
    let program = try await Installation(
      [
        Life("b").buys("2025-01-01", until: "2025-02-01", price: 4, offer: ["type": "introductory"])
          .renews(until: "2025-03-01", without: ["offer"], with: ["price": 10])
      ], asOf: "2025-02-02")
    try await expect(
      program.mrrMovements(), is: ["2025-01-01 USD new 4", "2025-02-01 USD expansion 6"])
  }

  @Test("a change of currency moves the whole old and the whole new MRR")
  func currencyChange() async throws {
    let life = Life("a").buys("2025-01-01", until: "2025-02-01")
      .renews(until: "2025-03-01", with: ["price": 8.5, "currency": "EUR", "country": "DEU"])
    let program = try await Installation([life], asOf: "2025-02-02")
    try await expect(
      program.mrrMovements(),
      is: ["2025-01-01 USD new 10", "2025-02-01 EUR moved_in 8.5", "2025-02-01 USD moved_out -10"])
  }

  @Test("a period of unknown price belongs to no currency: left by moved_out, entered by moved_in, and counted")
  func unknownPrice() async throws {
    let life = Life("a").buys("2025-01-01", until: "2025-02-01")
      .renews(until: "2025-03-01", without: ["price", "currency"])
      .renews(until: "2025-04-01", with: ["price": 11, "currency": "USD"])
      .says("2025-03-20", autoRenew: false)
    let unknown = Life("b").buys("2025-01-15", until: "2025-02-15", price: nil).says("2025-02-01", autoRenew: false)
    let program = try await Installation([life, unknown], asOf: "2025-04-02")
    try await expect(
      program.mrrMovements(),
      is: [
        "2025-01-01 USD new 10", "2025-02-01 USD moved_out -10", "2025-03-01 USD moved_in 11",
        "2025-04-01 USD churn -11",
      ])
    let counts = try await program.lines("mrr", "day unpriced_subscriptions", ["--group-by", "app"])
      .filter { $0.hasSuffix(" 1") || $0.hasSuffix(" 2") }
    expect(counts.first, is: "2025-01-15 1")
    expect(counts.filter { $0.hasSuffix(" 2") }.count, is: 14)
    expect(counts.last, is: "2025-02-28 1")
  }

  @Test("a free period after a paid one contracts to 0, and the charge after it expands")
  func freePeriod() async throws {
    let life = Life("a").buys("2025-01-01", until: "2025-02-01")
      .buys(
        "2025-02-01", until: "2025-03-01", price: nil, reason: "renewal",
        offer: ["type": "promotional", "id": "gift", "discount": "free_trial"]
      )
      .buys("2025-03-01", until: "2025-04-01", reason: "renewal")
    let program = try await Installation([life], asOf: "2025-03-02")
    try await expect(
      program.mrrMovements(),
      is: ["2025-01-01 USD new 10", "2025-02-01 USD contraction -10", "2025-03-01 USD expansion 10"])
  }

  @Test("churn, suspension, recovery, pause, resumption, reactivation, refund and its reversal have their columns")
  func losses() async throws {
    let program = try await Installation(
      [
        Life("churned").buys("2025-01-01", until: "2025-02-01").says("2025-01-20", autoRenew: false)
          .buys("2025-02-10", until: "2025-03-10"),
        Life("retried").buys("2025-01-02", until: "2025-02-02", price: 20).says("2025-02-02 00:01", retry: true)
          .renews("2025-02-06", until: "2025-03-06"),
        Life("paused").buys("2025-01-03", until: "2025-02-03", price: 30)
          .says("2025-01-20", with: ["paused_at": "2025-02-03T00:00:00Z", "resumes_at": "2025-02-13T00:00:00Z"])
          .renews("2025-02-13", until: "2025-03-13"),
        Life("refunded").buys("2025-01-04", until: "2025-02-24", price: 40).isRefunded("2025-02-04")
          .isRestored("2025-02-14"),
      ], asOf: "2025-02-20")
    try await expect(
      program.mrrMovements(["--from", "2025-02-01"]),
      is: [
        "2025-02-01 USD churn -10", "2025-02-02 USD suspension -20", "2025-02-03 USD suspension -30",
        "2025-02-04 USD churn -20", "2025-02-06 USD recovery 20", "2025-02-10 USD reactivation 10",
        "2025-02-13 USD recovery 30", "2025-02-14 USD reactivation 20",
      ])
  }

  @Test("a month's movements are their sum, its opening and closing those of its first and last day")
  func months() async throws {
    let life = Life("a").buys("2025-01-10", until: "2025-02-10").renews(until: "2025-03-10", with: ["price": 12])
      .says("2025-03-01", autoRenew: false)
    let program = try await Installation([life], asOf: "2025-04-01")
    try await expect(
      program.lines(
        "mrr_movement", "day opening new expansion churn closing is_complete", ["--by", "month"]),
      is: ["2025-01-01 0 10 0 0 10 true", "2025-02-01 10 0 2 0 12 true", "2025-03-01 12 0 0 -12 0 true"])
    try await expect(program.lines("mrr", "day mrr arr", ["--by", "quarter"]), is: ["2025-01-01 0 0"])
  }

  @Test(
    "a yearly price is a twelfth in each of its twelve months, and each month opens with what the one before closed")
  func waterfall() async throws {
    let program = try await Installation(
      [Life("a").buys("2025-01-10", until: "2026-01-10", "yearly", price: 120)], asOf: "2026-02-01")
    try await expect(
      program.lines("mrr", "day mrr", ["--by", "month"]),
      is: (1...12).map { "2025-\($0 < 10 ? "0" : "")\($0)-01 10" } + ["2026-01-01 0"])
    try await program.ingest([
      Life("b").buys("2026-01-10", until: "2026-02-10", price: 50).renews(until: "2026-03-10"),
      Life("c").buys("2026-02-10", until: "2026-03-10", price: 30),
    ])
    try await program.measure(asOf: "2026-03-01")
    try await expect(
      program.lines(
        "mrr_movement", "day opening new churn closing", ["--by", "month", "--from", "2026-01-01", "--group-by", "app"]),
      is: ["2026-01-01 10 50 -10 50", "2026-02-01 50 30 0 80"])
  }
}
