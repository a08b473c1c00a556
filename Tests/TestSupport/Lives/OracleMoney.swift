public import Foundation
import Vocabulary

extension Oracle {
  /// Published exchange rates, tax rates and commissions, as the judge looks them up.
  public struct Market: Sendable {
    /// By currency, the days of publication, as days since 1970, each with the units for one euro; `nil` from when there
    /// is none any more.
    public var rates: [String: [(day: Int, perEuro: Decimal?)]] = [:]
    /// By storefront, the first day, as days since 1970, and the share of the price.
    public var taxes: [String: [(from: Int, share: Decimal)]] = [:]
    /// The currency that amounts are converted to.
    public var currency = "USD"
    /// The apps of Apple's small business programme.
    public var smallBusinesses: Set<String> = []
    /// The apps of which every store takes the same share.
    public var shares: [String: Decimal] = [:]

    /// A market without any rate.
    public init() {}
  }

  /// Half to even, to a micro.
  private func micros(_ exact: Decimal) -> Int64 {
    var exact = exact
    var rounded = Decimal()
    NSDecimalRound(&rounded, &exact, 0, .bankers)
    return Int64("\(rounded)")!
  }

  private var market: Market { settings.market }

  /// An amount converted at the rate of the day of a purchase; `nil` without one.
  func converted(_ amount: Int64?, _ purchase: OraclePurchase) -> Int64? {
    guard let amount else { return nil }
    guard amount != 0, let currency = purchase.price?.currency else { return amount == 0 ? 0 : nil }
    if currency == market.currency { return amount }
    let day = calendar.days[calendar.day(of: purchase.start)].number
    func perEuro(_ currency: String) -> Decimal? {
      currency == "EUR" ? 1 : market.rates[currency]?.last { $0.day <= day }?.perEuro
    }
    guard let from = perEuro(currency), let to = perEuro(market.currency) else { return nil }
    return micros(Decimal(amount) * to / from)
  }

  /// What is left of an amount that was charged or returned.
  struct Remainder {
    var tax: Int64?
    var commission: Int64?
    var proceeds: Int64?
    var isEstimated = false
  }

  /// The reported tax, commission and proceeds of a part of a charge, or the estimated ones.
  func remainder(_ amount: Int64?, of charge: OracleLine.Charge, in line: OracleLine) -> Remainder {
    let purchase = charge.purchase
    func share(_ whole: Micros?) -> Int64? {
      guard let whole, let amount, let price = purchase.price?.amount else { return nil }
      if amount == price.value { return whole.value }
      if amount == -price.value { return -whole.value }
      guard price != Micros(0) else { return nil }
      return micros(Decimal(whole.value) * Decimal(amount) / Decimal(price.value))
    }
    let left = Remainder(
      tax: share(purchase.tax), commission: share(purchase.commission), proceeds: share(purchase.proceeds))
    guard let amount, left.proceeds == nil else { return left }
    let day = calendar.days[calendar.day(of: purchase.start)].number
    let taxShare = purchase.country.flatMap { market.taxes[$0] }?.last { $0.from <= day }?.share
    guard let tax = left.tax ?? taxShare.map({ micros(Decimal(amount) * $0) }) else { return left }
    let takes = commissionShare(of: purchase, in: line)
    guard let commission = left.commission ?? takes.map({ micros(Decimal(amount - tax) * $0) }) else { return left }
    // What follows from reported tax and commission is no estimate.
    let isEstimated = left.tax == nil || left.commission == nil
    return Remainder(tax: tax, commission: commission, proceeds: amount - tax - commission, isEstimated: isEstimated)
  }

  private func commissionShare(of purchase: OraclePurchase, in line: OracleLine) -> Decimal? {
    if let share = market.shares[purchase.chain.app] { return share }
    guard ["app_store", "mac_app_store"].contains(purchase.chain.store) else { return nil }
    if market.smallBusinesses.contains(purchase.chain.app) { return Decimal(string: "0.15") }
    return Decimal(string: hasYearOfService(before: purchase, in: line) ? "0.15" : "0.3")
  }

  /// Whether the chain had a year of paid service when something was bought; gaps over 60 days start again.
  private func hasYearOfService(before purchase: OraclePurchase, in line: OracleLine) -> Bool {
    if purchase.isOneTime { return false }
    let day: Int64 = 86_400_000_000
    var served: Int64 = 0
    var until: Instant?
    for (number, period) in line.periods.enumerated() where period.start < purchase.start {
      guard !period.isFree, !period.isFullyRefunded else { continue }
      if let until, period.start.microseconds - until.microseconds > 60 * day { served = 0 }
      let ends = line.stays.filter { $0.period == number && $0.standing == .active }.map { min($0.to, period.expiry) }
      guard let end = ends.max() else { continue }
      served += end.microseconds - period.start.microseconds
      until = max(until ?? end, end)
    }
    if let until, purchase.start.microseconds - until.microseconds > 60 * day { served = 0 }
    return served >= 365 * day
  }
}
