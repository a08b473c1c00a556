import Foundation
import Signatures
import Vocabulary

/// An event as RevenueCat's webhooks tell it: `{"api_version": "1.0", "event": {…}}`.
///
/// Source: https://www.revenuecat.com/docs/integrations/webhooks/event-types-and-fields
struct RevenueCatEvent: VendorEvent {
  let bundleIDs: [String] = []
  let isTest: Bool
  private(set) var event: Event

  private let body: JSONValue
  private let type: String
  /// When RevenueCat made the event.
  private let madeAt: Instant
  private let purchasedAt: Instant?
  private let periodType: String?

  init(_ root: JSONValue, receivedAt: Instant) throws(Rejection) {
    guard let body = root["event"] else { throw Rejection(.fieldMissing, excerpt: "event") }
    guard body.kind == .object else { throw JSONValue.malformed("event") }
    self.body = body
    let id = try body.required("id")
    type = try body.required("type")
    isTest = type == "TEST"
    purchasedAt = try body.moment("purchased_at_ms")
    madeAt = try body.moment("event_timestamp_ms") ?? purchasedAt ?? receivedAt
    periodType = try body.string("period_type")
    let transactionID = try body.string("transaction_id")
    var environment = try body.string("environment").map(Self.environment)
    // A transfer may not name its environment: it is about customers, not purchases.
    if transactionID == nil || isTest { environment = environment ?? .production }
    guard let environment else { throw Rejection(.fieldMissing, excerpt: "environment") }

    event = Event(
      eventID: id, kind: .unrecognised, occurredAt: madeAt,
      store: Self.store(try body.string("store")), environment: environment)
    event.rawKind = type
    event.subscriberID = try body.string("app_user_id")
    event.identity = try identity()
    guard !isTest else {
      event.kind = .ignored
      return
    }
    try readMeaning()
    // A grant for the time of an outage at a store has ids of its own making.
    if let transactionID, type != "TEMPORARY_ENTITLEMENT_GRANT" {
      event.originalTransactionID = try body.string("original_transaction_id") ?? transactionID
      event.transaction = try transaction(transactionID)
      event.renewal = try renewal()
    }
  }

  // MARK: - Words

  private static func environment(_ word: String) -> StoreEnvironment {
    switch word {
    case "PRODUCTION": .production
    case "SANDBOX": .sandbox
    default: StoreEnvironment(rawValue: word)
    }
  }

  private static func store(_ word: String?) -> Store {
    switch word {
    case "APP_STORE": .appStore
    case "MAC_APP_STORE": .macAppStore
    case "PLAY_STORE": .playStore
    case "AMAZON": .amazon
    case "STRIPE": .stripe
    case "ROKU": .roku
    case "PADDLE": .paddle
    case "RC_BILLING": .web
    case "PROMOTIONAL": .promotional
    default: .other
    }
  }

  private static func reason(_ word: String?) -> ExpirationReason? {
    switch word {
    case nil: nil
    case "UNSUBSCRIBE": .voluntary
    case "BILLING_ERROR": .billing
    case "PRICE_INCREASE": .priceIncrease
    case "CUSTOMER_SUPPORT": .refunded
    default: .other
    }
  }

  // MARK: - Meaning

