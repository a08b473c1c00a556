import Foundation
import Testing

@Suite("Figures: win-back eligibility", .fewAtOnce)
struct WinBackTests {
  private static let standard = """
    [{"offer_id": "winback", "app": "video", "min_paid_months": 6, "min_months_since": 2, "max_months_since": 24,
      "wait_months": 6, "priority": "normal"}]
    """

  /// A life that was paid without a gap and ended with auto-renew off.
  private func ended(_ chain: String, from: String, until: String) -> Life {
    Life(chain).buys(from, until: until).says(from, autoRenew: false)
  }

  private func reasons(
    _ lives: [Life], _ columns: String = "original_transaction_id reason", rules: String = Self.standard
  ) async throws -> [String] {
    let program = try await Installation()
    try await program.import("winback", rules)
    try await program.ingest(lives)
    try await program.measure(asOf: "2025-06-15")
    return try await program.lines("winback_eligibility", columns).sorted()
  }

  @Test("paid months, months since, retry and the wait decide, bounds inclusive, the first reason that applies")
  func rules() async throws {
    func usedBefore(_ chain: String, until: String, from: String) -> Life {
      ended(chain, from: "2022-06-15", until: "2023-06-15")
        .buys(from, until: until, price: 5, offer: ["type": "win_back", "id": "winback", "discount": "pay_up_front"])
        .says(from, autoRenew: false)
    }
    let lives = [
      ended("a", from: "2024-10-15", until: "2025-04-15"), ended("b", from: "2024-10-15", until: "2025-03-15"),
      ended("c", from: "2024-05-15", until: "2025-05-15"), ended("d", from: "2022-05-15", until: "2023-05-15"),
      Life("e").buys("2024-06-10", until: "2025-06-10").says("2025-06-10 00:01", autoRenew: true, retry: true),
      usedBefore("f", until: "2025-01-15", from: "2024-12-15"),
      usedBefore("g", until: "2024-12-15", from: "2024-11-15"),
      ended("h", from: "2022-06-15", until: "2023-06-15"),
    ]
    try await expect(
      reasons(lives),
      is: [
        "a eligible", "b too_little_paid_service", "c too_recent", "d too_long_ago", "e billing_retry", "f waiting",
        "g eligible", "h eligible",
      ])
  }

  @Test("the use of another offer does not make wait")
  func otherOffer() async throws {
    let life = ended("a", from: "2022-06-15", until: "2023-06-15")
      .buys(
        "2024-12-15", until: "2025-01-15", price: 5,
        offer: ["type": "win_back", "id": "another", "discount": "pay_up_front"]
      )
      .says("2024-12-15", autoRenew: false)
    try await expect(
      reasons([life], "reason paid_months months_since last_used_at churned_on source rank eligible"),
      is: ["eligible 13 5 - 2025-01-15 rules 1 true"])
  }

  @Test("without access and ever paid: neither running chains, nor trials, nor other apps' offers")
  func candidates() async throws {
    let lives = [
      Life("running").buys("2025-06-01", until: "2025-07-01"),
      Life("trial").tries("2025-01-01", until: "2025-01-08").says("2025-01-02", autoRenew: false),
      ended("refunded", from: "2024-10-15", until: "2025-04-15").isRefunded("2025-02-15"),
    ]
    try await expect(reasons(lives), is: ["refunded too_little_paid_service"])
  }

  @Test("auto-renew that is on excludes, unknown counts as off")
  func autoRenew() async throws {
    let lives = [
      Life("on").buys("2024-10-15", until: "2025-04-15").says("2025-04-15 00:01", autoRenew: true, reason: "other"),
      Life("unknown").buys("2024-10-15", until: "2025-04-15"),
    ]
    try await expect(reasons(lives), is: ["on auto_renew_on", "unknown eligible"])
  }

  @Test("the store's list wins over the counting rules, gives the rank, and an empty list is a list")
  func storeList() async throws {
    let rules = """
      [{"offer_id": "a", "app": "video", "min_paid_months": 60}, {"offer_id": "b", "app": "video", "priority": "high"},
       {"offer_id": "c", "app": "video"}, {"offer_id": "d", "app": "video", "territories": ["DEU"]}]
      """
    let lives = [
      ended("listed", from: "2025-01-15", until: "2025-02-15").says(
        "2025-02-16", autoRenew: false, offers: ["d", "c", "a"]),
      ended("none", from: "2025-01-15", until: "2025-02-15").says("2025-02-16", autoRenew: false, offers: []),
      ended("withdrawn", from: "2025-01-15", until: "2025-02-15").says("2025-02-16", autoRenew: false, offers: ["a"])
        .says("2025-02-17", autoRenew: false, with: ["eligible_win_back_offers": NSNull()]),
    ]
    try await expect(
      reasons(lives, "original_transaction_id offer_id reason source rank", rules: rules),
      is: [
        "listed a eligible store 2", "listed b not_offered_by_store store -", "listed c eligible store 1",
        "listed d outside_territories store -", "none a not_offered_by_store store -",
        "none b not_offered_by_store store -", "none c not_offered_by_store store -",
        "none d not_offered_by_store store -", "withdrawn a too_little_paid_service rules -",
        "withdrawn b eligible rules 1", "withdrawn c eligible rules 2", "withdrawn d outside_territories rules -",
      ])
  }

