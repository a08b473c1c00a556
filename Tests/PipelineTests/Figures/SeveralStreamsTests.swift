import Foundation
import TestSupport
import Testing

@Suite("Figures: one truth from several streams", .fewAtOnce)
struct SeveralStreamsTests {
  /// What the App Store posts about four customers in three months.
  private static let apples: [Notification] = [
    // Renews, switches auto-renew off and on, renews.
    Notification("SUBSCRIBED.INITIAL_BUY", signed: "2025-02-01 00:00:05", renewal: [:]),
    Notification(
      "DID_CHANGE_RENEWAL_STATUS.AUTO_RENEW_DISABLED", signed: "2025-02-10", renewal: ["autoRenewStatus": 0]),
    Notification("DID_CHANGE_RENEWAL_STATUS.AUTO_RENEW_ENABLED", signed: "2025-02-10 01:00", renewal: [:]),
    Notification(
      "DID_RENEW", signed: "2025-03-01 00:00:05", id: "11", from: "2025-03-01", until: "2025-04-01", renewal: [:]),
    // Leaves.
    Notification("SUBSCRIBED.INITIAL_BUY", signed: "2025-02-02", id: "2", chain: "2", renewal: [:]),
    Notification(
      "DID_CHANGE_RENEWAL_STATUS.AUTO_RENEW_DISABLED", signed: "2025-02-20", id: "2", chain: "2",
      renewal: ["autoRenewStatus": 0]),
    Notification(
      "EXPIRED.VOLUNTARY", signed: "2025-03-01 00:10", id: "2", chain: "2",
      renewal: ["autoRenewStatus": 0, "expirationIntent": 1]),
    // The charge fails, and succeeds a week later.
    Notification("SUBSCRIBED.INITIAL_BUY", signed: "2025-02-02", id: "3", chain: "3", renewal: [:]),
    Notification(
      "DID_FAIL_TO_RENEW", signed: "2025-03-01 00:01", id: "3", chain: "3",
      renewal: ["isInBillingRetryPeriod": true, "expirationIntent": 2]),
    Notification(
      "DID_RENEW.BILLING_RECOVERY", signed: "2025-03-08", id: "33", from: "2025-03-08", until: "2025-04-08",
      chain: "3", renewal: [:]),
    // Gets the money back.
    Notification("SUBSCRIBED.INITIAL_BUY", signed: "2025-02-03", id: "4", chain: "4", renewal: [:]),
    Notification(
      "REFUND", signed: "2025-02-12", id: "4", chain: "4",
      transaction: ["revocationDate": Notification.milliseconds("2025-02-12"), "revocationReason": 0]),
  ]

  /// The same, as RevenueCat posts it: later, in other words, and with what Apple does not tell.
  private static let cats: [RevenueCatMessage] = [
    RevenueCatMessage("INITIAL_PURCHASE", at: "2025-02-01 00:01"),
    RevenueCatMessage("CANCELLATION", at: "2025-02-10 02:00", price: 0, with: ["cancel_reason": "UNSUBSCRIBE"]),
    RevenueCatMessage("UNCANCELLATION", at: "2025-02-10 01:01", price: 0),
    RevenueCatMessage("RENEWAL", at: "2025-03-01 00:01", id: "11", from: "2025-03-01", until: "2025-04-01"),
    RevenueCatMessage("INITIAL_PURCHASE", at: "2025-02-02", id: "2", chain: "2", user: "u2"),
    RevenueCatMessage(
      "CANCELLATION", at: "2025-02-20 01:30", id: "2", chain: "2", price: 0, user: "u2",
      with: ["cancel_reason": "UNSUBSCRIBE"]),
    RevenueCatMessage(
      "EXPIRATION", at: "2025-03-01 00:30", id: "2", chain: "2", price: 0, user: "u2",
      with: ["expiration_reason": "UNSUBSCRIBE"]),
    RevenueCatMessage("INITIAL_PURCHASE", at: "2025-02-02", id: "3", chain: "3", user: "u3"),
    RevenueCatMessage("BILLING_ISSUE", at: "2025-03-01 00:05", id: "3", chain: "3", price: 0, user: "u3"),
    RevenueCatMessage(
      "CANCELLATION", at: "2025-03-01 00:05", id: "3", chain: "3", price: 0, user: "u3",
      with: ["cancel_reason": "BILLING_ERROR"]),
    RevenueCatMessage(
      "EXPIRATION", at: "2025-03-01 00:06", id: "3", chain: "3", price: 0, user: "u3",
      with: ["expiration_reason": "BILLING_ERROR"]),
    RevenueCatMessage(
      "RENEWAL", at: "2025-03-08 00:01", id: "33", from: "2025-03-08", until: "2025-04-08", chain: "3", user: "u3"),
    RevenueCatMessage("INITIAL_PURCHASE", at: "2025-02-03", id: "4", chain: "4", user: "u4"),
    RevenueCatMessage(
      "CANCELLATION", at: "2025-02-12 01:00", id: "4", chain: "4", price: -9.99, user: "u4",
      with: ["cancel_reason": "CUSTOMER_SUPPORT"]),
    RevenueCatMessage(
      "EXPIRATION", at: "2025-02-12 01:05", id: "4", chain: "4", price: 0, user: "u4",
      with: [
        "expiration_reason": "CUSTOMER_SUPPORT", "expiration_at_ms": Notification.milliseconds("2025-02-12 01:00"),
      ]),
  ]

