import Signatures
import Vocabulary

/// An event as Adapty's webhooks tell it, with what matters in `event_properties`.
///
/// Source: https://adapty.io/docs/webhook-event-types-and-fields
struct AdaptyEvent: VendorEvent {
  let bundleIDs: [String] = []
  let isTest = false
  private(set) var event: Event

  private let properties: JSONValue
  private let type: String
  private let isChange: Bool

  /// Reads an event; nil of the empty object that only asks whether anyone is there.
  init?(_ root: JSONValue, receivedAt: Instant) throws(Rejection) {
    if root.members.isEmpty { return nil }
    type = try root.required("event_type")
    guard let properties = root["event_properties"] else {
      throw Rejection(.fieldMissing, excerpt: "event_properties")
    }
    guard properties.kind == .object else { throw JSONValue.malformed("event_properties") }
    self.properties = properties
    guard let id = try Self.first(properties.string("profile_event_id"), root.string("profile_event_id")) else {
      throw Rejection(.fieldMissing, excerpt: "profile_event_id")
    }
    // By the store's clock. Several events may have the same moment, or an earlier one than an event before.
    let happenedAt =
      try Self.first(properties.dateTime("event_datetime"), root.dateTime("event_datetime")) ?? receivedAt
    guard let environment = try properties.string("environment") else {
      throw Rejection(.fieldMissing, excerpt: "environment")
    }
    let store = try properties.string("store")
    event = Event(
      eventID: id, kind: .unrecognised, occurredAt: happenedAt, store: Self.store(store),
      environment: StoreEnvironment(rawValue: environment))
    event.rawKind = type
    // Adapty's own id stands for a customer to whom the seller gave none, and is one more of him who was given one later.
    let (customer, profile) = (try root.string("customer_user_id"), try root.string("profile_id"))
    event.subscriberID = customer ?? profile
    if let customer, let profile, customer != profile {
      var identity = IdentityFact()
      (identity.original, identity.aliases) = (customer, [profile])
      event.identity = identity
    }
    let reason = try properties.string("cancellation_reason")
    switch (type, reason) {
    // What an upgrade returns of the product before is no refund that a customer asked for.
    case ("subscription_refunded", "upgraded"), ("subscription_refunded", "new_subscription_replace"): isChange = true
    // A replacement on Google Play comes as a start without any money.
    case ("subscription_started", _) where store == "play_store": isChange = try Self.isWithoutMoney(properties)
    default: isChange = false
    }
    event.kind = isChange ? .productChanged : Self.kinds[type] ?? .unrecognised
    if [.subscriptionExpired, .trialExpired, .autoRenewDisabled, .trialCancelled].contains(event.kind) {
      event.detail.reason = Self.reason(reason)?.rawValue
    }
    if isChange, reason == "upgraded" { event.detail.direction = "upgrade" }
    if Self.charges.contains(type) { event.occurredAt = try properties.dateTime("purchase_date") ?? happenedAt }
    if let transactionID = try properties.string("transaction_id") {
      event.originalTransactionID = try properties.string("original_transaction_id") ?? transactionID
      event.transaction = try transaction(transactionID, happenedAt)
      event.renewal = try renewal(reason, happenedAt)
    }
  }

  private static func first<Value>(_ value: Value?, _ other: Value?) -> Value? { value ?? other }

  // MARK: - Words

  private static let kinds: [String: EventKind] = [
    "trial_started": .trialStarted, "trial_converted": .trialConverted,
    "trial_renewal_cancelled": .trialCancelled, "trial_renewal_reactivated": .autoRenewEnabled,
    "trial_expired": .trialExpired, "subscription_started": .subscriptionStarted,
    // Its older name, which one page of the documentation still has.
    "subscription_initial_purchase": .subscriptionStarted, "subscription_renewed": .subscriptionRenewed,
    "subscription_renewal_cancelled": .autoRenewDisabled, "subscription_renewal_reactivated": .autoRenewEnabled,
    "subscription_expired": .subscriptionExpired, "subscription_paused": .pauseScheduled,
    "subscription_deferred": .renewalExtended, "subscription_refunded": .refunded,
    "entered_grace_period": .gracePeriodEntered, "billing_issue_detected": .billingIssue,
    "non_subscription_purchase": .nonRenewingPurchase, "non_subscription_purchase_refunded": .refunded,
    "access_level_updated": .entitlementChanged,
  ]

