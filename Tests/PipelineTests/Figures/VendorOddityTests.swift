import Foundation
import TestSupport
import Testing

/// What vendors do otherwise than one would think, in figures.
@Suite("Figures: the oddities of vendors' streams", .fewAtOnce)
struct VendorOddityTests {
  /// What Adapty posts about a subscription.
  private static func adapty(
    _ type: String, at: String, id: String = "1", from: String = "2025-02-01", until: String = "2025-03-01",
    product: String = "monthly", price: Double? = 9.99, with more: [String: any Sendable] = [:]
  ) -> String {
    func zoned(_ moment: String) -> String { Life.moment(moment).replacing("Z", with: ".000000+0000") }
    var properties: [String: any Sendable] = [
      "profile_event_id": "\(type)-\(id)-\(at)", "store": "app_store", "environment": "Production",
      "vendor_product_id": product, "transaction_id": id, "original_transaction_id": "1", "currency": "USD",
      "purchase_date": zoned(from), "subscription_expires_at": zoned(until), "event_datetime": zoned(at),
      "store_country": "US",
    ]
    if let price { properties["price_local"] = price }
    let event: [String: any Sendable] = [
      "event_type": type, "customer_user_id": "u", "event_properties": properties.merging(more) { $1 },
    ]
    let json = try? JSONSerialization.data(withJSONObject: event, options: .sortedKeys)
    return String(decoding: json ?? Data(), as: UTF8.self)
  }

  private func measured(_ adapty: [String], asOf: String) async throws -> Installation {
    let program = try await Installation()
    try await program.import(
      "catalogue", "product_id,group_id,level,period\nmonthly,g,2,P1M\npremium,g,1,P1M\n", ["--app", "video"])
    try await program.ingest(lines: adapty, source: "adapty", app: "video")
    try await program.measure(asOf: asOf)
    return program
  }

  private func kinds(_ program: Installation) async throws -> [String] {
    try await program.lines("revenue", "day kind charges refunds", ["--group-by", "kind"])
      .filter { !$0.hasSuffix(" 0 0") && !$0.hasSuffix(" 0 -") }
  }

  @Test("an upgrade that Adapty tells as a refund and a start is an upgrade, and returns nothing")
  func upgrade() async throws {
    let program = try await measured(
      [
        Self.adapty("subscription_started", at: "2025-02-01"),
        Self.adapty("subscription_refunded", at: "2025-02-10", with: ["cancellation_reason": "upgraded"]),
        Self.adapty(
          "subscription_started", at: "2025-02-10", id: "2", from: "2025-02-10", until: "2025-03-10",
          product: "premium", price: 19.99),
      ], asOf: "2025-02-20")
    try await expect(kinds(program), is: ["2025-02-01 initial 1 0", "2025-02-10 upgrade 1 0"])
    try await expect(program.movements(), is: ["2025-02-01 new", "2025-02-10 moved_in moved_out upgraded"])
  }

  @Test("a downgrade that Adapty tells as an expiry and a start loses no subscription")
  func downgrade() async throws {
    let program = try await measured(
      [
        Self.adapty("subscription_started", at: "2025-02-01", product: "premium", price: 19.99),
        Self.adapty(
          "subscription_expired", at: "2025-03-01", product: "premium", price: nil,
          with: ["cancellation_reason": "voluntarily_cancelled"]),
        Self.adapty("subscription_started", at: "2025-03-01", id: "2", from: "2025-03-01", until: "2025-04-01"),
      ], asOf: "2025-03-20")
    try await expect(program.movements(), is: ["2025-02-01 new", "2025-03-01 moved_in moved_out downgraded"])
  }

  @Test("a renewal of Adapty's after a gap is a return")
  func returnAfterGap() async throws {
    let program = try await measured(
      [
        Self.adapty("subscription_started", at: "2025-02-01"),
        Self.adapty(
          "subscription_expired", at: "2025-03-01", price: nil, with: ["cancellation_reason": "voluntarily_cancelled"]),
        Self.adapty("subscription_renewed", at: "2025-03-20", id: "2", from: "2025-03-20", until: "2025-04-20"),
      ], asOf: "2025-03-25")
    try await expect(
      program.movements(), is: ["2025-02-01 new", "2025-03-01 churned_voluntary", "2025-03-20 reactivated"])
    try await expect(kinds(program), is: ["2025-02-01 initial 1 0", "2025-03-20 reactivation 1 0"])
  }

