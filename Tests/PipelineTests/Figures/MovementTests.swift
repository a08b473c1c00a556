import Foundation
import Testing

@Suite("Figures: movements and kinds of charges", .fewAtOnce)
struct MovementTests {
  private let plain = Life("a").buys("2025-02-01", until: "2025-03-01")
  private static let free: [String: any Sendable] = ["type": "promotional", "id": "gift", "discount": "free_trial"]

  @Test("a trial is not active; its first charge converts it")
  func trialConverted() async throws {
    let life = Life("a").tries("2025-02-01", until: "2025-02-08")
      .renews(until: "2025-03-08", without: ["offer"], with: ["price": 10])
    let program = try await Installation([life], asOf: "2025-02-10")
    try await expect(program.stocks("2025-02-07"), is: "active_trials 1")
    try await expect(program.stocks("2025-02-08"), is: "active_subscriptions 1")
    try await expect(program.movements(), is: ["2025-02-08 trial_converted"])
    try await expect(program.revenue(), is: ["2025-02-08 trial_conversion 1 10 0 USD"])
    #expect(try await program.rows("renewal_revenue").isEmpty)
  }

  @Test("a trial that ends unpaid is no churn, and the first charge ever is new and initial")
  func trialLost() async throws {
    let lost = Life("a").tries("2025-02-01", until: "2025-02-08").says("2025-02-05", autoRenew: false)
    let program = try await Installation([lost], asOf: "2025-02-10")
    #expect(try await program.movements().isEmpty)
    try await expect(program.stocks("2025-02-08"), is: "")
    try await expect(program.lines("subscriptions", "status first_paid_at churned_on"), is: ["expired - -"])
    try await program.ingest([lost.buys("2025-02-20", until: "2025-03-20")])
    try await program.measure(asOf: "2025-02-22")
    try await expect(program.movements(), is: ["2025-02-20 new"])
    try await expect(program.revenue(), is: ["2025-02-20 initial 1 10 0 USD"])
  }

  @Test("a trial whose charge failed is in retry; recovered, it is converted")
  func trialRecovered() async throws {
    let life = Life("a").tries("2025-02-01", until: "2025-02-08").says("2025-02-08 00:01", retry: true)
      .renews("2025-02-12", until: "2025-03-12", without: ["offer"], with: ["price": 10])
    let program = try await Installation([life], asOf: "2025-02-14")
    try await expect(program.stocks("2025-02-10"), is: "in_billing_retry 1")
    try await expect(program.movements(), is: ["2025-02-12 trial_converted"])
    try await expect(program.revenue(), is: ["2025-02-12 trial_conversion 1 10 0 USD"])
  }

  @Test("what is replaced at the moment it was bought gave no time: it is a charge, and the chain begins once")
  func replacedAtOnce() async throws {
    let life = Life("a").buys("2025-02-01", until: "2025-03-01", price: 4).buys(
      "2025-02-01", until: "2025-03-01", "other")
    let program = try await Installation([life], asOf: "2025-02-06")
    try await expect(program.movements(by: "product_id"), is: ["2025-02-01 other new"])
    try await expect(program.revenue(), is: ["2025-02-01 initial 2 14 0 USD"])
  }

  @Test("a trial in grace is a trial")
  func trialInGrace() async throws {
    let life = Life("a").tries("2025-02-01", until: "2025-02-08")
      .says("2025-02-08 00:01", retry: true, grace: "2025-02-14")
    let program = try await Installation([life], asOf: "2025-02-10")
    try await expect(program.stocks("2025-02-09"), is: "active_trials 1")
    try await expect(program.lines("subscriptions", "status mrr"), is: ["trial -"])
  }

  @Test("free periods that follow each other are one trial; a price of 0 with an offer is free, without one a charge")
  func freePeriods() async throws {
    let life = Life("a").tries("2025-02-01", until: "2025-02-08").renews(until: "2025-02-15")
      .renews(until: "2025-03-15", without: ["offer"], with: ["price": 0])
    let program = try await Installation([life], asOf: "2025-02-17")
    try await expect(program.stocks("2025-02-14"), is: "active_trials 1")
    try await expect(program.movements(), is: ["2025-02-15 trial_converted"])
    try await expect(program.revenue(), is: ["2025-02-15 trial_conversion 1 0 0 USD"])
  }

