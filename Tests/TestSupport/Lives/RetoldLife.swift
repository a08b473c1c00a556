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

  /// The bodies in the order in which they are posted.
  public static func bodies(_ life: LifeGenerator.Life, by teller: Teller) -> [String] {
    var retold = RetoldLife(teller)
    for event in Self.inOrder(life) { retold.tell(event) }
    return retold.bodies
  }

  /// Whether every teller knows all that the life's figures depend on. `docs/sources.md` lists what vendors cannot tell.
  public static func isKnownToAll(_ life: LifeGenerator.Life) -> Bool {
    var last: TransactionFact?
    var failed = false
    var spoke = false
    var ended = false
    let events = inOrder(life)
    guard let chain = events.first?.originalTransactionID else { return false }
    for event in events {
      guard event.store == .appStore, event.environment == .production, event.app == "video",
        event.originalTransactionID == chain, event.previousOriginalTransactionID == nil
      else { return false }
      if let fact = event.transaction {
        if let purchasedAt = fact.purchasedAt.value {
          guard fact.type.value == .autoRenewable, fact.ownership.value == .purchased, fact.productID.isStated,
            fact.country.isStated, fact.expiresAt.isStated
          else { return false }
          if let offer = fact.offer.value {
            guard offer.type == .introductory, offer.discount != .payUpFront, fact.reason.value == .purchase else {
              return false
            }
          }
          guard fact.price.isStated || fact.offer.value?.discount == .freeTrial else { return false }
          if let last, let end = last.expiresAt.value, purchasedAt > end, !failed {
            // A gap that nobody explained is a failure where the store says that it renewed.
            guard ended || spoke, fact.reason.value == .purchase else { return false }
          }
          (last, failed, spoke, ended) = (fact, false, false, false)
        } else if let revokedAt = fact.revokedAt.value {
          let isFull = fact.revocation.value == .full || fact.revocation.value == nil
          guard isFull, fact.transactionID == last?.transactionID, let end = last?.expiresAt.value, revokedAt < end,
            last?.price.value != nil
          else { return false }
          ended = true
        } else {
          // An extension, a price told late, a refund taken back.
          return false
        }
      }
      if let status = event.renewal {
        guard status.pausedAt.value == nil else { return false }
        let isFailure = status.inBillingRetry.value == true || status.graceExpiresAt.value != nil
        if isFailure { failed = true }
        if let reason = status.expirationReason.value, status.inBillingRetry.value != true {
          guard [.voluntary, .priceIncrease, .other].contains(reason), !failed else { return false }
          ended = true
        } else if ended, event.transaction == nil, status.autoRenew.value == true, !isFailure {
          // The reason is withdrawn.
          return false
        }
        if status.autoRenew.value == false { spoke = true }
      }
    }
    return last != nil
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
        newer.revokedAt = fact.revokedAt
        newer.revocation = fact.revocation
        fact = newer
      }
      transactions[fact.transactionID] = fact
      bought = event.transaction?.purchasedAt.isStated == true
      if bought {
        (previous, running) = (running, fact)
      } else if running?.transactionID == fact.transactionID {
        running = fact
      }
    }
    guard let running else { return }
    let concerned = event.transaction.flatMap { transactions[$0.transactionID] } ?? running
    defer { if bought { status = event.renewal } else if let renewal = event.renewal { status = renewal } }
    if teller == .appStore {
      bodies.append(notification(event, concerned))
      return
    }
    if bought {
      post(event, concerned, .purchase)
    } else if event.transaction?.revokedAt.value != nil {
      post(event, concerned, .refund)
    }
    guard let renewal = event.renewal, !bought else { return }
    if renewal.inBillingRetry.value == true || renewal.graceExpiresAt.value != nil {
      post(event, running, renewal.graceExpiresAt.value == nil && status?.graceExpiresAt.value != nil ? .lost : .issue)
      return
    }
    if let autoRenew = renewal.autoRenew.value, autoRenew != status?.autoRenew.value ?? true {
      post(event, running, autoRenew ? .switchedOn : .switchedOff)
    }
    if renewal.expirationReason.value != nil { post(event, running, .expired) }
  }

  private enum Happening: String {
    case purchase, refund, issue, lost, switchedOn, switchedOff, expired
  }

  private mutating func post(_ event: Event, _ transaction: TransactionFact, _ what: Happening) {
    switch teller {
    case .appStore: break
    case .revenueCat: bodies.append(revenueCat(event, transaction, what))
    case .adapty: bodies.append(adapty(event, transaction, what))
    case .apphud: bodies.append(apphud(event, transaction, what))
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

  // MARK: - The App Store

  private func notification(_ event: Event, _ transaction: TransactionFact) -> String {
    func sign(_ claims: [String: Any]) -> String { TestCertificateAuthority.shared.sign(Self.text(claims)) }
    let common: [String: Any] = [
      "originalTransactionId": event.originalTransactionID ?? "", "environment": "Production",
      "signedDate": Self.milliseconds(event.signedAt),
    ]
    var data: [String: Any] = ["bundleId": "com.example.video", "environment": "Production"]
    var claims = common.merging([
      "transactionId": transaction.transactionID, "bundleId": "com.example.video",
      "productId": transaction.productID.value ?? "", "type": "Auto-Renewable Subscription",
      "purchaseDate": Self.milliseconds(transaction.purchasedAt.value),
      "expiresDate": Self.milliseconds(transaction.expiresAt.value), "inAppOwnershipType": "PURCHASED", "quantity": 1,
      "transactionReason": transaction.reason.value == .renewal ? "RENEWAL" : "PURCHASE",
      "storefront": transaction.country.value ?? "",
    ]) { $1 }
    if let price = transaction.price.value {
      claims["price"] = price.amount.value / 1000
      claims["currency"] = price.currency
    }
    if let offer = transaction.offer.value {
      claims["offerType"] = 1
      claims["offerDiscountType"] = offer.discount == .freeTrial ? "FREE_TRIAL" : "PAY_AS_YOU_GO"
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

  private func revenueCat(_ event: Event, _ transaction: TransactionFact, _ what: Happening) -> String {
    var body: [String: Any] = [
      "id": "\(event.eventID)/\(what)", "event_timestamp_ms": Self.milliseconds(event.signedAt),
      "product_id": transaction.productID.value ?? "", "environment": "PRODUCTION", "store": "APP_STORE",
      "purchased_at_ms": Self.milliseconds(transaction.purchasedAt.value),
      "expiration_at_ms": Self.milliseconds(transaction.expiresAt.value),
      "transaction_id": transaction.transactionID, "original_transaction_id": event.originalTransactionID ?? "",
      "is_family_share": false, "country_code": Self.orNull(Self.twoLetters[transaction.country.value ?? ""]),
      "currency": Self.orNull(transaction.price.value?.currency), "price": 0, "price_in_purchased_currency": 0,
      "period_type": Self.isTrial(transaction) ? "TRIAL" : transaction.offer.value == nil ? "NORMAL" : "INTRO",
      "tax_percentage": 0.1, "commission_percentage": 0.3, "offer_code": NSNull(),
    ]
    if let subscriber { body["app_user_id"] = subscriber }
    switch what {
    case .purchase:
      body["type"] = transaction.reason.value == .renewal ? "RENEWAL" : "INITIAL_PURCHASE"
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
      if transaction.offer.value != nil {
        properties["store_offer_category"] = "introductory"
        properties["store_offer_discount_type"] = isTrial ? "free_trial" : "pay_as_you_go"
      }
      if let price = transaction.price.value, !isTrial { properties["price_local"] = Self.number(price.amount) }
      if isTrial {
        type = "trial_started"
      } else if Self.isTrial(previous) && transaction.reason.value == .renewal {
        type = "trial_converted"
      } else {
        type = transaction.reason.value == .renewal ? "subscription_renewed" : "subscription_started"
      }
    case .refund:
      type = "subscription_refunded"
      properties["cancellation_reason"] = "refund"
      if let price = transaction.price.value { properties["price_local"] = Self.number(price.amount) }
      happenedAt = transaction.revokedAt.value ?? happenedAt
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

  private func apphud(_ event: Event, _ transaction: TransactionFact, _ what: Happening) -> String {
    let isTrial = Self.isTrial(transaction)
    let isIntro = transaction.offer.value != nil && !isTrial
    let kind = isTrial ? "trial" : isIntro ? "intro" : "subscription"
    var properties: [String: Any] = ["product_id": transaction.productID.value ?? "", "family_shared": false]
    var subscription: [String: Any] = [
      "original_transaction_id": event.originalTransactionID ?? "", "environment": "production", "status": "regular",
      "expires_at": "\(transaction.expiresAt.value ?? event.signedAt)", "in_retry_billing": false,
    ]
    let name: String
    switch what {
    case .purchase:
      if isIntro { properties["offer_type"] = "pay_as_you_go" }
      if transaction.reason.value != .renewal || isTrial {
        name = "\(kind)_started"
      } else if Self.isTrial(previous) {
        name = "trial_converted"
      } else {
        name = previous?.offer.value != nil ? "intro_converted" : "subscription_renewed"
      }
    case .refund:
      name = isTrial ? "subscription_refunded" : "\(kind)_refunded"
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
      let words: [ExpirationReason: String] = [.voluntary: "user_canceled", .priceIncrease: "declined_price_increase"]
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