  @Test("events of the same moment, and of one before the purchase, count whatever their order")
  func sameMoment() async throws {
    let events = [
      Self.adapty("trial_started", at: "2025-02-01", until: "2025-02-08", price: nil),
      Self.adapty("trial_renewal_cancelled", at: "2025-02-02", until: "2025-02-08", price: nil),
      Self.adapty("trial_renewal_reactivated", at: "2025-02-03", until: "2025-02-08", price: nil),
      Self.adapty("trial_converted", at: "2025-02-07 23:00", id: "2", from: "2025-02-08", until: "2025-03-08"),
      Self.adapty("access_level_updated", at: "2025-02-08", price: nil),
    ]
    for order in [events, events.reversed()] {
      let program = try await measured(order, asOf: "2025-02-20")
      try await expect(
        program.lines("trials", "day started converted expired cancelled running", ["--to", "2025-02-01"]),
        is: ["2025-02-01 1 1 0 0 0"])
      try await expect(kinds(program), is: ["2025-02-08 trial_conversion 1 0"])
    }
  }

  @Test("a change of product that RevenueCat announces beside its purchase is one change, in either order")
  func productChange() async throws {
    let messages = [
      RevenueCatMessage("INITIAL_PURCHASE", at: "2025-02-01"),
      RevenueCatMessage("PRODUCT_CHANGE", at: "2025-02-10", price: 0, with: ["new_product_id": "premium"]),
      RevenueCatMessage(
        "RENEWAL", at: "2025-02-10", id: "2", from: "2025-02-10", until: "2025-03-10", price: 19.99,
        with: ["product_id": "premium"]),
    ]
    for order in [messages, messages.reversed()] {
      let program = try await Installation()
      try await program.ingest(order)
      try await program.measure(asOf: "2025-02-20")
      try await expect(program.movements(), is: ["2025-02-01 new", "2025-02-10 moved_in moved_out upgraded"])
    }
  }

  @Test(
    "a change of product on Google Play comes as a purchase beside its announcement, and is one change in either order")
  func productChangeByPurchase() async throws {
    let google: [String: any Sendable] = ["store": "PLAY_STORE"]
    let messages = [
      RevenueCatMessage("INITIAL_PURCHASE", at: "2025-02-01", with: google),
      RevenueCatMessage(
        "PRODUCT_CHANGE", at: "2025-02-10", price: 0, with: google.merging(["new_product_id": "premium"]) { $1 }),
      RevenueCatMessage(
        "INITIAL_PURCHASE", at: "2025-02-10", id: "2", from: "2025-02-10", until: "2025-03-10", price: 19.99,
        with: google.merging(["product_id": "premium"]) { $1 }),
    ]
    for order in [messages, messages.reversed()] {
      let program = try await Installation()
      try await program.ingest(order)
      try await program.measure(asOf: "2025-02-20")
      try await expect(program.movements(), is: ["2025-02-01 new", "2025-02-10 moved_in moved_out upgraded"])
    }
  }

  @Test("a replacement on Google Play that Adapty tells as a start without money charges nothing and starts nothing")
  func replacement() async throws {
    let google: [String: any Sendable] = ["store": "play_store"]
    let program = try await measured(
      [
        Self.adapty("subscription_started", at: "2025-02-01", with: google),
        Self.adapty(
          "subscription_started", at: "2025-02-10", id: "2", from: "2025-02-10", product: "premium", price: 0,
          with: google.merging(["price_usd": 0, "proceeds_usd": 0, "proceeds_local": 0]) { $1 }),
      ], asOf: "2025-02-20")
    try await expect(kinds(program).first, is: "2025-02-01 initial 1 0")
    try await expect(
      program.rows("revenue").reduce(into: Decimal(0)) { if case .number(let gross) = $1["gross"] { $0 += gross } },
      is: Decimal(string: "9.99")!)
    try await expect(program.movements(), is: ["2025-02-01 new", "2025-02-10 moved_in moved_out upgraded"])
  }

  @Test(
    "the product of a reactivation and the expiry of a refund, a failed charge or a grace period are not the period's")
  func repeatedFields() async throws {
    let program = try await measured(
      [
        Self.adapty("subscription_started", at: "2025-02-01", product: "premium"),
        Self.adapty("subscription_renewal_cancelled", at: "2025-02-02", until: "2025-02-02"),
        // With the product before.
        Self.adapty("subscription_renewal_reactivated", at: "2025-02-03", until: "2025-02-03", product: "monthly"),
        Self.adapty("billing_issue_detected", at: "2025-02-28 23:00", until: "2025-02-28 23:00", price: nil),
        Self.adapty("entered_grace_period", at: "2025-02-28 23:30", until: "2025-03-16", price: nil),
      ], asOf: "2025-03-05")
    try await expect(
      program.lines("subscriptions", "product_id status starts_at ends_at"),
      is: ["premium grace 2025-02-01T00:00:00.000Z 2025-03-16T00:00:00.000Z"])
    try await program.ingest(
      lines: [Self.adapty("subscription_refunded", at: "2025-03-06", until: "2025-03-06", product: "premium")],
      source: "adapty", app: "video")
    try await program.measure(asOf: "2025-03-07")
    try await expect(
      program.lines("revenue", "day charges refunds", ["--group-by", "kind", "--from", "2025-02-01"]).filter {
        !$0.hasSuffix(" 0 0")
      }, is: ["2025-02-01 1 0", "2025-03-06 0 -9.99"])
  }