  @Test("rank: high priority first, then most paid months required, then the offer's id")
  func rank() async throws {
    let rules = """
      [{"offer_id": "e", "app": "video", "min_paid_months": 3}, {"offer_id": "d", "app": "video", "min_paid_months": 6},
       {"offer_id": "b", "app": "video", "min_paid_months": 3}, {"offer_id": "z", "app": "video", "priority": "high"}]
      """
    try await expect(
      reasons([ended("a", from: "2024-06-15", until: "2025-04-15")], "rank offer_id", rules: rules),
      is: ["1 z", "2 d", "3 b", "4 e"])
  }

  @Test(
    "dates, territories and products bound an offer",
    arguments: [
      (#""starts_on": "2025-06-15""#, "outside_dates"), (#""ends_on": "2025-06-13""#, "outside_dates"),
      (#""starts_on": "2025-06-14", "ends_on": "2025-06-14""#, "eligible"),
      (#""territories": ["DEU", "FRA"]"#, "outside_territories"), (#""territories": ["USA"]"#, "eligible"),
      (#""product_ids": ["yearly"]"#, "other_product"), (#""product_ids": ["monthly"]"#, "eligible"),
    ])
  func bounds(field: String, reason: String) async throws {
    // As of the last moment of 14 June.
    let rules = "[{\"offer_id\": \"o\", \"app\": \"video\", \(field)}]"
    try await expect(
      reasons([ended("a", from: "2024-10-15", until: "2025-04-15")], "reason", rules: rules), is: [reason])
  }

  @Test(
    "paid months: whole months of each unbroken stretch, the rests at 30 days; free and refunded time and grace do not count"
  )
  func paidMonths() async throws {
    let rules = "[{\"offer_id\": \"o\", \"app\": \"video\"}]"
    let lives = [
      // Month ends are clamped: 31 January to 28 February is one month.
      ended("clamped", from: "2025-01-31", until: "2025-02-28"),
      // 20 days, a gap, 10 days: one month of rests.
      Life("rests").buys("2024-01-01", until: "2024-01-21").says("2024-01-02", autoRenew: false)
        .buys("2024-03-01", until: "2024-03-11").says("2024-03-02", autoRenew: false),
      Life("short").buys("2024-01-01", until: "2024-01-21").says("2024-01-02", autoRenew: false)
        .buys("2024-03-01", until: "2024-03-10").says("2024-03-02", autoRenew: false),
      Life("free").tries("2024-01-01", until: "2024-02-01")
        .renews(until: "2024-03-01", without: ["offer"], with: ["price": 10]).says("2024-02-02", autoRenew: false),
      Life("refunded").buys("2024-01-01", until: "2024-02-01").renews(until: "2024-03-01")
        .isRefunded("2024-02-20").says("2024-02-21", autoRenew: false),
      // Grace parts stretches: 31 January to 28 February and 1 March to 31 March, clamped one by one.
      Life("grace").buys("2025-01-30", until: "2025-02-28").says("2025-02-28 00:01", retry: true, grace: "2025-03-10")
        .renews("2025-03-05", until: "2025-04-05").says("2025-03-06", autoRenew: false),
    ]
    try await expect(
      reasons(lives, "original_transaction_id paid_months", rules: rules),
      is: [
        "clamped 1", "free 1", "grace 2", "refunded 1", "rests 1", "short 0",
      ])
  }

  @Test("a refund that was taken back parts the paid time: nine and seventeen days are no month")
  func interruptedMonths() async throws {
    let life = Life("a").buys("2025-01-01", until: "2025-02-01").isRefunded("2025-01-10", "full").isRestored(
      "2025-01-15")
    let program = try await Installation([life], asOf: "2025-03-01")
    try await expect(program.lines("subscriptions", "paid_months"), is: ["0"])
    // With the next month, the seventeen days and it are one stretch: a month and the rest.
    try await program.ingest([life.renews(until: "2025-03-01")])
    try await program.measure(asOf: "2025-03-02")
    try await expect(program.lines("subscriptions", "paid_months"), is: ["1"])
  }
}
