import Foundation
public import Postgres

/// Explains figures of reports by the entries they are the sums of, and the events that caused those.
///
/// The figures are those of one row of a report, or of the rows of a day brought together as the report itself would be. What
/// the entries add up to is compared with them each time, in the same snapshot, before anything is written.
public struct Explainer: Sendable {
  /// How an explanation is written.
  public enum Format: String, Sendable, CaseIterable {
    /// Lines for people.
    case table
    /// One object: `report`, `cell`, `entries`, `sum`.
    case json
  }

  private let connection: Connection

  /// Creates an explainer.
  public init(connection: Connection) { self.connection = connection }

  /// Writes an explanation.
  ///
  /// - Parameters:
  ///   - query: What is to be explained.
  ///   - format: How it is written.
  ///   - write: Takes the next piece of the text.
  /// - Throws: ``ReportError``, what `write` throws, or a `PostgresError`.
  public func write(
    _ query: ExplainQuery, as format: Format, to write: @Sendable (String) throws -> Void
  ) async throws {
    let shapes = try await Reporter(connection: connection).shapes()
    guard let shape = shapes.first(where: { $0.name == query.report }) else {
      throw ReportError.unknownReport(query.report, known: shapes.map(\.name))
    }
    let asked = try Asked(query, of: shape)
    try await connection.transaction(.repeatableRead) { connection in
      let cell = try Self.cell(asked, connection)
      let account = Account(asked, cell)
      let sums = try Self.sums(asked, account, cell, connection)
      switch format {
      case .json: try Self.writeJSON(asked, account, cell, sums, connection, write)
      case .table: try Self.writeTable(asked, account, cell, sums, connection, write)
      }
    }
  }

  // MARK: - What is asked

  /// A query that the report can answer.
  private struct Asked: Sendable {
    let query: ExplainQuery
    let shape: ReportShape
    let explanation: Explanation
    /// The figures that are explained: the report's columns and what the explanation's file calls them.
    let figures: [(column: ReportShape.Column, file: String)]
    /// The chosen values by the report's columns.
    let filters: [String: String]
    /// The rates that any of the figures depends on.
    var rates: [String] {
      let rates = figures.flatMap { Explanation.rates[$0.column.name] ?? [] }
      return rates.enumerated().filter { !rates.prefix($0.offset).contains($0.element) }.map(\.element)
    }

    init(_ query: ExplainQuery, of shape: ReportShape) throws {
      self.query = query
      self.shape = shape
      guard let explanations = Explanation.all[shape.name] else {
        throw ReportError.notMadeOfEntries(report: shape.name, known: Explanation.all.keys.sorted())
      }
      explanation = try Self.choose(query.column, among: explanations, of: shape)
      figures = explanation.columns.compactMap { names in
        guard let column = shape.column(names.report), query.column == nil || query.column == names.report else {
          return nil
        }
        return (column, names.file)
      }
      if shape.hasPeriods, query.by == nil { throw ReportError.periodNotChosen(report: shape.name) }
      if !shape.hasPeriods, query.by != nil { throw ReportError.daysOnly(report: shape.name) }
      if query.includesReversed, !explanation.hasReversed { throw ReportError.withoutReversed(report: shape.name) }
      let dimensions = shape.columns.filter { $0.role == .dimension }.map(\.name)
      var filters: [String: String] = [:]
      for (name, value) in query.filters {
        guard let column = dimensions.first(where: { $0 == name || $0 == name + "_id" }) else {
          let known = dimensions.filter { !["app", "environment", "day", "period", "starts_on"].contains($0) }
          throw ReportError.unknownFilter(name, report: shape.name, known: known.map(Self.option))
        }
        filters[column] = value
      }
      self.filters = filters
    }

    private static func choose(
      _ column: String?, among explanations: [Explanation], of shape: ReportShape
    ) throws -> Explanation {
      guard let column else { return explanations[0] }
      if let explanation = explanations.first(where: { $0.columns.contains { $0.report == column } }) {
        return explanation
      }
      if let ratio = shape.column(column), [.ratio, .rate].contains(ratio.role) {
        throw ReportError.notASum(figure: column, report: shape.name, meaning: ratio.meaning)
      }
      throw ReportError.unknownFigure(
        column, report: shape.name, known: explanations.flatMap { $0.columns.map(\.report) })
    }

