import Signatures
import Vocabulary

/// An event as Apphud's webhooks tell it: `{"app": {…}, "event": {…}, "user": {…}}`.
///
/// Source: https://docs.apphud.com/docs/webhook
struct ApphudEvent: VendorEvent {
  let bundleIDs: [String]
  let isTest = false
  private(set) var event: Event

  private let name: String
  private let properties: JSONValue?
  private let receipt: JSONValue?
  private let user: JSONValue?
  /// The customer's subscription that the event is about, as it stood when the event was made.
  private let subscription: JSONValue?

  init(_ root: JSONValue, receivedAt: Instant) throws(Rejection) {
    guard let body = root["event"] else { throw Rejection(.fieldMissing, excerpt: "event") }
    guard body.kind == .object else { throw JSONValue.malformed("event") }
    let id = try body.required("id")
    name = try body.required("name")
    properties = body["properties"]
    receipt = body["receipt"]
    user = root["user"]
    bundleIDs = try [root["app"]?.string("bundle_id"), root["app"]?.string("package_name")].compactMap { $0 }
    let madeAt = try body.dateTime("created_at") ?? receivedAt
    let chain = try Self.first(receipt?.string("original_transaction_id"), receipt?.string("transaction_id"))
    let subscriptions = user?["subscriptions"]?.elements ?? []
    subscription = try Self.first(of: subscriptions, with: chain)
    event = Event(
      eventID: id, kind: Self.kinds[name]?.first ?? .unrecognised, occurredAt: madeAt,
      store: Self.store(try Self.first(body.string("store"), subscription?.string("store"))),
      environment: try Self.environment(subscription, subscriptions))
    event.also = Array((Self.kinds[name] ?? []).dropFirst())
    event.rawKind = name
    event.subscriberID = try user?.string("user_id")
    switch event.kind {
    case .subscriptionExpired, .trialExpired:
      event.detail.reason = (Self.reason(try properties?.string("reason")) ?? .other).rawValue
    case .refunded: event.detail.reason = try properties?.string("reason")
    default: break
    }
    if try properties?.flag("family_shared") == true, Self.charges.contains(name) {
      event.kind = .familySharedGranted
      event.also = []
    }
    if let receipt, let chain {
      if Self.charges.contains(name) { event.occurredAt = try receipt.dateTime("purchased_at") ?? madeAt }
      event.originalTransactionID = chain
      event.transaction = try transaction(receipt, madeAt)
      event.renewal = try renewal(madeAt)
    }
  }

  private static func first(of subscriptions: [JSONValue], with chain: String?) throws(Rejection) -> JSONValue? {
    guard let chain else { return nil }
    for one in subscriptions where try one.string("original_transaction_id") == chain { return one }
    return nil
  }

  private static func first<Value>(_ value: Value?, _ other: Value?) -> Value? { value ?? other }

  // MARK: - Words

  private static let kinds: [String: [EventKind]] = [
    "trial_started": [.trialStarted], "trial_converted": [.trialConverted], "trial_canceled": [.trialCancelled],
    "trial_cancelled": [.trialCancelled], "trial_expired": [.trialExpired],
    "subscription_started": [.subscriptionStarted], "subscription_renewed": [.subscriptionRenewed],
    "subscription_canceled": [.autoRenewDisabled], "subscription_cancelled": [.autoRenewDisabled],
    "subscription_expired": [.subscriptionExpired], "subscription_refunded": [.refunded],
    "intro_started": [.subscriptionStarted, .offerRedeemed], "intro_renewed": [.subscriptionRenewed],
    "intro_converted": [.offerConverted], "intro_expired": [.subscriptionExpired], "intro_refunded": [.refunded],
    "promo_started": [.subscriptionStarted, .offerRedeemed], "promo_renewed": [.subscriptionRenewed],
    "promo_converted": [.offerConverted], "promo_expired": [.subscriptionExpired], "promo_refunded": [.refunded],
    "autorenew_enabled": [.autoRenewEnabled], "billing_issue": [.billingIssue],
    "non_renewing_purchase": [.nonRenewingPurchase], "non_renewing_purchase_refunded": [.refunded],
    // The older twin of the cancellations.
    "autorenew_disabled": [.ignored], "trial_active": [.ignored], "user_created": [.ignored],
    "paywall_shown": [.ignored], "paywall_closed": [.ignored], "paywall_checkout_initiated": [.ignored],
    "paywall_checkout_cancelled": [.ignored],
  ]

  /// The names that tell of a purchase. Others repeat the receipt of an earlier one.
  private static let charges: Set<String> = [
    "trial_started", "trial_converted", "subscription_started", "subscription_renewed", "intro_started",
    "intro_renewed", "intro_converted", "promo_started", "promo_renewed", "promo_converted", "non_renewing_purchase",
  ]

  private static func store(_ word: String?) -> Store {
    switch word {
    case "app_store": .appStore
    case "play_store": .playStore
    case "stripe": .stripe
    case "paddle": .paddle
    default: .other
    }
  }

