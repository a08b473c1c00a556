import Foundation
import TestSupport
import Testing
import Vocabulary

/// Examples written by hand from the definitions of the metrics, judged by the oracle alone.
@Suite("The oracle knows the definitions of the metrics")
struct OracleExampleTests {
  /// The named columns of every row, nulls written `null`, in the rows' order.
  private func lines(_ report: String, _ columns: String, _ lives: [Life], asOf: String) throws -> [String] {
    let events = try lives.flatMap(\.events).map { try JSONDecoder().decode(Event.self, from: Data($0.utf8)) }
    let moment = try #require(Instant(Life.moment(asOf)))
    let found = Oracle(events, Oracle.Settings(asOf: moment, catalogue: [])).report(report)
    return found.rows.map { key, figures in
      let row = Dictionary(
        uniqueKeysWithValues: zip(found.key + found.columns, key + figures.map(\.description)))
      return columns.split(separator: " ").map { row[String($0)] ?? "no column \($0)" }.joined(separator: " ")
    }.sorted()
  }

  /// From 1 January to 1 February 2025.
  private func january(_ chain: String, subscriber: String? = nil) -> Life {
    Life(chain, subscriber: subscriber).buys("2025-01-01", until: "2025-02-01")
  }

  private func trial(_ chain: String, subscriber: String? = nil, until: String = "2025-01-08") -> Life {
    Life(chain, subscriber: subscriber).tries("2025-01-01", until: until)
  }

  /// The first charge after a trial.
  private func pays(_ life: Life, _ at: String? = nil, until: String) -> Life {
    life.renews(at, until: until, without: ["offer"], with: ["price": 10])
  }

  // MARK: - Refunds

  private static let refunds =
    """
    day currency refunded_charges amount share refunded_charges_by_purchase_day amount_by_purchase_day \
    share_by_purchase_day
    """

