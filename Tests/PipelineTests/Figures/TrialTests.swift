import Testing

@Suite("Figures: trials", .fewAtOnce)
struct TrialTests {
  private static let columns = "day started converted expired cancelled running in_retry conversion_rate is_complete"

  @Test("10 started on 1 Jan, 2 charged on 8 Jan: 0.2 on 1 Jan")
  func conversionRate() async throws {
    let lives = (1...10).map { number in
      let trial = Life("t\(number)").tries("2025-01-01", until: "2025-01-08")
      return number <= 2
        ? trial.renews(until: "2025-02-08", without: ["offer"], with: ["price": 10])
        : trial.says("2025-01-05", autoRenew: false)
    }
    let program = try await Installation(lives, asOf: "2025-01-10")
    try await expect(program.lines("trials", Self.columns), is: ["2025-01-01 10 2 8 0 0 0 0.2 true"])
  }

  @Test("each trial is in exactly one column, as of each moment")
  func columns() async throws {
    let lives = [
      Life("runs").tries("2025-01-01", until: "2025-01-15"),
      Life("cancelled").tries("2025-01-01", until: "2025-01-15").says("2025-01-03", autoRenew: false),
      Life("kept").tries("2025-01-01", until: "2025-01-15").says("2025-01-03", autoRenew: false)
        .says("2025-01-04", autoRenew: true),
      Life("grace").tries("2025-01-01", until: "2025-01-08").says("2025-01-08 00:01", retry: true, grace: "2025-01-14"),
      Life("retry").tries("2025-01-01", until: "2025-01-07").says("2025-01-07 00:01", retry: true),
      Life("lost").tries("2025-01-01", until: "2025-01-06").says("2025-01-06 00:01", retry: false, reason: "billing"),
    ]
    let program = try await Installation(lives, asOf: "2025-01-10")
    try await expect(program.lines("trials", Self.columns), is: ["2025-01-01 6 0 1 1 2 2 0 false"])
    // A charge in retry converts; what is not converted in 60 days is lost, and waiting ends after a day.
    try await program.ingest([
      Life("retry").buys("2025-01-12", until: "2025-02-12", reason: "renewal", with: ["transaction_id": "retry-9"])
    ])
    try await program.measure(asOf: "2025-01-13")
    try await expect(program.lines("trials", Self.columns), is: ["2025-01-01 6 1 1 1 2 1 0.166667 false"])
    try await program.measure(asOf: "2025-01-15 12:00")
    try await expect(program.lines("trials", Self.columns), is: ["2025-01-01 6 1 2 0 2 1 0.166667 false"])
    try await program.measure(asOf: "2025-06-01")
    try await expect(program.lines("trials", Self.columns), is: ["2025-01-01 6 1 5 0 0 0 0.166667 true"])
  }

  @Test("free periods that follow each other are one trial, of the first one's day, product and country")
  func oneTrial() async throws {
    let life = Life("a").tries("2025-01-01", until: "2025-01-08")
      .buys(
        "2025-01-08", until: "2025-01-15", "premium", price: 0, country: "DEU", reason: "renewal",
        offer: ["type": "promotional", "discount": "free_trial"])
    let program = try await Installation([life], asOf: "2025-01-10")
    let columns = "day product_id country started converted running"
    try await expect(program.lines("trials", columns), is: ["2025-01-01 monthly USA 1 0 1"])
    try await program.ingest([
      Life("a").buys("2025-01-15", until: "2025-02-15", "premium", reason: "renewal", with: ["transaction_id": "a-9"])
    ])
    try await program.measure(asOf: "2025-01-16")
    try await expect(program.lines("trials", columns), is: ["2025-01-01 monthly USA 1 1 0"])
    try await program.measure(asOf: "2025-01-16", ["--rebuild"])
    try await expect(program.lines("trials", columns), is: ["2025-01-01 monthly USA 1 1 0"])
  }

  @Test("a free win-back offer begins another trial of the chain; a refunded trial has expired")
  func secondTrial() async throws {
    let back = Life("a").tries("2025-01-01", until: "2025-01-08").says("2025-01-02", autoRenew: false)
      .buys(
        "2025-03-01", until: "2025-03-08", price: 0,
        offer: ["type": "win_back", "id": "back", "discount": "free_trial"]
      )
      .buys("2025-03-08", until: "2025-04-08", reason: "renewal")
    let revoked = Life("b").tries("2025-01-01", until: "2025-01-08").isRefunded("2025-01-03")
    let program = try await Installation([back, revoked], asOf: "2025-03-10")
    try await expect(
      program.lines("trials", "day started converted expired"), is: ["2025-01-01 2 0 2", "2025-03-01 1 1 0"])
    try await expect(
      program.lines("trials", "day started converted expired conversion_rate is_complete", ["--by", "year"]),
      is: ["2025-01-01 3 1 2 0.333333 true"])
  }

  @Test("another reporting time zone moves trials to its days, and back again")
  func zone() async throws {
    let life = Life("a").tries("2025-01-02 02:00", until: "2025-01-09 02:00")
    let program = try await Installation([life], asOf: "2025-01-04", reporting: "timezone: \"America/New_York\"")
    try await expect(program.lines("trials", "day started running"), is: ["2025-01-01 1 1"])
    try program.configure()
    try await expect(program.measure(asOf: "2025-01-04"), is: 0)
    try await expect(program.lines("trials", "day started running"), is: ["2025-01-02 1 1"])
  }
}
