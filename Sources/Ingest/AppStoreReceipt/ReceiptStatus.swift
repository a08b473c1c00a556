import Signatures
import Vocabulary

/// The renewal status of one subscription as a receipt tells it.
///
/// Source: https://developer.apple.com/documentation/appstorereceipts/responsebody/pending_renewal_info
struct ReceiptStatus {
  var originalTransactionID: String
  var autoRenew: Bool?
  var autoRenewProductID: String?
  var expirationReason: ExpirationReason?
  var inBillingRetry: Bool?
  var graceExpiresAt: Instant?
  var priceIncrease: PriceIncrease?

  /// - Parameter chain: The chain that it is about where it does not say so itself, as in the oldest answers.
  init(_ entry: JSONValue, chain: String? = nil) throws(Rejection) {
    guard let id = try entry.string("original_transaction_id") ?? chain else {
      throw Rejection(.fieldMissing, excerpt: "original_transaction_id")
    }
    originalTransactionID = id
    autoRenew = try entry.receiptFlag("auto_renew_status")
    autoRenewProductID = try entry.string("auto_renew_product_id")
    switch try entry.string("expiration_intent") {
    case nil: break
    case "1"?: expirationReason = .voluntary
    case "2"?: expirationReason = .billing
    case "3"?: expirationReason = .priceIncrease
    case "4"?: expirationReason = .productUnavailable
    default: expirationReason = .other
    }
    inBillingRetry = try entry.receiptFlag("is_in_billing_retry_period")
    graceExpiresAt = try entry.receiptMoment("grace_period_expires_date_ms")
    switch try entry.string("price_consent_status") {
    case "0"?: priceIncrease = .pending
    case "1"?: priceIncrease = .accepted
    default: break
    }
  }

  /// The status's version. Of prices, pauses and win-back offers a receipt knows nothing.
  func fact(signedAt: Instant) -> RenewalFact {
    var fact = RenewalFact(signedAt: signedAt)
    fact.autoRenew = Stated(carriedOver: autoRenew)
    fact.autoRenewProductID = Stated(carriedOver: autoRenewProductID)
    fact.expirationReason = Stated(snapshot: expirationReason)
    fact.inBillingRetry = Stated(snapshot: inBillingRetry)
    fact.graceExpiresAt = Stated(snapshot: graceExpiresAt)
    fact.priceIncrease = Stated(snapshot: priceIncrease)
    return fact
  }
}
