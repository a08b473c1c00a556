import Foundation
import Testing

@Suite("Figures: churn", .fewAtOnce)
struct ChurnTests {
  @Test("100 at the start, 11 ended in the month, 1 of whom joined in it: 10 %")
  func joinedAndLeft() async throws {
    let staying = (1...90).map { Life("stay\($0)").buys("2025-02-10", until: "2025-04-10") }
    let leaving = (1...10).map {
      Life("leave\($0)").buys("2025-02-10", until: "2025-03-10").says("2025-03-05", autoRenew: false)
    }
    let guest = Life("guest").buys("2025-03-03", until: "2025-03-17", "weekly").says("2025-03-04", autoRenew: false)
    let program = try await Installation(staying + leaving + [guest], asOf: "2025-04-01")
    try await expect(
      program.lines(
        "churn",
        "active_at_start churned churned_same_period churn_rate churn_rate_gross churn_rate_net churned_voluntary is_complete",
        ["--by", "month", "--from", "2025-03-01"]), is: ["100 10 1 0.1 0.11 0.11 11 true"])
    try await expect(
      program.lines("churn", "starts_on active_at_start churned churned_same_period", ["--by", "quarter"]),
      is: ["2025-01-01 0 0 11"])
  }

  @Test("churn is dated on the day access was lost, not the day auto-renew was switched off")
  func dateOfChurn() async throws {
    let life = Life("a").buys("2025-04-15", until: "2025-05-15").renews(until: "2025-06-15")
      .says("2025-06-08", autoRenew: false)
    let program = try await Installation([life], asOf: "2025-06-15")
    try await expect(program.lines("subscriptions", "status auto_renew mrr churned_on"), is: ["active false 10 -"])
    try await program.measure(asOf: "2025-06-20")
    try await expect(program.movements(), is: ["2025-04-15 new", "2025-05-15 renewed", "2025-06-15 churned_voluntary"])
    try await expect(program.mrrMovements(), is: ["2025-04-15 USD new 10", "2025-06-15 USD churn -10"])
    try await expect(
      program.lines("subscriptions", "status mrr churned_on churn_reason"), is: ["expired - 2025-06-15 voluntary"])
    let days = try await program.lines("churn", "starts_on active_at_start churned churn_rate", ["--by", "day"])
    #expect(days.filter { $0.contains(" 1 1 ") } == ["2025-06-15 1 1 1"])
    #expect(days.last == "2025-06-19 0 0 -")
  }

  @Test(
    "the store's reason has a column of its own",
    arguments: ["voluntary", "billing", "price_increase", "product_unavailable", "other"])
  func reasons(reason: String) async throws {
    let life = Life("a").buys("2025-02-01", until: "2025-03-01").says("2025-03-01 00:02", retry: false, reason: reason)
    let program = try await Installation([life], asOf: "2025-03-05")
    try await expect(program.movements(), is: ["2025-02-01 new", "2025-03-01 churned_\(reason)"])
    try await expect(
      program.lines("churn", "churned churned_\(reason)", ["--by", "month", "--from", "2025-03-01"]), is: ["1 1"])
  }

  @Test("a reason that a later status no longer gives is withdrawn")
  func reasonWithdrawn() async throws {
    let life = Life("a").buys("2025-02-01", until: "2025-03-01")
      .says("2025-03-01 00:02", autoRenew: false, reason: "price_increase")
      .says("2025-03-01 00:05", autoRenew: false, with: ["expiration_reason": NSNull()])
    let program = try await Installation([life], asOf: "2025-03-05")
    try await expect(program.movements(), is: ["2025-02-01 new", "2025-03-01 churned_voluntary"])
  }

  @Test("the newest of many statuses counts, in whatever order they came and however many periods there are")
  func newestOfManyStatuses() async throws {
    // As many statuses a period as make a sort that is not told the moment mix them up.
    let lives = (1...12).map { number in
      (1...20).reduce(Life("c\(number)").buys("2025-01-01", until: "2025-01-08", "weekly")) { life, week in
        let end = Life.day(of: 1 + 7 * week)
        let told = (1...number).reduce(life) { life, nth in
          life.says(
            "\(end) 00:\(nth + 10)", autoRenew: nth % 2 == 0,
            reason: nth == number ? "product_unavailable" : "price_increase")
        }
        return told.buys("\(end) 12:00", until: "\(Life.day(of: 8 + 7 * week)) 00:00", "weekly")
      }
    }
    let program = try await Installation(lives, asOf: "2025-05-01")
    try await expect(
      program.lines("churn", "churned_price_increase churned_product_unavailable", ["--by", "quarter"]).first,
      is: "0 144")
  }

  @Test("a revocation after the period's end leaves the reason as it was")
  func refundAfterChurn() async throws {
    let life = Life("a").buys("2025-02-01", until: "2025-03-01").says("2025-02-20", autoRenew: false)
      .isRefunded("2025-03-10")
    let program = try await Installation([life], asOf: "2025-03-12")
    try await expect(program.movements(), is: ["2025-02-01 new", "2025-03-01 churned_voluntary"])
    try await expect(program.lines("subscriptions", "status churn_reason"), is: ["expired voluntary"])
  }

  @Test("who left and came back within a period did not churn in it; the columns of reasons and the net rate show both")
  func leftAndBack() async throws {
    let back = Life("a").buys("2025-02-01", until: "2025-03-05").says("2025-03-01", autoRenew: false)
      .buys("2025-03-20", until: "2025-04-20")
    let stays = Life("b").buys("2025-02-01", until: "2025-05-01")
    let program = try await Installation([back, stays], asOf: "2025-04-01")
    try await expect(
      program.lines(
        "churn", "active_at_start churned churned_same_period churn_rate churn_rate_gross churn_rate_net",
        ["--by", "month", "--from", "2025-03-01"]), is: ["2 0 0 0 0.5 0"])
    try await expect(
      program.lines(
        "churn", "starts_on churned", ["--by", "week", "--from", "2025-03-03", "--to", "2025-03-16"]),
      is: ["2025-03-03 1", "2025-03-10 0"])
  }

  @Test("weeks begin on Monday, and every kind of period is printed without --by")
  func periods() async throws {
    let life = Life("a").buys("2025-02-01", until: "2025-03-02").says("2025-02-20", autoRenew: false)
    let program = try await Installation([life], asOf: "2025-03-04")
    try await expect(
      program.lines("churn", "starts_on churned", ["--by", "week"]).suffix(2),
      is: [
        "2025-02-24 1", "2025-03-03 0",
      ])
    let kinds = Set(try await program.lines("churn", "period"))
    #expect(kinds == ["day", "week", "month", "quarter", "year"])
    try await expect(
      program.lines("churn", "starts_on churned churned_same_period", ["--by", "year"]), is: ["2025-01-01 0 1"])
  }

  @Test("a change of product is no churn")
  func changeOfProduct() async throws {
    let life = Life("a").buys("2025-02-01", until: "2025-03-01")
      .buys("2025-03-01", until: "2025-04-01", "premium", price: 20, reason: "renewal")
    let program = try await Installation([life], asOf: "2025-03-05")
    try await expect(
      program.lines("churn", "starts_on active_at_start churned", ["--by", "month"]),
      is: ["2025-02-01 0 0", "2025-03-01 1 0"])
  }
}
