import Vocabulary

/// How long a product's period is.
enum Length: Sendable, Equatable {
  case weeks(Int64)
  case months(Int)

  /// As ISO 8601 writes it.
  var text: String {
    switch self {
    case .weeks(let count): "P\(count)W"
    case .months(12): "P1Y"
    case .months(let count): "P\(count)M"
    }
  }
}

/// Something the demo's app sells.
struct Product: Sendable, Equatable {
  let id: String
  let group: String
  /// Rank within the group; 1 is the highest.
  let level: Int
  let length: Length
  /// The price in US cents, from which the other storefronts' prices are made.
  let cents: Int64

  /// What a price, in thousandths of a unit, is in a month, in millionths: a month has 52/12 weeks.
  func monthly(_ price: Int64) -> Int64 {
    switch length {
    case .weeks(let count): Micros(price * 1000).share(52, of: 12 * count).value
    case .months(let count): Micros(price * 1000).share(1, of: Int64(count)).value
    }
  }
}

/// A country the demo's app is sold in.
struct Storefront: Sendable, Equatable {
  let country: String
  let currency: String
  /// What a US dollar's price becomes there: so many thousandths of the currency's unit for each cent.
  let thousandthsPerCent: Int64
  /// What prices are rounded to, in thousandths.
  let step: Int64

  /// The price of a product in thousandths of the currency's unit, as the App Store writes prices.
  func price(_ product: Product) -> Int64 { price(cents: product.cents) }

  /// A price made from US cents.
  func price(cents: Int64) -> Int64 { max(step, cents * thousandthsPerCent / step * step) }
}

/// What the demo's app sells, where, and with which offers.
enum Shop {
  /// The key of the app.
  static let app = "demo"
  static let bundleID = "com.example.stories"
  static let appAppleID: Int64 = 1_234_567_890

  static let premiumYearly = Product(
    id: "premium.yearly", group: "stories", level: 1, length: .months(12), cents: 7999)
  static let premiumMonthly = Product(
    id: "premium.monthly", group: "stories", level: 2, length: .months(1), cents: 999)
  static let basicMonthly = Product(id: "basic.monthly", group: "stories", level: 3, length: .months(1), cents: 499)
  static let basicWeekly = Product(id: "basic.weekly", group: "stories", level: 3, length: .weeks(1), cents: 199)
  static let newsMonthly = Product(id: "news.monthly", group: "news", level: 1, length: .months(1), cents: 299)
  static let coins = Product(id: "coins.100", group: "", level: 0, length: .months(1), cents: 199)

  static let stories = [premiumYearly, premiumMonthly, basicMonthly, basicWeekly]

  static let storefronts: [(value: Storefront, weight: Int)] = [
    (Storefront(country: "USA", currency: "USD", thousandthsPerCent: 10, step: 10), 40),
    (Storefront(country: "DEU", currency: "EUR", thousandthsPerCent: 9, step: 10), 18),
    (Storefront(country: "FRA", currency: "EUR", thousandthsPerCent: 9, step: 10), 10),
    (Storefront(country: "GBR", currency: "GBP", thousandthsPerCent: 8, step: 10), 10),
    (Storefront(country: "JPN", currency: "JPY", thousandthsPerCent: 1500, step: 10_000), 12),
    (Storefront(country: "KOR", currency: "KRW", thousandthsPerCent: 13_500, step: 100_000), 7),
    (Storefront(country: "KWT", currency: "KWD", thousandthsPerCent: 3, step: 5), 3),
  ]

  /// The catalogue as `tenure catalogue import` reads it.
  static var catalogue: String {
    var lines = ["app,product_id,group_id,level,period,price,currency,country"]
    for product in stories + [newsMonthly] {
      for (storefront, _) in storefronts {
        let price = Micros(milliunits: storefront.price(product))?.description ?? ""
        lines.append(
          "\(app),\(product.id),\(product.group),\(product.level),\(product.length.text),\(price),"
            + "\(storefront.currency),\(storefront.country)")
      }
    }
    return lines.joined(separator: "\n") + "\n"
  }

  /// A win-back offer with its rules.
  struct Offer: Sendable {
    let id: String
    let minimumPaidMonths: Int
    let monthsSince: ClosedRange<Int>
    let waitMonths: Int
    let products: [String]?
    let territories: [String]?
    let isHighPriority: Bool
  }

  static let offers = [
    Offer(
      id: "comeback.half", minimumPaidMonths: 2, monthsSince: 1...6, waitMonths: 3, products: nil,
      territories: nil, isHighPriority: false),
    Offer(
      id: "comeback.free", minimumPaidMonths: 4, monthsSince: 2...24, waitMonths: 6,
      products: ["premium.yearly", "premium.monthly"], territories: ["USA", "DEU", "JPN"], isHighPriority: true),
  ]

  /// The offers as `tenure winback import` reads them.
  static var winBackOffers: String {
    func list(_ texts: [String]?) -> String {
      texts.map { "[" + $0.map { "\"\($0)\"" }.joined(separator: ", ") + "]" } ?? "null"
    }
    let objects = offers.map { offer in
      """
      {"offer_id": "\(offer.id)", "app": "\(app)", "product_ids": \(list(offer.products)), \
      "min_paid_months": \(offer.minimumPaidMonths), "min_months_since": \(offer.monthsSince.lowerBound), \
      "max_months_since": \(offer.monthsSince.upperBound), "wait_months": \(offer.waitMonths), "starts_on": null, \
      "ends_on": null, "territories": \(list(offer.territories)), \
      "priority": "\(offer.isHighPriority ? "high" : "normal")"}
      """
    }
    return "[\(objects.joined(separator: ",\n"))]\n"
  }
}