  /// The figures that both streams know.
  private static let shared: [(report: String, columns: String)] = [
    (
      "active_subscriptions",
      "day product_id country active_subscriptions active_trials in_grace in_billing_retry set_to_cancel"
    ),
    (
      "movements",
      "day product_id country opening new reactivated recovered churned_voluntary churned_billing churned_refunded "
        + "churned_other churned_unconfirmed suspended closing renewed"
    ),
    ("churn", "period starts_on active_at_start churned churned_same_period churn_rate voluntary billing refunded"),
    ("revenue", "day kind currency charges unpriced_charges gross refunds net"),
    ("renewal_revenue", "day kind currency charges gross refunds net"),
    ("mrr", "day product_id currency mrr unpriced_subscriptions"),
    ("mrr_movement", "day currency opening new reactivation churn suspension recovery closing"),
    ("renewal_rate", "day due renewed recovered_in_retry lost open"),
    ("billing_recovery", "day entered_retry recovered_in_retry lost open"),
    ("refunds", "day refunded_charges amount"),
    ("active_subscribers", "day active_subscribers"),
  ]

  private func figures(_ program: Installation) async throws -> [String: [String]] {
    var figures: [String: [String]] = [:]
    for (report, columns) in Self.shared {
      let rows = try await program.rows(report)
      let names = columns.split(separator: " ").map(String.init).filter { rows.first?.keys.contains($0) == true }
      figures[report] = rows.map { row in names.map { "\($0)=\(row[$0, default: .null])" }.joined(separator: " ") }
    }
    return figures
  }

  @Test("a month in parallel gives the figures of Apple's own stream, and fills what Apple does not tell")
  func parallel() async throws {
    let alone = try await Installation(Self.apples, asOf: "2025-04-20")
    let both = try await Installation()
    // Whichever comes first, and in whatever order.
    try await both.ingest(Array(Self.cats.reversed()))
    try await both.measure(asOf: "2025-03-05")
    try await both.ingest(Self.apples)
    try await both.ingest(Self.cats)
    try await both.measure(asOf: "2025-04-20")
    let (expected, found) = (try await figures(alone), try await figures(both))
    for (report, _) in Self.shared {
      #expect(expected[report]?.isEmpty == false, "\(report)")
      #expect(expected[report] == found[report], "\(report)")
    }
    let columns = "day charges tax commission proceeds proceeds_basis"
    let filled = try await both.lines("revenue", columns, ["--group-by", "kind", "--from", "2025-03-01"])
    #expect(filled.allSatisfy { $0.hasSuffix("reported") && !$0.contains(" - ") }, "\(filled)")
    try await expect(
      alone.lines("revenue", "proceeds_basis", ["--group-by", "kind", "--from", "2025-03-01"]).contains("reported"),
      is: false)
    try await expect(
      both.lines("subscriptions", "original_transaction_id subscriber_id").sorted(),
      is: ["1 u1", "2 u2", "3 u3", "4 u4"])
    try await expect(both.rows("data_quality").filter { $0["check"] == "sources_disagree" }.isEmpty, is: true)
    #expect(try await both.measure(asOf: "2025-04-20", ["--rebuild"]) == 0)
  }

  @Test("RevenueCat alone gives the same movements and money")
  func revenueCatAlone() async throws {
    let apple = try await Installation(Self.apples, asOf: "2025-04-20")
    let cat = try await Installation()
    try await cat.ingest(Self.cats)
    try await cat.measure(asOf: "2025-04-20")
    let (expected, found) = (try await figures(apple), try await figures(cat))
    for report in ["movements", "churn", "renewal_revenue", "mrr", "billing_recovery", "renewal_rate"] {
      #expect(expected[report] == found[report], "\(report)")
    }
  }

