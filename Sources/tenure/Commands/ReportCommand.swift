import Foundation
import Glibc
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
        help: "keep only these dimensions, such as product,country; days and currencies always stay apart; of single "
          + "things, such as deliveries, the rows of each kind are counted"),
      OptionSyntax("converted", help: "only amounts in the reporting currency, so that currencies are added"),
      OptionSyntax("last", value: "N", help: "only the newest N rows, the newest first"),
      OptionSyntax("app", value: "KEY", help: "only this app"),
      OptionSyntax("environment", value: "NAME", help: "the store's environment (default: Production)"),
      OptionSyntax(
        "as-known-at", value: "T", help: "as it stood at this moment, before what became known later restated it"),
      OptionSyntax("format", value: "FORMAT", help: "table, csv or json (default: table)"),
      OptionSyntax("plot", help: "draw a figure as bars in the terminal"),
      OptionSyntax("column", value: "NAME", help: "the figure to draw (default: the report's first)"),
    ],
    notes: """
      Reports are views of the schema report; each column says what it means: tenure report, or \\d+ report.NAME in psql.
      """)

  private let name: String?
  private let query: ReportQuery
  private let format: Reporter.Format
  /// Whether a figure is drawn, and which; the report's first where it is not named.
  private let isPlot: Bool
  private let column: String?

  init(_ arguments: Arguments) throws(UsageError) {
    name = arguments.operands.first
    let by = try arguments.choice("by", among: ReportQuery.Span.allCases.map(\.rawValue))
    let environment = try arguments.choice("environment", among: StoreEnvironment.known.map(\.rawValue))
    let groupBy = arguments.list("group-by")
    var last: Int?
    if let text = arguments.value("last") {
      guard let number = Int(text), number > 0 else { throw UsageError("report: --last is a number, such as 20") }
      last = number
    }
    query = ReportQuery(
      name: name ?? "", from: try arguments.day("from"), to: try arguments.day("to"),
      by: by.flatMap(ReportQuery.Span.init), groupBy: groupBy.isEmpty ? nil : groupBy, app: arguments.value("app"),
      environment: environment.map(StoreEnvironment.init) ?? .production,
      asKnownAt: try arguments.instant("as-known-at"), isConverted: arguments.flag("converted"), last: last)
    if let from = query.from, let to = query.to, from > to {
      throw UsageError("report: --from \(from) comes after --to \(to)")
    }
    let named = try arguments.choice("format", among: Reporter.Format.allCases.map(\.rawValue))
    format = named.flatMap(Reporter.Format.init) ?? (arguments.flag("json") ? .json : .table)
    isPlot = arguments.flag("plot")
    column = arguments.value("column")
    if isPlot, named != nil || arguments.flag("json") { throw UsageError("report: --plot is a format of its own") }
    if isPlot, name == nil { throw UsageError("report: --plot needs the report whose figure is drawn") }
    if column != nil, !isPlot { throw UsageError("report: --column goes with --plot") }
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
        if isPlot {
          try await reporter.plot(query, column: column, width: Self.width) { try output.write($0) }
        } else {
          try await reporter.write(query, as: format) { try output.write($0) }
        }
      } catch let error as ReportError {
        switch error {
        case .unknownReport(let name, let known), .noFigure(let name, _, let known):
          throw UsageError("report: \(error)\(Suggestion.hint(for: name, among: known))")
        default: throw UsageError("report: \(error)")
        }
      }
      return .done
    }
  }

  /// How many characters a line of the terminal has; 80 where there is none.
  private static var width: Int {
    var size = winsize()
    return ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 0 ? Int(size.ws_col) : 80
  }

  private func list(_ shapes: [ReportShape], _ context: Context) throws {
    if format == .json {
      try context.output.json(shapes)
    } else {
      try context.output.table(["report", "what it shows"], shapes.map { [$0.name, $0.meaning] })
    }
  }
}
