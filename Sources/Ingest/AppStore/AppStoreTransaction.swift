import Signatures
import Vocabulary

/// The claims of a signed transaction. Every field may be absent; words that are unknown are kept as they came.
///
/// Source: https://developer.apple.com/documentation/appstoreserverapi/jwstransactiondecodedpayload
struct AppStoreTransaction {
  var transactionID: String
  var originalTransactionID: String
  /// Where an Advanced Commerce migration came from.
  var previousOriginalTransactionID: String?
  var appTransactionID: String?
  var appAccountToken: String?
  var bundleID: String?
  var environment: StoreEnvironment?
  var signedAt: Instant?
  var type: TransactionType?
  var productID: String?
  var groupID: String?
  var purchasedAt: Instant?
  var expiresAt: Instant?
  /// For the whole quantity, offers included; of a commitment paid monthly, one instalment.
  var price: Money?
  var country: String?
  var reason: PurchaseReason?
  var ownership: Ownership?
  var offer: Offer?
  var revokedAt: Instant?
  var revocation: RevocationType?
  /// What was returned where that is not the whole price; nil where it is, or where it is unknown.
  var refund: Micros?
  /// What the price is for, where that is not the length of the transaction.
  var period: String?
  var isUpgraded: Bool?
  var quantity: Int64?

  init(_ claims: JSONValue) throws(Rejection) {
    transactionID = try claims.required("transactionId")
    originalTransactionID = try claims.required("originalTransactionId")
    previousOriginalTransactionID = try claims.string("previousOriginalTransactionId")
    appTransactionID = try claims.string("appTransactionId")
    appAccountToken = try claims.string("appAccountToken")
    bundleID = try claims.string("bundleId")
    environment = try claims.string("environment").map(StoreEnvironment.init)
    signedAt = try claims.moment("signedDate")
    type = try claims.string("type").map(Self.type)
    productID = try claims.string("productId")
    groupID = try claims.string("subscriptionGroupIdentifier")
    purchasedAt = try claims.moment("purchaseDate")
    expiresAt = try claims.moment("expiresDate")
    // A price without its currency cannot be added to anything: it is unknown. So is one in what is no currency.
    if let amount = try claims.milliunits("price"), let currency = try claims.currency("currency") {
      price = Money(amount: amount, currency: currency)
    }
    country = try claims.string("storefront")
    reason = try claims.string("transactionReason").map(Self.reason)
    ownership = try claims.string("inAppOwnershipType").map(Self.ownership)
    offer = try Offer(claims)
    // Paid monthly, the price is one instalment; the transaction's own length may be the whole commitment's.
    if try claims.string("billingPlanType") == "MONTHLY" { period = "P1M" }
    isUpgraded = try claims.flag("isUpgraded")
    quantity = try claims.integer("quantity")
    revokedAt = try claims.moment("revocationDate")
    if revokedAt != nil { try readRevocation(claims) }
  }

  private mutating func readRevocation(_ claims: JSONValue) throws(Rejection) {
    if let returned = try Self.advancedCommerceRefund(claims) {
      // Advanced Commerce says no type: what its items returned tells it.
      revocation = returned == price?.amount ? .full : .prorated
      refund = returned
      return
    }
    revocation = try claims.string("revocationType").map(Self.revocation)
    // Without a type, or of the full type, the whole price; of the family type nothing. Only a share must be worked out.
    guard revocation == .prorated, let price, let share = try claims.integer("revocationPercentage"),
      (0...Self.wholeShare).contains(share)
    else { return }
    refund = price.amount.share(share, of: Self.wholeShare)
  }

  /// 100 % in thousandths of a percent.
  private static let wholeShare: Int64 = 100_000

  /// The sum of what the items of an Advanced Commerce transaction returned; nil when none did.
  private static func advancedCommerceRefund(_ claims: JSONValue) throws(Rejection) -> Micros? {
    guard let items = claims["advancedCommerceInfo"]?["items"]?.elements else { return nil }
    var sum: Int64?
    for item in items {
      for refund in item["refunds"]?.elements ?? [] {
        guard let amount = try refund.milliunits("refundAmount") else { continue }
        let (next, overflow) = (sum ?? 0).addingReportingOverflow(amount.value)
        if overflow { throw JSONValue.malformed("refundAmount") }
        sum = next
      }
    }
    return sum.map { Micros($0) }
  }

