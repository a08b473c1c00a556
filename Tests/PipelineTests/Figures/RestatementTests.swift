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
        "2 2025-01-01 mrr.mrr_converted - 20 17 2 new facts", "2 2025-01-01 mrr_movement.new USD 20 17 2 new facts",
        "2 2025-01-01 revenue.gross USD 20 17 2 new facts", "2 2025-01-01 revenue.net_converted - 20 17 2 new facts",
        // Of all stores together.
        "2 2025-01-01 customers.arppu - 10 8.5 2 new facts",
      ])
    // The store gives up: what was suspended was lost.
    try await program.ingest([lost.says("2025-02-05", retry: false, reason: "billing")])
    try await program.measure(asOf: "2025-02-06")
    try await expect(
      program.lines("restatements", Self.columns, ["--from", "2025-02-01", "--app", "video"]),
      is: [
        "3 2025-02-01 billing_recovery.lost - 0 1 2 new facts", "3 2025-02-01 billing_recovery.open - 1 0 2 new facts",
        "3 2025-02-01 churn.churned - 1 2 2 new facts", "3 2025-02-01 movements.churned_billing - 0 1 2 new facts",
        "3 2025-02-01 movements.suspended - 1 0 2 new facts",
        "3 2025-02-01 mrr_movement.churn USD -7 -17 2 new facts",
        "3 2025-02-01 mrr_movement.suspension USD -10 0 2 new facts",
        "3 2025-02-01 renewal_rate.lost - 1 2 2 new facts", "3 2025-02-01 renewal_rate.open - 1 0 2 new facts",
      ])
  }

  @Test("tax, commission and proceeds, and null where they were or are unknown")
  func proceeds() async throws {
    let program = try await Installation()
    try await program.import("taxes", "country,rate,from\nUSA,0.1,2024-01-01\n")
    let life = Life("a").buys("2025-01-01", until: "2025-02-01", price: nil)
    try await program.ingest([life])
    try await program.measure(asOf: "2025-01-05")
    try await program.ingest([life.corrects("2025-01-06", ["price": 20, "currency": "USD"])])
    try await program.measure(asOf: "2025-01-07")
    func found(_ run: Int) async throws -> [String] {
      try await program.lines("restatements", "run metric currency before after").filter {
        $0.hasPrefix("\(run) revenue.") && !$0.contains("converted")
      }
    }
    // What has no known price is in no currency.
    try await expect(
      found(2),
      is: [
        "2 revenue.charges USD 0 1", "2 revenue.charges - 1 0", "2 revenue.commission USD 0 5.4",
        "2 revenue.commission - - 0", "2 revenue.gross USD 0 20", "2 revenue.proceeds USD 0 12.6",
        "2 revenue.proceeds - - 0", "2 revenue.tax USD 0 2", "2 revenue.tax - - 0", "2 revenue.unpriced_charges - 1 0",
      ])
    try await program.ingest([
      life.corrects("2025-01-08", ["tax": 1, "commission": 3, "proceeds": 16])
    ])
    try await program.measure(asOf: "2025-01-09")
    try await expect(
      found(3),
      is: ["3 revenue.commission USD 5.4 3", "3 revenue.proceeds USD 12.6 16", "3 revenue.tax USD 2 1"])
  }

  @Test("customers and churn of days and of longer periods that had been told whole")
  func customersAndChurn() async throws {
    let known = Life("known", subscriber: "k").buys("2025-01-01", until: "2025-02-01").says(
      "2025-01-02", autoRenew: false)
    let program = try await Installation([known], asOf: "2025-03-05")
    try await program.ingest([
      Life("late", subscriber: "l").tries("2025-01-01", until: "2025-01-08").renews(
        until: "2025-02-08", without: ["offer"], with: ["price": 10]
      ).says("2025-01-09", autoRenew: false),
      Life("back", subscriber: "k").buys("2025-01-05", until: "2025-01-20").says("2025-01-06", autoRenew: false),
    ])
    try await program.measure(asOf: "2025-03-06")
    let found = try await program.lines("restatements", "day metric before after").filter {
      $0.contains("customers.") || $0.contains("churn.")
    }.sorted()
    expect(
      found,
      is: [
        "2025-01-01 churn.churned_same_period by month 0 1", "2025-01-01 customers.new_customers 1 2",
        "2025-01-01 customers.started_trial_14d 0 0.5", "2025-01-01 customers.started_trial_30d 0 0.5",
        "2025-01-01 customers.started_trial_7d 0 0.5", "2025-01-05 customers.arppu - 10",
        "2025-01-08 customers.arppu - 10", "2025-01-08 customers.new_paying 0 1", "2025-01-20 churn.churned 0 1",
        "2025-01-20 churn.churned by week 0 1", "2025-02-01 churn.churned by month 1 2",
        "2025-02-03 churn.churned by week 0 1", "2025-02-08 churn.churned 0 1",
      ].sorted())
  }

  @Test("a rate that comes later restates what is converted, and no entry is posted")
  func newRates() async throws {
    let program = try await Installation(
      [Life("a").buys("2025-01-01", until: "2025-02-01", price: 8, "EUR")], asOf: "2025-01-05")
    try await program.import("rates", "Date,USD,\n2024-12-31,1.25,\n")
    try await program.measure(asOf: "2025-01-06")
    try await expect(
      program.lines("restatements", Self.columns),
      is: [
        "2 2025-01-01 mrr.mrr_converted - 0 10 0 new rates", "2 2025-01-01 revenue.net_converted - 0 10 0 new rates",
        "2 2025-01-01 revenue.unconverted_charges - 1 0 0 new rates",
        "2 2025-01-01 customers.arppu - 0 10 0 new rates",
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
