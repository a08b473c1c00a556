/// How prices of days and weeks are brought to a month; months and years are exact under both.
public enum MonthlyFactors: String, Sendable, CaseIterable {
  /// A year of 365 days and of 52 weeks: day x 365/12, week x 52/12.
  case calendar
  /// As RevenueCat's charts do: day x 30, week x 4.
  case revenuecat
}