  @Test("a discount that is a free trial is free whatever its offer says of the price")
  func freeWhateverThePrice() async throws {
    let life = Life("a").buys(
      "2025-02-01", until: "2025-03-01", price: nil, offer: ["type": "code", "discount": "free_trial"])
    let program = try await Installation([life], asOf: "2025-02-03")
    try await expect(program.stocks("2025-02-02"), is: "active_trials 1")
    #expect(try await program.rows("revenue").isEmpty)
  }

  @Test("a free period after a paid one keeps the chain active with MRR 0, and the charge after it is a renewal")
  func freeAfterPaid() async throws {
    let gift = plain.renews(until: "2025-04-01", with: ["price": 0, "offer": Self.free])
    let program = try await Installation([gift], asOf: "2025-03-03")
    try await expect(program.stocks("2025-03-02"), is: "active_subscriptions 1")
    try await expect(program.lines("subscriptions", "status mrr currency"), is: ["active 0 USD"])
    try await program.ingest([gift.renews(until: "2025-05-01", without: ["offer"], with: ["price": 10])])
    try await program.measure(asOf: "2025-04-03")
    try await expect(
      program.movements(by: "offer"),
      is: [
        "2025-02-01 none new", "2025-03-01 none moved_out", "2025-03-01 promotional moved_in renewed",
        "2025-04-01 none moved_in renewed", "2025-04-01 promotional moved_out",
      ])
    try await expect(program.revenue(), is: ["2025-02-01 initial 1 10 0 USD", "2025-04-01 renewal 1 10 0 USD"])
  }

  @Test("a free win-back offer begins a trial, and its first charge is a trial conversion")
  func freeWinBack() async throws {
    let life = plain.says("2025-02-20", autoRenew: false)
      .buys(
        "2025-05-01", until: "2025-06-01", price: 0,
        offer: ["type": "win_back", "id": "back", "discount": "free_trial"]
      )
      .renews(until: "2025-07-01", without: ["offer"], with: ["price": 10])
    let program = try await Installation([life], asOf: "2025-06-03")
    try await expect(program.stocks("2025-05-15"), is: "active_trials 1")
    try await expect(
      program.movements(), is: ["2025-02-01 new", "2025-03-01 churned_voluntary", "2025-06-01 trial_converted"])
    try await expect(
      program.revenue(), is: ["2025-02-01 initial 1 10 0 USD", "2025-06-01 trial_conversion 1 10 0 USD"])
  }

  @Test("bought again after access was lost: win_back with such an offer, reactivation without")
  func reactivation() async throws {
    let off = plain.says("2025-02-20", autoRenew: false)
    let other = Life("b").buys("2025-02-01", until: "2025-03-01").says("2025-02-20", autoRenew: false)
    let lives = [
      off.buys("2025-04-01", until: "2025-05-01"),
      other.buys(
        "2025-04-01", until: "2025-05-01", price: 5,
        offer: ["type": "win_back", "id": "back", "discount": "pay_as_you_go"]),
    ]
    let program = try await Installation(lives, asOf: "2025-04-03")
    try await expect(
      program.movements(),
      is: [
        "2025-02-01 new 2", "2025-03-01 churned_voluntary 2", "2025-04-01 reactivated 2 won_back",
      ])
    try await expect(
      program.revenue(["--from", "2025-04-01"]).sorted(),
      is: [
        "2025-04-01 reactivation 1 10 0 USD", "2025-04-01 win_back 1 5 0 USD",
      ])
    let sum = try await program.lines("movements", "opening closing", ["--group-by", "app", "--from", "2025-04-01"])
    #expect(sum.first == "0 2")
  }

  @Test("access lost by a refund and bought again is a reactivation, even where the store says renewal")
  func reactivationAfterRefund() async throws {
    let life = plain.isRefunded("2025-02-10").renews("2025-03-01", until: "2025-04-01")
    let program = try await Installation([life], asOf: "2025-03-03")
    try await expect(
      program.movements(), is: ["2025-02-01 new", "2025-02-10 churned_refunded", "2025-03-01 reactivated"])
    try await expect(program.revenue(["--from", "2025-03-01"]), is: ["2025-03-01 reactivation 1 10 0 USD"])
  }

  @Test("history that begins late: a first known renewal is a renewal whose movement is new")
  func lateHistory() async throws {
    let life = Life("a").buys("2025-02-01", until: "2025-03-01", reason: "renewal")
    let program = try await Installation([life], asOf: "2025-02-03")
    try await expect(program.movements(), is: ["2025-02-01 new"])
    try await expect(program.revenue(), is: ["2025-02-01 renewal 1 10 0 USD"])
  }

