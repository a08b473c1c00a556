import Foundation
import Signatures
import Vocabulary

/// A generated life as the App Store posts it, and as RevenueCat, Adapty and Apphud would have posted it.
///
/// Written from what each of them documents, by another hand than their decoders.
public struct RetoldLife {
  /// Who tells it.
  public enum Teller: String, CaseIterable, Sendable {
    /// Signed notifications.
    case appStore = "app_store"
    /// RevenueCat's webhooks.
    case revenueCat = "revenuecat"
    /// Adapty's webhooks.
    case adapty
    /// Apphud's webhooks.
    case apphud
  }

  /// Whether a teller tells all that the life's figures depend on, as far as that is `docs/sources.md`'s to say.
  ///
  /// - Parameter gaps: What the teller does not tell.
  public static func isKnown(_ life: LifeGenerator.Life, but gaps: Set<Gap>) -> Bool {
    Self.gaps(life)?.isDisjoint(with: gaps) == true
  }

  /// The bodies in the order in which they are posted. What a teller cannot tell is left out, or told as it would be.
  public static func bodies(_ life: LifeGenerator.Life, by teller: Teller) -> [String] {
    var retold = RetoldLife(teller)
    for event in Self.inOrder(life) { retold.tell(event) }
    return retold.bodies
  }

  /// What happens in lives that not every vendor tells, in the words of the table in `docs/sources.md`.
  public enum Gap: String, CaseIterable, Sendable {
    case familySharing = "Family Sharing"
    case promotionalOffers = "promotional offers"
    case offerCodes = "offer codes"
    case winBackOffers = "win-back offers"
    case extensions = "a period that the store extends"
    case takenBackRefunds = "refunds that are taken back"
    case partialRefunds = "partial refunds"
    case earlierRefunds = "refunds of earlier periods"
    case unavailableProducts = "that a product is no longer for sale, as the reason of an expiry"
    case givenUpCharges = "that a store has given up a failed charge before 60 days are over"
    case silentFailures = "a failed charge before a renewal, where nothing was said of it"
    case withdrawnExpiries = "an expiry that is taken back"
    case migrations = "that one subscription goes on as another"
  }

  /// What of a life is not told by everyone; nil when the App Store itself would not tell such a life.
  public static func gaps(_ life: LifeGenerator.Life) -> Set<Gap>? {
    var gaps: Set<Gap> = []
    var last: TransactionFact?
    var failed = false
    var ended = false
    var once: Set<String> = []
    for event in inOrder(life) {
      guard event.store == .appStore, event.environment == .production, event.app == "video" else { return nil }
      if event.previousOriginalTransactionID != nil { gaps.insert(.migrations) }
      if let fact = event.transaction {
        if let purchasedAt = fact.purchasedAt.value {
          guard fact.productID.isStated, fact.country.isStated else { return nil }
          guard fact.price.isStated || fact.offer.value?.discount == .freeTrial else { return nil }
          guard fact.type.value == .autoRenewable else {
            once.insert(fact.transactionID)
            continue
          }
          guard fact.expiresAt.isStated else { return nil }
          if fact.ownership.value == .familyShared { gaps.insert(.familySharing) }
          if let offer = fact.offer.value {
            // An introductory offer is for who was no customer before.
            if offer.type == .introductory, fact.reason.value == .renewal { return nil }
            if let gap = Self.gap(offer) { gaps.insert(gap) }
          }
          if let end = last?.expiresAt.value, purchasedAt > end, !failed, fact.reason.value == .renewal {
            gaps.insert(.silentFailures)
          }
          (last, failed, ended) = (fact, false, false)
        } else if fact.revokedAt.isStated {
          guard let revokedAt = fact.revokedAt.value else {
            gaps.insert(.takenBackRefunds)
            continue
          }
          guard fact.revocation.value == .full || fact.revocation.value == nil else {
            gaps.insert(.partialRefunds)
            continue
          }
          if once.contains(fact.transactionID) { continue }
          if fact.transactionID != last?.transactionID || revokedAt >= last?.expiresAt.value ?? revokedAt {
            gaps.insert(.earlierRefunds)
          } else {
            ended = true
          }
        } else if fact.expiresAt.isStated {
          gaps.insert(.extensions)
          last?.expiresAt = fact.expiresAt
        } else {
          // A price told late.
          return nil
        }
      }
      if let status = event.renewal {
        // The App Store knows no pause.
        guard status.pausedAt.value == nil else { return nil }
        let isFailure = status.inBillingRetry.value == true || status.graceExpiresAt.value != nil
        if isFailure { failed = true }
        if let reason = status.expirationReason.value, status.inBillingRetry.value != true {
          if failed || reason == .billing { gaps.insert(.givenUpCharges) }
          if reason == .productUnavailable { gaps.insert(.unavailableProducts) }
          ended = true
        } else if ended, event.transaction == nil, status.autoRenew.value == true, !isFailure {
          gaps.insert(.withdrawnExpiries)
        }
      }
    }
    return last == nil && once.isEmpty ? nil : gaps
  }

