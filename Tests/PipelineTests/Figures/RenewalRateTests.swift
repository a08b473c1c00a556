import Testing

@Suite("Figures: renewal rate, billing recovery and refunds", .fewAtOnce)
struct RenewalRateTests {
  private static let renewal =
    "day due renewed recovered_in_grace recovered_in_retry changed_product lost open renewal_rate renewal_rate_store"
  private static let recovery =
    "day entered_grace entered_retry recovered_in_grace recovered_in_retry lost open recovery_rate"

  private func monthly(_ chain: String) -> Life { Life(chain).buys("2025-01-01", until: "2025-02-01") }

  @Test("each renewal that was due is in exactly one column, by the day of the expiry, as of each moment")
  func renewals() async throws {
    let lives = [
      monthly("renewed").renews(until: "2025-03-01"),
      monthly("early").renews("2025-02-01 20:00", until: "2025-03-01 20:00"),
      monthly("grace").says("2025-02-01 00:01", retry: true, grace: "2025-02-17")
        .renews("2025-02-03", until: "2025-03-03"),
      monthly("retry").says("2025-02-01 00:01", retry: true).renews("2025-02-08", until: "2025-03-08"),
      monthly("upgraded").renews(until: "2025-03-01", with: ["product_id": "yearly"]),
      monthly("off").says("2025-01-20", autoRenew: false),
      monthly("silent"),
      monthly("waits").says("2025-02-01 00:01", retry: true),
      // None of these was due.
      monthly("replaced").buys("2025-01-20", until: "2025-03-20", "yearly"),
      monthly("refunded").isRefunded("2025-01-20"),
      monthly("paused").says("2025-01-10", with: ["paused_at": "2025-01-25T00:00:00Z"]),
      Life("trial").tries("2025-01-25", until: "2025-02-01")
        .renews(until: "2025-03-01", without: ["offer"], with: ["price": 10]),
      Life("family").buys("2025-01-01", until: "2025-02-01", with: ["ownership": "family_shared"]),
    ]
    let program = try await Installation(lives, asOf: "2025-02-01")
    try await expect(program.lines("renewal_rate", Self.renewal), is: [])
    try await program.measure(asOf: "2025-02-01 12:00")
    try await expect(
      program.lines("renewal_rate", Self.renewal), is: ["2025-02-01 8 1 0 0 1 1 5 0.25 0.125"])
    try await program.measure(asOf: "2025-02-10")
    try await expect(
      program.lines("renewal_rate", Self.renewal), is: ["2025-02-01 8 2 1 1 1 2 1 0.625 0.5"])
    // The store gives up after 60 days.
    try await program.measure(asOf: "2025-02-28", ["--rebuild"])
    try await program.measure(asOf: "2025-04-20")
    try await expect(
      program.lines("renewal_rate", Self.renewal, ["--to", "2025-02-28"]),
      is: ["2025-02-01 8 2 1 1 1 3 0 0.625 0.5"])
    try await expect(
      program.lines(
        "renewal_rate", "day due renewal_rate renewal_rate_store",
        ["--by", "quarter", "--group-by", "app", "--to", "2025-03-31"]),
      is: ["2025-01-01 15 0.333333 0.266667"])
  }

  @Test("a free period after a paid one is due, and a change of product waited for is open")
  func freeAndChanged() async throws {
    let free: [String: any Sendable] = ["price": 0, "offer": ["type": "promotional", "discount": "free_trial"]]
    let lives = [
      monthly("free").renews(until: "2025-03-01", with: free).renews(until: "2025-04-01", without: ["offer"]),
      monthly("grace").says("2025-02-01 00:01", retry: true, grace: "2025-02-17")
        .renews("2025-02-03", until: "2025-03-03", with: ["product_id": "yearly"]),
    ]
    let program = try await Installation(lives, asOf: "2025-03-02")
    try await expect(
      program.lines("renewal_rate", Self.renewal),
      is: ["2025-02-01 2 1 1 0 0 0 0 1 1", "2025-03-01 1 1 0 0 0 0 0 1 1"])
    try await expect(
      program.lines("renewal_rate", "day product_id due", ["--from", "2025-02-01", "--to", "2025-02-01"]),
      is: ["2025-02-01 monthly 2"])
  }