  @Test("where streams disagree Apple's word counts, and the transaction is listed")
  func disagreement() async throws {
    let program = try await Installation()
    try await program.ingest([Notification("SUBSCRIBED.INITIAL_BUY", signed: "2025-02-01", renewal: [:])])
    try await program.ingest([RevenueCatMessage("INITIAL_PURCHASE", at: "2025-02-01 00:01", price: 8.88)])
    try await program.measure(asOf: "2025-02-10")
    try await expect(
      program.lines("revenue", "charges gross tax commission", ["--from", "2025-02-01", "--to", "2025-02-01"]),
      is: ["1 9.99 0.888 2.664"])
    let found = try await program.lines("data_quality", "check count example")
    #expect(found.contains("sources_disagree 1 1"), "\(found)")
  }

  @Test("what a vendor says of a refund is what is returned, not another price", arguments: [-4, -9.99, 0])
  func vendorRefund(amount: Double) async throws {
    let program = try await Installation()
    let cancelled = RevenueCatMessage(
      "CANCELLATION", at: "2025-02-12", price: amount, with: ["cancel_reason": "CUSTOMER_SUPPORT"])
    try await program.ingest([RevenueCatMessage("INITIAL_PURCHASE", at: "2025-02-01 00:01"), cancelled])
    try await program.measure(asOf: "2025-02-20")
    func revenue() async throws -> [String] {
      try await program.lines("revenue", "day charges gross tax proceeds refunds").filter { !$0.hasSuffix(" 0 0 0 0") }
    }
    let returned = amount == 0 ? -9.99 : amount
    let taken = try await revenue()
    #expect(taken.first == "2025-02-01 1 9.99 0.999 5.994 0")
    #expect(taken.count == 2 && taken.last?.hasSuffix(" \(returned)".replacing(".0", with: "")) == true, "\(taken)")
    // The reversal takes back the refund, and says nothing of the price either.
    try await program.ingest([RevenueCatMessage("REFUND_REVERSED", at: "2025-02-13", price: -amount)])
    try await program.measure(asOf: "2025-02-20")
    let given = try await revenue()
    #expect(given.first == taken.first)
    #expect(given.last?.hasPrefix("2025-02-13") == true, "\(given)")
  }

  @Test("a part of the price in another currency is no part of Apple's price")
  func otherCurrency() async throws {
    let program = try await Installation()
    try await program.ingest([Notification("SUBSCRIBED.INITIAL_BUY", signed: "2025-02-01", renewal: [:])])
    try await program.ingest([
      RevenueCatMessage("INITIAL_PURCHASE", at: "2025-02-01 00:01", price: 9.2, with: ["currency": "EUR"])
    ])
    try await program.measure(asOf: "2025-02-10")
    let rows = try await program.lines("revenue", "gross currency proceeds_basis", ["--to", "2025-02-01"])
    #expect(rows.count == 1 && rows[0].hasPrefix("9.99 USD") && !rows[0].hasSuffix("reported"), "\(rows)")
  }

  @Test("a vendor fills the price of an old transaction that Apple signed without one")
  func oldPrice() async throws {
    let program = try await Installation()
    try await program.ingest([
      Notification(
        "SUBSCRIBED.INITIAL_BUY", signed: "2025-02-01", transaction: ["price": NSNull(), "currency": NSNull()])
    ])
    try await program.measure(asOf: "2025-02-10")
    try await expect(program.lines("revenue", "unpriced_charges", ["--to", "2025-02-01"]), is: ["1"])
    try await program.ingest([RevenueCatMessage("INITIAL_PURCHASE", at: "2025-02-01 00:01")])
    try await program.measure(asOf: "2025-02-10")
    try await expect(
      program.lines("revenue", "gross currency unpriced_charges", ["--to", "2025-02-01"]), is: ["9.99 USD 0"])
  }

  @Test("a purchase on a Mac is one, although the vendor has another word for its store")
  func macAppStore() async throws {
    let program = try await Installation()
    try await program.ingest([RevenueCatMessage("INITIAL_PURCHASE", at: "2025-02-01", with: ["store": "MAC_APP_STORE"])]
    )
    try await program.measure(asOf: "2025-02-10")
    try await expect(program.stocks("2025-02-09"), is: "active_subscriptions 1")
    try await program.ingest([Notification("SUBSCRIBED.INITIAL_BUY", signed: "2025-02-01", renewal: [:])])
    try await program.measure(asOf: "2025-02-10")
    try await expect(program.stocks("2025-02-09"), is: "active_subscriptions 1")
    try await expect(
      program.rows("revenue").filter { $0["charges"] != 0 }.map { $0["store"] }, is: ["app_store"])
    // What the vendor knows beyond the App Store is known all the same, and nothing is amiss.
    try await expect(
      program.rows("revenue").filter { $0["charges"] != 0 }.map {
        "\($0["tax"] ?? nil) \($0["proceeds_basis"] ?? nil)"
      },
      is: ["0.999 reported"])
    try await expect(
      program.rows("data_quality").filter {
        "transactions_in_two_chains sources_disagree".contains("\($0["check"] ?? nil)")
      }
      .isEmpty, is: true)
    #expect(try await program.measure(asOf: "2025-02-10", ["--rebuild"]) == 0)
  }