    /// The option that chooses a value of a dimension.
    static func option(_ column: String) -> String { column == "product_id" ? "product" : column }

    /// The day or the first day of the period, when the figures are told of it; the day before it otherwise.
    func bounds(_ connection: isolated Connection) throws -> (first: String, told: String) {
      let row = try connection.query(
        """
        select first_day::text as first, (first_day - $3::integer)::text as told
        from (select date_trunc($2::text, $1::date::timestamp)::date as first_day) as bounds
        """,
        [.text(query.on), .text((query.by ?? .day).rawValue), .text(explanation.isBefore ? "1" : "0")])[0]
      return (try row.text("first"), try row.text("told"))
    }
  }

  // MARK: - The cell

  /// The figures as the report shows them.
  private struct Cell: Sendable {
    /// The columns and their values as texts.
    let columns: [ReportShape.Column]
    let values: [String?]
    /// The same as an object.
    let json: String
    /// The day that its entries are of, or end with.
    let told: String

    subscript(name: String) -> String? {
      columns.firstIndex { $0.name == name }.flatMap { values[$0] }
    }
  }

  private static func cell(_ asked: Asked, _ connection: isolated Connection) throws -> Cell {
    let query = asked.query
    let bounds = try asked.bounds(connection)
    var report = ReportQuery(
      name: asked.shape.name, from: bounds.first, to: bounds.first, by: query.by, app: query.app,
      environment: query.environment)
    report.filters = asked.filters
    // What is counted over periods or people is shown as it stands; all else as if grouped by what was chosen.
    if !asked.shape.hasPeriods, !asked.shape.columns.contains(where: { $0.role == .distinct }) {
      report.groupBy = asked.filters.keys.sorted()
    }
    let (columns, sql, parameters) = try report.statement(for: asked.shape)
    let writer = ReportWriter(columns: columns)
    let rows = try connection.query(writer.textual(sql), parameters)
    guard !rows.isEmpty else { throw ReportError.noRow(report: asked.shape.name, on: query.on) }
    // Of several rows those count in which there is anything.
    let told = rows.indices.filter { index in
      columns.contains { column in
        column.isNumber && column.role != .dimension && !isNothing(rows[index][column.name])
      }
    }
    guard told.count < 2 else {
      throw ReportError.severalRows(
        report: asked.shape.name, on: query.on, choices: choices(columns, told.map { rows[$0] }))
    }
    let index = told.first ?? 0
    let json = try connection.query(writer.objects(sql), parameters)[index][0] ?? "null"
    return Cell(columns: columns, values: rows[index].values, json: json, told: bounds.told)
  }

  /// The dimensions in which rows differ, and their values in them.
  private static func choices(_ columns: [ReportShape.Column], _ rows: [Row]) -> [String: [String]] {
    var choices: [String: [String]] = [:]
    for column in columns where column.role == .dimension {
      let values = Set(rows.map { $0[column.name] ?? "unknown" })
      if values.count > 1 { choices[Asked.option(column.name)] = values.sorted() }
    }
    return choices
  }

  private static func isNothing(_ value: String?) -> Bool { value == nil || value == "0" }

  // MARK: - The entries

  /// The statement whose expression `counted` is the entries behind the cell.
  private struct Account: Sendable {
    let expressions: String
    let parameters: [Parameter]
    /// What an entry adds to each figure; null where it adds nothing.
    let changes: [String]

