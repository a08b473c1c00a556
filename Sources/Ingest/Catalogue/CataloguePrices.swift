public import Postgres
public import Vocabulary

/// The list prices that hold wherever a product is bought: of each product the one without a country, else its only one.
/// Those without a currency can be added to nothing, and are none.
public struct CataloguePrices: Sendable {
  private var prices: [String: [String: Money]] = [:]

  /// No prices.
  public init() {}

  /// The prices that were imported.
  public init(reading connection: Connection) async throws {
    let rows = try await connection.query(
      """
      select app.app_key, listed.product_id, listed.currency, listed.price
      from (
        select app_id, product_id, country, currency, price, count(*) over (partition by app_id, product_id) as listings
        from reference.product_price
      ) as listed
      inner join ingest.app as app using (app_id)
      where listed.currency is not null and (listed.country = '' or listed.listings = 1)
      """)
    for row in rows {
      prices[try row.text("app_key"), default: [:]][try row.text("product_id")] = Money(
        amount: Micros(try row.int("price")), currency: try row.text("currency"))
    }
  }

  /// What a product costs; nil where that is not known.
  public func price(of productID: String, app: String) -> Money? { prices[app]?[productID] }
}
