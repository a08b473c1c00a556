import Foundation
import Postgres
import Report
import Vocabulary

/// `tenure report`: lists the reports, or prints one.
struct ReportCommand: Command {
  static let syntax = CommandSyntax(
    "report", summary: "lists the reports, or prints one",
    operands: [OperandSyntax("NAME", .optional, help: "the report; without it the reports are listed")],
    options: [
      OptionSyntax("from", value: "DAY", help: "the first reporting day, such as 2026-01-31"),
      OptionSyntax("to", value: "DAY", help: "the last reporting day"),
      OptionSyntax(
        "by", value: "SPAN", help: "day, week (from Monday), month, quarter or year: stocks at the end, flows summed"),
      OptionSyntax(
        "group-by", value: "COLUMNS", isRepeatable: true,
        help: "keep only these dimensions, such as product,country; days and currencies always stay apart"),
      OptionSyntax("app", value: "KEY", help: "only this app"),
      OptionSyntax("environment", value: "NAME", help: "the store's environment (default: Production)"),
      OptionSyntax(
        "as-known-at", value: "T", help: "as it stood at this moment, before what became known later restated it"),
      OptionSyntax("format", value: "FORMAT", help: "table, csv or json (default: table)"),
    ],
    notes: """
      Reports are views of the schema report; each column says what it means: tenure report, or \\d+ report.NAME in psql.
      """)

  private let name: String?
  private let query: ReportQuery
  private let format: Reporter.Format

  init(_ arguments: Arguments) throws(UsageError) {
    name = arguments.operands.first
    let by = try arguments.choice("by", among: ReportQuery.Span.allCases.map(\.rawValue))
    let environment = try arguments.choice("environment", among: StoreEnvironment.known.map(\.rawValue))
    let groupBy = arguments.list("group-by")
    query = ReportQuery(
      name: name ?? "", from: try arguments.day("from"), to: try arguments.day("to"),
      by: by.flatMap(ReportQuery.Span.init), groupBy: groupBy.isEmpty ? nil : groupBy, app: arguments.value("app"),
      environment: environment.map(StoreEnvironment.init) ?? .production,
      asKnownAt: try arguments.instant("as-known-at"))
    if let from = query.from, let to = query.to, from > to {
      throw UsageError("report: --from \(from) comes after --to \(to)")
    }
    let named = try arguments.choice("format", among: Reporter.Format.allCases.map(\.rawValue))
    format = named.flatMap(Reporter.Format.init) ?? (arguments.flag("json") ? .json : .table)
  }

  func run(_ context: Context) async throws -> ExitCode {
    try await context.withDatabase { database in
      let connection = try await database.open()
      let reporter = Reporter(connection: connection)
      guard name != nil else {
        try list(try await reporter.shapes(), context)
        return .done
      }
      if let app = query.app {
        let known = try await connection.query("select app_key from ingest.app order by app_key").compactMap { $0[0] }
        guard known.contains(app) else {
          let hint = known.isEmpty ? "; no app has sent anything yet" : "; there are \(known.joined(separator: ", "))"
          throw UsageError("report: there is no app \"\(app)\"\(hint)")
        }
      }
      if try await !reporter.hasRun() {
        context.log.warning("no figures have been made yet; run: tenure measure")
      }
      let output = context.output
      do {
        try await reporter.write(query, as: format) { try output.write($0) }
      } catch let error as ReportError {
        if case .unknownReport(let name, let known) = error {
          throw UsageError("report: \(error)\(Suggestion.hint(for: name, among: known))")
        }
        throw UsageError("report: \(error)")
      }
      return .done
    }
  }

  private func list(_ shapes: [ReportShape], _ context: Context) throws {
    if format == .json {
      try context.output.json(shapes)
    } else {
      try context.output.table(["report", "what it shows"], shapes.map { [$0.name, $0.meaning] })
    }
  }
}