  /// The kind, by the first of RevenueCat's conditions that holds, and when it happened. What needs history (a recovery, a
  /// return, a win-back) is settled from the facts later.
  private mutating func readMeaning() throws(Rejection) {
    let isTrial = periodType == "TRIAL"
    switch type {
    case "INITIAL_PURCHASE":
      event.occurredAt = purchasedAt ?? madeAt
      if try body.flag("is_family_share") == true {
        event.kind = .familySharedGranted
      } else {
        event.kind = isTrial ? .trialStarted : .subscriptionStarted
      }
      let hasCode = try body.string("offer_code") != nil
      if hasCode || (event.kind == .subscriptionStarted && periodType == "INTRO") { event.also = [.offerRedeemed] }
    case "RENEWAL":
      event.occurredAt = purchasedAt ?? madeAt
      event.kind = try body.flag("is_trial_conversion") == true ? .trialConverted : .subscriptionRenewed
    case "NON_RENEWING_PURCHASE":
      event.occurredAt = purchasedAt ?? madeAt
      event.kind = .nonRenewingPurchase
    case "CANCELLATION":
      let reason = try body.string("cancel_reason")
      event.detail.reason = Self.reason(reason)?.rawValue
      switch reason {
      case "CUSTOMER_SUPPORT": event.kind = .refunded
      // The twin of BILLING_ISSUE: counting both would double it.
      case "BILLING_ERROR": event.kind = .ignored
      default: event.kind = isTrial ? .trialCancelled : .autoRenewDisabled
      }
    case "EXPIRATION":
      let reason = try body.string("expiration_reason")
      event.occurredAt = try endedAt()
      if isTrial {
        event.kind = .trialExpired
      } else if reason == "SUBSCRIPTION_PAUSED" {
        event.kind = .paused
      } else {
        event.kind = .subscriptionExpired
      }
      if event.kind != .paused { event.detail.reason = (Self.reason(reason) ?? .other).rawValue }
    case "BILLING_ISSUE":
      event.kind = .billingIssue
      if try body.moment("grace_period_expiration_at_ms") != nil { event.also = [.gracePeriodEntered] }
    case "UNCANCELLATION": event.kind = .autoRenewEnabled
    case "PRODUCT_CHANGE": event.kind = .productChanged
    case "SUBSCRIPTION_PAUSED": event.kind = .pauseScheduled
    case "SUBSCRIPTION_EXTENDED": event.kind = .renewalExtended
    case "REFUND_REVERSED": event.kind = .refundReversed
    case "TRANSFER": event.kind = .transferred
    case "INVOICE_ISSUANCE": event.kind = .invoiceIssued
    case "TEMPORARY_ENTITLEMENT_GRANT": event.kind = .entitlementChanged
    case "EXPERIMENT_ENROLLMENT", "VIRTUAL_CURRENCY_TRANSACTION", "SUBSCRIBER_ALIAS": event.kind = .ignored
    default: event.kind = .unrecognised
    }
  }

  /// When access ended: at the expiry, unless the event was made before it.
  private func endedAt() throws(Rejection) -> Instant {
    try body.moment("expiration_at_ms").map { min($0, madeAt) } ?? madeAt
  }

  // MARK: - Facts

  private func transaction(_ id: String) throws(Rejection) -> TransactionFact {
    var fact = TransactionFact(transactionID: id, signedAt: madeAt)
    switch type {
    case "INITIAL_PURCHASE", "RENEWAL", "NON_RENEWING_PURCHASE":
      // The store alone knows whether what does not renew is used up or lasts.
      fact.type = .value(type == "NON_RENEWING_PURCHASE" ? .nonRenewing : .autoRenewable)
      fact.productID = Stated(carriedOver: try body.string("product_id"))
      fact.purchasedAt = Stated(carriedOver: purchasedAt)
      fact.expiresAt = Stated(carriedOver: try body.moment("expiration_at_ms"))
      fact.country = Stated(carriedOver: try body.country("country_code"))
      // A RENEWAL may be the return of a customer who had left.
      if type != "RENEWAL" { fact.reason = .value(.purchase) }
      if let isShared = try body.flag("is_family_share") {
        fact.ownership = .value(isShared ? .familyShared : .purchased)
      }
      fact.offer = Stated(carriedOver: try offer())
      try readMoney(&fact)
    case "CANCELLATION" where event.kind == .refunded:
      fact.revokedAt = .value(madeAt)
      try readMoney(&fact)
    case "REFUND_REVERSED":
      fact.revokedAt = .absent
      fact.revocation = .absent
      try readMoney(&fact)
    case "SUBSCRIPTION_EXTENDED":
      fact.expiresAt = Stated(carriedOver: try body.moment("expiration_at_ms"))
    default:
      break
    }
    return fact
  }

  private func offer() throws(Rejection) -> Offer? {
    let code = try body.string("offer_code")
    switch periodType {
    case "TRIAL": return Offer(type: code == nil ? .introductory : .code, id: code, discount: .freeTrial)
    case "INTRO": return Offer(type: code == nil ? .introductory : .code, id: code)
    default: return code.map { Offer(type: .code, id: $0) }
    }
  }

