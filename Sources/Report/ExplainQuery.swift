public import Vocabulary

/// Which figures of a report are to be explained.
public struct ExplainQuery: Sendable {
  /// The report's name.
  public var report: String
  /// A reporting day, such as `2026-01-31`.
  public var on: String
  /// The kind of period that the day is in, of a report that has several.
  public var by: ReportQuery.Span?
  /// The one figure to explain, a column of the report; `nil` for all.
  public var column: String?
  /// Values of the report's dimensions by their names, such as `product: pro.monthly`; `unknown` is what is not known.
  public var filters: [String: String]
  /// The app's key.
  public var app: String?
  /// The store's environment.
  public var environment: StoreEnvironment
  /// Whether entries are listed that no longer stand, and what reversed them.
  public var includesReversed: Bool
  /// At most how many entries are listed; `nil` for all of them. Sums are over all.
  public var limit: Int?

  /// Creates a query for all figures of a day.
  public init(
    report: String, on day: String, by: ReportQuery.Span? = nil, column: String? = nil,
    filters: [String: String] = [:], app: String? = nil, environment: StoreEnvironment = .production,
    includesReversed: Bool = false, limit: Int? = nil
  ) {
    self.report = report
    self.on = day
    self.by = by
    self.column = column
    self.filters = filters
    self.app = app
    self.environment = environment
    self.includesReversed = includesReversed
    self.limit = limit
  }
}