  private static func gap(_ offer: Offer) -> Gap? {
    switch offer.type {
    case .promotional: .promotionalOffers
    case .code: .offerCodes
    case .winBack: .winBackOffers
    default: nil
    }
  }

  private static func inOrder(_ life: LifeGenerator.Life) -> [Event] {
    var seen: Set<String> = []
    // What the app reports of messages is no teller's.
    return life.events.filter { $0.kind != .storeMessage }.sorted { $0.signedAt < $1.signedAt }
      .filter { seen.insert($0.eventID).inserted }
  }

  private let teller: Teller
  private var bodies: [String] = []
  private var transactions: [String: TransactionFact] = [:]
  private var running: TransactionFact?
  private var previous: TransactionFact?
  private var status: RenewalFact?
  private var subscriber: String?

  private init(_ teller: Teller) { self.teller = teller }

  // MARK: - Telling

  private mutating func tell(_ event: Event) {
    subscriber = event.subscriberID ?? subscriber
    var bought = false
    if var fact = event.transaction {
      if let known = transactions[fact.transactionID] {
        var newer = known
        if fact.revokedAt.isStated {
          newer.revokedAt = fact.revokedAt
          newer.revocation = fact.revocation
        }
        if fact.expiresAt.isStated { newer.expiresAt = fact.expiresAt }
        fact = newer
      }
      transactions[fact.transactionID] = fact
      bought = event.transaction?.purchasedAt.isStated == true
      if bought, fact.type.value == .autoRenewable {
        (previous, running) = (running, fact)
      } else if running?.transactionID == fact.transactionID {
        running = fact
      }
    }
    guard let concerned = event.transaction.flatMap({ transactions[$0.transactionID] }) ?? running else { return }
    let running = running ?? concerned
    defer { if bought { status = event.renewal } else if let renewal = event.renewal { status = renewal } }
    if teller == .appStore {
      bodies.append(notification(event, concerned))
      return
    }
    if bought {
      post(event, concerned, .purchase)
    } else if event.transaction?.revokedAt.isStated == true {
      post(event, concerned, event.transaction?.revokedAt.value == nil ? .refundReversed : .refund)
    } else if event.transaction?.expiresAt.isStated == true {
      post(event, concerned, .extended)
    }
    guard let renewal = event.renewal, !bought else { return }
    if renewal.inBillingRetry.value == true || renewal.graceExpiresAt.value != nil {
      post(event, running, renewal.graceExpiresAt.value == nil && status?.graceExpiresAt.value != nil ? .lost : .issue)
      return
    }
    // A subscription that ends is told as ended, and not also as one that will not be renewed.
    if let autoRenew = renewal.autoRenew.value, autoRenew != status?.autoRenew.value ?? true,
      renewal.expirationReason.value == nil
    {
      post(event, running, autoRenew ? .switchedOn : .switchedOff)
    }
    if renewal.expirationReason.value != nil { post(event, running, .expired) }
  }

  private enum Happening: String {
    case purchase, refund, refundReversed, extended, issue, lost, switchedOn, switchedOff, expired
  }

