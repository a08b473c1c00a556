import Foundation
import Testing
import Vocabulary

@testable import Demo

@Suite("Made-up year")
struct DemonstrationTests {
  private static let year = Demonstration(subscribers: 1500, seed: 5)

  private func sheet(_ name: String) throws -> Books.Sheet {
    try #require(Self.year.books.sheets.first { $0.report == name })
  }

  @Test("the same seed makes the same year, another one another")
  func seeds() {
    let one = Demonstration(subscribers: 40, seed: 7)
    let same = Demonstration(subscribers: 40, seed: 7)
    #expect(one.notices.map { "\($0)" } == same.notices.map { "\($0)" })
    #expect(one.arrivals == same.arrivals)
    #expect(one.books.sheets.map(\.rows) == same.books.sheets.map(\.rows))
    let other = Demonstration(subscribers: 40, seed: 8)
    #expect(one.notices.map { "\($0)" } != other.notices.map { "\($0)" })
  }

  @Test("months of the calendar end early where they are too short, and count as whole ones then")
  func calendar() throws {
    func moment(_ text: String) throws -> Instant { try #require(Instant(text)) }
    for (from, months, to) in [
      ("2025-01-31T10:00:00Z", 1, "2025-02-28T10:00:00Z"), ("2024-01-31T10:00:00Z", 1, "2024-02-29T10:00:00Z"),
      ("2025-01-15T23:59:59Z", 12, "2026-01-15T23:59:59Z"), ("2025-12-31T00:00:00Z", 2, "2026-02-28T00:00:00Z"),
      ("2025-03-01T00:00:00Z", 0, "2025-03-01T00:00:00Z"), ("1999-11-30T01:02:03Z", 3, "2000-02-29T01:02:03Z"),
    ] {
      #expect(try moment(from).adding(months: months) == moment(to))
      #expect(try moment(from).wholeMonths(to: moment(to)) == months)
      #expect(try moment(from).wholeMonths(to: moment(to).adding(seconds: -1)) == max(months - 1, 0))
    }
  }

  @Test("more customers leave the lives of the others as they are")
  func growth() {
    let few = Demonstration(subscribers: 10, seed: 7)
    let many = Demonstration(subscribers: 20, seed: 7)
    let told = Set(many.notices.map { "\($0)" })
    // All but the few that stand for themselves.
    #expect(
      few.notices.filter { $0.transaction != nil && $0.type != "GIFT_RECEIVED" }.allSatisfy { told.contains("\($0)") })
  }

  @Test("everything happens in it that the store tells of")
  func everything() {
    let notices = Self.year.notices
    let kinds = Set(notices.map { [$0.type, $0.subtype].compactMap { $0 }.joined(separator: ".") })
    let expected: Set = [
      "SUBSCRIBED.INITIAL_BUY", "SUBSCRIBED.RESUBSCRIBE", "DID_RENEW", "DID_RENEW.BILLING_RECOVERY",
      "DID_CHANGE_RENEWAL_PREF.UPGRADE", "DID_CHANGE_RENEWAL_PREF.DOWNGRADE", "DID_CHANGE_RENEWAL_PREF",
      "DID_CHANGE_RENEWAL_STATUS.AUTO_RENEW_DISABLED", "DID_CHANGE_RENEWAL_STATUS.AUTO_RENEW_ENABLED",
      "DID_FAIL_TO_RENEW", "DID_FAIL_TO_RENEW.GRACE_PERIOD", "GRACE_PERIOD_EXPIRED", "EXPIRED.VOLUNTARY",
      "EXPIRED.BILLING_RETRY", "EXPIRED.PRICE_INCREASE", "EXPIRED.PRODUCT_NOT_FOR_SALE", "EXPIRED",
      "PRICE_INCREASE.PENDING", "PRICE_INCREASE.ACCEPTED", "REFUND", "REFUND_REVERSED", "REFUND_DECLINED", "REVOKE",
      "CONSUMPTION_REQUEST", "RENEWAL_EXTENDED", "ONE_TIME_CHARGE", "TEST", "GIFT_RECEIVED",
    ]
    #expect(kinds == expected)
    let transactions = notices.compactMap(\.transaction)
    #expect(Set(transactions.compactMap(\.offer?.type)) == [1, 2, 3, 4])
    #expect(Set(transactions.map(\.storefront.currency)) == ["USD", "EUR", "GBP", "JPY", "KRW", "KWD"])
    #expect(Set(transactions.map(\.ownership)) == ["PURCHASED", "FAMILY_SHARED"])
    #expect(
      Set(transactions.compactMap { $0.revocation?.type }) == ["REFUND_FULL", "REFUND_PRORATED", "FAMILY_REVOKE"])
    #expect(Set(notices.map(\.environment)) == ["Production", "Sandbox"])
    #expect(transactions.contains { $0.price == nil && $0.ownership == "PURCHASED" })
    #expect(notices.contains { $0.renewal?.offers == [] })
    #expect(Self.year.books.mail.duplicates > 20)
    #expect(Self.year.books.mail.announced > 20)
    // Late: signed in the first half of the year, arriving after it.
    let middle = Demonstration.asOf[0]
    #expect(Self.year.arrivals[1].count { notices[$0].signedAt < middle } > 20)
    #expect(Self.year.arrivals[0].allSatisfy { notices[$0].signedAt < middle })
    // In no order.
    #expect(Self.year.arrivals[0] != Self.year.arrivals[0].sorted())
    for moment in notices.map(\.signedAt) { #expect(Demonstration.year.holds(moment)) }
  }

  @Test("every reason of churn, every standing and every verdict on an offer is in the books")
  func everyFigure() throws {
    let movements = try sheet("movements")
    for (index, column) in movements.columns.enumerated() {
      #expect(movements.rows.values.contains { $0[index] != 0 }, "\(column) is always 0")
    }
    #expect(
      Set(try sheet("subscriptions").rows.keys.map { $0[0] })
        == ["trial", "active", "grace", "billing_retry", "expired", "revoked"])
    let reasons = Set(try sheet("winback_eligibility").rows.keys.map { $0[1] })
    #expect(
      reasons == [
        "eligible", "billing_retry", "auto_renew_on", "not_offered_by_store", "too_little_paid_service", "too_recent",
        "outside_territories", "other_product", "waiting", "too_long_ago",
      ])
    #expect(
      Set(try sheet("revenue").rows.keys.map { $0[1] }) == [
        "initial", "trial_conversion", "renewal", "billing_recovery", "win_back", "reactivation", "upgrade",
        "downgrade",
        "crossgrade", "one_time",
      ])
  }

  @Test("the books add up: opening, what came and what went make the closing")
  func addUp() throws {
    let movements = try sheet("movements")
    func figure(_ row: [String], _ column: String) throws -> Int {
      let index = try #require(movements.columns.firstIndex(of: column))
      return try #require(Int("\(movements.rows[row]?[index] ?? 0)"))
    }
    for row in movements.rows.keys {
      let incoming = try ["new", "trial_converted", "reactivated", "recovered", "refund_reversed"].map {
        try figure(row, $0)
      }.reduce(0, +)
      let outgoing = try movements.columns.filter { $0.hasPrefix("churned_") || $0 == "suspended" }.map {
        try figure(row, $0)
      }.reduce(0, +)
      #expect(try figure(row, "opening") + incoming - outgoing == figure(row, "closing"), "\(row)")
    }
  }
}
