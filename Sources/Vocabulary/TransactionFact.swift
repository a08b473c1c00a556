/// A version of one store transaction: what a source said of it at one moment.
public struct TransactionFact: Sendable, Equatable {
  /// The transaction's id at its store.
  public var transactionID: String
  /// When the source said this: the order of versions.
  public var signedAt: Instant
  /// What was bought.
  public var type: Stated<TransactionType> = .unstated
  /// The product's id at its store.
  public var productID: Stated<String> = .unstated
  /// The subscription group's id.
  public var groupID: Stated<String> = .unstated
  /// What the price is for, as an ISO 8601 duration such as `P1M`; of an instalment, the instalment's own.
  public var period: Stated<String> = .unstated
  /// When access begins and the charge is made.
  public var purchasedAt: Stated<Instant> = .unstated
  /// When access ends, extensions included, grace not.
  public var expiresAt: Stated<Instant> = .unstated
  /// What was charged, for the whole quantity.
  public var price: Stated<Money> = .unstated
  /// The storefront's country, three letters of ISO 3166.
  public var country: Stated<String> = .unstated
  /// Whether the customer bought or the store renewed.
  public var reason: Stated<PurchaseReason> = .unstated
  /// Whether it is the customer's own.
  public var ownership: Stated<Ownership> = .unstated
  /// The offer it was bought with.
  public var offer: Stated<Offer> = .unstated
  /// When access was withdrawn and money returned.
  public var revokedAt: Stated<Instant> = .unstated
  /// What the revocation returns.
  public var revocation: Stated<RevocationType> = .unstated
  /// The amount returned, or taken back again by a reversal, in the price's currency, as a positive number.
  public var refund: Stated<Micros> = .unstated
  /// The currency of ``refund`` in a version that does not state the price, such as a vendor's event about a refund.
  public var refundCurrency: String?
  /// The tax in the price, in the price's currency.
  public var tax: Stated<Micros> = .unstated
  /// The store's commission, in the price's currency.
  public var commission: Stated<Micros> = .unstated
  /// What the seller receives, in the price's currency.
  public var proceeds: Stated<Micros> = .unstated
  /// Whether an upgrade replaced it.
  public var isUpgraded: Stated<Bool> = .unstated
  /// How many were bought.
  public var quantity: Stated<Int64> = .unstated

  /// Creates a version that says nothing yet but which transaction it is about.
  public init(transactionID: String, signedAt: Instant) {
    self.transactionID = transactionID
    self.signedAt = signedAt
  }

  /// A field of a transaction, numbered as in the column `stated` of `fact.transaction`: bit `rawValue` is set when a
  /// version states the field. A number never changes its meaning.
  public enum Field: Int, CaseIterable, Sendable {
    /// `type`
    case type = 0
    /// `product_id`
    case productID = 1
    /// `group_id`
    case groupID = 2
    /// `period`
    case period = 3
    /// `purchased_at`
    case purchasedAt = 4
    /// `expires_at`
    case expiresAt = 5
    /// `price` and `currency`
    case price = 6
    /// `country`
    case country = 7
    /// `reason`
    case reason = 8
    /// `ownership`
    case ownership = 9
    /// `offer`
    case offer = 10
    /// `revoked_at`
    case revokedAt = 11
    /// `revocation`
    case revocation = 12
    /// `refund`
    case refund = 13
    /// `tax`
    case tax = 14
    /// `commission`
    case commission = 15
    /// `proceeds`
    case proceeds = 16
    /// `is_upgraded`
    case isUpgraded = 17
    /// `quantity`
    case quantity = 18
  }

  /// The fields that this version states, as the bits of `Field`.
  public var stated: Int64 {
    var bits: Int64 = 0
    func mark<Value>(_ field: Field, _ statement: Stated<Value>) {
      if statement.isStated { bits |= 1 << Int64(field.rawValue) }
    }
    mark(.type, type)
    mark(.productID, productID)
    mark(.groupID, groupID)
    mark(.period, period)
    mark(.purchasedAt, purchasedAt)
    mark(.expiresAt, expiresAt)
    mark(.price, price)
    mark(.country, country)
    mark(.reason, reason)
    mark(.ownership, ownership)
    mark(.offer, offer)
    mark(.revokedAt, revokedAt)
    mark(.revocation, revocation)
    mark(.refund, refund)
    mark(.tax, tax)
    mark(.commission, commission)
    mark(.proceeds, proceeds)
    mark(.isUpgraded, isUpgraded)
    mark(.quantity, quantity)
    return bits
  }
}