  /// The types that tell of a purchase.
  private static let charges: Set<String> = [
    "trial_started", "trial_converted", "subscription_started", "subscription_initial_purchase",
    "subscription_renewed", "non_subscription_purchase",
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

  private static func reason(_ word: String?) -> ExpirationReason? {
    switch word {
    case nil: nil
    case "voluntarily_cancelled": .voluntary
    case "billing_error": .billing
    case "price_increase": .priceIncrease
    case "product_was_not_available": .productUnavailable
    case "refund": .refunded
    default: .other
    }
  }

  private static func isWithoutMoney(_ properties: JSONValue) throws(Rejection) -> Bool {
    var isStated = false
    for name in ["price_usd", "price_local", "proceeds_usd", "proceeds_local"] as [StaticString] {
      guard let amount = try properties.units(name) else { continue }
      if amount.value != 0 { return false }
      isStated = true
    }
    return isStated
  }

  // MARK: - Facts

  private func transaction(_ id: String, _ happenedAt: Instant) throws(Rejection) -> TransactionFact {
    var fact = TransactionFact(transactionID: id, signedAt: happenedAt)
    if Self.charges.contains(type) {
      let isOnce = type == "non_subscription_purchase"
      fact.type = .value(isOnce ? .nonRenewing : .autoRenewable)
      fact.productID = Stated(carriedOver: try properties.string("vendor_product_id"))
      fact.purchasedAt = Stated(carriedOver: try properties.dateTime("purchase_date"))
      if !isOnce { fact.expiresAt = Stated(carriedOver: try properties.dateTime("subscription_expires_at")) }
      fact.country = Stated(carriedOver: try properties.country("store_country"))
      // A renewal may be the return of a customer who had left.
      if !["subscription_renewed", "trial_converted"].contains(type) { fact.reason = .value(.purchase) }
      fact.ownership = .value(.purchased)
      fact.offer = Stated(carriedOver: try offer())
      // The price of a free trial is the one to come, where a setting of Adapty's asks for it.
      if type != "trial_started" { try readMoney(&fact) }
    } else if type == "subscription_deferred" {
      fact.expiresAt = Stated(carriedOver: try properties.dateTime("subscription_expires_at"))
    } else if event.kind == .refunded {
      fact.revokedAt = .value(happenedAt)
      try readMoney(&fact)
    }
    return fact
  }

  private func offer() throws(Rejection) -> Offer? {
    let category = try properties.string("store_offer_category")
    let id = try properties.string("promotional_offer_id")
    let discount = try properties.string("store_offer_discount_type").map { OfferDiscount(rawValue: $0) }
    guard category != nil || discount != nil || type == "trial_started" else { return nil }
    let kind: OfferType =
      switch category {
      case nil: .introductory
      case "offer_code": .code
      case let word?: OfferType(rawValue: word)
      }
    return Offer(type: kind, id: id, discount: type == "trial_started" ? .freeTrial : discount)
  }

  /// `price` is what the customer paid, or got back, `proceeds` that without the store's part, `net_revenue` also without the
  /// tax.
  private func readMoney(_ fact: inout TransactionFact) throws(Rejection) {
    let named = try properties.currency("currency")
    let local = try named == nil ? nil : properties.units("price_local")
    let isInDollars = try properties.string("currency") ?? "USD" == "USD"
    let dollars = try isInDollars ? properties.units("price_usd") : nil
    guard let amount = local ?? dollars, amount.value >= 0 else { return }
    let money = Money(amount: amount, currency: named ?? "USD")
    guard fact.purchasedAt.isStated else { return fact.states(returned: money) }
    fact.price = .value(money)
    guard local != nil, amount.value > 0 else { return }
    fact.tax = Stated(carriedOver: try properties.units("tax_amount_local"))
    fact.commission = Stated(carriedOver: try properties.units("proceeds_local").flatMap { amount.less($0) })
    fact.proceeds = Stated(carriedOver: try properties.units("net_revenue_local"))
  }

  private func renewal(_ reason: String?, _ happenedAt: Instant) throws(Rejection) -> RenewalFact? {
    var fact = RenewalFact(signedAt: happenedAt)
    switch event.kind {
    case .billingIssue:
      fact.inBillingRetry = .value(true)
    case .gracePeriodEntered:
      fact.inBillingRetry = .value(true)
      fact.graceExpiresAt = Stated(carriedOver: try properties.dateTime("subscription_expires_at"))
    case .autoRenewDisabled, .trialCancelled:
      if reason != "billing_error" { fact.autoRenew = .value(false) }
    case .autoRenewEnabled:
      fact.autoRenew = .value(true)
    case .subscriptionExpired, .trialExpired:
      switch reason {
      // Where another product follows there is no end that anyone gave a reason for.
      case "upgraded", "new_subscription_replace": return nil
      // Access is lost; the store goes on trying, and Adapty does not tell when it gives up.
      case "billing_error": fact.inBillingRetry = .value(true)
      default:
        fact.inBillingRetry = .value(false)
        fact.expirationReason = .value(Self.reason(reason) ?? .other)
      }
    case .pauseScheduled:
      fact.pausedAt = Stated(carriedOver: try properties.dateTime("subscription_expires_at"))
    default:
      return nil
    }
    return fact.stated == 0 ? nil : fact
  }
}