  @Test("each failed charge is in exactly one column, by the day it failed, after trials too")
  func failures() async throws {
    let lives = [
      monthly("grace").says("2025-02-01 00:01", retry: true, grace: "2025-02-17")
        .renews("2025-02-03", until: "2025-03-03"),
      // A charge dated back to the expiry was recovered in grace.
      monthly("dated back").says("2025-02-01 00:01", retry: true).renews(until: "2025-03-01", said: "2025-02-05"),
      monthly("both").says("2025-02-01 00:01", retry: true, grace: "2025-02-05")
        .renews("2025-02-08", until: "2025-03-08"),
      monthly("unheard").renews("2025-02-08", until: "2025-03-08"),
      monthly("lost").says("2025-02-01 00:01", retry: true).says("2025-02-05", retry: false, reason: "billing"),
      Life("trial").tries("2025-01-25", until: "2025-02-01").says("2025-02-01 00:01", retry: true),
      monthly("fine").renews(until: "2025-03-01"),
      Life("family").buys("2025-01-01", until: "2025-02-01", with: ["ownership": "family_shared"])
        .says("2025-02-01 00:01", retry: true),
    ]
    let program = try await Installation(lives, asOf: "2025-02-10")
    try await expect(program.lines("billing_recovery", Self.recovery), is: ["2025-02-01 2 4 2 2 1 1 0.8"])
    try await program.measure(asOf: "2025-04-20")
    try await expect(
      program.lines("billing_recovery", Self.recovery, ["--to", "2025-02-01"]),
      is: ["2025-02-01 2 4 2 2 2 0 0.666667"])
  }

  @Test("another reporting time zone moves what was due to its days, and back again")
  func zone() async throws {
    let life = Life("a").buys("2025-01-02 02:00", until: "2025-02-02 02:00").renews(until: "2025-03-02 02:00")
    let program = try await Installation([life], asOf: "2025-02-04", reporting: "timezone: \"America/New_York\"")
    try await expect(program.lines("renewal_rate", "day renewed"), is: ["2025-02-01 1"])
    try program.configure()
    try await expect(program.measure(asOf: "2025-02-04"), is: 0)
    try await expect(program.lines("renewal_rate", "day renewed"), is: ["2025-02-02 1"])
  }

  @Test("refunds are told by the day of the refund and by the day of the purchase, each with its share of the charges")
  func refunds() async throws {
    let lives = [
      monthly("a").isRefunded("2025-01-03"),
      monthly("b").isRefunded("2025-01-03", "prorated", amount: 2.5).isRestored("2025-01-05"),
      monthly("c"), monthly("d"),
      Life("e").buys("2025-01-03", until: "2025-02-03"),
      Life("f").buys("2025-01-03", until: "2025-02-03", price: 1000, "JPY", country: "JPN")
        .isRefunded("2025-01-04", "prorated"),
    ]
    let program = try await Installation(lives, asOf: "2025-01-06")
    let columns = """
      day currency charges refunded_charges amount share refunded_charges_by_purchase_day amount_by_purchase_day \
      share_by_purchase_day
      """
    try await expect(
      program.lines("refunds", columns),
      is: [
        "2025-01-01 USD 4 0 0 0 1 -10 0.25", "2025-01-03 JPY 1 0 0 0 1 - 1", "2025-01-03 USD 1 2 -12.5 2 0 0 0",
        "2025-01-04 JPY 0 1 - - 0 0 -", "2025-01-05 USD 0 -1 2.5 - 0 0 -",
      ])
    try await expect(
      program.lines("refunds", "day currency charges refunded_charges amount share", ["--by", "month"]),
      is: ["2025-01-01 JPY 1 1 0 1", "2025-01-01 USD 5 1 -10 0.2"])
  }
}