  private mutating func post(_ event: Event, _ transaction: TransactionFact, _ what: Happening) {
    switch (teller, what) {
    // Of Family Sharing Adapty only says that access has changed; the others have no event for these.
    case (.adapty, _) where transaction.ownership.value == .familyShared: break
    case (.adapty, .refundReversed), (.apphud, .refundReversed), (.apphud, .extended): break
    case (.appStore, _): break
    case (.revenueCat, _): bodies.append(revenueCat(event, transaction, what))
    case (.adapty, _): bodies.append(adapty(event, transaction, what))
    case (.apphud, _): bodies.append(apphud(event, transaction, what))
    }
  }

  private static func text(_ object: [String: Any]) -> String {
    let json = try? JSONSerialization.data(withJSONObject: object, options: [.sortedKeys, .withoutEscapingSlashes])
    return String(decoding: json ?? Data(), as: UTF8.self)
  }

  private static func orNull(_ value: Any?) -> Any { value ?? NSNull() }

  private static func milliseconds(_ moment: Instant?) -> Any { orNull(moment.map { $0.microseconds / 1000 }) }

  private static func number(_ amount: Micros) -> NSDecimalNumber {
    NSDecimalNumber(decimal: Decimal(amount.value) / 1_000_000)
  }

  private static let twoLetters = ["USA": "US", "DEU": "DE", "JPN": "JP", "AUT": "AT", "KWT": "KW"]

  private static func isTrial(_ transaction: TransactionFact?) -> Bool {
    transaction?.offer.value?.discount == .freeTrial
  }

  private static func isOnce(_ transaction: TransactionFact) -> Bool { transaction.type.value != .autoRenewable }

  // MARK: - The App Store

  private static func storesType(_ type: TransactionType?) -> String {
    switch type {
    case .consumable?: "Consumable"
    case .nonConsumable?: "Non-Consumable"
    case .nonRenewing?: "Non-Renewing Subscription"
    default: "Auto-Renewable Subscription"
    }
  }

  private func notification(_ event: Event, _ transaction: TransactionFact) -> String {
    func sign(_ claims: [String: Any]) -> String { TestCertificateAuthority.shared.sign(Self.text(claims)) }
    let common: [String: Any] = [
      "originalTransactionId": event.originalTransactionID ?? "", "environment": "Production",
      "signedDate": Self.milliseconds(event.signedAt),
    ]
    var data: [String: Any] = ["bundleId": "com.example.video", "environment": "Production"]
    var claims = common.merging([
      "transactionId": transaction.transactionID, "bundleId": "com.example.video",
      "productId": transaction.productID.value ?? "", "type": Self.storesType(transaction.type.value),
      "purchaseDate": Self.milliseconds(transaction.purchasedAt.value),
      "inAppOwnershipType": transaction.ownership.value == .familyShared ? "FAMILY_SHARED" : "PURCHASED", "quantity": 1,
      "transactionReason": transaction.reason.value == .renewal ? "RENEWAL" : "PURCHASE",
      "storefront": transaction.country.value ?? "",
    ]) { $1 }
    if let price = transaction.price.value {
      claims["price"] = price.amount.value / 1000
      claims["currency"] = price.currency
    }
    if let end = transaction.expiresAt.value { claims["expiresDate"] = Self.milliseconds(end) }
    if let previous = event.previousOriginalTransactionID { claims["previousOriginalTransactionId"] = previous }
    if let offer = transaction.offer.value {
      let types: [OfferType: Int] = [.introductory: 1, .promotional: 2, .code: 3, .winBack: 4]
      claims["offerType"] = types[offer.type] ?? 0
      claims["offerIdentifier"] = offer.id
      claims["offerDiscountType"] = offer.discount?.rawValue.uppercased()
    }
    if let revokedAt = transaction.revokedAt.value { claims["revocationDate"] = Self.milliseconds(revokedAt) }
    if let subscriber { claims["appAccountToken"] = subscriber }
    data["signedTransactionInfo"] = sign(claims)
    if let renewal = event.renewal {
      var claims = common
      claims["productId"] = running?.productID.value ?? ""
      claims["autoRenewProductId"] = running?.productID.value ?? ""
      claims["autoRenewStatus"] = renewal.autoRenew.value == false ? 0 : 1
      claims["isInBillingRetryPeriod"] = renewal.inBillingRetry.value == true
      if let grace = renewal.graceExpiresAt.value { claims["gracePeriodExpiresDate"] = Self.milliseconds(grace) }
      let intents: [ExpirationReason: Int] = [.voluntary: 1, .billing: 2, .priceIncrease: 3, .productUnavailable: 4]
      if let reason = renewal.expirationReason.value { claims["expirationIntent"] = intents[reason] ?? 5 }
      data["signedRenewalInfo"] = sign(claims)
    }
    // Figures come from what is nested, whatever the type.
    let outer: [String: Any] = [
      "notificationType": "PRICE_CHANGE", "version": "2.0", "signedDate": Self.milliseconds(event.signedAt),
      "notificationUUID": event.eventID, "data": data,
    ]
    return "{\"signedPayload\":\"\(sign(outer))\"}"
  }

