import Foundation
import Postgres

/// A figure of a report drawn as bars of text, one line per day or period, one chart for each combination of the other
/// dimensions. Charts in the same currency have the same scale.
struct ReportPlot: Sendable {
  /// A line of a chart.
  private struct Bar {
    let label: String
    /// The figure as the report has it; nil where it is unknown.
    let text: String?
    var shown: String { text ?? "–" }
    var length: Double { text.flatMap(Double.init) ?? 0 }
  }

  /// What one chart is of.
  private struct Chart {
    let heading: String
    let currency: String?
    var bars: [Bar]
  }

  private let column: ReportShape.Column
  private let width: Int
  private var charts: [Chart] = []

  /// Reads the rows of a report.
  ///
  /// - Parameters:
  ///   - name: The figure; nil for the first one that the report has and that is no opening.
  ///   - rows: Rows with those columns as texts.
  ///   - width: How many characters a line may have.
  /// - Throws: ``ReportError`` when the report has no such figure, or none over time.
  init(_ name: String?, of shape: ReportShape, columns: [ReportShape.Column], rows: [Row], width: Int) throws {
    let figures = columns.filter { $0.isNumber && $0.role != .dimension }
    guard let time = columns.first(where: { ["day", "starts_on", "cohort_on"].contains($0.name) }), !figures.isEmpty
    else {
      throw ReportError.nothingToPlot(report: shape.name)
    }
    if let name {
      guard let found = figures.first(where: { $0.name == name }) else {
        throw ReportError.noFigure(name, report: shape.name, known: figures.map(\.name))
      }
      column = found
    } else {
      column = figures.first { $0.role != .opening } ?? figures[0]
    }
    self.width = width
    let dimensions = columns.filter { $0.role == .dimension && $0.name != time.name }
    // What is the same in all rows need not be said.
    let told = dimensions.filter { dimension in Set(rows.map { $0[dimension.name] }).count > 1 }
    var places: [[String?]: Int] = [:]
    for row in rows {
      let key = dimensions.map { row[$0.name] }
      if places[key] == nil {
        places[key] = charts.count
        let heading = told.map { "\($0.name) \(row[$0.name] ?? "unknown")" }.joined(separator: ", ")
        let currency = columns.contains { $0.name == "currency" } ? row["currency"] : nil
        charts.append(Chart(heading: heading, currency: currency, bars: []))
      }
      charts[places[key] ?? 0].bars.append(Bar(label: row[time.name] ?? "", text: row[column.name]))
    }
  }

  /// Writes the charts.
  func write(_ write: (String) throws -> Void) throws {
    let bars = charts.flatMap(\.bars)
    let labelWidth = bars.map(\.label.count).max() ?? 0
    let textWidth = bars.map(\.shown.count).max() ?? 0
    let room = max(8, width - labelWidth - textWidth - 4)
    try write("\(column.name): \(column.meaning)\n")
    for (index, chart) in charts.enumerated() {
      let alike = charts.filter { $0.currency == chart.currency }.flatMap(\.bars).map(\.length)
      let low = min(0, alike.min() ?? 0)
      let high = max(0, alike.max() ?? 0)
      let scale = high > low ? Double(room) / (high - low) : 0
      if !chart.heading.isEmpty { try write((index > 0 ? "\n" : "") + chart.heading + "\n") }
      for bar in chart.bars {
        let drawn = Self.bar(bar.length * scale, zero: Int((-low * scale).rounded()))
        let line =
          bar.label + String(repeating: " ", count: labelWidth - bar.label.count + 2 + textWidth - bar.shown.count)
          + bar.shown + "  " + drawn
        try write(String(line.reversed().drop { $0 == " " }.reversed()) + "\n")
      }
    }
  }

  /// A bar of so many characters, to the eighth, to the right of the zero; to the whole, to its left.
  private static func bar(_ length: Double, zero: Int) -> String {
    if length < 0 {
      let count = min(zero, max(1, Int((-length).rounded())))
      return String(repeating: " ", count: zero - count) + String(repeating: "█", count: count)
    }
    var eighths = Int((length * 8).rounded())
    // What is not nothing is seen.
    if length > 0, eighths == 0 { eighths = 1 }
    let rest = eighths % 8
    return String(repeating: " ", count: zero) + String(repeating: "█", count: eighths / 8)
      + (rest == 0 ? "" : String(Array("▏▎▍▌▋▊▉")[rest - 1]))
  }
}
