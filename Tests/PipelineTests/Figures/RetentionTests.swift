import Testing

@Suite("Figures: retention", .fewAtOnce)
struct RetentionTests {
  private static let columns = "cohort_on product_id period cohort_size due retained retention is_complete"

  private func months(_ program: Installation) async throws -> [String] {
    try await program.lines("retention", Self.columns, ["--by", "month"])
  }

  @Test("a cohort's renewals are counted by billing cycle, not by the calendar")
  func byCycle() async throws {
    // First start 31 January, next 29 February.
    let life = Life("a").buys("2024-01-31", until: "2024-02-29", with: ["period": "P1M"]).renews(until: "2024-03-31")
    let program = try await Installation([life], asOf: "2024-02-29")
    try await expect(months(program), is: [])
    try await program.measure(asOf: "2024-02-29 12:00")
    try await expect(months(program), is: ["2024-01-01 monthly 1 1 1 1 1 true"])
    try await program.ingest([life.says("2024-03-02", autoRenew: false)])
    try await program.measure(asOf: "2024-05-01")
    // Lost on 31 March: due again on 30 April.
    try await expect(
      months(program),
      is: [
        "2024-01-01 monthly 1 1 1 1 1 true", "2024-01-01 monthly 2 1 1 0 0 true", "2024-01-01 monthly 3 1 1 0 0 true",
      ])
    try await expect(
      program.lines("retention", "cohort_on period", ["--by", "week"]),
      is: ["2024-01-29 1", "2024-01-29 2", "2024-01-29 3"])
  }

  @Test("a recovered retry keeps a chain in its cohort, a reactivation does not, a change of product does")
  func recoveries() async throws {
    let start = { (chain: String) in
      Life(chain).buys("2025-01-01", until: "2025-02-01", with: ["period": "P1M"])
    }
    let program = try await Installation(
      [
        start("a").says("2025-02-01 00:01", retry: true).renews("2025-02-10", until: "2025-03-10"),
        start("b").says("2025-01-20", autoRenew: false).buys("2025-02-10", until: "2025-03-10"),
        start("c").renews(until: "2025-03-01", with: ["product_id": "other"]),
        start("d").says("2025-02-01 00:01", retry: true),
      ], asOf: "2025-02-20")
    try await expect(months(program), is: ["2025-01-01 monthly 1 4 4 2 0.5 false"])
    // Retry closes after 60 days; by then a third renewal was due of what was lost in February.
    try await program.measure(asOf: "2025-04-03")
    try await expect(
      months(program).prefix(1).map { String($0) }, is: ["2025-01-01 monthly 1 4 4 2 0.5 true"])
  }

  @Test("a refund ends retention from its period on, one that is reversed does not")
  func refunds() async throws {
    let life = Life("a").buys("2025-01-01", until: "2025-02-01", with: ["period": "P1M"]).renews(until: "2025-03-01")
      .renews(until: "2025-04-01")
    let program = try await Installation([life], asOf: "2025-03-15")
    let all = ["2025-01-01 monthly 1 1 1 1 1 true", "2025-01-01 monthly 2 1 1 1 1 true"]
    try await expect(months(program), is: all)
    let refunded = life.isRefunded("2025-03-16", nth: 2)
    try await program.ingest([refunded])
    try await program.measure(asOf: "2025-03-17")
    try await expect(
      months(program), is: ["2025-01-01 monthly 1 1 1 0 0 true", "2025-01-01 monthly 2 1 1 0 0 true"])
    try await program.ingest([refunded.isRestored("2025-03-18", nth: 2)])
    try await program.measure(asOf: "2025-03-19")
    try await expect(months(program), is: all)
  }

  @Test("cohorts are of weeks and of months, and nothing else")
  func otherLengths() async throws {
    let program = try await Installation([Life("a").buys("2025-01-01", until: "2025-02-01")], asOf: "2025-02-02")
    try await program.run(["report", "retention", "--by", "quarter"], ends: 2)
    try await expect(
      program.lines("retention", "cohort_by", ["--from", "2025-01-01", "--to", "2025-01-31"]), is: ["month"])
  }
}