  // MARK: - RevenueCat

  private static func periodType(_ transaction: TransactionFact) -> String {
    if isTrial(transaction) { return "TRIAL" }
    return transaction.offer.value?.type == .introductory ? "INTRO" : "NORMAL"
  }

  private func revenueCat(_ event: Event, _ transaction: TransactionFact, _ what: Happening) -> String {
    var body: [String: Any] = [
      "id": "\(event.eventID)/\(what)", "event_timestamp_ms": Self.milliseconds(event.signedAt),
      "product_id": transaction.productID.value ?? "", "environment": "PRODUCTION", "store": "APP_STORE",
      "purchased_at_ms": Self.milliseconds(transaction.purchasedAt.value),
      "expiration_at_ms": Self.milliseconds(transaction.expiresAt.value),
      "transaction_id": transaction.transactionID, "original_transaction_id": event.originalTransactionID ?? "",
      "is_family_share": transaction.ownership.value == .familyShared,
      "country_code": Self.orNull(Self.twoLetters[transaction.country.value ?? ""]),
      "currency": Self.orNull(transaction.price.value?.currency), "price": 0, "price_in_purchased_currency": 0,
      "period_type": Self.periodType(transaction), "tax_percentage": 0.1, "commission_percentage": 0.3,
      "offer_code": NSNull(),
    ]
    if let offer = transaction.offer.value, offer.type == .code { body["offer_code"] = offer.id }
    if let subscriber { body["app_user_id"] = subscriber }
    switch what {
    case .purchase:
      let type = transaction.reason.value == .renewal ? "RENEWAL" : "INITIAL_PURCHASE"
      body["type"] = Self.isOnce(transaction) ? "NON_RENEWING_PURCHASE" : type
      body["is_trial_conversion"] = Self.isTrial(previous) && !Self.isTrial(transaction)
      body["price_in_purchased_currency"] = Self.orNull(transaction.price.value.map { Self.number($0.amount) })
      body["price"] = body["price_in_purchased_currency"]
    case .refund:
      body["type"] = "CANCELLATION"
      body["cancel_reason"] = "CUSTOMER_SUPPORT"
      body["event_timestamp_ms"] = Self.milliseconds(transaction.revokedAt.value)
      if let price = transaction.price.value {
        body["price_in_purchased_currency"] = Self.number(Micros(-price.amount.value))
        body["price"] = body["price_in_purchased_currency"]
      }
    case .refundReversed:
      body["type"] = "REFUND_REVERSED"
      body["price_in_purchased_currency"] = Self.orNull(transaction.price.value.map { Self.number($0.amount) })
      body["price"] = body["price_in_purchased_currency"]
    case .extended: body["type"] = "SUBSCRIPTION_EXTENDED"
    case .issue:
      body["type"] = "BILLING_ISSUE"
      body["grace_period_expiration_at_ms"] = Self.milliseconds(event.renewal?.graceExpiresAt.value)
    case .lost:
      body["type"] = "EXPIRATION"
      body["expiration_reason"] = "BILLING_ERROR"
    case .switchedOn: body["type"] = "UNCANCELLATION"
    case .switchedOff:
      body["type"] = "CANCELLATION"
      body["cancel_reason"] = "UNSUBSCRIBE"
    case .expired:
      let words: [ExpirationReason: String] = [.voluntary: "UNSUBSCRIBE", .priceIncrease: "PRICE_INCREASE"]
      body["type"] = "EXPIRATION"
      body["expiration_reason"] = event.renewal?.expirationReason.value.flatMap { words[$0] } ?? "DEVELOPER_INITIATED"
    }
    return Self.text(["api_version": "1.0", "event": body])
  }

