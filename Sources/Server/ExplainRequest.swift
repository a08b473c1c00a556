import Report

/// What figure is to be explained by an address:
/// `/v1/explain/{report}?on=&by=&column=&app=&environment=&store=&product=&country=&offer=&currency=&kind=&all=&limit=`.
struct ExplainRequest: Sendable {
  private static let dimensions = ["store", "product", "country", "offer", "currency", "kind"]

  let query: ExplainQuery

  init(report: String, _ parameters: [(name: String, value: String)]) throws(QueryParameters.Problem) {
    let parameters = try QueryParameters(
      parameters, known: ["on", "by", "column", "app", "environment"] + Self.dimensions + ["all", "limit"])
    guard let day = try parameters.day("on") else {
      throw QueryParameters.Problem(description: "on is missing: the reporting day, such as 2026-01-31")
    }
    var filters: [String: String] = [:]
    for name in Self.dimensions { filters[name] = parameters[name] }
    query = ExplainQuery(
      report: report, on: day, by: try parameters.choice("by", ReportQuery.Span.allCases),
      column: parameters["column"], filters: filters, app: parameters["app"],
      environment: try parameters.environment(), includesReversed: try parameters.flag("all"),
      limit: try parameters.number("limit"))
  }
}
