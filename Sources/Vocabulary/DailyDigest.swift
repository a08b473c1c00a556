public import Foundation

/// One reporting day in figures, as a target is told of it: the content of a `daily_digest` event.
public struct DailyDigest: Sendable, Equatable, Codable {
  /// The reporting day, such as `2026-03-01`.
  public var day: String
  /// The time zone of reporting days.
  public var timezone: String
  /// The keys of the apps whose figures these are.
  public var apps: [String]
  /// Subscriptions that paid for the first time, those that were a trial before left out.
  public var new: Int64
  /// Trials that were charged.
  public var trialConverted: Int64
  /// Subscriptions that were bought again after access was lost.
  public var reactivated: Int64
  /// Subscriptions whose failed charge succeeded after access was suspended.
  public var recovered: Int64
  /// Subscriptions that were lost, for whatever reason.
  public var churned: Int64
  /// Subscriptions whose access ended while the store still tries the charge.
  public var suspended: Int64
  /// Trials that began.
  public var trialsStarted: Int64
  /// Active subscriptions at the day's end.
  public var activeSubscriptions: Int64
  /// How many more those are than at its beginning.
  public var activeSubscriptionsChange: Int64
  /// What renewals brought.
  public var renewalRevenue: RenewalRevenue
  /// Monthly recurring revenue at the day's end.
  public var mrr: MRR
  /// The products that moved most, the largest first.
  public var movers: [Mover]

  /// What renewals brought, refunds taken off.
  public struct RenewalRevenue: Sendable, Equatable, Codable {
    /// How many charges.
    public var charges: Int64
    /// Those of them whose price is not known.
    public var unpricedCharges: Int64
    /// The amounts by currency, that of the most charges first.
    public var net: [Amount]
    /// All of it in the reporting currency; `nil` where nothing has a rate.
    public var converted: Decimal?
    /// The reporting currency.
    public var convertedTo: String
    /// Charges of known price that `converted` leaves out for want of a rate.
    public var unconvertedCharges: Int64

    private enum CodingKeys: String, CodingKey {
      case charges
      case unpricedCharges = "unpriced_charges"
      case net, converted
      case convertedTo = "converted_to"
      case unconvertedCharges = "unconverted_charges"
    }
  }

  /// An amount in units of its currency.
  public struct Amount: Sendable, Equatable, Codable {
    /// The currency's code of ISO 4217.
    public var currency: String
    /// How many units.
    public var amount: Decimal
  }

  /// Monthly recurring revenue, and its change within the day.
  public struct MRR: Sendable, Equatable, Codable {
    /// By currency.
    public var byCurrency: [Level]
    /// All of it in the reporting currency; `nil` where a part has no rate.
    public var converted: Decimal?
    /// The change of `converted`; `nil` where a part has no rate.
    public var change: Decimal?
    /// The reporting currency.
    public var convertedTo: String
    /// Active subscriptions whose price is not known.
    public var unpricedSubscriptions: Int64

    private enum CodingKeys: String, CodingKey {
      case byCurrency = "by_currency"
      case converted, change
      case convertedTo = "converted_to"
      case unpricedSubscriptions = "unpriced_subscriptions"
    }
  }

  /// The monthly recurring revenue in one currency.
  public struct Level: Sendable, Equatable, Codable {
    /// The currency's code of ISO 4217.
    public var currency: String
    /// How many units at the day's end.
    public var amount: Decimal
    /// How many more than at its beginning.
    public var change: Decimal
  }

  /// A product that moved.
  public struct Mover: Sendable, Equatable, Codable {
    /// The key of its app.
    public var app: String
    /// Its id at the store; `nil` where it is unknown.
    public var productID: String?
    /// Its name in the catalogue; `nil` where that has none.
    public var name: String?
    /// How many more active subscriptions it had at the day's end than at its beginning.
    public var activeSubscriptionsChange: Int64
    /// The change of its monthly recurring revenue in the reporting currency; `nil` where a part has no rate.
    public var mrrChange: Decimal?

    private enum CodingKeys: String, CodingKey {
      case app
      case productID = "product_id"
      case name
      case activeSubscriptionsChange = "active_subscriptions_change"
      case mrrChange = "mrr_change"
    }
  }

  private enum CodingKeys: String, CodingKey {
    case day, timezone, apps, new
    case trialConverted = "trial_converted"
    case reactivated, recovered, churned, suspended
    case trialsStarted = "trials_started"
    case activeSubscriptions = "active_subscriptions"
    case activeSubscriptionsChange = "active_subscriptions_change"
    case renewalRevenue = "renewal_revenue"
    case mrr, movers
  }

  /// Its JSON, keys sorted, no spaces; what is `nil` is left out.
  var json: String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    // Texts and numbers alone cannot fail.
    guard let data = try? encoder.encode(self) else { return "{}" }
    return String(decoding: data, as: UTF8.self)
  }
}