  /// A change of product at a renewal: what the catalogue says, what the prices were, and what it is.
  struct Change: CustomTestStringConvertible {
    var levels: (Int, Int)?
    var prices: (Double?, Double?)
    var currency = "USD"
    let kind: String
    var testDescription: String { "\(levels.map { "levels \($0)" } ?? "no levels"), \(prices) \(currency): \(kind)" }
  }

  @Test(
    "the direction of a change goes by level, else by MRR; unknown, unlike or equal ones are crossgrades",
    arguments: [
      Change(levels: (2, 1), prices: (20, 10), kind: "upgrade"),
      Change(levels: (1, 2), prices: (10, 20), kind: "downgrade"),
      Change(levels: (1, 1), prices: (10, 20), kind: "crossgrade"), Change(prices: (10, 20), kind: "upgrade"),
      Change(prices: (20, 10), kind: "downgrade"), Change(prices: (10, 10), kind: "crossgrade"),
      Change(prices: (nil, 10), kind: "crossgrade"), Change(prices: (10, nil), kind: "crossgrade"),
      Change(prices: (10, 20), currency: "EUR", kind: "crossgrade"),
    ])
  func changeOfProduct(change: Change) async throws {
    let life = Life("a").buys("2025-02-01", until: "2025-03-01", "one", price: change.prices.0)
      .buys("2025-03-01", until: "2025-04-01", "two", price: change.prices.1, change.currency, reason: "renewal")
    let program = try await Installation()
    if let levels = change.levels {
      try await program.import(
        "catalogue", "product_id,group_id,level,period\none,g,\(levels.0),P1M\ntwo,g,\(levels.1),P1M\n",
        ["--app", "video"])
    }
    try await program.ingest([life])
    try await program.measure(asOf: "2025-03-03")
    try await expect(
      program.movements(["--from", "2025-03-01"], by: "product_id"),
      is: ["2025-03-01 one moved_out", "2025-03-01 two moved_in \(change.kind)d"])
    try await expect(program.lines("revenue", "day kind", ["--from", "2025-03-01"]), is: ["2025-03-01 \(change.kind)"])
    #expect(try await program.rows("renewal_revenue").isEmpty)
  }

  @Test("a price that is corrected later turns a change of product, once, also when all is summed or derived anew")
  func correctedDirection() async throws {
    let life = Life("a").buys("2025-01-01", until: "2025-02-01", "a", price: 20, "EUR")
      .renews(until: "2025-03-01", with: ["product_id": "b"])
    let program = try await Installation([life], asOf: "2025-06-01")
    let columns = "kind charges gross net_converted unconverted_charges"
    try await expect(
      program.lines("revenue", columns, ["--from", "2025-02-01"]), is: ["crossgrade 1 20 - 1"])
    try await program.ingest([life.corrects("2025-02-05", ["price": 30, "currency": "EUR"])])
    try await program.measure(asOf: "2025-06-01")
    try await expect(program.lines("revenue", columns, ["--from", "2025-02-01"]), is: ["upgrade 1 30 - 1"])
    try await expect(program.measure(asOf: "2025-06-01", ["--rebuild"]), is: 0)
    try await program.import("rates", "Date,USD,\n2025-01-01,1.5,\n")
    try await expect(program.measure(asOf: "2025-06-01"), is: 0)
    try await expect(program.lines("revenue", columns, ["--from", "2025-02-01"]), is: ["upgrade 1 30 45 0"])
    try program.configure(reporting: "timezone: \"Europe/Berlin\"")
    try await expect(program.measure(asOf: "2025-06-01"), is: 0)
    try await expect(program.lines("revenue", columns, ["--from", "2025-02-01"]), is: ["upgrade 1 30 45 0"])
    try await expect(
      program.lines("movements", "upgraded crossgraded", ["--by", "year", "--group-by", "app"]), is: ["1 0"])
  }

  /// A change of product, what came of it before its prices were put right, and the kind of all of it thereafter.
  struct Correction: CustomTestStringConvertible {
    let testDescription: String
    let first: Double
    let second: Double?
    var refund: Double?
    var isReversed = false
    let corrected: (first: Double?, second: Double?)
    let revenue: [String]
  }

