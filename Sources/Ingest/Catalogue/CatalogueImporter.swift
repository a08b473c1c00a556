public import Postgres
public import Vocabulary

/// Puts what people bring into the reference tables. What was there of the same app goes; all of it in one transaction.
public struct CatalogueImporter: Sendable {
  private let connection: Connection
  private let apps: [AppConfiguration]
  private let now: Instant

  /// Creates an importer.
  ///
  /// - Parameters:
  ///   - apps: What is configured of apps.
  ///   - now: When an app that was not known is put down.
  public init(_ connection: Connection, apps: [AppConfiguration], now: Instant) {
    self.connection = connection
    self.apps = apps
    self.now = now
  }

  /// Replaces the products and prices of an app.
  public func replace(with catalogue: Catalogue, app: String) async throws {
    var products = BinaryRows()
    var prices = BinaryRows()
    let directory = try await AppDirectory().adding([app], on: connection)
    let id = directory.ids[app] ?? 0
    for product in catalogue.products {
      products.startRow(columns: 8)
      products.int64(id)
      products.text(product.productID)
      products.text(product.groupID)
      products.text(product.groupName)
      products.text(product.name)
      products.int32(product.level)
      products.text(product.period)
      products.text(product.type?.rawValue)
    }
    for price in catalogue.prices {
      prices.startRow(columns: 5)
      prices.int64(id)
      prices.text(price.productID)
      prices.text(price.country)
      prices.text(price.currency)
      prices.int64(price.amount.value)
    }
    let newApps = newApps(directory)
    try await connection.transaction { [products, prices, now] connection in
      for app in newApps { try connection.add(app, at: now) }
      try connection.query("delete from reference.product_price where app_id = $1", [.int(id)])
      try connection.query("delete from reference.product where app_id = $1", [.int(id)])
      try connection.copyIn(
        """
        copy reference.product (app_id, product_id, group_id, group_name, name, level, period, type)
        from stdin (format binary)
        """, products)
      try connection.copyIn(
        "copy reference.product_price (app_id, product_id, country, currency, price) from stdin (format binary)", prices
      )
    }
  }

  /// Replaces the win-back offers of every app that these name.
  public func replace(with offers: [WinBackOffer]) async throws {
    let keys = Set(offers.map(\.app))
    let directory = try await AppDirectory().adding(keys, on: connection)
    let newApps = newApps(directory)
    try await connection.transaction { [now] connection in
      for app in newApps { try connection.add(app, at: now) }
      try connection.query(
        "delete from reference.winback_offer where app_id = any ($1)", [.ints(keys.compactMap { directory.ids[$0] })])
      for offer in offers {
        try connection.query(
          """
          insert into reference.winback_offer (
            app_id, offer_id, product_ids, min_paid_months, min_months_since, max_months_since, wait_months, starts_on,
            ends_on, territories, priority)
          values ($1, $2, $3, $4, $5, $6, $7, $8::date, $9::date, $10, $11)
          """,
          [
            Parameter(directory.ids[offer.app]), .text(offer.offerID), Self.list(offer.productIDs),
            Parameter(offer.minimumPaidMonths), Parameter(offer.minimumMonthsSince),
            Parameter(offer.maximumMonthsSince), Parameter(offer.waitMonths), Parameter(offer.startsOn),
            Parameter(offer.endsOn), Self.list(offer.territories), .text(offer.isHighPriority ? "high" : "normal"),
          ])
      }
    }
  }

  private static func list(_ texts: [String]?) -> Parameter { texts.map { .texts($0) } ?? .null }

  private func newApps(_ directory: AppDirectory) -> [NewApp] {
    directory.newKeys.sorted().map { key in
      NewApp(key: key, id: directory.ids[key] ?? 0, bundleID: apps.first { $0.key == key }?.bundleID)
    }
  }
}
