import Foundation
public import Vocabulary

/// What is sold in generated lives.
extension LifeGenerator {
  /// A product, and what the catalogue says of it.
  public struct Product: Sendable, Equatable {
    /// The app that sells it.
    public let app: String
    /// Its id at the store.
    public let id: String
    /// Its level in the catalogue, 1 the highest.
    public let level: Int?
    /// Its length in the catalogue.
    public let listedPeriod: String?
    /// Its length.
    let period: String
    /// Its price in thousandths of a dollar.
    let price: Int64
    let isListed: Bool

    init(
      _ app: String, _ id: String, _ period: String, _ price: Int64, level: Int? = nil, listed: String? = nil,
      isListed: Bool = true
    ) {
      self.app = app
      self.id = id
      self.level = level
      listedPeriod = listed
      self.period = period
      self.price = price
      self.isListed = isListed
    }
  }

  static let products: [Product] = [
    Product("video", "basic.weekly", "P1W", 2990, level: 3, listed: "P1W"),
    Product("video", "basic.monthly", "P1M", 9990, level: 2, listed: "P1M"),
    Product("video", "family.monthly", "P1M", 14_990, level: 2, listed: "P1M"),
    Product("video", "premium.monthly", "P1M", 19_990, level: 1, listed: "P1M"),
    Product("video", "premium.yearly", "P1Y", 119_990, level: 1, listed: "P1Y"),
    // Listed without a level or a period.
    Product("video", "plain.quarterly", "P3M", 24_990),
    Product("video", "plain.halfyearly", "P6M", 44_990, listed: "P6M"),
    // Not in the catalogue.
    Product("video", "secret.monthly", "P1M", 7770, isListed: false),
    Product("video", "secret.fortnightly", "P2W", 4440, isListed: false),
    Product("news", "daily.monthly", "P1M", 5550, isListed: false),
    Product("news", "daily.yearly", "P1Y", 49_990, isListed: false),
  ]

  /// The products that the catalogues of both apps list.
  public static let catalogue = products.filter(\.isListed)

  /// The catalogue of the app `video` as `tenure catalogue import` reads it; the app `news` has none.
  public static let catalogueTable: String = {
    let rows = catalogue.map { "\($0.id),g,\($0.level.map(String.init) ?? ""),\($0.listedPeriod ?? "")\n" }
    return "product_id,group_id,level,period\n" + rows.joined()
  }()

  /// The apps in which lives take place.
  public static let apps = ["video", "news"]

  /// The products of which every charge tells its tax, commission and proceeds.
  static func reportsProceeds(_ product: String?) -> Bool { product == "premium.yearly" || product == "daily.monthly" }

  /// The win-back offers of one app.
  public struct WinBackOffer: Sendable {
    let id: String
    let app: String
    var productIDs: [String]?
    var minPaidMonths: Int?
    var minMonthsSince: Int?
    var maxMonthsSince: Int?
    var waitMonths: Int?
    var startsOn: String?
    var endsOn: String?
    var territories: [String]?
    var isHigh = false
  }

  /// The configured win-back offers.
  public static let offers = [
    WinBackOffer(id: "back", app: "video", minPaidMonths: 1, maxMonthsSince: 24, waitMonths: 2),
    WinBackOffer(
      id: "gift", app: "video", productIDs: ["premium.monthly", "premium.yearly", "basic.monthly"],
      minPaidMonths: 3, minMonthsSince: 1, maxMonthsSince: 9, waitMonths: 6, isHigh: true),
    WinBackOffer(id: "late", app: "video", minMonthsSince: 4, startsOn: "2025-01-01", territories: ["USA", "DEU"]),
    WinBackOffer(id: "over", app: "video", endsOn: "2025-06-30"),
    WinBackOffer(id: "return", app: "news", minPaidMonths: 2, territories: ["JPN", "GBR", "USA"]),
  ]