  @Test("a refund counts on its day and on the day of the purchase, a reversal takes it back on its own")
  func refunds() throws {
    let lives = [january("kept"), january("back").isRefunded("2025-01-05").isRestored("2025-01-09")]
    #expect(
      try lines("refunds", Self.refunds, lives, asOf: "2025-01-07") == [
        "2025-01-01 USD 0 0 0 1 -10 0.5", "2025-01-05 USD 1 -10 null 0 0 null",
      ])
    #expect(
      try lines("refunds", Self.refunds, lives, asOf: "2025-01-20") == [
        "2025-01-01 USD 0 0 0 0 0 0", "2025-01-05 USD 1 -10 null 0 0 null", "2025-01-09 USD -1 10 null 0 0 null",
      ])
  }

  @Test("an amount is null where none is known; what returns nothing is no refund, what is free no charge")
  func refundAmounts() throws {
    let lives = [
      january("prorated").isRefunded("2025-01-01 12:00", "prorated"),
      january("family").isRefunded("2025-01-02", "family"),
      january("word").isRefunded("2025-01-02", "goodwill"), trial("free").isRefunded("2025-01-02"),
    ]
    #expect(
      try lines("refunds", Self.refunds, lives, asOf: "2025-01-20") == [
        "2025-01-01 USD 1 null 0.\(String(repeating: "3", count: 38)) 1 null 0.\(String(repeating: "3", count: 38))"
      ])
    #expect(
      try lines(
        "refunds", Self.refunds, lives + [january("part").isRefunded("2025-01-01 13:00", "prorated", amount: 2.5)],
        asOf: "2025-01-20") == ["2025-01-01 USD 2 -2.5 0.5 2 -2.5 0.5"])
  }

  // MARK: - Renewals

  private static let rate =
    """
    day product_id due renewed recovered_in_grace recovered_in_retry changed_product lost open renewal_rate \
    renewal_rate_store
    """

  @Test("every period that reaches its expiry is in one column of that day")
  func renewalRate() throws {
    let lives = [
      january("a").renews(until: "2025-03-01"), january("b").renews("2025-02-01 07:00", until: "2025-03-01"),
      // Dated back to the expiry after a failure, and in grace with another product.
      january("c").says("2025-02-01 00:10", retry: true).renews(until: "2025-03-01", said: "2025-02-01 09:00"),
      january("d").says("2025-02-01 00:10", retry: true, grace: "2025-02-07")
        .renews("2025-02-03", until: "2025-03-03", with: ["product_id": "yearly"]),
      january("e").says("2025-02-01 00:10", retry: true).renews("2025-02-09", until: "2025-03-09"),
      january("f").renews(until: "2025-03-01", with: ["product_id": "yearly"]),
      january("g").says("2025-01-20", autoRenew: false),
      january("h").says("2025-02-01 00:10", retry: true),
    ]
    #expect(
      try lines("renewal_rate", Self.rate, lives, asOf: "2025-02-10") == ["2025-02-01 monthly 8 2 2 1 1 1 1 0.75 0.625"]
    )
    // 60 days later retry is closed. The others' next periods have ended without a word, each in its own row.
    #expect(
      try lines("renewal_rate", Self.rate, lives, asOf: "2025-04-30").first
        == "2025-02-01 monthly 8 2 2 1 1 2 0 0.75 0.625")
  }

  @Test("what does not come to its expiry is not due: replaced, refunded, paused, a trial, or not yet")
  func notDue() throws {
    let lives = [
      january("replaced").buys("2025-01-20", until: "2025-12-20", "yearly"),
      january("refunded").isRefunded("2025-01-20"),
      january("paused").says("2025-01-20", with: ["paused_at": "2025-02-01T00:00:00Z"]), trial("trial"),
    ]
    #expect(try lines("renewal_rate", Self.rate, lives, asOf: "2025-03-01").isEmpty)
    let life = january("a")
    #expect(try lines("renewal_rate", Self.rate, [life], asOf: "2025-02-01").isEmpty)
    // Waited for, then lost; a later refund changes nothing, and one that was reversed in time neither.
    #expect(
      try lines("renewal_rate", Self.rate, [life], asOf: "2025-02-01 12:00") == ["2025-02-01 monthly 1 0 0 0 0 0 1 0 0"]
    )
    for life in [life, life.isRefunded("2025-02-10"), life.isRefunded("2025-01-10").isRestored("2025-01-11")] {
      #expect(
        try lines("renewal_rate", Self.rate, [life], asOf: "2025-03-01") == ["2025-02-01 monthly 1 0 0 0 0 1 0 0 0"])
    }
  }

  @Test("a free period after a paid one is due too, and so is the charge after it")
  func freeIsDue() throws {
    let life = january("a")
      .buys("2025-02-01", until: "2025-03-01", price: 0, reason: "renewal", offer: ["type": "promotional"])
    #expect(
      try lines("renewal_rate", Self.rate, [pays(life, until: "2025-04-01")], asOf: "2025-03-10") == [
        "2025-02-01 monthly 1 1 0 0 0 0 0 1 1", "2025-03-01 monthly 1 1 0 0 0 0 0 1 1",
      ])
  }

  private static let recovery =
    "day entered_grace entered_retry recovered_in_grace recovered_in_retry lost open recovery_rate is_complete"

  @Test("a failure is counted once, on the day of the expiry, after a trial too")
  func billingRecovery() throws {
    let lives = [
      pays(trial("a").says("2025-01-08 00:10", grace: "2025-01-14"), "2025-01-10", until: "2025-02-10"),
      pays(trial("b").says("2025-01-08 00:10", retry: true), "2025-01-20", until: "2025-02-20"),
      // No word, but a renewal after a gap.
      pays(trial("c"), "2025-01-11", until: "2025-02-11"),
      // Grace, then retry, then the store says expired.
      trial("d").says("2025-01-08 00:10", retry: true, grace: "2025-01-14").says("2025-01-14 00:10", retry: true)
        .says("2025-01-25", retry: false, reason: "billing"),
      trial("no failure").says("2025-01-05", autoRenew: false), trial("waited for"),
    ]
    #expect(
      try lines("billing_recovery", Self.recovery, lives, asOf: "2025-01-09") == [
        "2025-01-08 2 1 0 0 0 3 null true"
      ])
    #expect(
      try lines("billing_recovery", Self.recovery, lives, asOf: "2025-01-31") == [
        "2025-01-08 2 3 1 2 1 0 0.75 true"
      ])
  }

  // MARK: - Cohorts

  private static let retention = "cohort_by cohort_on period cohort_size due retained retention is_complete"

  private func months(_ lives: [Life], asOf: String) throws -> [String] {
    try lines("retention", Self.retention, lives, asOf: asOf).filter { $0.hasPrefix("month") }
  }

  @Test("first start 31 Jan, next 29 Feb: period 1")
  func monthEnds() throws {
    let life = Life("a").buys("2024-01-31", until: "2024-02-29").renews(until: "2024-03-31")
    #expect(try lines("retention", Self.retention, [life], asOf: "2024-02-29").isEmpty)
    #expect(
      try lines("retention", Self.retention, [life], asOf: "2024-03-01") == [
        "month 2024-01-01 1 1 1 1 1 true", "week 2024-01-29 1 1 1 1 1 true",
      ])
  }

  @Test("a lost chain's renewals are due that many periods after its last expiry")
  func lost() throws {
    let lives = [
      january("a").renews(until: "2025-03-01").renews(until: "2025-04-01"),
      Life("b").buys("2025-01-31", until: "2025-02-28").says("2025-02-10", autoRenew: false),
    ]
    #expect(
      try months(lives, asOf: "2025-03-02") == [
        "month 2025-01-01 1 2 2 1 0.5 true", "month 2025-01-01 2 2 1 1 1 false",
      ])
    #expect(try months(lives, asOf: "2025-03-28").last == "month 2025-01-01 2 2 1 1 1 false")
    #expect(try months(lives, asOf: "2025-03-28 00:01").last == "month 2025-01-01 2 2 2 1 0.5 true")
  }

  @Test("product changes and recoveries count, a return does not; a trial before the first charge is no period")
  func whatCounts() throws {
    let change = january("a").buys("2025-01-20", until: "2025-02-20", "other")
    #expect(try months([change], asOf: "2025-01-21") == ["month 2025-01-01 1 1 1 1 1 true"])
    let recovered = january("a").says("2025-02-01 00:10", retry: true).renews("2025-02-20", until: "2025-03-20")
    #expect(try months([recovered], asOf: "2025-02-10") == ["month 2025-01-01 1 1 1 0 0 false"])
    #expect(try months([recovered], asOf: "2025-02-21") == ["month 2025-01-01 1 1 1 1 1 true"])
    let returned = january("a").says("2025-01-20", autoRenew: false).buys("2025-02-20", until: "2025-03-20")
    #expect(
      try months([returned], asOf: "2025-03-10") == [
        "month 2025-01-01 1 1 1 0 0 true", "month 2025-01-01 2 1 1 0 0 true",
      ])
    let tried = pays(trial("a", until: "2025-02-01"), until: "2025-03-01").renews(until: "2025-04-01")
    #expect(try months([tried], asOf: "2025-03-10") == ["month 2025-02-01 1 1 1 1 1 true"])
  }

  @Test("a refund of a period ends it, unless it is reversed; what was refunded or paused is due at its expiry")
  func refundsEnd() throws {
    let life = january("a").renews(until: "2025-03-01").renews(until: "2025-04-01")
    let refunded = life.isRefunded("2025-03-05", nth: 2)
    #expect(
      try months([refunded], asOf: "2025-03-10") == [
        "month 2025-01-01 1 1 1 0 0 true", "month 2025-01-01 2 1 1 0 0 true",
      ])
    #expect(
      try months([refunded.isRestored("2025-03-06", nth: 2)], asOf: "2025-03-10") == [
        "month 2025-01-01 1 1 1 1 1 true", "month 2025-01-01 2 1 1 1 1 true",
      ])
    let lost = january("a").isRefunded("2025-01-10")
    #expect(try months([lost], asOf: "2025-02-01").isEmpty)
    #expect(try months([lost], asOf: "2025-02-02") == ["month 2025-01-01 1 1 1 0 0 true"])
    let pause = january("a").says("2025-01-10", with: ["paused_at": "2025-01-20T00:00:00Z"])
    #expect(try months([pause], asOf: "2025-02-01").isEmpty)
    #expect(try months([pause], asOf: "2025-02-02") == ["month 2025-01-01 1 1 1 0 0 true"])
    #expect(
      try months([pause.renews("2025-02-10", until: "2025-03-10")], asOf: "2025-02-11") == [
        "month 2025-01-01 1 1 1 1 1 true"
      ])
  }

  private static let customers =
    "day new_customers new_paying paying_total started_trial_7d started_trial_14d paid_7d paid_14d paid_30d is_complete"

  @Test("day 0 counts: a 7-day window holds 8 dates, and a day is complete when its 30 days have passed")
  func windows() throws {
    let lives = [
      pays(trial("a", subscriber: "a"), until: "2025-02-08"),
      pays(trial("b", subscriber: "b", until: "2025-01-09"), until: "2025-02-09"),
      january("c", subscriber: "c"),
      // In another chain, and of a later day.
      trial("d", subscriber: "d").says("2025-01-02", autoRenew: false),
      Life("d2", subscriber: "d").buys("2025-01-31 23:00", price: 5, with: ["type": "consumable"]),
    ]
    let rows = try lines("customers", Self.customers, lives, asOf: "2025-02-01 12:00")
    #expect(rows.count == 32)
    #expect(rows[0] == "2025-01-01 4 1 1 0.75 0.75 0.5 0.75 1 true")
    #expect(rows[1] == "2025-01-02 0 0 1 null null null null null false")
    #expect(rows[7] == "2025-01-08 0 1 2 null null null null null false")
    #expect(rows[31] == "2025-02-01 0 0 4 null null null null null false")
    #expect(try lines("customers", Self.customers, lives, asOf: "2025-01-31 23:59")[0].hasSuffix(" 1 false"))
    #expect(try lines("customers", Self.customers, lives, asOf: "2025-01-31 12:00")[0].hasSuffix(" 0.75 false"))
  }

  @Test("one customer in two chains is one; what is shared by the family is nobody's")
  func onePerson() throws {
    let lives = [
      january("a", subscriber: "u"), Life("b", subscriber: "u").buys("2025-01-02", until: "2025-02-02"), january("c"),
      Life("d").buys("2025-01-01", until: "2025-02-01", with: ["ownership": "family_shared"]),
    ]
    #expect(
      try lines("customers", "day new_customers new_paying paying_total", lives, asOf: "2025-01-03") == [
        "2025-01-01 2 2 2", "2025-01-02 0 0 2",
      ])
  }
}
