/// The offer that a transaction was bought with.
public struct Offer: Sendable, Equatable, Decodable {
  /// What kind of offer it is.
  public var type: OfferType
  /// The offer's identifier; introductory offers have none.
  public var id: String?
  /// How it is paid.
  public var discount: OfferDiscount?
  /// Its length, as an ISO 8601 duration such as `P1W`.
  public var period: String?

  /// Creates an offer.
  public init(type: OfferType, id: String? = nil, discount: OfferDiscount? = nil, period: String? = nil) {
    self.type = type
    self.id = id
    self.discount = discount
    self.period = period
  }
}