    init(_ asked: Asked, _ cell: Cell) {
      var parameters: [Parameter] = [
        .text(cell.told), .text(asked.explanation.isBefore ? "day" : (asked.query.by ?? .day).rawValue),
        .bool(asked.query.includesReversed),
      ]
      var conditions: [String] = asked.query.includesReversed ? [] : ["is_standing"]
      for column in cell.columns where column.role == .dimension {
        if ["day", "period", "starts_on"].contains(column.name) { continue }
        if let value = cell[column.name] {
          parameters.append(.text(value))
          conditions.append("\(column.quoted) = $\(parameters.count)")
        } else if !["app", "environment", "store"].contains(column.name) {
          conditions.append("coalesce(\(column.quoted), '') = ''")
        }
      }
      // Of what the report does not know, for want of a part, no entry tells another part.
      let known = asked.figures.filter { cell[$0.column.name] != nil }.map { "coalesce(\"\($0.file)\", 0) <> 0" }
      let adds = known.isEmpty ? "false" : known.joined(separator: " or ")
      changes = asked.figures.map { figure in
        cell[figure.column.name] == nil ? "null::numeric" : "nullif(trim_scale(told.\"\(figure.file)\"::numeric), 0)"
      }
      expressions = """
        \(Explanation.expressions),
        explained as not materialized (
          select
            told.*, app.app_id, app.app_key as app, chain.environment, chain.store, chain.original_transaction_id,
            (told.at at time zone (select zone from asked))::date as day
          from "\(asked.explanation.file)" as told
          inner join fact.chain as chain using (subscription_key)
          inner join ingest.app as app using (app_id)
        ),
        counted as not materialized (
          select * from explained where \((conditions + ["(\(adds))"]).joined(separator: " and "))
        )
        """
      self.parameters = parameters
    }

    /// The statement for the entries in order, each with its cause.
    func entries(_ columns: [String], limit: Int?) -> String {
      """
      \(expressions)
      select \(columns.joined(separator: ", "))
      from (
        select * from counted order by at, entry_id\(limit.map { " limit \($0)" } ?? "")
      ) as told
      left join lateral ledger.cause(
        told.subscription_key, told.transaction_id, told.happened, told.at
      ) as cause on true
      left join ingest.event as event
        on
          event.app_id = told.app_id and event.source = cause.source and event.event_id = cause.event_id
          and event.subscription_key = told.subscription_key
      order by told.at, told.entry_id
      """
    }
  }

  /// What the entries add up to.
  private struct Sums: Sendable {
    let entries: Int64
    /// The sum of each figure as text, and whether any entry adds to it.
    let figures: [(sum: String?, isMoved: Bool)]
  }

  private static func sums(
    _ asked: Asked, _ account: Account, _ cell: Cell, _ connection: isolated Connection
  ) throws -> Sums {
    let row = try connection.query(
      """
      \(account.expressions)
      select
        count(*) as entries,
        \(account.changes.map { "trim_scale(sum(\($0)))::text" }.joined(separator: ", ")),
        \(account.changes.map { "count(\($0)) > 0" }.joined(separator: ", "))
      from counted as told
      """, account.parameters)[0]
    let count = asked.figures.count
    let sums = Sums(
      entries: try row.int("entries"), figures: (0..<count).map { (row[1 + $0], row[1 + count + $0] == "t") })
    for (figure, found) in zip(asked.figures, sums.figures) {
      let said = cell[figure.column.name] ?? "0"
      guard said == found.sum ?? "0" else {
        throw ReportError.notAddedUp(
          figure: figure.column.name, report: asked.shape.name, on: asked.query.on, said: said, found: found.sum ?? "0")
      }
    }
    return sums
  }

  // MARK: - JSON

  private static func writeJSON(
    _ asked: Asked, _ account: Account, _ cell: Cell, _ sums: Sums, _ connection: isolated Connection,
    _ write: @Sendable (String) throws -> Void
  ) throws {
    let change = zip(asked.figures, account.changes).map { "\($1) as \($0.column.quoted)" }
    let rates =
      asked.rates.isEmpty
      ? ""
      : """
      json_strip_nulls(
        (select row_to_json(rates) from (select \(asked.rates.map { "told.\($0)" }.joined(separator: ", "))) as rates)
      ) as rates,
      """
    let columns = """
      (
        select row_to_json(entry) from (
          select
            told.entry_id, told.run_id, \(ReportWriter.moment("told.at")) as at, told.happened as kind,
            told.subscription_key::text as subscription_id, told.original_transaction_id,
            json_strip_nulls(
              (select row_to_json(change) from (select \(change.joined(separator: ", "))) as change)
            ) as change,
            \(rates)
            (
              select row_to_json(caused) from (
                select cause.event_id, told.transaction_id, cause.source, event.raw_kind
              ) as caused
            ) as cause
        ) as entry
      )::text
      """
    try write("{\"report\":\"\(asked.shape.name)\",\n\"cell\":\(cell.json),\n\"entries\":[")
    var isFirst = true
    try connection.forEachRow(account.entries([columns], limit: asked.query.limit), account.parameters) { row in
      try write((isFirst ? "\n" : ",\n") + (row[0] ?? "null"))
      isFirst = false
    }
    // Where the report knows no figure, no entry tells one.
    let members = zip(asked.figures, sums.figures).map { figure, found in
      let value = cell[figure.column.name] == nil ? "null" : found.sum ?? "0"
      return "\"\(figure.column.name)\":\(value)"
    }
    try write((isFirst ? "" : "\n") + "],\n\"sum\":{\(members.joined(separator: ","))}}\n")
  }

