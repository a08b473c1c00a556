import Foundation
import Postgres
import Report
import Vocabulary

/// `tenure explain`: the entries behind a figure of a report, each with what caused it.
struct ExplainCommand: Command {
  private static let dimensions = [
    ("store", "NAME", "only this store"), ("product", "ID", "only this product"),
    ("country", "CODE", "only this storefront"), ("offer", "TYPE", "only this type of offer, or none"),
    ("currency", "CODE", "only this currency"), ("kind", "NAME", "only this kind of charge"),
  ]

  static let syntax = CommandSyntax(
    "explain", summary: "shows the entries behind a figure, each with the event or transaction that caused it",
    operands: [OperandSyntax("REPORT", help: "the report that has the figure")],
    options: [
      OptionSyntax("on", value: "DAY", help: "the reporting day, such as 2026-01-31"),
      OptionSyntax(
        "by", value: "SPAN", help: "of churn: the day, week, month, quarter or year that --on is in"),
      OptionSyntax("column", value: "NAME", help: "only this figure, such as net (default: all that entries add to)"),
      OptionSyntax("app", value: "KEY", help: "only this app"),
      OptionSyntax("environment", value: "NAME", help: "the store's environment (default: Production)"),
    ]
      + dimensions.map { OptionSyntax($0.0, value: $0.1, help: $0.2) } + [
        OptionSyntax("all", help: "also entries that were reversed later, and what reversed them"),
        OptionSyntax("limit", value: "N", help: "at most so many entries (default: 50 in a table, all in JSON)"),
        OptionSyntax("format", value: "FORMAT", help: "table or json (default: table)"),
      ],
    notes: """
      What the filters leave is added up as the report would; of currencies, which are never added, choose one. The value
      unknown stands for what is not known. The changes add up to the figures exactly, or the command fails. Stocks are
      explained by the subscriptions that stood there at the end of the day; opening and closing of movements and of
      mrr_movement, and active_at_start of churn, with --column. Where tax or commission is estimated, or an amount converted,
      the rate stands beside it.
      """)

  private let query: ExplainQuery
  private let format: Explainer.Format

  init(_ arguments: Arguments) throws(UsageError) {
    guard let on = try arguments.day("on") else {
      throw UsageError("explain: --on is missing: the reporting day, such as --on 2026-01-31")
    }
    let by = try arguments.choice("by", among: ReportQuery.Span.allCases.map(\.rawValue))
    let environment = try arguments.choice("environment", among: StoreEnvironment.known.map(\.rawValue))
    let named = try arguments.choice("format", among: Explainer.Format.allCases.map(\.rawValue))
    format = named.flatMap(Explainer.Format.init) ?? (arguments.flag("json") ? .json : .table)
    var limit: Int?
    if let text = arguments.value("limit") {
      guard let number = Int(text), number > 0 else { throw UsageError("explain: --limit is a number, such as 50") }
      limit = number
    }
    var filters: [String: String] = [:]
    for (name, _, _) in Self.dimensions { filters[name] = arguments.value(name) }
    query = ExplainQuery(
      report: arguments.operands[0], on: on, by: by.flatMap(ReportQuery.Span.init), column: arguments.value("column"),
      filters: filters, app: arguments.value("app"), environment: environment.map(StoreEnvironment.init) ?? .production,
      includesReversed: arguments.flag("all"), limit: limit ?? (format == .table ? 50 : nil))
  }

  func run(_ context: Context) async throws -> ExitCode {
    try await context.withDatabase { database in
      let output = context.output
      do {
        try await Explainer(connection: database.open()).write(query, as: format) { try output.write($0) }
      } catch let error as ReportError {
        switch error {
        case .notAddedUp: throw Failure("explain: \(error)")
        case .unknownReport(let name, let known), .unknownFigure(let name, _, let known):
          throw UsageError("explain: \(error)\(Suggestion.hint(for: name, among: known))")
        default: throw UsageError("explain: \(error)")
        }
      }
      return .done
    }
  }
}
