import Foundation
import Ingest
import TestSupport
import Testing
import Vocabulary

private let app = AppConfiguration(key: "video", environments: [.production, .sandbox])

/// What the lines of an export give, and what is left at its end.
private func read(_ source: Source, _ lines: [String], app given: AppConfiguration? = app) -> [Decoded] {
  var decoder = ExportDecoder(source) { _ in given }
  return lines.flatMap { decoder.decode(Array($0.utf8), receivedAt: noon) } + decoder.finish()
}

private func events(_ decoded: [Decoded]) -> [Event] {
  let events: [Event] = decoded.compactMap { if case .event(let event, _) = $0 { event } else { nil } }
  for event in events { expectReadsBack(event) }
  return events
}

private func reasons(_ decoded: [Decoded]) -> [String] {
  decoded.compactMap { if case .rejection(let rejection) = $0 { rejection.reason.rawValue } else { nil } }
}

private func usd(_ micros: Int64) -> Money { Money(amount: Micros(micros), currency: "USD") }

@Suite("Exports of vendors become events")
struct ExportDecoderTests {
  // MARK: - RevenueCat

  /// A row of version 5, some columns of it in another order, and with quotation marks as the documentation shows them.
  private static let columns = [
    "rc_original_app_user_id", "rc_last_seen_app_user_id_alias", "country", "country_source", "product_identifier",
    "product_duration", "start_time", "end_time", "grace_period_end_time", "store", "is_auto_renewable",
    "is_trial_period", "is_in_intro_offer_period", "is_sandbox", "tax_percentage", "commission_percentage",
    "store_transaction_id", "original_store_transaction_id", "refunded_at", "unsubscribe_detected_at",
    "billing_issues_detected_at", "purchased_currency", "price_in_purchased_currency",
    "purchase_price_in_purchased_currency", "entitlement_identifiers", "renewal_number", "is_trial_conversion",
    "ownership_type", "reserved_subscriber_attributes", "updated_at", "offer", "offer_type",
  ]

  private func revenueCat(_ changes: [String: String] = [:]) -> [Decoded] {
    var fields = [
      "rc_original_app_user_id": "$RCAnonymousID:87c6", "rc_last_seen_app_user_id_alias": "u-17", "country": "GB",
      "country_source": "from_sdk", "product_identifier": "monthly", "product_duration": "P1M",
      "start_time": "2025-01-01 08:27:06", "end_time": "2025-02-01 08:27:06", "store": "app_store",
      "is_auto_renewable": "true", "is_trial_period": "false", "is_in_intro_offer_period": "false",
      "is_sandbox": "false", "tax_percentage": "0.1", "commission_percentage": "0.27",
      "store_transaction_id": "2", "original_store_transaction_id": "1", "purchased_currency": "USD",
      "price_in_purchased_currency": "9.99", "purchase_price_in_purchased_currency": "9.99",
      "entitlement_identifiers": #""[""pro"", ""more""]""#, "renewal_number": "2", "is_trial_conversion": "false",
      "ownership_type": "PURCHASED",
      "reserved_subscriber_attributes": #""{\"$ip\": {\"value\": \"203.0.113.1\", \"n\": 1}}""#,
      "updated_at": "2025-01-01 09:00:00.123",
    ]
    fields.merge(changes) { $1 }
    return read(
      .revenueCat, [Self.columns.joined(separator: ","), Self.columns.map { fields[$0] ?? "" }.joined(separator: ",")])
  }

