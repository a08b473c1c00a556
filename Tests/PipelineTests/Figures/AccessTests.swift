import Testing

@Suite("Figures: who is active, and when", .fewAtOnce)
struct AccessTests {
  private let plain = Life("a").buys("2025-02-01", until: "2025-03-01")

  @Test("a chain that expires 15 March 00:00 is active on the 14th and lost on the 15th")
  func untilTheMomentOfExpiry() async throws {
    let life = Life("a").buys("2026-02-01", until: "2026-03-15").says("2026-03-10", autoRenew: false)
    let program = try await Installation([life], asOf: "2026-03-17")
    try await expect(program.stocks("2026-03-13"), is: "active_subscriptions 1 set_to_cancel 1")
    try await expect(program.stocks("2026-03-14"), is: "active_subscriptions 1 set_to_cancel 1")
    try await expect(program.stocks("2026-03-15"), is: "")
    try await expect(program.movements(), is: ["2026-02-01 new", "2026-03-15 churned_voluntary"])
  }

  @Test("a chain bought 14 March 12:00 is not active on the 13th and active on the 14th")
  func fromTheMomentOfPurchase() async throws {
    let lives = [
      Life("a").buys("2026-03-14 12:00", until: "2026-04-01"), Life("b").buys("2026-03-01", until: "2026-03-03"),
    ]
    let program = try await Installation(lives, asOf: "2026-03-16")
    try await expect(program.stocks("2026-03-13"), is: "")
    try await expect(program.stocks("2026-03-14"), is: "active_subscriptions 1")
    try await expect(program.stocks("2026-03-15"), is: "active_subscriptions 1")
  }

  @Test("500 at the end of yesterday, 50 new, 25 expired: 525")
  func sumOfADay() async throws {
    let old = (1...500).map { number -> Life in
      let life = Life("old\(number)").buys("2025-02-10", until: number <= 25 ? "2025-03-10 09:00" : "2025-03-20")
      return number <= 25 ? life.says("2025-03-09", autoRenew: false) : life
    }
    let new = (1...50).map { Life("new\($0)").buys("2025-03-10 15:00", until: "2025-04-10") }
    let program = try await Installation(old + new, asOf: "2025-03-11")
    try await expect(program.stocks("2025-03-09"), is: "active_subscriptions 500 set_to_cancel 25")
    try await expect(program.stocks("2025-03-10"), is: "active_subscriptions 525")
    try await expect(program.movements(["--from", "2025-03-10"]), is: ["2025-03-10 new 50 churned_voluntary 25"])
    let day = try await program.lines("movements", "opening closing", ["--from", "2025-03-10", "--group-by", "app"])
    #expect(day == ["500 525"])
  }

  @Test("as of T is the last moment before T, and the running day is not complete")
  func asOf() async throws {
    let life = Life("a").buys("2025-02-01 10:00", until: "2025-03-01")
    let program = try await Installation([life], asOf: "2025-02-01 10:00")
    #expect(try await program.rows("active_subscriptions").isEmpty)
    // Also where every fact is read again.
    try await program.measure(asOf: "2025-02-01 10:00", ["--rebuild"])
    #expect(try await program.rows("active_subscriptions").isEmpty)
    #expect(try await program.rows("subscriptions").isEmpty)
    try await program.measure(asOf: "2025-02-01 10:00:01")
    try await expect(
      program.lines("active_subscriptions", "day active_subscriptions is_complete"), is: ["2025-02-01 1 false"])
    try await program.measure(asOf: "2025-02-02")
    try await expect(
      program.lines("active_subscriptions", "day active_subscriptions is_complete"), is: ["2025-02-01 1 true"])
    let earlier = try await program.run(["measure", "--as-of", "2025-02-01T23:00:00Z"], ends: 1)
    #expect(earlier.isEmpty)
  }