  @Test(
    "a refund is of the kind that its change of product has by now, in several runs as in one",
    arguments: [
      Correction(
        testDescription: "what was left cost less", first: 20, second: 20, refund: 5, corrected: (10, nil),
        revenue: ["upgrade 1 20 -5"]),
      Correction(
        testDescription: "what was bought cost more, wholly refunded", first: 20, second: 20, corrected: (nil, 30),
        revenue: ["upgrade 1 30 -30"]),
      Correction(
        testDescription: "the price becomes known", first: 20, second: nil, refund: 5, corrected: (nil, 30),
        revenue: ["upgrade 1 30 -5"]),
      Correction(
        testDescription: "a refund that was reversed", first: 20, second: 20, refund: 5, isReversed: true,
        corrected: (30, nil), revenue: ["downgrade 1 20 0"]),
      Correction(
        testDescription: "both prices", first: 20, second: 30, refund: 5, corrected: (40, 39),
        revenue: ["downgrade 1 39 -5"]),
    ])
  func correctedDirectionOfRefund(correction: Correction) async throws {
    let bought = Life("a").buys("2025-01-01", until: "2025-02-01", "a", price: correction.first, "EUR")
    var life = bought.buys("2025-02-01", until: "2025-03-01", "b", price: correction.second, "EUR", reason: "renewal")
      .isRefunded("2025-02-10", correction.refund == nil ? "full" : "prorated", amount: correction.refund)
    if correction.isReversed { life = life.isRestored("2025-02-12") }
    var parts = [life]
    if let price = correction.corrected.first {
      parts.append(bought.corrects("2025-02-20", ["price": price, "currency": "EUR"]))
    }
    if let price = correction.corrected.second {
      parts.append(life.corrects("2025-02-21", ["price": price, "currency": "EUR"]))
    }
    let rates = "Date,USD,\n2025-01-01,1.5,\n"
    func revenue(_ program: Installation, _ columns: String = "kind charges gross refunds") async throws -> [String] {
      try await program.lines("revenue", columns, ["--by", "year"]).filter { !$0.hasPrefix("initial") }
    }
    let atOnce = try await Installation(parts, asOf: "2025-06-01")
    try await expect(revenue(atOnce), is: correction.revenue)
    let split = try await Installation()
    for part in parts {
      try await split.ingest([part])
      try await split.measure(asOf: "2025-06-01")
    }
    try await expect(revenue(split), is: correction.revenue)
    // The same with a correction and a rate in one run, and derived anew.
    let together = try await Installation([parts[0]], asOf: "2025-06-01")
    try await together.import("rates", rates)
    try await together.ingest(Array(parts.dropFirst()))
    try await together.measure(asOf: "2025-06-01")
    try await expect(revenue(together), is: correction.revenue)
    let converted = try await revenue(together, "kind gross refunds net_converted unconverted_charges")
    try await split.import("rates", rates)
    try await split.measure(asOf: "2025-06-01")
    try await expect(revenue(split, "kind gross refunds net_converted unconverted_charges"), is: converted)
    try await expect(split.measure(asOf: "2025-06-01", ["--rebuild"]), is: 0)
    try await expect(revenue(split), is: correction.revenue)
  }

  @Test(
    "a refund that is told again after it was taken back withdraws access once, from the first moment of both on",
    arguments: [("2025-02-05", "05"), ("2025-02-03", "03"), ("2025-02-07", "05"), ("2025-02-10", "05")])
  func refundToldAgain(again: String, lost: String) async throws {
    let once = plain.isRefunded("2025-02-05").isRestored("2025-02-10")
    let twice = once.isRefunded(again, said: "2025-02-12")
    let restored = twice.isRestored("2025-02-15")
    let program = try await Installation()
    for (life, expected) in [
      (once, ["2025-02-05 churned_refunded", "2025-02-10 refund_reversed"]),
      (twice, ["2025-02-\(lost) churned_refunded"]),
      (restored, ["2025-02-\(lost) churned_refunded", "2025-02-15 refund_reversed"]),
    ] {
      // By itself, and in a further run.
      let alone = try await Installation([life], asOf: "2025-02-20")
      try await program.ingest([life])
      try await program.measure(asOf: "2025-02-20")
      for installation in [alone, program] {
        try await expect(installation.movements(), is: ["2025-02-01 new"] + expected)
        let refunds = expected.count == 1 ? "-10 0" : "0 10"
        try await expect(installation.lines("revenue", "refunds net", ["--by", "year"]), is: [refunds])
      }
      try await expect(program.measure(asOf: "2025-02-20", ["--rebuild"]), is: 0)
    }
  }

