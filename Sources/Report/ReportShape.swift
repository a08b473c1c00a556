import Foundation

/// A report as the database describes it: its view, its columns, and what may be done with each.
public struct ReportShape: Sendable, Equatable {
  /// What may be done with a column, by the word that its comment begins with.
  public enum Role: String, Sendable {
    /// Groups rows.
    case dimension = "Dimension"
    /// Is summed.
    case flow = "Flow"
    /// Is summed where every part is known; unknown otherwise.
    case whole = "Whole"
    /// Is read at the last day, and summed over dimensions.
    case stock = "Stock"
    /// Is read at the first day, and summed over dimensions.
    case opening = "Opening"
    /// Counts distinct things: read at the last day, never summed.
    case distinct = "Distinct"
    /// Counts what each period has by itself: never summed.
    case count = "Count"
    /// A share: never summed.
    case rate = "Rate"
    /// The share of columns in others, its comment says `Ratio: a / b` or `Ratio: (a + b) / (c + d)`: made anew from their
    /// sums.
    case ratio = "Ratio"
    /// Is true where it is true of every part.
    case every = "Every"
    /// Belongs to its row.
    case detail = "Detail"
  }

  /// A column of a report.
  public struct Column: Sendable, Equatable {
    /// The column's name.
    public let name: String
    /// Its type in the database, such as `bigint`.
    public let type: String
    /// What may be done with it.
    public let role: Role
    /// What it means.
    public let meaning: String

    var quoted: String { "\"" + name.replacingOccurrences(of: "\"", with: "\"\"") + "\"" }
    /// Whether it holds amounts in the reporting currency.
    var isConverted: Bool { name.hasSuffix("_converted") }
    /// Whether it means nothing without the currency of its row, in a report of which currency is a dimension.
    var isOfCurrency: Bool {
      switch role {
      case .flow, .whole, .stock, .opening: type == "numeric" && !isConverted
      case .detail: !["converted_to", "is_complete"].contains(name)
      default: false
      }
    }
    var isNumber: Bool { ["bigint", "integer", "smallint", "numeric"].contains(type) }
  }

  /// The report's name.
  public let name: String
  /// What it shows.
  public let meaning: String
  /// Its columns, in order.
  public let columns: [Column]

  var hasDays: Bool { columns.contains { $0.name == "day" } }
  /// The columns that name the kind of the periods that rows are of, and the first day of each; nil where rows are of days or
  /// of none.
  var periods: (kind: String, start: String)? {
    [("period", "starts_on"), ("cohort_by", "cohort_on")].first { column($0.0) != nil && column($0.1) != nil }
  }
  /// Whether its rows are single things, which can be counted, and not amounts.
  var isOfThings: Bool { columns.allSatisfy { [.dimension, .detail].contains($0.role) } }
  /// The column by which rows are newer than others: when they were received, else the first of the grain.
  var newest: Column? {
    column("received_at")
      ?? columns.first { $0.role == .dimension && !["app", "environment", "store"].contains($0.name) }
  }
  var hasPeriods: Bool { periods != nil }
  /// The column that says when a row's day or period begins; nil where rows are of none.
  var start: String? { hasDays ? "day" : periods?.start ?? column("month")?.name }
  func column(_ name: String) -> Column? { columns.first { $0.name == name } }
}

/// How the list of reports is written: name, meaning, and of each column name, role and meaning.
extension ReportShape: Encodable {
  private enum CodingKeys: String, CodingKey { case name, meaning, columns }
}

extension ReportShape.Column: Encodable {
  private enum CodingKeys: String, CodingKey { case name, role, meaning }
}

extension ReportShape.Role: Encodable {}