  @Test("a statement signed after the as-of moment waits, a version signed later about an earlier moment counts")
  func asOfBoundsMoments() async throws {
    let life = plain.says("2025-02-20", autoRenew: false).isRefunded("2025-02-10", said: "2025-02-25")
    let program = try await Installation([life], asOf: "2025-02-15")
    try await expect(program.movements(), is: ["2025-02-01 new", "2025-02-10 churned_refunded"])
    let off = try await Installation([plain.says("2025-02-20", autoRenew: false)], asOf: "2025-02-15")
    try await expect(off.stocks("2025-02-14"), is: "active_subscriptions 1")
  }

  @Test("without word a chain is waited for 24 hours, then lost at its period's end, unconfirmed")
  func waitForWord() async throws {
    let life = Life("a").buys("2025-02-01", until: "2025-03-01 12:00")
    let program = try await Installation([life], asOf: "2025-03-02 12:00")
    try await expect(program.stocks("2025-03-01"), is: "active_subscriptions 1")
    try await expect(program.lines("subscriptions", "status churned_on"), is: ["active -"])
    try await program.measure(asOf: "2025-03-02 12:00:01")
    try await expect(program.stocks("2025-03-01"), is: "")
    try await expect(program.movements(), is: ["2025-02-01 new", "2025-03-01 churned_unconfirmed"])
    try await expect(
      program.lines("subscriptions", "status churned_on churn_reason"), is: ["expired 2025-03-01 unconfirmed"])
  }

  @Test("the wait is a setting")
  func otherWait() async throws {
    let program = try await Installation([plain], asOf: "2025-03-02 12:00", reporting: "wait_for_word: \"48h\"")
    try await expect(program.stocks("2025-03-02"), is: "active_subscriptions 1")
    try program.configure(reporting: "wait_for_word: \"12h\"")
    try await program.measure(asOf: "2025-03-02 12:00")
    try await expect(program.stocks("2025-03-01"), is: "")
  }

  @Test("a renewal within the wait means that access was never lost")
  func renewalWithinTheWait() async throws {
    let program = try await Installation([plain.renews("2025-03-01 20:00", until: "2025-04-01")], asOf: "2025-03-05")
    try await expect(program.movements(), is: ["2025-02-01 new", "2025-03-01 renewed"])
  }

  @Test("a purchase within the wait means that access was lost at the period's end")
  func purchaseWithinTheWait() async throws {
    let life = plain.buys("2025-03-01 20:00", until: "2025-04-01")
    let program = try await Installation([life], asOf: "2025-03-05")
    try await expect(program.movements(), is: ["2025-02-01 new", "2025-03-01 reactivated churned_unconfirmed"])
    try await expect(program.revenue(), is: ["2025-02-01 initial 1 10 0 USD", "2025-03-01 reactivation 1 10 0 USD"])
  }

  @Test("grace keeps a chain active, and what is recovered in it was never lost")
  func grace() async throws {
    let life = plain.says("2025-03-01 00:01", retry: true, grace: "2025-03-17")
    let program = try await Installation([life], asOf: "2025-03-06")
    try await expect(program.stocks("2025-03-05"), is: "active_subscriptions 1 in_grace 1")
    try await expect(program.lines("subscriptions", "status ends_at"), is: ["grace 2025-03-17T00:00:00.000Z"])
    try await program.ingest([life.renews("2025-03-08", until: "2025-04-08")])
    try await program.measure(asOf: "2025-03-10")
    try await expect(program.stocks("2025-03-07"), is: "active_subscriptions 1 in_grace 1")
    try await expect(program.stocks("2025-03-08"), is: "active_subscriptions 1")
    try await expect(program.movements(), is: ["2025-02-01 new", "2025-03-08 renewed"])
    try await expect(
      program.revenue(), is: ["2025-02-01 initial 1 10 0 USD", "2025-03-08 billing_recovery 1 10 0 USD"])
  }