  // MARK: Words

  private static func type(_ word: String) -> TransactionType {
    switch word {
    case "Auto-Renewable Subscription": .autoRenewable
    case "Non-Consumable": .nonConsumable
    case "Consumable": .consumable
    case "Non-Renewing Subscription": .nonRenewing
    default: TransactionType(rawValue: word)
    }
  }

  private static func reason(_ word: String) -> PurchaseReason {
    switch word {
    case "PURCHASE": .purchase
    case "RENEWAL": .renewal
    default: PurchaseReason(rawValue: word)
    }
  }

  private static func ownership(_ word: String) -> Ownership {
    switch word {
    case "PURCHASED": .purchased
    case "FAMILY_SHARED": .familyShared
    default: Ownership(rawValue: word)
    }
  }

  private static func revocation(_ word: String) -> RevocationType {
    switch word {
    case "REFUND_FULL": .full
    case "REFUND_PRORATED": .prorated
    case "FAMILY_REVOKE": .family
    default: RevocationType(rawValue: word)
    }
  }

  // MARK: What it says

  /// Whether nothing was charged: a free trial, whatever the offer, or a price of exactly 0 with an offer.
  var isFree: Bool {
    offer?.discount == .freeTrial || (offer != nil && price?.amount.value == 0)
  }

  /// The transaction's version: a snapshot, which states every field. What newer versions may leave out without meaning
  /// that there is none is not stated when it is missing: price, country, period. The store never tells tax, commission
  /// and proceeds.
  ///
  /// - Parameter fallback: The version's moment where the claims do not name it.
  func fact(signedAt fallback: Instant) -> TransactionFact {
    var fact = TransactionFact(transactionID: transactionID, signedAt: signedAt ?? fallback)
    fact.type = Stated(snapshot: type)
    fact.productID = Stated(snapshot: productID)
    fact.groupID = Stated(snapshot: groupID)
    fact.period = Stated(carriedOver: period)
    fact.purchasedAt = Stated(snapshot: purchasedAt)
    fact.expiresAt = Stated(snapshot: expiresAt)
    fact.price = Stated(carriedOver: price)
    fact.country = Stated(carriedOver: country)
    fact.reason = Stated(snapshot: reason)
    fact.ownership = Stated(snapshot: ownership)
    fact.offer = Stated(snapshot: offer)
    fact.revokedAt = Stated(snapshot: revokedAt)
    fact.revocation = Stated(snapshot: revocation)
    fact.refund = Stated(snapshot: refund)
    fact.isUpgraded = Stated(snapshot: isUpgraded)
    fact.quantity = Stated(snapshot: quantity)
    return fact
  }
}

extension Offer {
  /// The offer of a transaction's claims; nil when there is none.
  init?(_ claims: JSONValue) throws(Rejection) {
    let type = try claims.string("offerType")
    let id = try claims.string("offerIdentifier")
    let discount = try claims.string("offerDiscountType")
    let period = try claims.string("offerPeriod")
    guard type != nil || id != nil || discount != nil else { return nil }
    self.init(
      type: type.map(Self.type) ?? OfferType(rawValue: "unknown"), id: id, discount: discount.map(Self.discount),
      period: period)
  }

  private static func type(_ number: String) -> OfferType {
    switch number {
    case "1": .introductory
    case "2": .promotional
    case "3": .code
    case "4": .winBack
    default: OfferType(rawValue: number)
    }
  }

  private static func discount(_ word: String) -> OfferDiscount {
    switch word {
    case "FREE_TRIAL": .freeTrial
    case "PAY_AS_YOU_GO": .payAsYouGo
    case "PAY_UP_FRONT": .payUpFront
    // A code for a one-time purchase.
    case "ONE_TIME": OfferDiscount(rawValue: "one_time")
    default: OfferDiscount(rawValue: word)
    }
  }
}