  @Test("a row of RevenueCat is a transaction with its money, country and customer")
  func transaction() throws {
    let found = events(revenueCat())
    let event = try #require(found.first)
    #expect(found.count == 1 && event.kind == .ignored && event.rawKind == "export" && event.app == "video")
    #expect(event.subscriberID == "u-17" && event.originalTransactionID == "1" && event.environment == .production)
    #expect(
      event.occurredAt == Instant("2025-01-01T08:27:06Z") && event.signedAt == Instant("2025-01-01T09:00:00.123Z"))
    let fact = try #require(event.transaction)
    #expect(fact.transactionID == "2" && fact.type.value == .autoRenewable && fact.period.value == "P1M")
    #expect(fact.expiresAt.value == Instant("2025-02-01T08:27:06Z") && fact.country.value == "GBR")
    #expect(fact.price.value == usd(9_990_000) && fact.tax.value == Micros(999_000))
    #expect(fact.commission.value == Micros(2_697_300) && fact.proceeds.value == Micros(6_293_700))
    #expect(fact.revokedAt == .absent && fact.offer == .absent && !fact.reason.isStated)
  }

  @Test("a refund is of what is left of the price, and the price is that of the purchase")
  func refunds() throws {
    let whole = try #require(
      events(revenueCat(["refunded_at": "2025-01-20 05:47:55", "price_in_purchased_currency": "0"])).first?.transaction)
    #expect(
      whole.price.value == usd(9_990_000) && whole.revocation.value == .full && whole.refund.value == Micros(9_990_000))
    #expect(whole.revokedAt.value == Instant("2025-01-20T05:47:55Z"))
    let part = try #require(
      events(revenueCat(["refunded_at": "2025-01-20 05:47:55", "price_in_purchased_currency": "6"])).first?.transaction)
    #expect(part.revocation.value == .prorated && part.refund.value == Micros(3_990_000))
    // What the purchase cost is not known from what is left of it.
    let unknown = try #require(
      events(
        revenueCat([
          "refunded_at": "2025-01-20 05:47:55", "price_in_purchased_currency": "0",
          "purchase_price_in_purchased_currency": "",
        ])
      ).first?.transaction)
    #expect(!unknown.price.isStated && unknown.revokedAt.value != nil && !unknown.refund.isStated)
  }

  @Test("what was noticed about the chain is a status of that moment")
  func statuses() throws {
    let found = events(
      revenueCat([
        "unsubscribe_detected_at": "2025-01-10 00:00:00", "billing_issues_detected_at": "2025-02-01 08:27:15",
        "grace_period_end_time": "2025-02-17 08:27:06",
      ]))
    try #require(found.count == 3)
    #expect(found[1].renewal?.autoRenew.value == false && found[1].signedAt == Instant("2025-01-10T00:00:00Z"))
    #expect(found[2].renewal?.inBillingRetry.value == true)
    #expect(found[2].renewal?.graceExpiresAt.value == Instant("2025-02-17T08:27:06Z"))
    #expect(Set(found.map(\.eventID)).count == 3)
  }

  @Test("trials, offers, sharing, estimated countries and unknown prices are told as they are")
  func oddities() throws {
    func fact(_ changes: [String: String]) throws -> TransactionFact {
      try #require(events(revenueCat(changes)).first?.transaction)
    }
    let trial = try fact(["is_trial_period": "t", "renewal_number": "1", "purchase_price_in_purchased_currency": "0"])
    #expect(trial.offer.value == Offer(type: .introductory, discount: .freeTrial) && trial.reason.value == .purchase)
    #expect(!trial.period.isStated && trial.price.value == usd(0))
    #expect(try fact(["offer": "NEWS", "offer_type": "offer_code"]).offer.value == Offer(type: .code, id: "NEWS"))
    #expect(try fact(["ownership_type": "FAMILY_SHARED"]).ownership.value == .familyShared)
    #expect(try !fact(["country_source": "estimated"]).country.isStated)
    #expect(
      try !fact(["purchase_price_in_purchased_currency": "", "price_in_purchased_currency": ""]).price.isStated)
    // Google Play: a charge that failed.
    #expect(try !fact(["end_time": "2024-12-31 00:00:00"]).expiresAt.isStated)
    #expect(events(revenueCat(["is_sandbox": "true"])).first?.environment == .sandbox)
    #expect(events(revenueCat(["store": "play_store"])).first?.store == .playStore)
  }

  // MARK: - Apphud

  private func apphud(_ name: String, _ changes: [String: String] = [:]) -> [Event] {
    var fields = [
      "id": "e1", "created_at": "2025-01-01 10:00:00 UTC", "updated_at": "2025-01-02T10:00:00Z", "event_name": name,
      "purchased_at": "2025-01-01 09:00:00 UTC", "expires_at": "2025-02-01 09:00:00 UTC", "transaction_id": "2",
      "original_transaction_id": "1", "price_usd": "3", "price": "2.99", "proceeds": "2.1165000000000003",
      "quantity": "1", "product_id": "monthly", "store": "app_store", "trial_period": "false",
      "intro_period": "false", "is_upgraded": "false", "family_shared": "false",
      "subscription_type": "autorenewable", "environment": "production", "user_id": "u-17", "currency": "EUR",
      "store_country": "DE",
    ]
    fields.merge(changes) { $1 }
    let columns = fields.keys.sorted()
    return events(
      read(.apphud, [columns.joined(separator: ","), columns.map { fields[$0] ?? "" }.joined(separator: ",")]))
  }

  @Test("a row of Apphud is an event with its purchase, or a word about the chain")
  func apphudRows() throws {
    let event = try #require(apphud("subscription_started").first)
    #expect(event.rawKind == "subscription_started" && event.eventID == "export-e1" && event.subscriberID == "u-17")
    let fact = try #require(event.transaction)
    #expect(fact.price.value == Money(amount: Micros(2_990_000), currency: "EUR") && fact.country.value == "DEU")
    #expect(fact.proceeds.value == Micros(2_116_500) && fact.commission.value == Micros(873_500))
    #expect(fact.purchasedAt.value == Instant("2025-01-01T09:00:00Z") && fact.reason.value == .purchase)
    #expect(
      apphud("trial_started", ["trial_period": "true", "price": "0"]).first?.transaction?.offer.value
        == Offer(type: .introductory, discount: .freeTrial))
    #expect(apphud("subscription_canceled").first?.renewal?.autoRenew.value == false)
    #expect(apphud("subscription_canceled").first?.transaction == nil)
    #expect(apphud("billing_issue").first?.renewal?.inBillingRetry.value == true)
    let refund = apphud("subscription_refunded", ["cancelled_at": "2025-01-20 00:00:00 UTC"]).first?.transaction
    #expect(refund?.revokedAt.value == Instant("2025-01-20T00:00:00Z") && refund?.price.isStated == false)
  }

  // MARK: - The file

  @Test("a row may go on in the next line, and what is wrong with one does not take the next with it")
  func lines() {
    let header = "store_transaction_id,original_store_transaction_id,start_time,product_identifier,note"
    let good = "3,1,2025-01-01 00:00:00,monthly,"
    let decoded = read(
      .revenueCat,
      [
        header, "2,1,2025-01-01 00:00:00,monthly,\"two", "lines, and a \"\"mark\"\"\"", "5,1,today,monthly,",
        "6,1,2025-01-01 00:00:00", ",1,2025-01-01 00:00:00,monthly,", good, "7,1,\"never closed",
      ])
    #expect(events(decoded).map { $0.transaction?.transactionID } == ["2", "3"])
    #expect(reasons(decoded) == ["malformed", "malformed", "field_missing", "malformed"])
  }

  @Test("a quotation mark that is never closed costs its own line, and none of the thousands after it")
  func strayMark() {
    let header = "store_transaction_id,original_store_transaction_id,start_time,product_identifier,note"
    let rows = (1...2000).map { "\($0),1,2025-01-01 00:00:00,monthly,\(String(repeating: "x", count: 60))" }
    let stray = "5000,1,2025-01-01 00:00:00,monthly,\"open"
    let decoded = read(.revenueCat, [header, stray] + rows + [stray])
    #expect(events(decoded).map { $0.transaction?.transactionID } == (1...2000).map { "\($0)" })
    #expect(reasons(decoded) == ["malformed", "malformed"])
  }

  @Test("a row may begin with a brace, beside webhooks in JSON, and lines may end with a carriage return alone")
  func beginnings() {
    let header =
      "rc_original_app_user_id,store_transaction_id,original_store_transaction_id,start_time,product_identifier"
    let names = ["{u", "{6B29FC40-CA47-1067-B31D-00DD010662DA}", "[v", "{", "w"]
    let rows = names.enumerated().map { "\($1),\($0),1,2025-01-01 00:00:00,monthly" }
    let webhook = """
      {
        "event": {"id": "e", "type": "TEST", "event_timestamp_ms": 1735689600000}}
      """
    let decoded = read(.revenueCat, [header] + rows + [webhook])
    #expect(events(decoded).map { $0.transaction?.transactionID } == ["0", "1", "2", "3", "4", nil])
    #expect(reasons(decoded) == [])
    let old = read(.revenueCat, [([header] + rows).joined(separator: "\r")])
    #expect(events(old).map { $0.transaction?.transactionID } == ["0", "1", "2", "3", "4"])
  }

  @Test("whatever a column holds, its row is an event or refused", arguments: [Source.revenueCat, .apphud])
  func anything(source: Source) {
    let values = [
      "-1", "9223372036854.775807", "-9223372036854.775808", "1e127", "1e-127", "1e300", "NaN", ".", "e", "+",
      "\u{202E}",
      "9999-12-31 23:59:59", "0001-01-01 00:00:00", "2025-02-30 00:00:00", "t", "\"\"",
      String(repeating: "9", count: 400),
    ]
    let columns =
      source == .revenueCat
      ? Self.columns
      : [
        "id", "created_at", "updated_at", "event_name", "purchased_at", "expires_at", "cancelled_at", "transaction_id",
        "original_transaction_id", "price", "proceeds", "product_id", "store", "trial_period", "intro_period",
        "is_upgraded", "family_shared", "environment", "user_id", "currency", "store_country",
      ]
    for column in columns {
      for (value, other) in zip(values, values.reversed()) {
        let count: Int
        // Beside another price: what is worked out of both need not fit.
        if source == .revenueCat {
          let changes = ["purchase_price_in_purchased_currency": "9223372036854", "commission_percentage": other]
          count = revenueCat(changes.merging([column: value]) { $1 }).count
        } else {
          let changes = ["price": "9223372036854", "proceeds": other]
          count = apphud("subscription_started", changes.merging([column: value]) { $1 }).count
        }
        #expect(count <= 3)
      }
    }
  }

  @Test("a file without the names of its columns, of no app, or of an environment that is not listed is refused")
  func refused() {
    let header = "store_transaction_id,original_store_transaction_id,start_time,product_identifier,is_sandbox"
    let row = "2,1,2025-01-01 00:00:00,monthly,true"
    #expect(reasons(read(.revenueCat, [row])) == ["malformed"])
    #expect(reasons(read(.revenueCat, [header, row], app: nil)) == ["unknown_app"])
    #expect(
      reasons(read(.revenueCat, [header, row], app: AppConfiguration(key: "video"))) == ["environment_not_listed"])
    #expect(events(read(.revenueCat, [header, row])).count == 1)
  }
}