  @Test("after grace access is suspended, and the loss restated as churn when retry closes after 60 days")
  func graceThenRetryClosed() async throws {
    let life = plain.says("2025-03-01 00:01", retry: true, grace: "2025-03-17")
    let program = try await Installation([life], asOf: "2025-03-20")
    try await expect(program.movements(), is: ["2025-02-01 new", "2025-03-17 suspended"])
    try await expect(program.stocks("2025-03-17"), is: "in_billing_retry 1")
    try await expect(program.lines("subscriptions", "status churned_on"), is: ["billing_retry -"])
    try await program.measure(asOf: "2025-04-30")
    try await expect(program.movements(), is: ["2025-02-01 new", "2025-03-17 suspended"])
    try await program.measure(asOf: "2025-05-01")
    try await expect(program.movements(), is: ["2025-02-01 new", "2025-03-17 churned_billing"])
    try await expect(program.stocks("2025-04-29"), is: "in_billing_retry 1")
    try await expect(program.stocks("2025-04-30"), is: "")
    try await expect(
      program.lines("subscriptions", "status churned_on churn_reason"), is: ["expired 2025-03-17 billing"])
  }

  @Test("a charge that failed suspends access; recovered in retry, it is no churn")
  func retryRecovered() async throws {
    let life = plain.says("2025-03-01 00:01", retry: true)
    let program = try await Installation([life], asOf: "2025-03-05")
    try await expect(program.movements(), is: ["2025-02-01 new", "2025-03-01 suspended"])
    try await program.ingest([life.renews("2025-03-10", until: "2025-04-10")])
    try await program.measure(asOf: "2025-03-12")
    try await expect(program.movements(), is: ["2025-02-01 new", "2025-03-01 suspended", "2025-03-10 recovered"])
    try await expect(program.stocks("2025-03-09"), is: "in_billing_retry 1")
    try await expect(
      program.revenue(), is: ["2025-02-01 initial 1 10 0 USD", "2025-03-10 billing_recovery 1 10 0 USD"])
    try await expect(
      program.lines("churn", "starts_on churned churned_billing", ["--by", "month"]),
      is: ["2025-02-01 0 0", "2025-03-01 0 0"])
  }

  @Test("retry that the store closes is churn by billing on the day access was lost")
  func retryClosed() async throws {
    let life = plain.says("2025-03-01 00:01", retry: true)
    let program = try await Installation([life], asOf: "2025-03-05")
    try await program.ingest([life.says("2025-03-20", retry: false, reason: "billing")])
    try await program.measure(asOf: "2025-03-25")
    try await expect(program.movements(), is: ["2025-02-01 new", "2025-03-01 churned_billing"])
    try await expect(program.stocks("2025-03-19"), is: "in_billing_retry 1")
    try await expect(program.stocks("2025-03-20"), is: "")
  }

  @Test("a purchase after retry was closed is a reactivation, a renewal a recovery")
  func afterRetryClosed() async throws {
    let closed = Life("a").buys("2025-02-01", until: "2025-03-01").says("2025-03-01 00:01", retry: true)
      .says("2025-03-20", retry: false, reason: "billing")
    let other = Life("b").buys("2025-02-01", until: "2025-03-01").says("2025-03-01 00:01", retry: true)
      .says("2025-03-20", retry: false, reason: "billing")
    let lives = [closed.buys("2025-03-25", until: "2025-04-25"), other.renews("2025-03-26", until: "2025-04-26")]
    let program = try await Installation(lives, asOf: "2025-03-28")
    try await expect(
      program.movements(),
      is: [
        "2025-02-01 new 2", "2025-03-01 churned_billing 2", "2025-03-25 reactivated", "2025-03-26 reactivated",
      ])
    try await expect(
      program.revenue(["--from", "2025-03-01"]),
      is: [
        "2025-03-25 reactivation 1 10 0 USD", "2025-03-26 billing_recovery 1 10 0 USD",
      ])
  }

