/// What happened, in one vocabulary for every source.
///
/// Kinds are for people and targets. Figures never come from them, but from the facts that an event carries.
public enum EventKind: String, Sendable, CaseIterable, Codable {
  /// A free trial began.
  case trialStarted = "trial_started"
  /// The first charge after a free trial.
  case trialConverted = "trial_converted"
  /// Auto-renew was switched off during a trial.
  case trialCancelled = "trial_cancelled"
  /// A trial ended without a charge.
  case trialExpired = "trial_expired"
  /// The first paid period, with no trial before it.
  case subscriptionStarted = "subscription_started"
  /// A further paid period.
  case subscriptionRenewed = "subscription_renewed"
  /// The first charge at full price after a paid offer.
  case offerConverted = "offer_converted"
  /// An offer was applied.
  case offerRedeemed = "offer_redeemed"
  /// Auto-renew was switched off in a paid period.
  case autoRenewDisabled = "auto_renew_disabled"
  /// Auto-renew was switched on again.
  case autoRenewEnabled = "auto_renew_enabled"
  /// A renewal charge failed.
  case billingIssue = "billing_issue"
  /// A charge failed; access goes on for a while.
  case gracePeriodEntered = "grace_period_entered"
  /// A charge failed and access is lost; the store still tries.
  case billingHoldEntered = "billing_hold_entered"
  /// A charge succeeded after a billing issue.
  case billingRecovered = "billing_recovered"
  /// Paid access ended; `detail.reason` says why.
  case subscriptionExpired = "subscription_expired"
  /// Money was returned.
  case refunded
  /// A refund was taken back.
  case refundReversed = "refund_reversed"
  /// Access was withdrawn before the end of its period.
  case revoked
  /// Another product; `detail.direction` and `detail.effective` say how and when.
  case productChanged = "product_changed"
  /// A pause began.
  case paused
  /// The customer asked for a pause at the end of the period.
  case pauseScheduled = "pause_scheduled"
  /// A pause ended.
  case resumed
  /// The end of a period was moved back without a charge.
  case renewalExtended = "renewal_extended"
  /// Consent to a higher price is being asked for.
  case priceIncreasePending = "price_increase_pending"
  /// A higher price was agreed to.
  case priceIncreaseConsented = "price_increase_consented"
  /// Bought again after access was lost, with a win-back offer.
  case winBack = "win_back"
  /// Purchases moved to another identity.
  case transferred
  /// A one-time purchase that gives access for a time or for ever.
  case nonRenewingPurchase = "non_renewing_purchase"
  /// A one-time purchase that is used up.
  case consumablePurchase = "consumable_purchase"
  /// Access through Family Sharing, without a charge.
  case familySharedGranted = "family_shared_granted"
  /// An invoice was made and is unpaid.
  case invoiceIssued = "invoice_issued"
  /// Access changed, no money moved.
  case entitlementChanged = "entitlement_changed"
  /// Recognised, kept as it came, without effect.
  case ignored
  /// Bought again after access was lost, without a win-back offer.
  case subscriptionReactivated = "subscription_reactivated"
  /// A customer asked the store for a refund.
  case refundRequested = "refund_requested"
  /// The store refused a refund.
  case refundDeclined = "refund_declined"
  /// A change planned for the next period was taken back.
  case productChangeCancelled = "product_change_cancelled"
  /// A kind that this version does not know; kept as it came, its facts used.
  case unrecognised
  /// An app reports an App Store message; `detail.message` names it.
  case storeMessage = "store_message"
  /// A chain became eligible for a win-back offer; emitted by `measure`.
  case winbackEligible = "winback_eligible"
  /// Yesterday in figures; emitted by `measure`.
  case dailyDigest = "daily_digest"

  /// The kinds that announce a charge. Two of them about one transaction tell the same thing in different words.
  public static let charges: Set<EventKind> = [
    .subscriptionStarted, .trialConverted, .subscriptionRenewed, .billingRecovered, .winBack, .subscriptionReactivated,
    .productChanged, .offerConverted, .nonRenewingPurchase, .consumablePurchase,
  ]
}
