import Report
import Vocabulary

/// What is asked of a report by an address: `/v1/reports/{name}?from=&to=&by=&group_by=&as_known_at=&format=`.
struct ReportRequest: Sendable {
  /// What is wrong with it.
  struct Problem: Error {
    let description: String
  }

  let query: ReportQuery
  let format: Reporter.Format

  init(name: String, _ parameters: [(name: String, value: String)]) throws(Problem) {
    var query = ReportQuery(name: name)
    var format = Reporter.Format.json
    var seen: Set<String> = []
    for (name, value) in parameters {
      guard seen.insert(name).inserted else { throw Problem(description: "\(name) is given twice") }
      // A form sends what was left empty too.
      if value.isEmpty { continue }
      // No text of the database holds one.
      guard !value.utf8.contains(0) else { throw Problem(description: "\(name) holds a NUL character") }
      switch name {
      case "from": query.from = try Self.day(name, value)
      case "to": query.to = try Self.day(name, value)
      case "by": query.by = try Self.choice(name, value, ReportQuery.Span.allCases)
      case "group_by": query.groupBy = value.split(separator: ",").map(String.init)
      case "app": query.app = value
      case "environment":
        guard StoreEnvironment.known.contains(StoreEnvironment(rawValue: value)) else {
          let known = StoreEnvironment.known.map(\.rawValue).joined(separator: ", ")
          throw Problem(description: "environment is one of \(known)")
        }
        query.environment = StoreEnvironment(rawValue: value)
      case "as_known_at":
        guard let moment = Instant(value) else {
          throw Problem(description: "\(name) is a moment, such as 2026-01-31T12:00:00Z")
        }
        query.asKnownAt = moment
      case "format": format = try Self.choice(name, value, [.json, .csv])
      default:
        throw Problem(
          description: """
            there is no parameter of that name; there are from, to, by, group_by, app, environment, as_known_at, format
            """)
      }
    }
    if let from = query.from, let to = query.to, from > to { throw Problem(description: "from comes after to") }
    self.query = query
    self.format = format
  }

  private static func day(_ name: String, _ value: String) throws(Problem) -> String {
    guard value.utf8.count == 10, Instant("\(value)T00:00:00Z") != nil else {
      throw Problem(description: "\(name) is a day, such as 2026-01-31")
    }
    return value
  }

  private static func choice<Value: RawRepresentable<String>>(
    _ name: String, _ value: String, _ known: [Value]
  ) throws(Problem) -> Value {
    guard let found = known.first(where: { $0.rawValue == value }) else {
      throw Problem(description: "\(name) is one of \(known.map(\.rawValue).joined(separator: ", "))")
    }
    return found
  }
}
