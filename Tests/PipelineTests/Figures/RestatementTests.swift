import Testing

@Suite("Figures: restatements", .fewAtOnce)
struct RestatementTests {
  private static let columns = "run day metric currency before after entries cause"

  @Test("a late refund and a recovery restate the days that had been told, from what to what")
  func newFacts() async throws {
    let lost = Life("a").buys("2025-01-01", until: "2025-02-01").says("2025-02-01 00:01", retry: true)
    let other = Life("b").buys("2025-01-01", until: "2025-02-01")
    let program = try await Installation([lost, other], asOf: "2025-01-05")
    try await expect(program.lines("restatements", Self.columns), is: [])
    // The price of a day that had been told, and what happens on a day that had not.
    try await program.ingest([other.corrects("2025-01-06", ["price": 7, "currency": "USD"])])
    try await program.measure(asOf: "2025-02-03")
    try await expect(
      program.lines("restatements", Self.columns),
      is: [
        "2 2025-01-01 mrr_movement.new USD 20 17 2 new facts", "2 2025-01-01 revenue.gross USD 20 17 2 new facts",
        "2 2025-01-01 revenue.net_converted - 20 17 2 new facts",
      ])
    // The store gives up: what was suspended was lost.
    try await program.ingest([lost.says("2025-02-05", retry: false, reason: "billing")])
    try await program.measure(asOf: "2025-02-06")
    try await expect(
      program.lines("restatements", Self.columns, ["--from", "2025-02-01", "--app", "video"]),
      is: [
        "3 2025-02-01 billing_recovery.lost - 0 1 2 new facts", "3 2025-02-01 billing_recovery.open - 1 0 2 new facts",
        "3 2025-02-01 movements.churned_billing - 0 1 2 new facts",
        "3 2025-02-01 movements.suspended - 1 0 2 new facts",
        "3 2025-02-01 mrr_movement.churn USD -7 -17 2 new facts",
        "3 2025-02-01 mrr_movement.suspension USD -10 0 2 new facts",
        "3 2025-02-01 renewal_rate.lost - 1 2 2 new facts", "3 2025-02-01 renewal_rate.open - 1 0 2 new facts",
      ])
  }

  @Test("a changed setting is the cause where it moves what had been told, and posts nothing")
  func changedSetting() async throws {
    let program = try await Installation(
      [Life("a").buys("2025-01-02 02:00", until: "2025-02-02 02:00")], asOf: "2025-01-05")
    try program.configure(reporting: "timezone: \"America/New_York\"")
    try await program.measure(asOf: "2025-01-05")
    try await expect(
      program.lines("restatements", Self.columns, ["--to", "2025-01-02"]).filter { $0.contains("movements.new") },
      is: ["2 2025-01-01 movements.new - 0 1 0 setting", "2 2025-01-02 movements.new - 1 0 0 setting"])
  }
}