  @Test("a refund in grace that is taken back changes no access, on whatever day a run looks back at")
  func refundInGrace() async throws {
    let life = Life("a").buys("2025-02-01", until: "2025-02-08", with: ["period": "P1W"])
      .says("2025-02-08 00:10", autoRenew: true, retry: true, grace: "2025-02-24").isRefunded("2025-02-09")
      .isRestored("2025-02-22")
    let program = try await Installation()
    try await program.ingest([life])
    // Each run draws another day.
    for _ in 0..<6 { try await program.measure(asOf: "2025-02-23") }
    let days = try await program.lines("active_subscriptions", "day active_subscriptions", ["--from", "2025-02-07"])
    #expect(days.count == 16 && days.allSatisfy { $0.hasSuffix(" 1") }, "\(days)")
  }

  @Test(
    "a failure that is told before the period it speaks about leaves the one that it was heard for, however far back")
  func failureBeforeItsPeriod() async throws {
    let told = Life("a").buys("2025-01-01", until: "2025-02-01").renews(until: "2025-03-01")
      .buys("2025-03-01 06:00", until: "2026-03-01 06:00", "c", price: 90, reason: "renewal")
      .buys("2025-03-03", until: "2026-03-03", "f", price: 100)
      .says("2025-03-12", autoRenew: true, retry: true, grace: "2025-03-18")
    let missing = Life("a").buys("2025-01-01", until: "2025-02-01").renews(until: "2025-03-01")
      .buys("2025-03-01 06:00", until: "2026-03-01 06:00", "c", price: 90, reason: "renewal")
      .buys("2025-03-03", until: "2026-03-03", "f", price: 100)
      .buys("2025-03-05", until: "2025-03-12", "d", price: 3)
    func figures(_ program: Installation) async throws -> [String] {
      try await program.lines("billing_recovery", "day product_id entered_grace recovered_in_grace")
        + program.lines("renewal_rate", "day product_id due renewed changed_product recovered_in_grace lost open")
        + program.lines("subscription_history", "occurred_at kind")
    }
    let atOnce = try await Installation([told, missing], asOf: "2025-04-01")
    let split = try await Installation([told], asOf: "2025-03-25")
    try await split.ingest([missing])
    try await split.measure(asOf: "2025-04-01")
    try await expect(figures(split), is: figures(atOnce))
    #expect(try await !figures(split).contains { $0.hasPrefix("2025-03-01 monthly 1") && $0.hasSuffix("recovered") })
    try await expect(split.measure(asOf: "2025-04-01", ["--rebuild"]), is: 0)
  }

  @Test("a chain of which it turns out that it never paid is no cohort any more")
  func neverPaid() async throws {
    let lives = ["a", "b", "c"].map { Life($0).buys("2025-01-01", until: "2025-02-01") }
    let program = try await Installation(lives, asOf: "2025-02-10")
    try await expect(program.rows("retention").isEmpty, is: false)
    try await program.ingest([
      lives[0].corrects(
        "2025-02-11", ["price": 0, "currency": "USD", "offer": ["type": "introductory", "discount": "free_trial"]]),
      lives[1].corrects("2025-02-11", ["ownership": "family_shared"]),
      lives[2].corrects("2025-02-11", ["type": "non_renewing"]),
    ])
    try await program.measure(asOf: "2025-02-15")
    try await expect(program.rows("retention").isEmpty, is: true)
  }

  @Test("an upgrade in the middle of a period replaces it at that moment")
  func immediateUpgrade() async throws {
    let life = plain.buys("2025-02-10", until: "2025-03-10", "premium", price: 20)
    let program = try await Installation([life], asOf: "2025-03-03")
    try await expect(
      program.movements(by: "product_id"),
      is: ["2025-02-01 monthly new", "2025-02-10 monthly moved_out", "2025-02-10 premium moved_in upgraded"])
    try await expect(
      program.lines("active_subscriptions", "day product_id active_subscriptions", ["--from", "2025-03-02"])
        .sorted(), is: ["2025-03-02 monthly 0", "2025-03-02 premium 1"])
  }