  // MARK: - Adapty

  private static func zoned(_ moment: Instant?) -> Any {
    orNull(moment.map { "\($0)".replacing("Z", with: "000+0000") })
  }

  private func adapty(_ event: Event, _ transaction: TransactionFact, _ what: Happening) -> String {
    let isTrial = Self.isTrial(transaction)
    var happenedAt = event.signedAt
    var properties: [String: Any] = [
      "profile_event_id": "\(event.eventID)/\(what)", "store": "app_store", "environment": "Production",
      "vendor_product_id": transaction.productID.value ?? "", "transaction_id": transaction.transactionID,
      "original_transaction_id": event.originalTransactionID ?? "",
      "purchase_date": Self.zoned(transaction.purchasedAt.value),
      "subscription_expires_at": Self.zoned(transaction.expiresAt.value),
      "store_country": Self.orNull(Self.twoLetters[transaction.country.value ?? ""]),
      "currency": Self.orNull(transaction.price.value?.currency), "price_local": NSNull(),
    ]
    let type: String
    switch what {
    case .purchase:
      if let offer = transaction.offer.value {
        properties["store_offer_category"] = offer.type == .code ? "offer_code" : offer.type.rawValue
        properties["store_offer_discount_type"] = Self.orNull(offer.discount?.rawValue)
        properties["promotional_offer_id"] = Self.orNull(offer.id)
      }
      if let price = transaction.price.value, !isTrial { properties["price_local"] = Self.number(price.amount) }
      if Self.isOnce(transaction) {
        type = "non_subscription_purchase"
      } else if isTrial, transaction.reason.value != .renewal {
        type = "trial_started"
      } else if Self.isTrial(previous) && transaction.reason.value == .renewal {
        type = "trial_converted"
      } else {
        type = transaction.reason.value == .renewal ? "subscription_renewed" : "subscription_started"
      }
    case .refund:
      type = Self.isOnce(transaction) ? "non_subscription_purchase_refunded" : "subscription_refunded"
      properties["cancellation_reason"] = "refund"
      if let price = transaction.price.value { properties["price_local"] = Self.number(price.amount) }
      happenedAt = transaction.revokedAt.value ?? happenedAt
    case .refundReversed: return ""
    case .extended: type = "subscription_deferred"
    case .issue:
      if let grace = event.renewal?.graceExpiresAt.value {
        type = "entered_grace_period"
        properties["subscription_expires_at"] = Self.zoned(grace)
      } else {
        type = "billing_issue_detected"
      }
    case .lost:
      type = isTrial ? "trial_expired" : "subscription_expired"
      properties["cancellation_reason"] = "billing_error"
    case .switchedOn: type = isTrial ? "trial_renewal_reactivated" : "subscription_renewal_reactivated"
    case .switchedOff:
      type = isTrial ? "trial_renewal_cancelled" : "subscription_renewal_cancelled"
      properties["cancellation_reason"] = "voluntarily_cancelled"
    case .expired:
      let words: [ExpirationReason: String] = [
        .voluntary: "voluntarily_cancelled", .priceIncrease: "price_increase", .other: "cancelled_by_developer",
        .productUnavailable: "product_was_not_available",
      ]
      type = isTrial ? "trial_expired" : "subscription_expired"
      properties["cancellation_reason"] = event.renewal?.expirationReason.value.flatMap { words[$0] } ?? "unknown"
    }
    properties["event_datetime"] = Self.zoned(happenedAt)
    return Self.text([
      "event_type": type, "event_properties": properties, "customer_user_id": Self.orNull(subscriber),
      "profile_id": "profile-\(event.originalTransactionID ?? "")", "event_api_version": 1,
    ])
  }