  /// Only subscriptions tell their environment: the one that the event is about, else all of the customer's, where they
  /// agree. Without any, what is sent here is of Production, as the webhook's setting says.
  private static func environment(
    _ subscription: JSONValue?, _ all: [JSONValue]
  ) throws(Rejection) -> StoreEnvironment {
    var words: Set<String> = []
    for one in subscription.map({ [$0] }) ?? all {
      if let word = try one.string("environment") { words.insert(word.lowercased()) }
    }
    guard words.count == 1, let word = words.first else { return .production }
    switch word {
    case "production": return .production
    case "sandbox": return .sandbox
    default: return StoreEnvironment(rawValue: word)
    }
  }

  private static func reason(_ word: String?) -> ExpirationReason? {
    switch word {
    case nil: nil
    case "user_canceled", "user_cancelled": .voluntary
    case "billing_issue": .billing
    case "declined_price_increase": .priceIncrease
    case "unavailable_product": .productUnavailable
    default: .other
    }
  }

  // MARK: - Facts

  private func transaction(_ receipt: JSONValue, _ madeAt: Instant) throws(Rejection) -> TransactionFact? {
    guard let id = try receipt.string("transaction_id") else { return nil }
    var fact = TransactionFact(transactionID: id, signedAt: madeAt)
    if Self.charges.contains(name) {
      let isOnce = name == "non_renewing_purchase"
      fact.type = .value(isOnce ? .nonRenewing : .autoRenewable)
      fact.productID = Stated(
        carriedOver: try Self.first(receipt.string("product_id"), properties?.string("product_id")))
      fact.purchasedAt = Stated(carriedOver: try receipt.dateTime("purchased_at"))
      // A receipt has no end: the subscription tells where its running period ends.
      if !isOnce {
        fact.expiresAt = Stated(
          carriedOver: try Self.first(receipt.dateTime("expires_at"), subscription?.dateTime("expires_at")))
      }
      fact.country = Stated(carriedOver: try user?.country("country_iso_code"))
      if name.hasSuffix("_started") || isOnce { fact.reason = .value(.purchase) }
      if let isShared = try properties?.flag("family_shared") {
        fact.ownership = .value(isShared ? .familyShared : .purchased)
      }
      fact.offer = try offer()
      fact.quantity = Stated(carriedOver: try receipt.integer("quantity"))
      try readMoney(receipt, &fact)
    } else if event.kind == .refunded {
      fact.revokedAt = .value(try subscription?.dateTime("cancelled_at").map { min($0, madeAt) } ?? madeAt)
      try readMoney(receipt, &fact)
    }
    return fact
  }

  private func offer() throws(Rejection) -> Stated<Offer> {
    let id = try properties?.string("offer_id")
    var discount = try properties?.string("offer_type").map { OfferDiscount(rawValue: $0) }
    if discount?.rawValue == "trial" || name == "trial_started" { discount = .freeTrial }
    let period = try offerPeriod()
    switch name {
    case "trial_started":
      return .value(Offer(type: id == nil ? .introductory : .promotional, id: id, discount: discount, period: period))
    case "intro_started", "intro_renewed":
      return .value(Offer(type: .introductory, id: id, discount: discount, period: period))
    case "promo_started", "promo_renewed":
      return .value(Offer(type: .promotional, id: id, discount: discount, period: period))
    // The first charge after an offer is at full price.
    case "trial_converted", "intro_converted", "promo_converted": return .absent
    default: return .unstated
    }
  }

  private func offerPeriod() throws(Rejection) -> String? {
    guard let unit = try properties?.string("unit")?.first?.uppercased(),
      let count = try properties?.integer("units_count")
    else { return nil }
    let period = "P\(count)\(unit)"
    return ISODuration.isValid(period) ? period : nil
  }

  /// `price` is what the customer paid, or got back, `proceeds` that without the store's part; of tax Apphud knows nothing.
  private func readMoney(_ receipt: JSONValue, _ fact: inout TransactionFact) throws(Rejection) {
    guard let price = try Self.first(receipt.units("price"), properties?.units("local_price")),
      let currency = try Self.first(receipt.currency("currency"), properties?.currency("currency")), price.value >= 0
    else { return }
    guard fact.purchasedAt.isStated else { return fact.states(returned: Money(amount: price, currency: currency)) }
    fact.price = .value(Money(amount: price, currency: currency))
    guard price.value > 0, let proceeds = try receipt.units("proceeds") else { return }
    fact.commission = Stated(carriedOver: price.less(proceeds))
    fact.proceeds = .value(proceeds)
  }

  private func renewal(_ madeAt: Instant) throws(Rejection) -> RenewalFact? {
    var fact = RenewalFact(signedAt: madeAt)
    switch event.kind {
    case .billingIssue:
      fact.inBillingRetry = .value(true)
      // Nothing else tells of a grace period.
      if try subscription?.string("status") == "grace" {
        fact.graceExpiresAt = Stated(carriedOver: try subscription?.dateTime("expires_at"))
      }
    case .autoRenewDisabled, .trialCancelled: fact.autoRenew = .value(false)
    case .autoRenewEnabled: fact.autoRenew = .value(true)
    case .subscriptionExpired, .trialExpired:
      if try subscription?.flag("in_retry_billing") == true {
        fact.inBillingRetry = .value(true)
      } else {
        fact.inBillingRetry = .value(false)
        fact.expirationReason = Stated(carriedOver: event.detail.reason.map { ExpirationReason(rawValue: $0) })
      }
    default: return nil
    }
    return fact
  }
}