  // MARK: - Table

  private static func writeTable(
    _ asked: Asked, _ account: Account, _ cell: Cell, _ sums: Sums, _ connection: isolated Connection,
    _ write: @Sendable (String) throws -> Void
  ) throws {
    let dimensions = cell.columns.filter { $0.role == .dimension && !["day", "starts_on"].contains($0.name) }
      .compactMap { column in cell[column.name].map { "\(Asked.option(column.name)) \($0)" } }
    let explained = zip(asked.figures, zip(account.changes, sums.figures)).map { ($0, $1.0, $1.1) }
    let moved = explained.filter { $0.2.isMoved }
    let rates = asked.rates.filter { rate in
      moved.contains { Explanation.rates[$0.0.column.name]?.contains(rate) == true }
    }
    let figures = cell.columns.filter { column in
      column.role != .dimension && column.isNumber
        && (!isNothing(cell[column.name]) || moved.contains { $0.0.column.name == column.name })
    }
    .map { "\($0.name) \(cell[$0.name] ?? "unknown")" }
    let day = cell["day"] ?? cell["starts_on"] ?? asked.query.on
    try write(
      "\(asked.shape.name) \(asked.query.by == nil ? "on" : "from") \(day): \(dimensions.joined(separator: ", "))\n")
    try write((figures.isEmpty ? "nothing but zeros" : figures.joined(separator: ", ")) + "\n\n")
    guard sums.entries > 0 else { return try write("No entry adds to it.\n") }

    func text(_ name: String) -> ReportShape.Column {
      ReportShape.Column(name: name, type: "text", role: .detail, meaning: "")
    }
    let writer = ReportWriter(
      columns: ["at", "day", "what", "subscription_id", "original_transaction_id", "product_id"].map(text)
        + moved.map(\.0.column) + (rates.isEmpty ? [] : [text("at rates of")]) + [text("because of")])
    var rows: [[String?]] = []
    let statement = account.entries(
      [
        ReportWriter.moment("told.at"), "told.day::text", "replace(told.happened, '_', ' ')",
        "told.subscription_key::text", "told.original_transaction_id", "told.product_id",
      ] + moved.map { "\($0.1)::text" }
        + (rates.isEmpty
          ? []
          : [
            "concat_ws(', ', "
              + rates.map { "'\($0.replacing("_rate", with: "")) ' || trim_scale(told.\($0))" }.joined(separator: ", ")
              + ")"
          ]) + [
          """
          case
            when cause.event_id is null then 'transaction ' || told.transaction_id
            else concat_ws(' ', coalesce(event.raw_kind, event.kind), '(' || cause.source || ' ' || cause.event_id || ')')
          end
          """
        ], limit: asked.query.limit)
    try connection.forEachRow(statement, account.parameters) { rows.append($0.values) }
    let nothing: [String?] = Array(repeating: nil, count: 5)
    let rest = sums.entries - Int64(rows.count)
    let noRates: [String?] = rates.isEmpty ? [] : [nil]
    if rest > 0 { rows.append(["… and \(rest) more"] + nothing + moved.map { _ in "…" } + noRates + [nil]) }
    rows.append(["="] + nothing + moved.map { $0.2.sum } + noRates + [cell["currency"]])
    _ = try writer.writeHead(rows, write)
  }
}
