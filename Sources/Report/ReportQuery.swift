import Foundation
public import Postgres
public import Vocabulary

/// What is asked of a report.
public struct ReportQuery: Sendable {
  /// Lengths that days can be brought together in.
  public enum Span: String, Sendable, CaseIterable {
    /// Reporting days.
    case day
    /// Weeks, from Monday.
    case week
    /// Calendar months.
    case month
    /// Calendar quarters.
    case quarter
    /// Calendar years.
    case year

    /// Its length as PostgreSQL writes an interval.
    var length: String { self == .quarter ? "3 months" : "1 \(rawValue)" }
  }

  /// The report's name.
  public var name: String
  /// The first reporting day, such as `2026-01-31`.
  public var from: String?
  /// The last reporting day.
  public var to: String?
  /// What days are brought together in.
  public var by: Span?
  /// The dimensions to keep; `nil` for the whole grain.
  public var groupBy: [String]?
  /// The app's key.
  public var app: String?
  /// The store's environment.
  public var environment: StoreEnvironment
  /// The moment at which the figures are to have been known; `nil` for now.
  public var asKnownAt: Instant?
  /// Whether amounts are shown in the reporting currency alone, so that currencies are added.
  public var isConverted: Bool
  /// At most how many rows are shown, the newest first; `nil` for all, the oldest first.
  public var last: Int?
  /// The values that dimensions must have, by the names of their columns; `unknown` also stands for what is not known.
  var filters: [String: String] = [:]

  /// Creates a query for a whole report.
  public init(
    name: String, from: String? = nil, to: String? = nil, by: Span? = nil, groupBy: [String]? = nil,
    app: String? = nil, environment: StoreEnvironment = .production, asKnownAt: Instant? = nil,
    isConverted: Bool = false, last: Int? = nil
  ) {
    self.name = name
    self.from = from
    self.to = to
    self.by = by
    self.groupBy = groupBy
    self.app = app
    self.environment = environment
    self.asKnownAt = asKnownAt
    self.isConverted = isConverted
    self.last = last
  }

  /// Where the report's view lies, and that of the run it shows.
  private var schemas: (report: String, measure: String) {
    asKnownAt == nil ? ("report", "measure") : ("pg_temp", "pg_temp")
  }

  /// The columns of the answer and the statement that gives it.
  ///
  /// - Throws: ``ReportError`` when the report cannot be shown so.
  public func statement(
    for shape: ReportShape
  ) throws -> (columns: [ReportShape.Column], sql: String, parameters: [Parameter]) {
    var parameters: [Parameter] = []
    var conditions: [String] = []
    func bind(_ value: String) -> String {
      parameters.append(.text(value))
      return "$\(parameters.count)"
    }
    if shape.column("environment") != nil {
      conditions.append("(environment = \(bind(environment.rawValue)) or environment is null)")
    }
    if let app { conditions.append("app = \(bind(app))") }
    for (name, value) in filters.sorted(by: { $0.key < $1.key }) {
      guard let column = shape.column(name) else { continue }
      let isMet = "\(column.quoted) = \(bind(value))"
      conditions.append(value == "unknown" ? "(\(isMet) or \(column.quoted) is null)" : isMet)
    }
    let day = shape.start
    var bounds = Bounds()
    if let from {
      guard let day else { throw ReportError.noDays(report: shape.name, option: "--from") }
      bounds.from = "\(bind(from))::date"
      conditions.append("\(day) >= \(bounds.from ?? "")")
    }
    if let to {
      guard let day else { throw ReportError.noDays(report: shape.name, option: "--to") }
      bounds.to = "\(bind(to))::date"
      conditions.append("\(day) <= \(bounds.to ?? "")")
    }
    if let by, let kind = shape.periods?.kind {
      if kind == "cohort_by", ![.week, .month].contains(by) {
        throw ReportError.notAdditive(
          report: shape.name, why: "its cohorts are of weeks and of months: ask --by for one")
      }
      conditions.append("\(kind) = \(bind(by.rawValue))")
    }
    let filter = conditions.isEmpty ? "" : "\nwhere " + conditions.joined(separator: " and ")

    let span = shape.periods == nil ? by : nil
    if span != nil, !shape.hasDays { throw ReportError.noDays(report: shape.name, option: "--by") }
    if let groupBy, shape.isOfThings { return try counted(shape, groupBy, filter: filter, parameters: parameters) }
    guard groupBy != nil || isConverted || (span ?? .day) != .day else {
      return (
        shape.columns,
        """
        select \(shape.columns.map(\.quoted).joined(separator: ", "))
        from \(schemas.report)."\(shape.name)"\(filter)
        \(order(shape.columns.filter { $0.role == .dimension }.map(\.quoted), newest: shape.newest?.quoted))
        """,
        parameters
      )
    }
    return try grouped(shape, span: span ?? .day, filter: filter, bounds: bounds, parameters: parameters)
  }

