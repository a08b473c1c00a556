import Foundation
public import Vocabulary

/// An independent judge: says what every report must show, from the canonical events alone.
///
/// It reads the definitions of the metrics literally: each subscription is walked from moment to moment, each reporting
/// day is looked at on its own. It shares no code with the program but the vocabulary of events, is simple, and is slow.
public struct Oracle {
  /// What the figures depend on beside the events.
  public struct Settings: Sendable {
    /// The moment as of which the reports are made: what happens at it has not happened.
    public var asOf: Instant
    /// The reporting time zone.
    public var timeZone: String
    /// The environment reported.
    public var environment: String
    /// What the catalogue lists.
    public var catalogue: [LifeGenerator.Product]
    /// The configured win-back offers.
    public var offers: [LifeGenerator.WinBackOffer]
    /// What money is converted with, and what is taken of it.
    public var market: Market

    /// Creates settings.
    public init(
      asOf: Instant, timeZone: String = "UTC", environment: String = "Production",
      catalogue: [LifeGenerator.Product] = LifeGenerator.catalogue,
      offers: [LifeGenerator.WinBackOffer] = LifeGenerator.offers, market: Market = LifeGenerator.market
    ) {
      self.asOf = asOf
      self.timeZone = timeZone
      self.environment = environment
      self.catalogue = catalogue
      self.offers = offers
      self.market = market
    }
  }

  let settings: Settings
  let calendar: OracleCalendar
  let lines: [OracleLine]
  let chains: [OracleChain]
  var asOf: Instant { settings.asOf }

  /// Walks every subscription.
  public init(_ events: [Event], _ settings: Settings) {
    self.settings = settings
    let mine = events.filter {
      $0.environment.rawValue == settings.environment && $0.originalTransactionID != nil
    }
    let groups = Dictionary(grouping: mine) { event in
      [event.app ?? "", event.store.rawValue, event.originalTransactionID ?? ""]
    }
    var chains: [[String]: OracleChain] = [:]
    for (key, events) in groups { chains[key] = OracleChain(events, asOf: settings.asOf) }
    var nexts: [[String]: OracleChain] = [:]
    for (key, chain) in chains where !chain.purchases.isEmpty {
      if let previous = chain.previous { nexts[[key[0], key[1], previous]] = chain }
    }
    let catalogue = settings.catalogue
    lines = chains.compactMap { key, chain in
      if let previous = chain.previous, chains[[key[0], key[1], previous]] != nil { return nil }
      var line = [chain]
      while let last = line.last, let next = nexts[[last.app, last.store, last.originalTransactionID]] {
        line.append(next)
      }
      return OracleLine(line, asOf: settings.asOf) { Oracle.direction(from: $0, to: $1, catalogue) }
    }
    self.chains = Array(chains.values)
    let first = mine.compactMap(\.transaction?.purchasedAt.value).min() ?? settings.asOf
    calendar = OracleCalendar(timeZone: settings.timeZone, from: min(first, settings.asOf), asOf: settings.asOf)
  }

  /// `upgrade`, `downgrade` or `crossgrade`.
  private static func direction(
    from old: OraclePurchase, to new: OraclePurchase, _ catalogue: [LifeGenerator.Product]
  ) -> String {
    func level(_ purchase: OraclePurchase) -> Int? {
      catalogue.first { $0.app == purchase.chain.app && $0.id == purchase.product }?.level
    }
    if let from = level(old), let to = level(new) {
      return to < from ? "upgrade" : to > from ? "downgrade" : "crossgrade"
    }
    guard let from = old.mrr(catalogue: catalogue), let to = new.mrr(catalogue: catalogue),
      old.price?.currency == new.price?.currency
    else { return "crossgrade" }
    return to > from ? "upgrade" : to < from ? "downgrade" : "crossgrade"
  }

  /// What a row of the daily reports is about.
  struct Dimensions: Hashable {
    var app: String
    var environment: String
    var store: String
    var product: String?
    var country: String?
    var offer: String

    init(_ purchase: OraclePurchase) {
      app = purchase.chain.app
      environment = purchase.chain.environment
      store = purchase.chain.store
      product = purchase.product
      country = purchase.country
      offer = purchase.offerWord
    }

    var app3: [String?] { [app, environment, store] }
  }

  /// The last moment of a reporting day is the one before this.
  func end(of day: Int) -> Instant { min(calendar.days[day + 1].starts, asOf) }

  /// Whether a reporting day is over.
  func isComplete(_ day: Int) -> Bool { calendar.days[day + 1].starts <= asOf }

  /// The key of a row of a daily report of products and countries.
  func key(_ day: Int, of purchase: OraclePurchase) -> [String?] {
    let dimensions = Dimensions(purchase)
    return dimensions.app3 + [calendar.days[day].date, dimensions.product, dimensions.country]
  }

  /// The daily reports' key of a row.
  func key(_ day: Int, _ dimensions: Dimensions) -> [String?] {
    dimensions.app3 + [
      calendar.days[day].date, dimensions.product, dimensions.country, dimensions.offer,
    ]
  }

  /// The named report. The names are those of `tenure report`.
  public func report(_ name: String) -> OracleReport {
    switch name {
    case "active_subscriptions": activeSubscriptions()
    case "active_subscribers": activeSubscribers()
    case "movements": movements()
    case "churn": churn()
    case "revenue": revenue()
    case "renewal_revenue": revenue(kinds: ["renewal", "billing_recovery"])
    case "mrr": mrr()
    case "mrr_movement": mrrMovement()
    case "trials": trials()
    case "refunds": refunds()
    case "renewal_rate": renewalRate()
    case "billing_recovery": billingRecovery()
    case "retention": retention()
    case "customers": customers()
    case "lifetime_value": lifetimeValue()
    case "subscriptions": subscriptions()
    case "winback_eligibility": winBackEligibility()
    case "win_back_rate": winBackRate()
    case "store_messages": storeMessages()
    default: preconditionFailure("the oracle knows no report \(name)")
    }
  }

  /// The columns of a report of which one at least is something in every row that counts.
  public static func figures(of name: String) -> Set<String> {
    Oracle([], Settings(asOf: LifeGenerator.asOf)).report(name).figures
  }
}