  // MARK: - Apphud

  private static func apphudKind(_ transaction: TransactionFact) -> String {
    guard let offer = transaction.offer.value else { return "subscription" }
    if offer.type != .introductory {
      return isTrial(transaction) && transaction.reason.value != .renewal ? "trial" : "promo"
    }
    return isTrial(transaction) ? "trial" : "intro"
  }

  private func apphud(_ event: Event, _ transaction: TransactionFact, _ what: Happening) -> String {
    let isTrial = Self.isTrial(transaction)
    let kind = Self.apphudKind(transaction)
    var properties: [String: Any] = [
      "product_id": transaction.productID.value ?? "", "family_shared": transaction.ownership.value == .familyShared,
    ]
    var subscription: [String: Any] = [
      "original_transaction_id": event.originalTransactionID ?? "", "environment": "production", "status": "regular",
      "expires_at": "\(transaction.expiresAt.value ?? event.signedAt)", "in_retry_billing": false,
    ]
    let name: String
    switch what {
    case .purchase:
      if let offer = transaction.offer.value {
        properties["offer_type"] = isTrial ? "trial" : Self.orNull(offer.discount?.rawValue)
        if offer.type != .introductory { properties["offer_id"] = Self.orNull(offer.id) }
      }
      if Self.isOnce(transaction) {
        name = "non_renewing_purchase"
      } else if transaction.reason.value != .renewal {
        name = "\(kind)_started"
      } else if let previous, previous.offer.value != nil, transaction.offer.value == nil {
        name = "\(Self.apphudKind(previous))_converted"
      } else {
        name = "\(kind)_renewed"
      }
    case .refundReversed, .extended: return ""
    case .refund:
      name = Self.isOnce(transaction) ? "non_renewing_purchase_refunded" : "\(isTrial ? "subscription" : kind)_refunded"
      subscription["cancelled_at"] = "\(transaction.revokedAt.value ?? event.signedAt)"
    case .issue:
      name = "billing_issue"
      subscription["in_retry_billing"] = true
      if let grace = event.renewal?.graceExpiresAt.value {
        subscription["status"] = "grace"
        subscription["expires_at"] = "\(grace)"
      }
    case .lost:
      name = "\(kind)_expired"
      properties["reason"] = "billing_issue"
      subscription["in_retry_billing"] = true
    case .switchedOn: name = "autorenew_enabled"
    case .switchedOff: name = isTrial ? "trial_canceled" : "subscription_canceled"
    case .expired:
      let words: [ExpirationReason: String] = [
        .voluntary: "user_canceled", .priceIncrease: "declined_price_increase",
        .productUnavailable: "unavailable_product",
      ]
      name = "\(kind)_expired"
      properties["reason"] = event.renewal?.expirationReason.value.flatMap { words[$0] } ?? "unknown_error"
    }
    var receipt: [String: Any] = [
      "transaction_id": transaction.transactionID, "original_transaction_id": event.originalTransactionID ?? "",
      "product_id": transaction.productID.value ?? "", "quantity": 1, "trial_period": isTrial,
      "purchased_at": "\(transaction.purchasedAt.value ?? event.signedAt)",
    ]
    // Every event repeats the receipt's price.
    if let price = transaction.price.value {
      receipt["price"] = Self.number(price.amount)
      receipt["currency"] = price.currency
    }
    return Self.text([
      "app": ["bundle_id": "com.example.video"],
      "event": [
        "id": "\(event.eventID)/\(what)", "created_at": "\(event.signedAt)", "name": name, "store": "app_store",
        "properties": properties, "receipt": receipt,
      ] as [String: Any],
      "user": [
        "user_id": Self.orNull(subscriber),
        "country_iso_code": Self.orNull(Self.twoLetters[transaction.country.value ?? ""]),
        "subscriptions": [subscription],
      ] as [String: Any],
    ])
  }
}