  @Test("a yearly product is compared by what it costs a month")
  func directionByMonthlyPrice() async throws {
    let life = plain.buys("2025-03-01", until: "2026-03-01", "yearly", price: 60, reason: "renewal")
    let program = try await Installation([life], asOf: "2025-03-03")
    try await expect(program.revenue(["--from", "2025-03-01"]), is: ["2025-03-01 downgrade 1 60 0 USD"])
  }

  @Test("a change of country or offer moves the chain from row to row")
  func changeOfRow() async throws {
    let life = Life("a").buys(
      "2025-02-01", until: "2025-03-01", offer: ["type": "introductory", "discount": "pay_as_you_go"]
    )
    .renews(until: "2025-04-01", without: ["offer"]).renews(until: "2025-05-01", with: ["country": "DEU"])
    let program = try await Installation([life], asOf: "2025-04-03")
    try await expect(
      program.movements(by: "country,offer"),
      is: [
        "2025-02-01 USA introductory new", "2025-03-01 USA introductory moved_out",
        "2025-03-01 USA none moved_in renewed", "2025-04-01 DEU none moved_in renewed", "2025-04-01 USA none moved_out",
      ])
    for row in try await program.rows("movements") {
      func sum(_ names: String) -> Int {
        names.split(separator: " ").reduce(0) { $0 + (Int(row[String($1), default: 0].description) ?? 0) }
      }
      #expect(sum("opening new moved_in") - sum("moved_out") == sum("closing"), "\(row)")
    }
  }

  @Test("unknown product and country are rows of their own with null")
  func unknownRow() async throws {
    let known = Life("b").buys("2025-02-01", until: "2025-03-01", country: nil)
    let program = try await Installation([known], asOf: "2025-02-03")
    try await expect(program.movements(by: "country"), is: ["2025-02-01 - new"])
  }

  @Test("a period that is empty gives and ends no access: its transaction is a charge of its kind")
  func emptyPeriod() async throws {
    let life = plain.buys("2025-02-10", until: "2025-02-10", price: 3).buys("2025-02-12", until: "2025-02-11", price: 4)
    let program = try await Installation([life], asOf: "2025-02-20")
    try await expect(program.stocks("2025-02-19"), is: "active_subscriptions 1")
    try await expect(program.movements(), is: ["2025-02-01 new"])
    try await expect(
      program.revenue(),
      is: [
        "2025-02-01 initial 1 10 0 USD", "2025-02-10 renewal 1 3 0 USD", "2025-02-12 renewal 1 4 0 USD",
      ])
  }

  @Test(
    "one-time purchases are revenue and no subscription", arguments: ["consumable", "non_consumable", "non_renewing"])
  func oneTime(type: String) async throws {
    let life = Life("a").buys("2025-02-01", "coins", price: 2.5, with: ["type": type])
    let program = try await Installation([life], asOf: "2025-02-03")
    try await expect(program.revenue(), is: ["2025-02-01 one_time 1 2.5 0 USD"])
    #expect(try await program.movements().isEmpty)
    #expect(try await program.rows("subscriptions").isEmpty)
  }

  @Test("an event that comes late counts on the day it happened")
  func lateArrival() async throws {
    let life = Life("a").buys("2026-02-13 03:00", until: "2026-03-13 03:00")
    let program = try await Installation([life], asOf: "2026-03-14")
    try await expect(program.movements(), is: ["2026-02-13 new"])
    try await program.ingest([life.renews(until: "2026-04-13")])
    try await program.measure(asOf: "2026-03-15 10:00")
    try await expect(program.movements(), is: ["2026-02-13 new", "2026-03-13 renewed"])
    try await expect(program.lines("renewal_revenue", "day charges gross"), is: ["2026-03-13 1 10"])
  }

  @Test("a change of product after a pause has its direction")
  func changeAfterPause() async throws {
    let life = plain.says(
      "2025-02-10", with: ["paused_at": "2025-03-01T00:00:00Z", "resumes_at": "2025-04-01T00:00:00Z"]
    ).buys("2025-03-10", until: "2025-04-10", "premium", price: 20)
    let program = try await Installation([life], asOf: "2025-03-12")
    try await expect(
      program.movements(by: "product_id"),
      is: ["2025-02-01 monthly new", "2025-03-01 monthly paused", "2025-03-10 premium resumed"])
    try await expect(
      program.revenue(), is: ["2025-02-01 initial 1 10 0 USD", "2025-03-10 upgrade 1 20 0 USD"])
  }

