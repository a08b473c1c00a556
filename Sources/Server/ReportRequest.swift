import Report

/// What is asked of a report by an address:
/// `/v1/reports/{name}?from=&to=&by=&group_by=&app=&environment=&as_known_at=&converted=&last=&format=`.
struct ReportRequest: Sendable {
  let query: ReportQuery
  let format: Reporter.Format

  init(name: String, _ parameters: [(name: String, value: String)]) throws(QueryParameters.Problem) {
    let parameters = try QueryParameters(
      parameters,
      known: ["from", "to", "by", "group_by", "app", "environment", "as_known_at", "converted", "last", "format"])
    query = ReportQuery(
      name: name, from: try parameters.day("from"), to: try parameters.day("to"),
      by: try parameters.choice("by", ReportQuery.Span.allCases),
      groupBy: parameters["group_by"]?.split(separator: ",").map(String.init), app: parameters["app"],
      environment: try parameters.environment(), asKnownAt: try parameters.instant("as_known_at"),
      isConverted: try parameters.flag("converted"), last: try parameters.number("last"))
    format = try parameters.choice("format", [.json, .csv]) ?? .json
    if let from = query.from, let to = query.to, from > to {
      throw QueryParameters.Problem(description: "from comes after to")
    }
  }
}
