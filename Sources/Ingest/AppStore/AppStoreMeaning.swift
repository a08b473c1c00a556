import Vocabulary

/// What a notification means in the vocabulary of events, as far as it says so itself.
///
/// What depends on what came before (whether a renewal is the first charge after a trial, the direction of a change) is
/// settled from the facts later; the kind here is the one without that knowledge.
struct AppStoreMeaning {
  var kind: EventKind
  var also: [EventKind] = []
  var detail = EventDetail()

  init(_ kind: EventKind, also: [EventKind] = [], detail: EventDetail = EventDetail()) {
    self.kind = kind
    self.also = also
    self.detail = detail
  }

  /// The meaning of a notification.
  ///
  /// Source: https://developer.apple.com/documentation/appstoreservernotifications/notificationtype
  ///
  /// - Parameters:
  ///   - signedAt: When the notification was signed.
  ///   - consumptionReason: Why a refund was asked for.
  init(
    type: String, subtype: String?, transaction: AppStoreTransaction?, signedAt: Instant, consumptionReason: String?
  ) {
    switch (type, subtype) {
    // Until January 2024 an offer on a first or a lapsed subscription came as OFFER_REDEEMED.
    case ("SUBSCRIBED", "INITIAL_BUY"), ("OFFER_REDEEMED", "INITIAL_BUY"):
      let offer = transaction?.offer
      let first: EventKind = offer?.discount == .freeTrial ? .trialStarted : .subscriptionStarted
      self.init(
        transaction?.ownership == .familyShared ? .familySharedGranted : first,
        also: offer == nil ? [] : [.offerRedeemed])
    case ("SUBSCRIBED", "RESUBSCRIBE"), ("OFFER_REDEEMED", "RESUBSCRIBE"):
      self.init(transaction?.offer?.type == .winBack ? .winBack : .subscriptionReactivated)
    case ("DID_RENEW", nil): self.init(.subscriptionRenewed)
    case ("DID_RENEW", "BILLING_RECOVERY"): self.init(.billingRecovered)
    case ("DID_CHANGE_RENEWAL_PREF", "UPGRADE"):
      self.init(.productChanged, detail: EventDetail(direction: "upgrade", effective: "immediate"))
    case ("DID_CHANGE_RENEWAL_PREF", "DOWNGRADE"):
      self.init(.productChanged, detail: EventDetail(direction: "downgrade", effective: "next_period"))
    case ("DID_CHANGE_RENEWAL_PREF", nil):
      if let transaction, Self.isNew(transaction, at: signedAt) {
        self.init(.productChanged, detail: EventDetail(direction: "crossgrade", effective: "immediate"))
      } else {
        self.init(.productChangeCancelled)
      }
    case ("DID_CHANGE_RENEWAL_STATUS", "AUTO_RENEW_DISABLED"):
      self.init(transaction?.isFree == true ? .trialCancelled : .autoRenewDisabled)
    case ("DID_CHANGE_RENEWAL_STATUS", "AUTO_RENEW_ENABLED"): self.init(.autoRenewEnabled)
    case ("OFFER_REDEEMED", "UPGRADE"):
      self.init(.offerRedeemed, detail: EventDetail(direction: "upgrade", effective: "immediate"))
    case ("OFFER_REDEEMED", "DOWNGRADE"):
      self.init(.offerRedeemed, detail: EventDetail(direction: "downgrade", effective: "next_period"))
    case ("OFFER_REDEEMED", nil): self.init(.offerRedeemed)
    case ("DID_FAIL_TO_RENEW", "GRACE_PERIOD"): self.init(.gracePeriodEntered, also: [.billingIssue])
    case ("DID_FAIL_TO_RENEW", nil): self.init(.billingIssue)
    case ("GRACE_PERIOD_EXPIRED", nil): self.init(.billingHoldEntered)
    case ("EXPIRED", "VOLUNTARY"): self.init(expired: transaction, .voluntary)
    case ("EXPIRED", "BILLING_RETRY"): self.init(expired: transaction, .billing)
    case ("EXPIRED", "PRICE_INCREASE"): self.init(expired: transaction, .priceIncrease)
    case ("EXPIRED", "PRODUCT_NOT_FOR_SALE"): self.init(expired: transaction, .productUnavailable)
    case ("EXPIRED", nil): self.init(expired: transaction, .other)
    case ("PRICE_INCREASE", "PENDING"): self.init(.priceIncreasePending)
    case ("PRICE_INCREASE", "ACCEPTED"): self.init(.priceIncreaseConsented)
    case ("REFUND", nil): self.init(.refunded)
    case ("REFUND_REVERSED", nil): self.init(.refundReversed)
    case ("REFUND_DECLINED", nil): self.init(.refundDeclined)
    case ("REVOKE", nil): self.init(.revoked)
    case ("CONSUMPTION_REQUEST", nil): self.init(.refundRequested, detail: EventDetail(reason: consumptionReason))
    case ("RENEWAL_EXTENDED", nil): self.init(.renewalExtended)
    case ("ONE_TIME_CHARGE", nil):
      self.init(transaction?.type == .consumable ? .consumablePurchase : .nonRenewingPurchase)
    // The list of types has the second spelling, the changelog of March 2025 the first.
    case ("MIGRATE", nil), ("MIGRATION", nil): self.init(.transferred)
    case ("RENEWAL_EXTENSION", "SUMMARY"), ("RENEWAL_EXTENSION", "FAILURE"), ("EXTERNAL_PURCHASE_TOKEN", _),
      ("RESCIND_CONSENT", _), ("METADATA_UPDATE", _), ("PRICE_CHANGE", _), ("TEST", _):
      self.init(.ignored)
    default: self.init(.unrecognised)
    }
  }