  @Test("a renewal after a gap without word shows that there was a failure")
  func renewalAfterAGap() async throws {
    let program = try await Installation([plain.renews("2025-03-10", until: "2025-04-10")], asOf: "2025-03-12")
    try await expect(program.movements(), is: ["2025-02-01 new", "2025-03-01 suspended", "2025-03-10 recovered"])
    try await expect(program.stocks("2025-03-05"), is: "in_billing_retry 1")
  }

  @Test("auto-renew switched off sets to cancel from that moment, switched on again no longer")
  func setToCancel() async throws {
    let life = plain.says("2025-02-10 10:00", autoRenew: false).says("2025-02-12", autoRenew: true)
      .says("2025-02-14", autoRenew: false)
    let program = try await Installation([life], asOf: "2025-03-02")
    let days = try await program.lines("active_subscriptions", "day set_to_cancel", ["--from", "2025-02-09"])
    #expect(days.prefix(7).map { $0.suffix(1) } == ["0", "1", "1", "0", "0", "1", "1"])
    try await expect(program.movements(), is: ["2025-02-01 new", "2025-03-01 churned_voluntary"])
  }

  @Test("a family-shared chain appears in family_shared alone")
  func familyShared() async throws {
    let life = Life("a", subscriber: "u").buys(
      "2025-02-01", until: "2025-03-01", with: ["ownership": "family_shared"])
    let program = try await Installation([life], asOf: "2025-02-10")
    try await expect(program.stocks("2025-02-05"), is: "family_shared 1")
    #expect(try await program.movements().isEmpty)
    #expect(try await program.rows("revenue").isEmpty)
    try await expect(program.lines("active_subscribers", "active_subscribers active_subscriptions").last, is: "0 0")
    try await expect(
      program.lines("subscriptions", "is_family_shared first_paid_at paid_months mrr"), is: ["true - - -"])
  }

  @Test("a pause ends access at its beginning and is no churn; what follows is resumed and renewed")
  func pause() async throws {
    let pausing = plain.says(
      "2025-02-10", with: ["paused_at": "2025-03-01T00:00:00Z", "resumes_at": "2025-04-01T00:00:00Z"])
    let program = try await Installation([pausing], asOf: "2025-03-10")
    try await expect(program.stocks("2025-03-05"), is: "paused 1")
    try await expect(program.lines("subscriptions", "status"), is: ["paused"])
    try await expect(program.movements(), is: ["2025-02-01 new", "2025-03-01 paused"])
    try await program.measure(asOf: "2025-04-10")
    try await expect(program.stocks("2025-04-05"), is: "")
    try await expect(program.lines("subscriptions", "status churned_on"), is: ["expired -"])
    try await program.ingest([pausing.renews("2025-04-01", until: "2025-05-01")])
    try await program.measure(asOf: "2025-04-10")
    try await expect(program.movements(), is: ["2025-02-01 new", "2025-03-01 paused", "2025-04-01 resumed"])
    try await expect(program.revenue(), is: ["2025-02-01 initial 1 10 0 USD", "2025-04-01 renewal 1 10 0 USD"])
  }

  @Test("several subscriptions of one subscriber are one active subscriber, in all stores together")
  func severalOfOne() async throws {
    let lives = [
      Life("a", subscriber: "u").buys("2025-02-01", until: "2025-03-01"),
      Life("b", subscriber: "u").buys("2025-02-03", until: "2025-03-01", "yearly"),
      Life("c", subscriber: "v").buys("2025-02-03", until: "2025-03-01"),
      Life("d").buys("2025-02-03", until: "2025-03-01"),
    ]
    let program = try await Installation(lives, asOf: "2025-02-05")
    try await expect(
      program.lines("active_subscribers", "day store active_subscribers active_subscriptions"),
      is: [
        "2025-02-01 - 1 1", "2025-02-02 - 1 1", "2025-02-03 - 3 4", "2025-02-04 - 3 4",
      ])
  }