  @Test("what is said of a transaction in a chain that is not its own fills what its own leaves open, and no more")
  func otherChain() async throws {
    let program = try await Installation()
    // The vendor takes the renewal for a subscription of its own.
    try await program.ingest([
      RevenueCatMessage(
        "RENEWAL", at: "2025-03-01", id: "11", from: "2025-03-01", until: "2025-04-01", chain: "11", price: 8.88)
    ])
    try await program.measure(asOf: "2025-03-05")
    try await program.ingest([
      Notification("SUBSCRIBED.INITIAL_BUY", signed: "2025-02-01"),
      Notification("DID_RENEW", signed: "2025-03-01", id: "11", from: "2025-03-01", until: "2025-04-01"),
    ])
    try await program.measure(asOf: "2025-03-05")
    try await expect(program.stocks("2025-03-04"), is: "active_subscriptions 1")
    try await expect(
      program.lines("revenue", "day kind charges gross tax", ["--group-by", "kind"]).filter { !$0.hasSuffix(" 0 0 -") },
      is: ["2025-02-01 initial 1 9.99 -", "2025-03-01 renewal 1 9.99 0.888"])
    let found = try await program.lines("data_quality", "check count example")
    #expect(found.contains("transactions_in_two_chains 1 11"), "\(found)")
    #expect(found.contains("sources_disagree 1 11"), "\(found)")
    #expect(try await program.measure(asOf: "2025-03-05", ["--rebuild"]) == 0)
  }

  @Test("what vendors call a renewal is what the facts make of it")
  func renewals() async throws {
    let program = try await Installation()
    try await program.ingest([
      // History that begins late.
      RevenueCatMessage("RENEWAL", at: "2025-02-01", id: "11", chain: "1"),
      // A return after having left.
      RevenueCatMessage("INITIAL_PURCHASE", at: "2025-02-01", id: "2", chain: "2"),
      RevenueCatMessage("CANCELLATION", at: "2025-02-10", id: "2", chain: "2", with: ["cancel_reason": "UNSUBSCRIBE"]),
      RevenueCatMessage(
        "EXPIRATION", at: "2025-03-01", id: "2", chain: "2", with: ["expiration_reason": "UNSUBSCRIBE"]),
      RevenueCatMessage("RENEWAL", at: "2025-03-10", id: "22", from: "2025-03-10", until: "2025-04-10", chain: "2"),
      // A recovery: BILLING_ISSUE and its two twins in any order.
      RevenueCatMessage("INITIAL_PURCHASE", at: "2025-02-01", id: "3", chain: "3"),
      RevenueCatMessage(
        "EXPIRATION", at: "2025-03-01", id: "3", chain: "3", with: ["expiration_reason": "BILLING_ERROR"]),
      RevenueCatMessage(
        "CANCELLATION", at: "2025-03-01", id: "3", chain: "3", with: ["cancel_reason": "BILLING_ERROR"]),
      RevenueCatMessage("BILLING_ISSUE", at: "2025-03-01", id: "3", chain: "3"),
      RevenueCatMessage("RENEWAL", at: "2025-03-20", id: "33", from: "2025-03-20", until: "2025-04-20", chain: "3"),
    ])
    try await program.measure(asOf: "2025-03-25")
    try await expect(
      program.lines(
        "revenue", "day kind charges", ["--group-by", "kind"]
      ).filter { !$0.hasSuffix(" 0") },
      is: [
        "2025-02-01 initial 2", "2025-02-01 renewal 1", "2025-03-10 reactivation 1", "2025-03-20 billing_recovery 1",
      ])
    let found = try await program.lines("data_quality", "check count example")
    #expect(found.contains("history_begins_late 1 11"), "\(found)")
  }

  @Test("a word that comes late speaks of the period that had ended, not of the one bought meanwhile")
  func lateExpiration() async throws {
    let program = try await Installation()
    try await program.ingest([
      RevenueCatMessage("INITIAL_PURCHASE", at: "2025-02-01"),
      RevenueCatMessage("CANCELLATION", at: "2025-02-10", with: ["cancel_reason": "UNSUBSCRIBE"]),
      RevenueCatMessage("RENEWAL", at: "2025-03-01 00:30", id: "2", from: "2025-03-01 00:30", until: "2025-04-01"),
      // Made an hour after the customer was back.
      RevenueCatMessage("EXPIRATION", at: "2025-03-01 01:30", with: ["expiration_reason": "UNSUBSCRIBE"]),
    ])
    try await program.measure(asOf: "2025-04-10")
    try await expect(
      program.movements(["--to", "2025-03-31"]), is: ["2025-02-01 new", "2025-03-01 reactivated churned_voluntary"])
  }
}