  private init(expired transaction: AppStoreTransaction?, _ reason: ExpirationReason) {
    kind = transaction?.isFree == true ? .trialExpired : .subscriptionExpired
    detail = EventDetail(reason: reason.rawValue)
  }

  /// Whether a notification about a change was caused by this purchase: a crossgrade comes with a purchase of its own,
  /// undoing a planned change repeats the running one.
  ///
  /// Neither says which it is. A purchase is signed within seconds; an hour allows for delays, and a repeated purchase
  /// that is so young is announced only once, because announcements of charges share one delivery per transaction.
  private static func isNew(_ transaction: AppStoreTransaction, at signedAt: Instant) -> Bool {
    guard transaction.transactionID != transaction.originalTransactionID, transaction.reason != .renewal,
      let purchasedAt = transaction.purchasedAt
    else { return false }
    return purchasedAt.adding(seconds: 3600) >= signedAt
  }

  /// When what the notification tells happened, where that is not when it was signed: a charge at its purchase, an expiry
  /// at the end of access, a refund at the revocation. The end of a retry is told when it ends, long after access did.
  func occurredAt(
    subtype: String?, transaction: AppStoreTransaction?, renewal: AppStoreRenewalInfo?, signedAt: Instant
  ) -> Instant {
    switch kind {
    case .trialStarted, .subscriptionStarted, .familySharedGranted, .winBack, .subscriptionReactivated,
      .subscriptionRenewed, .billingRecovered, .consumablePurchase, .nonRenewingPurchase:
      return transaction?.purchasedAt ?? signedAt
    case .productChanged where detail.effective == "immediate", .offerRedeemed where detail.effective == "immediate":
      return transaction?.purchasedAt ?? signedAt
    case .subscriptionExpired where subtype != "BILLING_RETRY", .trialExpired where subtype != "BILLING_RETRY":
      let ends = [transaction?.expiresAt, renewal?.graceExpiresAt].compactMap { $0 }.filter { $0 <= signedAt }
      return ends.max() ?? signedAt
    case .billingHoldEntered:
      return renewal?.graceExpiresAt.map { min($0, signedAt) } ?? signedAt
    case .refunded, .revoked:
      return transaction?.revokedAt ?? signedAt
    default:
      return signedAt
    }
  }
}
