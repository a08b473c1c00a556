import Signatures
import Vocabulary

/// An App Store Server Notification before it is signed.
///
/// Source: https://developer.apple.com/documentation/appstoreservernotifications/responsebodyv2decodedpayload
struct Notice: Sendable {
  /// The claims of a transaction.
  struct Transaction: Sendable {
    var id: String
    var chain: String
    var product: Product
    var type = "Auto-Renewable Subscription"
    var purchasedAt: Instant
    var expiresAt: Instant?
    /// In thousandths of the currency's unit; nil where the store does not tell it.
    var price: Int64?
    var storefront: Storefront
    var reason = "PURCHASE"
    var ownership = "PURCHASED"
    var offer: Offer?
    var revocation: Revocation?
    var token: String?
    var appTransactionID: String
  }

  /// The offer of a transaction.
  struct Offer: Sendable, Equatable {
    /// 1 introductory, 2 promotional, 3 offer code, 4 win-back.
    var type: Int
    var id: String?
    var discount: String
  }

  /// What took a transaction back.
  struct Revocation: Sendable {
    var at: Instant
    /// Older refunds have none: they are full.
    var type: String?
    /// Of a prorated one, in thousandths of a percent.
    var percentage: Int64?
  }

  /// The claims of a renewal status.
  struct Renewal: Sendable {
    var product: Product
    var nextProduct: Product
    var isOn = true
    var renewsAt: Instant?
    var expirationIntent: Int?
    var isInRetry: Bool?
    var graceEndsAt: Instant?
    var priceIncreaseStatus: Int?
    /// The win-back offers that the store lists; nil where it says nothing of them.
    var offers: [String]?
  }

  let type: String
  let subtype: String?
  let uuid: String
  let signedAt: Instant
  let environment: String
  var transaction: Transaction?
  let renewal: Renewal?

  /// The line that the App Store posts, everything in it signed by an authority.
  func signed(by authority: CertificateAuthority) -> String {
    var data =
      "\"appAppleId\":\(Shop.appAppleID),\"bundleId\":\"\(Shop.bundleID)\",\"environment\":\"\(environment)\""
    if let transaction {
      data += ",\"signedTransactionInfo\":\"\(authority.sign(claims(transaction)))\""
      if let renewal { data += ",\"signedRenewalInfo\":\"\(authority.sign(claims(renewal, of: transaction)))\"" }
    }
    let subtype = subtype.map { ",\"subtype\":\"\($0)\"" } ?? ""
    let payload =
      "{\"data\":{\(data)},\"notificationType\":\"\(type)\"\(subtype),\"notificationUUID\":\"\(uuid)\","
      + "\"signedDate\":\(signedAt.milliseconds),\"version\":\"2.0\"}"
    return "{\"signedPayload\":\"\(authority.sign(payload))\"}"
  }

  private func claims(_ transaction: Transaction) -> String {
    var members = [
      "\"transactionId\":\"\(transaction.id)\"", "\"originalTransactionId\":\"\(transaction.chain)\"",
      "\"bundleId\":\"\(Shop.bundleID)\"", "\"productId\":\"\(transaction.product.id)\"",
      "\"purchaseDate\":\(transaction.purchasedAt.milliseconds)", "\"quantity\":1", "\"type\":\"\(transaction.type)\"",
      "\"inAppOwnershipType\":\"\(transaction.ownership)\"", "\"signedDate\":\(signedAt.milliseconds)",
      "\"environment\":\"\(environment)\"", "\"transactionReason\":\"\(transaction.reason)\"",
      "\"storefront\":\"\(transaction.storefront.country)\"",
      "\"appTransactionId\":\"\(transaction.appTransactionID)\"",
    ]
    if let expiresAt = transaction.expiresAt {
      members.append("\"expiresDate\":\(expiresAt.milliseconds)")
      members.append("\"subscriptionGroupIdentifier\":\"\(transaction.product.group)\"")
    }
    if let price = transaction.price {
      members.append("\"price\":\(price)")
      members.append("\"currency\":\"\(transaction.storefront.currency)\"")
    }
    if let token = transaction.token { members.append("\"appAccountToken\":\"\(token)\"") }
    if let offer = transaction.offer {
      members.append("\"offerType\":\(offer.type)")
      members.append("\"offerDiscountType\":\"\(offer.discount)\"")
      if let id = offer.id { members.append("\"offerIdentifier\":\"\(id)\"") }
    }
    if let revocation = transaction.revocation {
      members.append("\"revocationDate\":\(revocation.at.milliseconds)")
      members.append("\"revocationReason\":0")
      if let type = revocation.type { members.append("\"revocationType\":\"\(type)\"") }
      if let percentage = revocation.percentage { members.append("\"revocationPercentage\":\(percentage)") }
    }
    return "{\(members.joined(separator: ","))}"
  }

  private func claims(_ renewal: Renewal, of transaction: Transaction) -> String {
    var members = [
      "\"originalTransactionId\":\"\(transaction.chain)\"", "\"productId\":\"\(renewal.product.id)\"",
      "\"autoRenewProductId\":\"\(renewal.nextProduct.id)\"", "\"autoRenewStatus\":\(renewal.isOn ? 1 : 0)",
      "\"signedDate\":\(signedAt.milliseconds)", "\"environment\":\"\(environment)\"",
    ]
    if let renewsAt = renewal.renewsAt { members.append("\"renewalDate\":\(renewsAt.milliseconds)") }
    if let intent = renewal.expirationIntent { members.append("\"expirationIntent\":\(intent)") }
    if let isInRetry = renewal.isInRetry { members.append("\"isInBillingRetryPeriod\":\(isInRetry)") }
    if let end = renewal.graceEndsAt { members.append("\"gracePeriodExpiresDate\":\(end.milliseconds)") }
    if let status = renewal.priceIncreaseStatus { members.append("\"priceIncreaseStatus\":\(status)") }
    if let offers = renewal.offers {
      members.append("\"eligibleWinBackOfferIds\":[\(offers.map { "\"\($0)\"" }.joined(separator: ","))]")
    }
    return "{\(members.joined(separator: ","))}"
  }
}
