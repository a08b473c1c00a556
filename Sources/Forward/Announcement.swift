public import Vocabulary

/// What a delivery announces: an event as it was settled, with what the catalogue knows about its products.
public struct Announcement: Sendable, Equatable {
  /// The event, its kind settled from the facts.
  public var event: Event
  /// What was bought; `nil` when that is not known.
  public var product: Product?
  /// What the chain renews to, where that is another product.
  public var nextProduct: Product?

  /// The money that the event moved in the reporting currency, at the rate of the day of the purchase; `nil` when it
  /// moved none or there is no rate.
  public var converted: Money?

  /// Creates an announcement of an event about whose products nothing more is known than it says itself.
  public init(_ event: Event) {
    self.event = event
    product = event.transaction?.productID.value.map { Product(id: $0) }
  }

  /// A product as people know it.
  public struct Product: Sendable, Equatable {
    /// Its id at the store.
    public var id: String
    /// Its name in the catalogue; `nil` when the catalogue does not have it.
    public var name: String?

    /// Creates a product.
    public init(id: String, name: String? = nil) {
      self.id = id
      self.name = name
    }

    /// The name, else the id.
    public var title: String { name ?? id }
  }
}