  /// The order of the rows, and how many of them there are.
  private func order(_ keys: [String], newest: String?) -> String {
    guard let last else { return "order by \(keys.joined(separator: ", "))" }
    return "order by \(((newest.map { [$0 + " desc"] } ?? []) + keys).joined(separator: ", "))\nlimit \(last)"
  }

  /// How many of the report's things there are of each kind.
  private func counted(
    _ shape: ReportShape, _ groupBy: [String], filter: String, parameters: [Parameter]
  ) throws -> ([ReportShape.Column], String, [Parameter]) {
    guard last == nil else { throw ReportError.noOrder(report: shape.name) }
    let dimensions = shape.columns.filter { $0.role == .dimension }
    let kept = try named(groupBy, of: dimensions, in: shape, beside: ["app", "environment"])
    let number = ReportShape.Column(name: "rows", type: "bigint", role: .flow, meaning: "rows of the report")
    let keys = kept.map(\.quoted).joined(separator: ", ")
    return (
      kept + [number],
      """
      select \(keys), count(*) as rows
      from \(schemas.report)."\(shape.name)"\(filter)
      group by \(keys)
      order by \(keys)
      """,
      parameters
    )
  }

  /// The first and the last day as expressions of the statement.
  private struct Bounds {
    var from: String?
    var to: String?
  }

