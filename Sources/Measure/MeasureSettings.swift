/// The settings under which a run makes its figures.
public struct MeasureSettings: Sendable, Equatable {
  /// The time zone of reporting days, an IANA name.
  public var timeZone: String
  /// How long a chain counts as active after the end of a period about which the store has said nothing, in seconds.
  public var waitForWord: Int64
  /// How prices are brought to a month.
  public var monthlyFactors: MonthlyFactors
  /// The currency that amounts are converted to, by its ISO 4217 code.
  public var currency: String
  /// What the stores take of an app, by its key; an app that is not named pays the standard commission.
  public var commissions: [String: Commission]

  /// Creates settings; the defaults are UTC, a day, the calendar and US dollars.
  public init(
    timeZone: String = "UTC", waitForWord: Int64 = 86_400, monthlyFactors: MonthlyFactors = .calendar,
    currency: String = "USD", commissions: [String: Commission] = [:]
  ) {
    self.timeZone = timeZone
    self.waitForWord = waitForWord
    self.monthlyFactors = monthlyFactors
    self.currency = currency
    self.commissions = commissions
  }
}
