import Foundation
import Testing
import Vocabulary

@Suite("Canonical JSON")
struct CanonicalJSONTests {
  /// An event with a value in every field.
  private func fullEvent() throws -> Event {
    var event = Event(
      eventID: "e\"1\\\n\t\u{1}ü", kind: .subscriptionRenewed,
      occurredAt: try #require(Instant("2026-03-01T09:30:00Z")),
      signedAt: Instant("0001-01-01T00:00:00.000001Z"), app: "video", store: .appStore, environment: .production,
      originalTransactionID: "1")
    event.also = [.offerRedeemed, .billingRecovered]
    event.subscriberID = "u"
    event.appTransactionID = "7"
    event.previousOriginalTransactionID = "0"
    event.rawKind = "DID_RENEW"
    event.detail = EventDetail(reason: "r", direction: "d", effective: "e", message: "m")
    let price = Money(amount: Micros(9_990_000), currency: "USD")
    var transaction = TransactionFact(transactionID: "2", signedAt: event.signedAt)
    transaction.type = .value(.autoRenewable)
    transaction.productID = .value("p")
    transaction.groupID = .value("g")
    transaction.period = .value("P1M")
    transaction.purchasedAt = .value(event.occurredAt)
    transaction.expiresAt = .absent
    transaction.price = .value(price)
    transaction.country = .value("USA")
    transaction.reason = .value(.renewal)
    transaction.ownership = .value(.purchased)
    transaction.offer = .value(Offer(type: .winBack, id: "o", discount: .freeTrial, period: "P1W"))
    transaction.revokedAt = .absent
    transaction.revocation = .value(.full)
    transaction.refund = .value(Micros(-1))
    transaction.tax = .value(Micros(1_500_000))
    transaction.commission = .absent
    transaction.proceeds = .value(Micros(0))
    transaction.isUpgraded = .value(false)
    transaction.quantity = .value(1)
    event.transaction = transaction
    var renewal = RenewalFact(signedAt: event.signedAt)
    renewal.autoRenew = .value(true)
    renewal.autoRenewProductID = .value("p")
    renewal.renewsAt = .value(event.occurredAt)
    renewal.renewalPrice = .value(price)
    renewal.expirationReason = .absent
    renewal.inBillingRetry = .value(false)
    renewal.graceExpiresAt = .absent
    renewal.pausedAt = .absent
    renewal.resumesAt = .absent
    renewal.priceIncrease = .value(.pending)
    renewal.eligibleWinBackOffers = .value(["b", "a"])
    event.renewal = renewal
    return event
  }

  @Test("an event's text has sorted keys and no spaces, and says everything")
  func text() throws {
    #expect(
      try fullEvent().json == """
        {"also":["offer_redeemed","billing_recovered"],"app":"video","app_transaction_id":"7",\
        "detail":{"direction":"d","effective":"e","message":"m","reason":"r"},"environment":"Production",\
        "event_id":"e\\"1\\\\\\n\\t\\u0001ü","kind":"subscription_renewed","occurred_at":"2026-03-01T09:30:00.000Z",\
        "original_transaction_id":"1","previous_original_transaction_id":"0","raw_kind":"DID_RENEW",\
        "renewal":{"auto_renew":true,"auto_renew_product_id":"p","currency":"USD",\
        "eligible_win_back_offers":["b","a"],"expiration_reason":null,"grace_expires_at":null,\
        "in_billing_retry":false,"paused_at":null,"price_increase":"pending","renewal_price":9.99,\
        "renews_at":"2026-03-01T09:30:00.000Z","resumes_at":null},"signed_at":"0001-01-01T00:00:00.000001Z",\
        "store":"app_store","subscriber_id":"u","transaction":{"commission":null,"country":"USA","currency":"USD",\
        "expires_at":null,"group_id":"g","is_upgraded":false,\
        "offer":{"discount":"free_trial","id":"o","period":"P1W","type":"win_back"},"ownership":"purchased",\
        "period":"P1M","price":9.99,"proceeds":0,"product_id":"p","purchased_at":"2026-03-01T09:30:00.000Z",\
        "quantity":1,"reason":"renewal","refund":-0.000001,"revocation":"full","revoked_at":null,"tax":1.5,\
        "transaction_id":"2","type":"auto_renewable"}}
        """)
  }

  @Test("an event read from its own text is the same event, but for the moments its facts were signed")
  func roundTrip() throws {
    let event = try fullEvent()
    #expect(try JSONDecoder().decode(Event.self, from: Data(event.json.utf8)) == event)
  }

  @Test(
    "a moment is written with milliseconds, or with microseconds where there are any",
    arguments: [
      (0, "1970-01-01T00:00:00.000Z"), (-1, "1969-12-31T23:59:59.999999Z"),
      (253_402_300_799_999_999, "9999-12-31T23:59:59.999999Z"), (-62_135_596_800_000_000, "0001-01-01T00:00:00.000Z"),
      (1_772_357_400_250_000, "2026-03-01T09:30:00.250Z"), (951_782_400_000_000, "2000-02-29T00:00:00.000Z"),
    ])
  func moments(microseconds: Int64, text: String) {
    #expect(Instant(microseconds: microseconds).description == text)
    #expect(Instant(text)?.microseconds == microseconds)
  }
}
