public import Vocabulary

/// What a delivery announces: an event as it was settled, with what the catalogue knows about its products.
public struct Announcement: Sendable, Equatable {
  /// The event, its kind settled from the facts.
  public var event: Event
  /// What was bought; `nil` when that is not known.
  public var product: Product?
  /// What the chain renews to, where that is another product.
  public var nextProduct: Product?

  /// What the subscription costs, and for how long; `nil` when that is not known.
  public var plan: Plan?

  /// The money that the event moved in the reporting currency, at the rate of the day of the purchase; `nil` when it
  /// moved none or there is no rate.
  public var converted: Money?

  /// Creates an announcement of an event about whose products nothing more is known than it says itself.
  public init(_ event: Event) {
    self.event = event
    product = event.transaction?.productID.value.map { Product(id: $0) }
  }

  /// A price and what it is for.
  public struct Plan: Sendable, Equatable, CustomStringConvertible {
    /// The price, offers aside.
    public var price: Money
    /// How long it is for, as ISO 8601 writes it: `P1M`.
    public var period: String

    /// Creates a plan.
    public init(price: Money, period: String) {
      self.price = price
      self.period = period
    }

    /// As people say it: `$9.99 a month`.
    public var description: String {
      let units = ["D": "day", "W": "week", "M": "month", "Y": "year"]
      guard period.hasPrefix("P"), let unit = period.last.flatMap({ units[String($0)] }),
        let count = Int(period.dropFirst().dropLast())
      else { return "\(price) for \(period)" }
      return count == 1 ? "\(price) a \(unit)" : "\(price) for \(count) \(unit)s"
    }
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
    public var title: String { name.flatMap { $0.isBlank ? nil : $0 } ?? id }
  }
}
