import Foundation
import Postgres

/// Writes the rows of a report as text.
struct ReportWriter: Sendable {
  let columns: [ReportShape.Column]

  /// A moment as RFC 3339 in UTC, the same in every format.
  static func moment(_ expression: String) -> String {
    "to_char(\(expression) at time zone 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"')"
  }

  /// The statement with every column as text.
  func textual(_ sql: String) -> String {
    let list = columns.map { column in
      switch column.type {
      case "timestamp with time zone": "\(Self.moment(column.quoted)) as \(column.quoted)"
      case "boolean":
        "case when \(column.quoted) then 'true' when not \(column.quoted) then 'false' end as \(column.quoted)"
      case "text[]": "array_to_string(\(column.quoted), ' ') as \(column.quoted)"
      default: "\(column.quoted)::text as \(column.quoted)"
      }
    }
    return "select \(list.joined(separator: ", ")) from (\n\(sql)\n) as report"
  }

  /// The statement with one JSON object per row, its members in the order of the columns.
  func objects(_ sql: String) -> String {
    let list = columns.map { column in
      column.type == "timestamp with time zone"
        ? "\(Self.moment(column.quoted)) as \(column.quoted)" : column.quoted
    }
    return """
      select row_to_json(written)::text from (
      select \(list.joined(separator: ", ")) from (
      \(sql)
      ) as report) as written
      """
  }

  // MARK: - CSV

  var csvHeader: String { columns.map(\.name).map(Self.csvField).joined(separator: ",") + "\n" }

  func csvLine(_ row: Row) -> String {
    row.values.map { $0.map(Self.csvField) ?? "" }.joined(separator: ",") + "\n"
  }

  /// Quoted where RFC 4180 asks for it; an empty text is quoted to tell it from none.
  private static func csvField(_ text: String) -> String {
    guard text.isEmpty || text.contains(where: { ",\"\r\n".contains($0) }) else { return text }
    return "\"" + text.replacingOccurrences(of: "\"", with: "\"\"") + "\""
  }

  // MARK: - Table

  func writeHead(_ rows: [[String?]], _ write: (String) throws -> Void) throws -> [Int] {
    let widths = columns.indices.map { index in
      max(columns[index].name.count, rows.map { $0[index]?.count ?? 0 }.max() ?? 0)
    }
    try write(tableLine(columns.map(\.name), widths))
    for row in rows { try write(tableLine(row, widths)) }
    return widths
  }

  func tableLine(_ values: [String?], _ widths: [Int]) -> String {
    var line = ""
    for (index, value) in values.enumerated() {
      let text = (value ?? "").map { $0.isNewline ? " " : $0 }
      let padding = String(repeating: " ", count: max(0, widths[index] - text.count))
      if index > 0 { line += "  " }
      line += columns[index].isNumber ? padding + text : text + padding
    }
    while line.last == " " { line.removeLast() }
    return line + "\n"
  }
}