  @Test("a customer whom Adapty knew before the seller gave him an id is one subscriber, all along")
  func laterIdentified() async throws {
    func bought(_ chain: String, at: String, by user: String?) -> String {
      Self.adapty(
        "subscription_started", at: at, id: chain, from: at, until: "2026-02-01",
        with: ["original_transaction_id": chain]
      ).replacing(
        "\"customer_user_id\":\"u\"",
        with: (user.map { "\"customer_user_id\":\"\($0)\"," } ?? "") + "\"profile_id\":\"p\"")
    }
    let (before, after) = (bought("1", at: "2025-02-01", by: nil), bought("2", at: "2025-03-01", by: "u"))
    for order in [[before, after], [after, before]] {
      let program = try await Installation()
      for line in order {
        try await program.ingest(lines: [line], source: "adapty", app: "video")
        try await program.measure(asOf: "2025-04-01")
      }
      try await expect(
        program.lines("active_subscribers", "day active_subscribers active_subscriptions").filter {
          $0.hasPrefix("2025-02-28") || $0.hasPrefix("2025-03-31")
        }, is: ["2025-02-28 1 1", "2025-03-31 1 2"])
    }
  }

  @Test("the price of a trial that is yet to come is no charge, and its conversion is one")
  func futurePrice() async throws {
    let program = try await measured(
      [
        Self.adapty("trial_started", at: "2025-02-01", until: "2025-02-08", price: 9.99),
        Self.adapty("trial_converted", at: "2025-02-08", id: "2", from: "2025-02-08", until: "2025-03-08"),
      ], asOf: "2025-02-20")
    try await expect(kinds(program), is: ["2025-02-08 trial_conversion 1 0"])
  }

  @Test("a grant for an outage that ends without a purchase has begun nothing and loses nothing")
  func temporaryGrantThatEnds() async throws {
    let program = try await Installation()
    try await program.ingest([
      RevenueCatMessage("TEMPORARY_ENTITLEMENT_GRANT", at: "2025-02-01", until: "2025-02-02", price: 0),
      RevenueCatMessage(
        "EXPIRATION", at: "2025-02-02", until: "2025-02-02", price: 0, with: ["expiration_reason": "BILLING_ERROR"]),
    ])
    try await program.measure(asOf: "2025-02-10")
    try await expect(program.movements(), is: [])
    try await expect(program.rows("revenue").isEmpty, is: true)
  }

  @Test("a grant for an outage changes nothing, nor does the purchase after it that has the same id count twice")
  func temporaryGrant() async throws {
    let program = try await Installation()
    try await program.ingest([RevenueCatMessage("TEMPORARY_ENTITLEMENT_GRANT", at: "2025-02-01", price: 0)])
    try await program.measure(asOf: "2025-02-10")
    try await expect(program.stocks("2025-02-09"), is: "")
    try await program.ingest([RevenueCatMessage("INITIAL_PURCHASE", at: "2025-02-01")])
    try await program.measure(asOf: "2025-02-10")
    try await expect(program.stocks("2025-02-09"), is: "active_subscriptions 1")
    try await expect(kinds(program), is: ["2025-02-01 initial 1 0"])
  }

  @Test("the first charge long after a trial has lapsed is no conversion of it, whatever RevenueCat calls it")
  func lateConversion() async throws {
    let program = try await Installation()
    try await program.ingest([
      RevenueCatMessage(
        "INITIAL_PURCHASE", at: "2025-02-01", until: "2025-02-08", price: 0, with: ["period_type": "TRIAL"]),
      RevenueCatMessage(
        "CANCELLATION", at: "2025-02-02", until: "2025-02-08", price: 0,
        with: ["period_type": "TRIAL", "cancel_reason": "UNSUBSCRIBE"]),
      RevenueCatMessage(
        "EXPIRATION", at: "2025-02-08", until: "2025-02-08", price: 0,
        with: ["period_type": "TRIAL", "expiration_reason": "UNSUBSCRIBE"]),
      RevenueCatMessage(
        "RENEWAL", at: "2025-02-20", id: "2", from: "2025-02-20", until: "2025-03-20",
        with: ["is_trial_conversion": true]),
    ])
    try await program.measure(asOf: "2025-02-25")
    try await expect(
      program.lines("trials", "started converted expired", ["--to", "2025-02-01"]), is: ["1 0 1"])
    try await expect(kinds(program), is: ["2025-02-20 initial 1 0"])
  }
}