  /// What was charged, with what of it went elsewhere: RevenueCat's percentages are fractions, and both are shares of the
  /// whole price. A refund tells what is returned with a minus, other events without a charge a price of 0, which is why
  /// only some kinds are asked.
  private func readMoney(_ fact: inout TransactionFact) throws(Rejection) {
    let isCharge = fact.purchasedAt.isStated
    // `price` is converted to dollars: it is what was paid where no other currency is named.
    let named = try body.currency("currency")
    let local = try named == nil ? nil : body.units("price_in_purchased_currency")
    let isInDollars = try body.string("currency") ?? "USD" == "USD"
    let dollars = try isInDollars ? body.units("price") : nil
    guard let amount = local ?? dollars, isCharge ? amount.value >= 0 : amount.value != 0, amount.value > .min
    else { return }
    let money = Money(amount: Micros(abs(amount.value)), currency: named ?? "USD")
    guard isCharge else { return fact.states(returned: money) }
    fact.price = .value(money)
    guard local != nil, money.amount.value > 0 else { return }
    let tax = try body.decimal("tax_percentage").flatMap { money.amount.share($0) }
    let commission = try body.decimal("commission_percentage").flatMap { money.amount.share($0) }
    fact.tax = Stated(carriedOver: tax)
    fact.commission = Stated(carriedOver: commission)
    if let tax, let commission { fact.proceeds = Stated(carriedOver: money.amount.less(tax)?.less(commission)) }
  }

  private func renewal() throws(Rejection) -> RenewalFact? {
    var fact = RenewalFact(signedAt: madeAt)
    switch type {
    case "BILLING_ISSUE":
      fact.inBillingRetry = .value(true)
      fact.graceExpiresAt = Stated(carriedOver: try body.moment("grace_period_expiration_at_ms"))
    case "CANCELLATION" where event.kind == .autoRenewDisabled || event.kind == .trialCancelled:
      fact.autoRenew = .value(false)
    case "UNCANCELLATION":
      fact.autoRenew = .value(true)
    case "EXPIRATION" where event.kind == .paused:
      fact.pausedAt = .value(try endedAt())
      fact.resumesAt = Stated(carriedOver: try body.moment("auto_resume_at_ms"))
    case "EXPIRATION" where event.detail.reason == ExpirationReason.billing.rawValue:
      // It is sent when access ends. The store goes on trying, and RevenueCat does not tell when it gives up.
      fact.inBillingRetry = .value(true)
    case "EXPIRATION":
      // It may be made after the customer has come back: it speaks of the moment at which access ended.
      fact.signedAt = try endedAt()
      fact.inBillingRetry = .value(false)
      fact.expirationReason = Stated(carriedOver: event.detail.reason.map { ExpirationReason(rawValue: $0) })
    case "PRODUCT_CHANGE":
      fact.autoRenewProductID = Stated(carriedOver: try body.string("new_product_id"))
    case "SUBSCRIPTION_PAUSED":
      fact.pausedAt = Stated(carriedOver: try body.moment("expiration_at_ms"))
      fact.resumesAt = Stated(carriedOver: try body.moment("auto_resume_at_ms"))
    default:
      return nil
    }
    return fact.stated == 0 ? nil : fact
  }

  /// Who customers are. All ids of one customer come with every event about him; a transfer names two customers.
  private func identity() throws(Rejection) -> IdentityFact? {
    var fact = IdentityFact()
    if type == "TRANSFER" {
      fact.transferredFrom = try body.texts("transferred_from")
      let takers = try body.texts("transferred_to")
      // Of the ids that the taker has, the seller's own.
      fact.transferredTo = takers.first { !$0.hasPrefix("$RCAnonymousID:") } ?? takers.first
      return fact.transferredFrom.isEmpty || fact.transferredTo == nil ? nil : fact
    }
    guard let original = try body.string("original_app_user_id") ?? event.subscriberID else { return nil }
    var ids: [String] = []
    for id in try [event.subscriberID].compactMap({ $0 }) + body.texts("aliases")
    where id != original && !ids.contains(id) {
      ids.append(id)
    }
    guard !ids.isEmpty else { return nil }
    fact.original = original
    fact.aliases = ids
    return fact
  }
}