  /// The offers as `tenure winback import` reads them.
  public static let offersFile: String = {
    func text(_ value: String?) -> String { value.map { "\"\($0)\"" } ?? "null" }
    func number(_ value: Int?) -> String { value.map(String.init) ?? "null" }
    func list(_ values: [String]?) -> String {
      values.map { "[\($0.map { "\"\($0)\"" }.joined(separator: ","))]" } ?? "null"
    }
    let objects = offers.map { offer in
      """
      {"offer_id": "\(offer.id)", "app": "\(offer.app)", "product_ids": \(list(offer.productIDs)), \
      "min_paid_months": \(number(offer.minPaidMonths)), "min_months_since": \(number(offer.minMonthsSince)), \
      "max_months_since": \(number(offer.maxMonthsSince)), "wait_months": \(number(offer.waitMonths)), \
      "starts_on": \(text(offer.startsOn)), "ends_on": \(text(offer.endsOn)), \
      "territories": \(list(offer.territories)), "priority": "\(offer.isHigh ? "high" : "normal")"}
      """
    }
    return "[\(objects.joined(separator: ",\n"))]"
  }()

  /// Exchange rates of working days as invented as the lives, tax rates, and what the stores take. Of the dinar there is no
  /// rate, of the yen none for some weeks, of the pound none any more from some day on.
  public static let market: Oracle.Market = {
    var market = Oracle.Market()
    let first = Int(Instant("2023-06-01T00:00:00Z")!.microseconds / 86_400_000_000)
    let last = Int(asOf.microseconds / 86_400_000_000)
    let bases: [(currency: String, base: Int, step: Int)] = [
      ("GBP", 8600, 7), ("JPY", 1_578_300, 1009), ("USD", 10_823, 13),
    ]
    for (currency, base, step) in bases {
      // 1970-01-01 was a Thursday.
      for day in first...last where (day + 3) % 7 < 5 {
        if currency == "JPY", (first + 300..<first + 340).contains(day) {
          if market.rates[currency]?.last?.perEuro != nil { market.rates[currency]?.append((day, nil)) }
          continue
        }
        if currency == "GBP", day > last - 200 {
          market.rates[currency, default: []].append((day, nil))
          break
        }
        let perEuro = Decimal(base + (day - first) * step % (base / 5)) / 10_000
        market.rates[currency, default: []].append((day, perEuro))
      }
    }
    let change = Int(Instant("2024-10-01T00:00:00Z")!.microseconds / 86_400_000_000)
    market.taxes = [
      "DEU": [(0, Decimal(string: "0.159664")!), (change, Decimal(string: "0.166667")!)],
      "JPN": [(change, Decimal(string: "0.090909")!)], "KWT": [(0, 0)],
    ]
    market.smallBusinesses = ["news"]
    return market
  }()

  /// The rates as `tenure rates import` reads them: the newest day first, `N/A` where there is none.
  public static let ratesTable = ratesTable(until: asOf)

  /// The rates of the days until a moment.
  public static func ratesTable(until end: Instant) -> String {
    let currencies = market.rates.keys.sorted()
    var rows: [Int: [String: String]] = [:]
    for (currency, rates) in market.rates {
      for rate in rates where Int64(rate.day) * 86_400_000_000 <= end.microseconds {
        rows[rate.day, default: [:]][currency] = rate.perEuro.map { "\($0)" } ?? "N/A"
      }
    }
    let lines = rows.sorted { $0.key > $1.key }.map { day, rates in
      let date = "\(Instant(microseconds: Int64(day) * 86_400_000_000))".prefix(10)
      return "\(date),\(currencies.map { rates[$0] ?? "N/A" }.joined(separator: ",")),"
    }
    return "Date,\(currencies.joined(separator: ",")),\n" + lines.joined(separator: "\n") + "\n"
  }

  /// The tax rates as `tenure taxes import` reads them.
  public static let taxesTable: String = {
    let rows = market.taxes.sorted { $0.key < $1.key }.flatMap { country, rates in
      rates.map { from, share in
        "\(country),\(share),\("\(Instant(microseconds: Int64(from) * 86_400_000_000))".prefix(10))\n"
      }
    }
    return "country,rate,from\n" + rows.joined()
  }()
}