  @Test("a chain belongs to the id on its newest event before the moment, and before the first known id to that")
  func changingHands() async throws {
    let lives = [
      Life("a", subscriber: "u").buys("2025-02-01", until: "2025-03-01"),
      Life("b").buys("2025-02-01", until: "2025-03-01").belongs(to: "u", from: "2025-02-03")
        .belongs(to: "v", from: "2025-02-10"),
    ]
    let program = try await Installation(lives, asOf: "2025-02-12")
    let days = try await program.lines("active_subscribers", "day active_subscribers")
    #expect(days == (1...11).map { "2025-02-\($0 < 10 ? "0" : "")\($0) \($0 < 10 ? 1 : 2)" })
    try await expect(
      program.lines("subscriptions", "original_transaction_id subscriber_id").sorted(), is: ["a u", "b v"])
  }

  @Test("sandbox is kept apart")
  func sandbox() async throws {
    let lives = [
      Life("a").buys("2025-02-01", until: "2025-03-01"),
      Life("a", environment: "Sandbox").buys("2025-02-01", until: "2025-03-01", price: 99).says(
        "2025-02-02", autoRenew: false),
    ]
    let program = try await Installation()
    // Two chains of one number, told by two events of one id in two environments.
    try await program.ingest(lines: lives[0].events + lives[1].events.map { $0.replacing("\"a/", with: "\"s/") })
    try await program.measure(asOf: "2025-02-04")
    try await expect(program.stocks("2025-02-03"), is: "active_subscriptions 1")
    try await expect(
      program.stocks("2025-02-03", ["--environment", "Sandbox"]), is: "active_subscriptions 1 set_to_cancel 1")
    try await expect(program.revenue(), is: ["2025-02-01 initial 1 10 0 USD"])
    try await expect(program.revenue(["--environment", "Sandbox"]), is: ["2025-02-01 initial 1 99 0 USD"])
  }

  @Test("a day is a day of the reporting time zone")
  func timeZone() async throws {
    // 17:00 in Los Angeles.
    let life = Life("a").buys("2022-01-02 01:00", until: "2022-02-02 01:00")
    let program = try await Installation([life], asOf: "2022-01-04")
    try await expect(program.movements(), is: ["2022-01-02 new"])
    try program.configure(reporting: "timezone: \"America/Los_Angeles\"")
    try await program.measure(asOf: "2022-01-04")
    try await expect(program.movements(), is: ["2022-01-01 new"])
    try await expect(program.revenue(), is: ["2022-01-01 initial 1 10 0 USD"])
    try await expect(program.lines("active_subscribers", "day active_subscribers").first, is: "2022-01-01 1")
    try await expect(
      program.lines("active_subscriptions", "day is_complete"),
      is: ["2022-01-01 true", "2022-01-02 true", "2022-01-03 false"])
  }

  @Test("what is said after as-of of what was before it counts, also in a version that does not say when it was bought")
  func saidLater() async throws {
    let extended = Life("a").buys("2025-01-01", until: "2025-02-01")
    let refunded = Life("b").buys("2025-01-01", until: "2025-02-01")
    let columns = "original_transaction_id ends_at status"
    let program = try await Installation([extended, refunded], asOf: "2025-01-10")
    try await program.ingest([
      extended.corrects("2025-01-20", ["expires_at": Life.moment("2025-02-04")]),
      refunded.isRefunded("2025-01-05", said: "2025-01-20"),
    ])
    try await program.measure(asOf: "2025-01-10")
    let expected = ["a 2025-02-04T00:00:00.000Z active", "b 2025-01-05T00:00:00.000Z revoked"]
    try await expect(program.lines("subscriptions", columns).sorted(), is: expected)
    try await program.measure(asOf: "2025-01-10", ["--rebuild"])
    try await expect(program.lines("subscriptions", columns).sorted(), is: expected)
  }
}
