import Testing

@Suite("Figures: customers and lifetime value", .fewAtOnce)
struct CustomerTests {
  private static let counts = "day new_customers new_paying paying_total"
  private static let shares =
    "day started_trial_7d started_trial_14d started_trial_30d paid_7d paid_14d paid_30d arppu is_complete"

  @Test("a customer is new on the day of the earliest purchase, over all chains, and pays from the first charge on")
  func counts() async throws {
    let tried = Life("a", subscriber: "u1").tries("2025-01-01", until: "2025-01-08")
    let program = try await Installation(
      [
        tried.renews(until: "2025-02-08", without: ["offer"], with: ["price": 10]),
        // Another chain of the same customer, later.
        Life("b", subscriber: "u1").buys("2025-01-20", until: "2025-02-20", price: 5),
        // A one-time purchase makes a customer too; Family Sharing does not.
        Life("c", subscriber: "u2").buys("2025-01-01", price: 3, with: ["type": "consumable"]),
        Life("d", subscriber: "u3").buys("2025-01-01", until: "2025-02-01", with: ["ownership": "family_shared"]),
        Life("e").buys("2025-01-16", until: "2025-02-16", price: 8),
      ], asOf: "2025-03-01")
    try await expect(
      program.lines("customers", Self.counts).filter { !$0.contains(" 0 0 ") },
      is: ["2025-01-01 2 1 1", "2025-01-08 0 1 2", "2025-01-16 1 1 3"])
    try await expect(
      program.lines("customers", Self.shares, ["--from", "2025-01-01", "--to", "2025-01-01"]),
      is: ["2025-01-01 0.5 0.5 0.5 1 1 1 3 true"])
    try await expect(
      program.lines("customers", Self.shares, ["--from", "2025-01-16", "--to", "2025-01-20"]),
      is: [
        "2025-01-16 0 0 0 1 1 1 8 true", "2025-01-17 - - - - - - - true", "2025-01-18 - - - - - - - true",
        "2025-01-19 - - - - - - - true", "2025-01-20 - - - - - - 5 true",
      ])
  }

  @Test("the windows hold their last day and no day more")
  func windows() async throws {
    func converts(_ chain: String, after days: Int) -> Life {
      Life(chain).tries("2025-01-01", until: Life.day(of: 1 + days)).renews(
        until: "2025-06-01", without: ["offer"], with: ["price": 10])
    }
    let program = try await Installation(
      [converts("a", after: 7), converts("b", after: 8), converts("c", after: 30), converts("d", after: 31)],
      asOf: "2025-02-01")
    let paid = "paid_7d paid_14d paid_30d is_complete"
    try await expect(
      program.lines("customers", paid, ["--to", "2025-01-01"]), is: ["0.25 0.5 0.75 true"])
    try await program.measure(asOf: "2025-02-02")
    try await expect(
      program.lines("customers", paid, ["--to", "2025-01-02"]), is: ["0.25 0.5 0.75 true", "- - - true"])
    try await expect(
      program.lines("customers", "is_complete", ["--from", "2025-01-03", "--to", "2025-01-03"]), is: ["false"])
  }

  @Test("a payer is counted once a day, however many charges and chains; the day's refunds are taken off")
  func arppu() async throws {
    let second = Life("b", subscriber: "u1").buys("2025-01-01 02:00", until: "2025-02-01", price: 20)
    let program = try await Installation(
      [
        Life("a", subscriber: "u1").buys("2025-01-01 01:00", until: "2025-02-01", price: 10),
        second,
        Life("c", subscriber: "u2").buys("2025-01-01 03:00", until: "2025-02-01", price: 6)
          .isRefunded("2025-01-01 09:00", "prorated", amount: 4),
      ], asOf: "2025-01-03")
    try await expect(program.lines("customers", "arppu", ["--to", "2025-01-01"]), is: ["16"])
    // Told later: when the second chain began, it was another's.
    try await program.ingest([second.belongs(to: "u9", from: "2025-01-01 01:30")])
    try await program.measure(asOf: "2025-01-04")
    try await expect(
      program.lines("customers", "arppu new_customers new_paying", ["--to", "2025-01-01"]), is: ["10.666667 3 3"])
  }

  @Test("a purchase on day 5 refunded on day 10 counts in the window of 7 days, and not in that of 14")
  func refundInWindows() async throws {
    let life = Life("a").tries("2025-01-06", until: "2025-01-11").renews(
      until: "2025-02-11", without: ["offer"], with: ["price": 10]
    )
    .isRefunded("2025-01-16")
    let program = try await Installation([life], asOf: "2025-03-01")
    let columns = "cohort_on cohort_by days subscribers payers net_converted per_subscriber per_payer is_complete"
    let rows = try await program.lines("lifetime_value", columns)
    #expect(
      rows.filter { $0.contains("week") } == [
        "2025-01-06 week 0 1 0 0 0 - true", "2025-01-06 week 7 1 1 10 10 10 true",
        "2025-01-06 week 14 1 1 0 0 0 true", "2025-01-06 week 30 1 1 0 0 0 true",
        "2025-01-06 week 60 1 1 0 0 0 false", "2025-01-06 week 90 1 1 0 0 0 false",
        "2025-01-06 week 180 1 1 0 0 0 false", "2025-01-06 week 365 1 1 0 0 0 false",
      ])
    #expect(rows.contains("2025-01-01 month 7 1 1 10 10 10 true"))
  }

  @Test("an earlier purchase that comes late takes the customer, with all that was paid, to the earlier cohort")
  func seenEarlier() async throws {
    let life = Life("a", subscriber: "u1").buys("2025-02-03", until: "2025-03-03", price: 10)
    let program = try await Installation([life], asOf: "2025-03-10")
    try await program.ingest([
      Life("b", subscriber: "u1").buys("2025-01-06", price: 2, with: ["type": "consumable"])
    ])
    try await program.measure(asOf: "2025-03-11")
    let rows = try await program.lines("lifetime_value", "cohort_on cohort_by days payers net_converted")
    #expect(
      rows.filter { $0.contains("month") && ($0.contains(" 0 ") || $0.contains(" 30 ")) } == [
        "2025-01-01 month 0 1 2", "2025-01-01 month 30 1 12",
      ])
    try await expect(
      program.lines("customers", Self.counts).filter { !$0.contains(" 0 0 ") }, is: ["2025-01-06 1 1 1"])
    // A refund of before stays with the customer.
    try await program.ingest([life.isRefunded("2025-02-04")])
    try await program.measure(asOf: "2025-03-12")
    let after = try await program.lines("lifetime_value", "cohort_on cohort_by days net_converted")
    #expect(after.contains("2025-01-01 month 30 2"))
  }
}
