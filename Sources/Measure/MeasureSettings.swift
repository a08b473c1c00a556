/// The settings under which a run makes its figures.
public struct MeasureSettings: Sendable, Equatable {
  /// The time zone of reporting days, an IANA name.
  public var timeZone: String
  /// How long a chain counts as active after the end of a period about which the store has said nothing, in seconds.
  public var waitForWord: Int64
  /// How prices are brought to a month.
  public var monthlyFactors: MonthlyFactors

  /// Creates settings; the defaults are UTC, a day and the calendar.
  public init(
    timeZone: String = "UTC", waitForWord: Int64 = 86_400, monthlyFactors: MonthlyFactors = .calendar
  ) {
    self.timeZone = timeZone
    self.waitForWord = waitForWord
    self.monthlyFactors = monthlyFactors
  }
}
