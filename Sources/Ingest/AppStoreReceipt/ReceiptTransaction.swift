import Signatures
import Vocabulary

/// One purchase as a receipt tells it. There is no price in it, and no storefront.
///
/// Source: https://developer.apple.com/documentation/appstorereceipts/responsebody/latest_receipt_info
struct ReceiptTransaction {
  var transactionID: String
  var originalTransactionID: String
  /// The purchase's number for all devices; nil for what does not renew.
  var lineItemID: String?
  var appAccountToken: String?
  var productID: String
  var groupID: String?
  var purchasedAt: Instant
  var expiresAt: Instant?
  var ownership: Ownership?
  var offer: Offer?
  var revokedAt: Instant?
  var isUpgraded: Bool
  var quantity: Int64?

  init(_ entry: JSONValue) throws(Rejection) {
    let id = try entry.required("transaction_id")
    originalTransactionID = try entry.string("original_transaction_id") ?? id
    productID = try entry.required("product_id")
    groupID = try entry.string("subscription_group_identifier")
    // Answers from before 2014 have the milliseconds under the shorter name.
    let expiry = try entry.receiptMoment("expires_date_ms")
    expiresAt = expiry != nil ? expiry : try Self.oldExpiry(entry)
    // What does not renew is bought once: another id is that of a restore, which charges nothing.
    let isRestored = expiresAt == nil && id != originalTransactionID
    transactionID = isRestored ? originalTransactionID : id
    let first = isRestored ? try entry.receiptMoment("original_purchase_date_ms") : nil
    guard let purchasedAt = first != nil ? first : try entry.receiptMoment("purchase_date_ms") else {
      throw Rejection(.fieldMissing, excerpt: "purchase_date_ms")
    }
    self.purchasedAt = purchasedAt
    let lineItem = try entry.string("web_order_line_item_id")
    // Xcode writes 0 for all.
    lineItemID = lineItem == "0" ? nil : lineItem
    appAccountToken = try entry.string("app_account_token")
    switch try entry.string("in_app_ownership_type") {
    case nil: break
    case "PURCHASED"?: ownership = .purchased
    case "FAMILY_SHARED"?: ownership = .familyShared
    case let word?: ownership = Ownership(rawValue: word)
    }
    offer = try Offer(receipt: entry)
    isUpgraded = try entry.receiptFlag("is_upgraded") ?? false
    // An upgrade is told as a cancellation too: it replaces the purchase, and is no refund.
    revokedAt = isUpgraded ? nil : try entry.receiptMoment("cancellation_date_ms")
    if let text = try entry.string("quantity") {
      guard let number = Int64(text), number > 0 else { throw JSONValue.malformed("quantity") }
      quantity = number
    }
  }

  private static func oldExpiry(_ entry: JSONValue) throws(Rejection) -> Instant? {
    // Newer answers have a date for people there.
    guard let text = try entry.string("expires_date"), let milliseconds = Int64(text) else { return nil }
    return Instant(milliseconds: milliseconds)
  }

  /// The transaction's version: it speaks for what a receipt knows. Whether it was a renewal it knows of the first purchase
  /// of a chain alone.
  ///
  /// - Parameter price: What the catalogue says that it cost; nil where that is not known.
  func fact(signedAt: Instant, price: Money?) -> TransactionFact {
    var fact = TransactionFact(transactionID: transactionID, signedAt: signedAt)
    // The receipt does not say which kind of one-time purchase it is; consumables are gone from it when they are used.
    fact.type = .value(expiresAt == nil ? .nonConsumable : .autoRenewable)
    fact.productID = .value(productID)
    fact.groupID = Stated(carriedOver: groupID)
    fact.purchasedAt = .value(purchasedAt)
    fact.expiresAt = Stated(snapshot: expiresAt)
    fact.price = Stated(carriedOver: price)
    fact.reason = transactionID == originalTransactionID ? .value(.purchase) : .unstated
    fact.ownership = Stated(carriedOver: ownership)
    fact.offer = Stated(snapshot: offer)
    fact.revokedAt = Stated(snapshot: revokedAt)
    fact.revocation = revokedAt != nil && ownership == .familyShared ? .value(.family) : .absent
    fact.isUpgraded = .value(isUpgraded)
    fact.quantity = Stated(carriedOver: quantity)
    return fact
  }

  /// Whether it cost what its product usually costs, so that the catalogue's price is its price. What a paid offer costs
  /// the catalogue does not say.
  var isAtUsualPrice: Bool { offer == nil && ownership != .familyShared }
}

extension Offer {
  /// The offer of a receipt's purchase; nil when there is none. A promotional offer or a code may be free as well.
  init?(receipt entry: JSONValue) throws(Rejection) {
    let isTrial = try entry.receiptFlag("is_trial_period") ?? false
    let isIntroductory = try entry.receiptFlag("is_in_intro_offer_period") ?? false
    let discount: OfferDiscount? = isTrial ? .freeTrial : nil
    if let id = try entry.string("promotional_offer_id") {
      self.init(type: .promotional, id: id, discount: discount)
    } else if let name = try entry.string("offer_code_ref_name") {
      self.init(type: .code, id: name, discount: discount)
    } else if isTrial || isIntroductory {
      self.init(type: .introductory, discount: discount)
    } else {
      return nil
    }
  }
}