  @Test("a transaction that two chains name is counted once, in the chain of the newest version")
  func oneHome() async throws {
    let first = Life("a").buys("2025-02-01", until: "2025-03-01", with: ["transaction_id": "shared"])
    let second = Life("b").buys(
      "2025-02-01", until: "2025-03-01", said: "2025-02-02", with: ["transaction_id": "shared"])
    let program = try await Installation([first], asOf: "2025-02-03")
    try await expect(program.lines("subscriptions", "original_transaction_id"), is: ["a"])
    try await program.ingest([second])
    try await program.measure(asOf: "2025-02-04")
    try await expect(program.stocks("2025-02-03"), is: "active_subscriptions 1")
    try await expect(program.revenue(), is: ["2025-02-01 initial 1 10 0 USD"])
    try await expect(program.lines("subscriptions", "original_transaction_id"), is: ["b"])
    let together = try await Installation([second, first], asOf: "2025-02-04")
    try await expect(together.lines("subscriptions", "original_transaction_id"), is: ["b"])
    try await expect(together.revenue(), is: ["2025-02-01 initial 1 10 0 USD"])
  }

  @Test(
    "a correction that leaves a row without anything is measured like any other",
    arguments: [
      ["product_id": "other"], ["country": "DEU"], ["offer": ["type": "promotional", "id": "p"]],
      ["expires_at": "2025-02-01T00:00:00Z"], ["revoked_at": "2025-02-01T00:00:00Z"], ["ownership": "family_shared"],
      ["currency": "EUR", "price": 9], ["type": "consumable"],
    ] as [[String: any Sendable]])
  func emptiedRow(fields: [String: any Sendable]) async throws {
    let life = Life("a").buys("2025-02-01", until: "2025-03-01")
    let corrected = life.corrects("2025-02-10", fields)
    let program = try await Installation([life], asOf: "2025-02-05")
    try await program.ingest([corrected])
    try await program.measure(asOf: "2025-02-12")
    let atOnce = try await Installation([corrected], asOf: "2025-02-12")
    for report in ["movements", "active_subscriptions", "mrr", "mrr_movement", "revenue"] {
      func rows(_ program: Installation) async throws -> [[String: Cell]] {
        // A row in which nothing is left may be there or not.
        try await program.rows(report).filter { row in
          row.contains { $0.key != "day" && $0.value != 0 && Decimal(string: "\($0.value)") != nil }
        }
      }
      try await expect(rows(program), is: rows(atOnce))
    }
    try await expect(program.measure(asOf: "2025-02-12", ["--rebuild"]), is: 0)
  }

  @Test("a pause that is over before it begins is none; one in a trial is no loss either")
  func oddPauses() async throws {
    let backwards = Life("a").buys("2025-01-01", until: "2025-02-01").says(
      "2025-01-10", autoRenew: true, with: ["paused_at": "2025-01-20T00:00:00Z", "resumes_at": "2025-01-15T00:00:00Z"])
    let trial = Life("b").tries("2025-01-02", until: "2025-01-09")
      .says("2025-01-03", with: ["paused_at": "2025-01-05T00:00:00Z", "resumes_at": "2025-01-25T00:00:00Z"])
    let program = try await Installation([backwards, trial], asOf: "2025-01-22")
    try await expect(program.stocks("2025-01-21"), is: "active_subscriptions 1 paused 1")
    try await expect(program.stocks("2025-01-16"), is: "active_subscriptions 1 paused 1")
    try await expect(
      program.lines("subscriptions", "original_transaction_id status").sorted(), is: ["a active", "b paused"])
    try await expect(program.lines("trials", "started running expired"), is: ["1 1 0"])
    try await program.ingest([
      Life("b").buys("2025-01-25", until: "2025-02-25", reason: "renewal", with: ["transaction_id": "b-9"])
    ])
    try await program.measure(asOf: "2025-01-26")
    try await expect(program.movements(["--from", "2025-01-25"]), is: ["2025-01-25 trial_converted"])
    try await expect(program.revenue(["--from", "2025-01-25"]), is: ["2025-01-25 trial_conversion 1 10 0 USD"])
    try await expect(program.lines("trials", "started converted"), is: ["1 1"])
    try await expect(program.stocks("2025-01-25"), is: "active_subscriptions 2")
  }
}
