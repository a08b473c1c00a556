import Signatures
import Vocabulary

/// The claims of a signed renewal info. Every field may be absent.
///
/// Source: https://developer.apple.com/documentation/appstoreserverapi/jwsrenewalinfodecodedpayload
struct AppStoreRenewalInfo {
  var originalTransactionID: String
  var appTransactionID: String?
  var appAccountToken: String?
  var environment: StoreEnvironment?
  var signedAt: Instant?
  var autoRenew: Bool?
  var autoRenewProductID: String?
  var renewsAt: Instant?
  var renewalPrice: Money?
  var expirationReason: ExpirationReason?
  var inBillingRetry: Bool?
  var graceExpiresAt: Instant?
  var priceIncrease: PriceIncrease?
  /// Best first; an empty list is a list.
  var eligibleWinBackOffers: [String]?

  init(_ claims: JSONValue) throws(Rejection) {
    originalTransactionID = try claims.required("originalTransactionId")
    appTransactionID = try claims.string("appTransactionId")
    appAccountToken = try claims.string("appAccountToken")
    environment = try claims.string("environment").map(StoreEnvironment.init)
    signedAt = try claims.moment("signedDate")
    switch try claims.integer("autoRenewStatus") {
    case 0?: autoRenew = false
    case 1?: autoRenew = true
    default: break
    }
    autoRenewProductID = try claims.string("autoRenewProductId")
    renewsAt = try claims.moment("renewalDate")
    if let amount = try claims.milliunits("renewalPrice"), let currency = try claims.currency("currency") {
      renewalPrice = Money(amount: amount, currency: currency)
    }
    switch try claims.integer("expirationIntent") {
    case nil, 0?: break
    case 1?: expirationReason = .voluntary
    case 2?: expirationReason = .billing
    case 3?: expirationReason = .priceIncrease
    case 4?: expirationReason = .productUnavailable
    default: expirationReason = .other
    }
    inBillingRetry = try claims.flag("isInBillingRetryPeriod")
    graceExpiresAt = try claims.moment("gracePeriodExpiresDate")
    switch try claims.integer("priceIncreaseStatus") {
    case 0?: priceIncrease = .pending
    case 1?: priceIncrease = .accepted
    default: break
    }
    if let offers = claims["eligibleWinBackOfferIds"] {
      guard let elements = offers.elements else { throw JSONValue.malformed("eligibleWinBackOfferIds") }
      eligibleWinBackOffers = elements.compactMap(\.text)
      if eligibleWinBackOffers?.count != elements.count { throw JSONValue.malformed("eligibleWinBackOfferIds") }
    }
  }

  /// The renewal status's version: a snapshot, which states every field; what is missing is not so.
  ///
  /// - Parameter fallback: The version's moment where the claims do not name it.
  func fact(signedAt fallback: Instant) -> RenewalFact {
    var fact = RenewalFact(signedAt: signedAt ?? fallback)
    fact.autoRenew = Stated(snapshot: autoRenew)
    fact.autoRenewProductID = Stated(snapshot: autoRenewProductID)
    fact.renewsAt = Stated(snapshot: renewsAt)
    fact.renewalPrice = Stated(snapshot: renewalPrice)
    fact.expirationReason = Stated(snapshot: expirationReason)
    fact.inBillingRetry = Stated(snapshot: inBillingRetry)
    fact.graceExpiresAt = Stated(snapshot: graceExpiresAt)
    fact.pausedAt = .absent
    fact.resumesAt = .absent
    fact.priceIncrease = Stated(snapshot: priceIncrease)
    fact.eligibleWinBackOffers = Stated(snapshot: eligibleWinBackOffers)
    return fact
  }
}
