import Testing

@Suite("Figures: chains that continue one another", .fewAtOnce)
struct JoinedChainTests {
  private let old = Life("old", subscriber: "u").buys("2025-01-01", until: "2025-02-01").renews(until: "2025-03-01")

  @Test("handed over before the end it is neither churn nor new: one line, and each chain tells its part")
  func handedOver() async throws {
    let next = Life("new", subscriber: "u").buys("2025-02-15", until: "2025-03-15", reason: "renewal")
      .continues("old", at: "2025-02-15 00:01").renews(until: "2025-04-15").says("2025-04-01", autoRenew: false)
    let program = try await Installation([old, next], asOf: "2025-05-01")
    try await expect(
      program.movements(),
      is: [
        "2025-01-01 new", "2025-02-01 renewed", "2025-02-15 renewed", "2025-03-15 renewed",
        "2025-04-15 churned_voluntary",
      ])
    try await expect(
      program.revenue().filter { !$0.contains("renewal") }, is: ["2025-01-01 initial 1 10 0 USD"])
    try await expect(
      program.lines("churn", "starts_on active_at_start churned", ["--by", "month", "--from", "2025-02-01"]),
      is: ["2025-02-01 1 0", "2025-03-01 1 0", "2025-04-01 1 1"])
    try await expect(
      program.lines("churn", "churned churned_same_period", ["--by", "year"]), is: ["0 1"])
    try await expect(
      program.lines("subscription_history", "original_transaction_id kind active").sorted(),
      is: [
        "new auto_renew_disabled 0", "new churned_voluntary -1", "new renewed 0", "new renewed 1",
        "old handed_over -1", "old new 1", "old renewed 0",
      ])
    try await expect(
      program.lines("subscriptions", "original_transaction_id status ends_at churned_on first_paid_at paid_months")
        .sorted(),
      is: [
        "new expired 2025-04-15T00:00:00.000Z 2025-04-15 2025-01-01T00:00:00.000Z 3",
        "old expired 2025-02-15T00:00:00.000Z - 2025-01-01T00:00:00.000Z 1",
      ])
    try await expect(program.mrrMovements(), is: ["2025-01-01 USD new 10", "2025-04-15 USD churn -10"])
  }

  @Test("a change of row moves from the old chain's to the new one's, with its MRR")
  func otherRow() async throws {
    let next = Life("new").buys("2025-02-15", until: "2025-03-15", "premium", price: 15, reason: "renewal")
      .continues("old", at: "2025-02-15 00:01")
    let program = try await Installation([old, next], asOf: "2025-02-20")
    try await expect(
      program.movements(["--from", "2025-02-15"], by: "product_id"),
      is: ["2025-02-15 monthly moved_out", "2025-02-15 premium moved_in upgraded"])
    try await expect(
      program.mrrMovements(["--from", "2025-02-15"], by: "product_id"),
      is: ["2025-02-15 monthly USD moved_out -10", "2025-02-15 premium USD expansion 5 moved_in 10"])
  }

  @Test("after a gap it is a loss and a return")
  func gap() async throws {
    let life = old.says("2025-02-20", autoRenew: false)
    let next = Life("new").buys("2025-03-10", until: "2025-04-10").continues("old", at: "2025-03-10 00:01")
    let program = try await Installation([life, next], asOf: "2025-03-12")
    try await program.import(
      "winback", "[{\"offer_id\": \"back\", \"app\": \"video\", \"min_paid_months\": 1}]")
    try await expect(
      program.movements(["--from", "2025-03-01"]), is: ["2025-03-01 churned_voluntary", "2025-03-10 reactivated"])
    // The customer has access through the later chain.
    try await expect(program.lines("winback_eligibility", "original_transaction_id"), is: [])
  }

  @Test(
    "a link that comes late restates both chains, and figures are as if it had come first", arguments: [true, false])
  func lateLink(isLinkFirst: Bool) async throws {
    let next = Life("new", subscriber: "u").buys("2025-02-15", until: "2025-03-15")
    let link = Life("new", subscriber: "u").belongs(to: "u", from: "2025-02-15").continues("old", at: "2025-02-15")
    let program = try await Installation([old], asOf: "2025-02-10")
    if isLinkFirst {
      try await program.ingest([link])
      try await program.measure(asOf: "2025-02-15 00:01")
      try await program.ingest(lines: next.events.map { $0.replacing("new/1", with: "new/7") })
    } else {
      try await program.ingest(lines: next.events.map { $0.replacing("new/1", with: "new/7") })
      try await program.measure(asOf: "2025-02-16")
      try await expect(program.stocks("2025-02-15"), is: "active_subscriptions 2")
      try await program.ingest([link])
    }
    try await program.measure(asOf: "2025-02-17")
    try await expect(program.stocks("2025-02-15"), is: "active_subscriptions 1")
    try await expect(
      program.movements(), is: ["2025-01-01 new", "2025-02-01 renewed", "2025-02-15 renewed"])
    try await expect(program.measure(asOf: "2025-02-17", ["--rebuild"]), is: 0)
  }

  @Test("a trial that goes on in another chain is one trial")
  func trial() async throws {
    let life = Life("old").tries("2025-01-01", until: "2025-01-15")
    let next = Life("new").buys(
      "2025-01-08", until: "2025-01-22", price: 0, reason: "renewal",
      offer: ["type": "introductory", "discount": "free_trial"]
    ).continues("old", at: "2025-01-08").buys("2025-01-22", until: "2025-02-22", reason: "renewal")
    let program = try await Installation([life, next], asOf: "2025-01-25")
    try await expect(program.lines("trials", "day started converted"), is: ["2025-01-01 1 1"])
    try await expect(program.movements(), is: ["2025-01-22 trial_converted"])
  }
}
