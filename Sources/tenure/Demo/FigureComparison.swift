import Demo
import Foundation
import Report
import Synchronization

/// Compares what the books of the demo say with what the reports say.
struct FigureComparison: Sendable {
  /// A figure about which the two do not agree.
  struct Difference: Sendable, Encodable {
    let report: String
    let row: String
    let column: String
    let books: Decimal
    let reported: Decimal
  }

  /// How many figures were compared.
  private(set) var count = 0
  /// Those that differ.
  private(set) var differences: [Difference] = []

  /// Puts down one more figure.
  mutating func compare(_ report: String, row: String, _ column: String, books: Decimal, reported: Decimal) {
    count += 1
    if books != reported {
      differences.append(
        Difference(report: report, row: row, column: column, books: books, reported: reported))
    }
  }

  /// Compares one report, asked as `tenure report` asks it.
  mutating func compare(_ sheet: Books.Sheet, _ reporter: Reporter, app: String) async throws {
    let text = Mutex("")
    try await reporter.write(
      ReportQuery(
        name: sheet.report, by: sheet.by.flatMap(ReportQuery.Span.init), groupBy: sheet.groupBy, app: app),
      as: .json
    ) { part in text.withLock { $0 += part } }
    var reported: [[String]: [Decimal]] = [:]
    for row in try JSONDecoder().decode([[String: Cell]].self, from: Data(text.withLock { $0 }.utf8)) {
      let key = sheet.keys.map { row[$0]?.text ?? "" }
      if sheet.columns.isEmpty {
        reported[key, default: [0]][0] += 1
      } else {
        reported[key] = sheet.columns.map { row[$0]?.number ?? 0 }
      }
    }
    let columns = sheet.columns.isEmpty ? ["rows"] : sheet.columns
    let zeros = columns.map { _ in Decimal(0) }
    for key in Set(sheet.rows.keys).union(reported.keys).sorted(by: { $0.lexicographicallyPrecedes($1) }) {
      for (column, (books, reported)) in zip(columns, zip(sheet.rows[key] ?? zeros, reported[key] ?? zeros)) {
        compare(sheet.report, row: key.joined(separator: " "), column, books: books, reported: reported)
      }
    }
  }

  /// One value of a report in JSON.
  private struct Cell: Decodable {
    let text: String
    let number: Decimal?

    init(from decoder: any Decoder) throws {
      let container = try decoder.singleValueContainer()
      if container.decodeNil() {
        (text, number) = ("", nil)
      } else if let flag = try? container.decode(Bool.self) {
        (text, number) = ("\(flag)", nil)
      } else if let number = try? container.decode(Decimal.self) {
        (text, self.number) = ("\(number)", number)
      } else {
        (text, number) = (try container.decode(String.self), nil)
      }
    }
  }
}
