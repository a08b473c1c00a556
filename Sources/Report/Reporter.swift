import Foundation
public import Postgres
import Vocabulary

/// Reads reports.
public struct Reporter: Sendable {
  /// How a report is written.
  public enum Format: String, Sendable, CaseIterable {
    /// Columns for people.
    case table
    /// RFC 4180, with a header.
    case csv
    /// One array of objects.
    case json
  }

  private let connection: Connection

  /// Creates a reporter.
  public init(connection: Connection) { self.connection = connection }

  /// Every report there is, by name.
  ///
  /// - Throws: `PostgresError` when the database fails.
  public func shapes() async throws -> [ReportShape] {
    let rows = try await connection.query(
      """
      select
        pg_class.relname as view,
        obj_description(pg_class.oid, 'pg_class') as meaning,
        pg_attribute.attname as name,
        format_type(pg_attribute.atttypid, null) as type,
        col_description(pg_class.oid, pg_attribute.attnum) as comment
      from pg_class
      inner join pg_namespace on pg_namespace.oid = pg_class.relnamespace
      inner join pg_attribute on pg_attribute.attrelid = pg_class.oid
      where
        pg_namespace.nspname = 'report' and pg_class.relkind = 'v'
        and pg_attribute.attnum > 0 and not pg_attribute.attisdropped
      order by pg_class.relname, pg_attribute.attnum
      """)
    var shapes: [ReportShape] = []
    var columns: [ReportShape.Column] = []
    for (index, row) in rows.enumerated() {
      let comment = try row.optionalText("comment") ?? ""
      let word = comment.prefix { $0 != ":" }
      columns.append(
        ReportShape.Column(
          name: try row.text("name"), type: try row.text("type"),
          role: ReportShape.Role(rawValue: String(word)) ?? .detail,
          meaning: String(comment.dropFirst(word.count + 2))))
      let view = try row.text("view")
      if index + 1 == rows.count || rows[index + 1]["view"] != view {
        shapes.append(
          ReportShape(name: view, meaning: try row.optionalText("meaning") ?? "", columns: columns))
        columns = []
      }
    }
    return shapes
  }

  /// Whether figures have been made at all.
  ///
  /// - Throws: `PostgresError` when the database fails.
  public func hasRun() async throws -> Bool {
    try await !connection.query("select from measure.latest").isEmpty
  }

  /// Writes a report.
  ///
  /// Rows are read and written as they come: memory does not grow with the report. A report as it was known at a moment is made
  /// of temporary tables, which stay until the connection is closed or asked for another.
  ///
  /// - Parameters:
  ///   - query: What is asked.
  ///   - format: How it is written.
  ///   - write: Takes the next piece of the text.
  /// - Throws: ``ReportError``, what `write` throws, or a `PostgresError`.
  public func write(
    _ query: ReportQuery, as format: Format, to write: @Sendable (String) throws -> Void
  ) async throws {
    let (_, columns, sql, parameters) = try await statement(query)
    let writer = ReportWriter(columns: columns)
    switch format {
    case .json: try await writeJSON(writer, sql, parameters, write)
    case .csv:
      try write(writer.csvHeader)
      try await connection.forEachRow(writer.textual(sql), parameters) { row in try write(writer.csvLine(row)) }
    case .table: try await writeTable(writer, sql, parameters, write)
    }
  }

  /// Draws a figure of a report as bars of text, one for each day or period.
  ///
  /// - Parameters:
  ///   - query: What is asked.
  ///   - column: The figure; `nil` for the report's first one that is no opening.
  ///   - width: How many characters a line may have.
  ///   - write: Takes the next piece of the text.
  /// - Throws: ``ReportError``, what `write` throws, or a `PostgresError`.
  public func plot(
    _ query: ReportQuery, column: String?, width: Int, to write: @Sendable (String) throws -> Void
  ) async throws {
    let (shape, columns, sql, parameters) = try await statement(query)
    let rows = try await connection.query(ReportWriter(columns: columns).textual(sql), parameters)
    try ReportPlot(column, of: shape, columns: columns, rows: rows, width: width).write(write)
  }

  /// The report that is asked for, and the statement that gives its rows.
  private func statement(
    _ query: ReportQuery
  ) async throws -> (shape: ReportShape, columns: [ReportShape.Column], sql: String, parameters: [Parameter]) {
    let shapes = try await shapes()
    guard let shape = shapes.first(where: { $0.name == query.name }) else {
      throw ReportError.unknownReport(query.name, known: shapes.map(\.name))
    }
    if let moment = query.asKnownAt { try await restore(shape, asKnownAt: moment) }
    // What stood before the first day that is asked for is summed at once, not day by day.
    try await connection.query("select set_config('tenure.from', $1, false)", [.text(query.from ?? "")])
    let (columns, sql, parameters) = try query.statement(for: shape)
    return (shape, columns, sql, parameters)
  }

  /// Makes the report as it stood after the last run that had finished by a moment, for the connection alone.
  private func restore(_ shape: ReportShape, asKnownAt moment: Instant) async throws {
    try await connection.execute("discard temp")
    let run = try await connection.query(
      "select max(run_id) as run_id from measure.run where outcome = 'done' and finished_at <= $1",
      [.timestamp(microseconds: moment.microseconds)])[0].optionalInt("run_id")
    guard let run else { throw ReportError.nothingKnown(at: moment) }
    do {
      try await connection.query("call measure.restore($1, $2)", [.text(shape.name), .int(run)])
    } catch let error as PostgresError where error.sqlState == "0A000" {
      throw ReportError.notRestorable(report: shape.name)
    }
  }

  private func writeJSON(
    _ writer: ReportWriter, _ sql: String, _ parameters: [Parameter], _ write: @Sendable (String) throws -> Void
  ) async throws {
    var isFirst = true
    try write("[")
    try await connection.forEachRow(writer.objects(sql), parameters) { row in
      try write((isFirst ? "\n" : ",\n") + (row[0] ?? "null"))
      isFirst = false
    }
    try write(isFirst ? "]\n" : "\n]\n")
  }

  /// Widths are taken from the first thousand rows; a later value that is wider pushes its line out.
  private func writeTable(
    _ writer: ReportWriter, _ sql: String, _ parameters: [Parameter], _ write: @Sendable (String) throws -> Void
  ) async throws {
    var head: [Row] = []
    var widths: [Int]?
    try await connection.forEachRow(writer.textual(sql), parameters) { row in
      if let widths {
        try write(writer.tableLine(row.values, widths))
      } else {
        head.append(row)
        if head.count == 1000 {
          widths = try writer.writeHead(head.map(\.values), write)
          head = []
        }
      }
    }
    if widths == nil { _ = try writer.writeHead(head.map(\.values), write) }
  }
}