  /// Brings rows together: sums of flows, last values of stocks, first values of openings.
  private func grouped(
    _ shape: ReportShape, span: Span, filter: String, bounds: Bounds, parameters: [Parameter]
  ) throws -> ([ReportShape.Column], String, [Parameter]) {
    let dimensions = shape.columns.filter { $0.role == .dimension }
    let kept = try keptDimensions(shape, dimensions)
    guard shape.columns.contains(where: { [.flow, .whole, .stock, .opening, .distinct].contains($0.role) }) else {
      throw ReportError.notAdditive(report: shape.name, why: "its rows are single things, not amounts")
    }
    if let column = shape.columns.first(where: { $0.role == .count || $0.role == .rate }) {
      let hint = shape.periods == nil ? "it is told in the report's own rows alone" : "ask --by for the length"
      throw ReportError.notAdditive(
        report: shape.name, why: "\(column.name) of several periods is not the sum of theirs; \(hint)")
    }
    if groupBy != nil, let column = shape.columns.first(where: { $0.role == .distinct }) {
      throw ReportError.notAdditive(
        report: shape.name, why: "\(column.name) counts distinct people, and one may be in several rows")
    }
    if isConverted, shape.column("currency") == nil || !shape.columns.contains(where: \.isConverted) {
      throw ReportError.notConverted(report: shape.name)
    }
    let columns = shape.columns.filter { column in
      column.role == .dimension ? kept.contains(column) : !isConverted || !column.isOfCurrency
    }
    let bucket = "date_trunc('\(span.rawValue)', day::timestamp)::date"
    let selected = columns.map { column -> String in
      let name = column.quoted
      switch column.role {
      case .dimension: return column.name == "day" ? "bucket as day" : name
      case .flow: return "\(sum("sum(\(name))", column)) as \(name)"
      case .whole: return "case when bool_and(\(name) is not null) then \(sum("sum(\(name))", column)) end as \(name)"
      case .stock, .distinct, .count, .rate:
        // What is unknown in every row stays unknown; so does what is converted where a part of it is. What has no known price
        // is in no currency, and no part of it.
        let isPriced = shape.column("currency") == nil ? "" : " and currency is not null"
        let isKnown =
          column.isConverted
          ? "bool_and(\(name) is not null) filter (where day = last_day\(isPriced))" : "count(\(name)) > 0"
        return """
          case when \(isKnown) then \(sum("coalesce(sum(\(name)) filter (where day = last_day), 0)", column)) end
            as \(name)
          """
      case .ratio:
        // What the comment names stands in the same row, and all of it is summed.
        let parts = column.meaning.replacing(/\w+/) { "sum(\"\($0.output)\")::numeric" }.components(separatedBy: " / ")
        return "trim_scale(round(\(parts.joined(separator: " / nullif(")), 0), 6)) as \(name)"
      case .every: return "bool_and(\(name)) as \(name)"
      case .opening:
        return "\(sum("coalesce(sum(\(name)) filter (where day = first_day), 0)", column)) as \(name)"
      case .detail:
        if column.name == "is_complete" {
          // Of a sparse report the last row may be long before the last day, so the calendar decides.
          return """
            bool_and(bucket_ends_at <= as_of\(bounds.from.map { " and bucket >= \($0)" } ?? "")\
            \(bounds.to.map { " and bucket + interval '\(span.length)' <= \($0) + 1" } ?? "")) as is_complete
            """
        }
        // Where any part is estimated the sum is.
        if column.name == "proceeds_basis" {
          return "case when bool_and(proceeds is not null) then min(\(name)) end as \(name)"
        }
        return "case when count(distinct \(name)) = 1 and count(\(name)) = count(*) then min(\(name)) end as \(name)"
      }
    }
    // Of stocks only the last day of each span is looked at, which is not to cost what all of its days would: their rows go on
    // to the last reporting day.
    let isOfStocks = columns.allSatisfy { [.dimension, .stock, .distinct, .detail].contains($0.role) }
    let lastDays =
      !isOfStocks || span == .day
      ? ""
      : """
      \(filter.isEmpty ? "where" : "and") day = least(
        (\(bucket) + interval '\(span.length)')::date - 1,
        (select ((as_of - interval '1 microsecond') at time zone zone)::date from \(schemas.measure).latest)\
      \(bounds.to.map { ", \($0)" } ?? "")
      )
      """
    let keys = columns.filter { $0.role == .dimension }.map { $0.name == "day" ? "bucket" : $0.quoted }
    let sql = """
      select \(selected.joined(separator: ", "))
      from (
        select
          bucketed.*,
          latest.as_of,
          (bucket + interval '\(span.length)') at time zone latest.zone as bucket_ends_at,
          max(bucketed.day) over (partition by bucket) as last_day,
          min(bucketed.day) over (partition by bucket) as first_day
        from (
          select *, \(bucket) as bucket
          from \(schemas.report)."\(shape.name)"\(filter)
          \(lastDays)
        ) as bucketed
        cross join (select as_of, zone from \(schemas.measure).latest) as latest
      ) as spanned
      group by \(keys.joined(separator: ", "))
      \(order(keys, newest: "bucket"))
      """
    return (columns, sql, parameters)
  }

  /// A sum without zeros behind its last digit.
  private func sum(_ expression: String, _ column: ReportShape.Column) -> String {
    column.type == "numeric" ? "trim_scale(\(expression))" : expression
  }

  /// The dimensions that the answer keeps: those asked for, and those without which amounts must not be added.
  private func keptDimensions(
    _ shape: ReportShape, _ dimensions: [ReportShape.Column]
  ) throws -> [ReportShape.Column] {
    let always = ["app", "environment", "day"] + (isConverted ? [] : ["currency"])
    guard let groupBy else { return dimensions.filter { !isConverted || $0.name != "currency" } }
    guard shape.hasDays else {
      throw ReportError.notAdditive(
        report: shape.name,
        why: shape.periods == nil
          ? "it is not made of days" : "its rates, and whom it counts once, are not the sums of those of its rows")
    }
    return try named(groupBy, of: dimensions, in: shape, beside: always)
  }

  /// The dimensions of those names, in their order, and of those that are kept in any case.
  private func named(
    _ names: [String], of dimensions: [ReportShape.Column], in shape: ReportShape, beside always: [String]
  ) throws -> [ReportShape.Column] {
    var kept = Set(always)
    for name in names {
      guard let column = dimensions.first(where: { $0.name == name || $0.name == name + "_id" }) else {
        throw ReportError.unknownDimension(
          name, report: shape.name, known: dimensions.map(\.name).filter { !always.contains($0) })
      }
      kept.insert(column.name)
    }
    return dimensions.filter { kept.contains($0.name) }
  }
}
