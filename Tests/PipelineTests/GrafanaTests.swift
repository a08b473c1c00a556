import Foundation
import Postgres
import TestSupport
import Testing

/// The dashboards for Grafana, without Grafana: each panel's SQL is run on a measured year as the login it would be run by, and
/// says what `tenure report` says.
@Suite("Grafana dashboards", .fewAtOnce)
struct GrafanaTests {
  private static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().appending(path: "dashboards/grafana")

  // MARK: - What is read of a dashboard

  private struct Dashboard: Decodable {
    struct Variables: Decodable { let list: [Variable] }
    struct Range: Decodable { let from, to: String }
    let uid, title, timezone: String
    let schemaVersion: Int
    let templating: Variables
    let panels: [Panel]
    let time: Range
  }

  private struct Source: Decodable, Hashable { let type, uid: String }

  private struct Variable: Decodable {
    let name, type, query: String
    let multi, includeAll: Bool
    let allValue: String?
    let datasource: Source?
  }

  private struct Panel: Decodable {
    struct Place: Decodable { let x, y, w, h: Int }
    struct Target: Decodable {
      let refId, format, rawSql: String
      let rawQuery: Bool
      let datasource: Source
    }
    let id: Int
    let type, title, description: String
    let datasource: Source
    let gridPos: Place
    let targets: [Target]
  }

  private static func dashboards() throws -> [(file: String, dashboard: Dashboard)] {
    let files = try FileManager.default.contentsOfDirectory(atPath: folder.appending(path: "dashboards").path).sorted()
    return try files.map { file in
      let data = try Data(contentsOf: folder.appending(path: "dashboards/\(file)"))
      return (file, try JSONDecoder().decode(Dashboard.self, from: data))
    }
  }

  private static func provisioned(_ path: String) throws -> String {
    try String(contentsOf: folder.appending(path: "provisioning/\(path)"), encoding: .utf8)
  }

  // MARK: - Structure

  @Test(
    "each dashboard is whole: names that are its own, panels beside each other, data sources and variables that are there"
  )
  func structure() throws {
    let sources = Set(
      try Self.provisioned("datasources/tenure.yaml").matches(of: /(?m)^ +uid: (\S+)$/).map { String($0.1) })
    #expect(sources == ["tenure", "tenure-support"])
    let dashboards = try Self.dashboards()
    #expect(
      dashboards.map(\.file) == [
        "billing.json", "movements.json", "operations.json", "overview.json", "retention.json", "revenue.json",
        "trials.json",
      ])
    #expect(Set(dashboards.map(\.dashboard.uid)).count == dashboards.count)
    for (file, dashboard) in dashboards {
      #expect(dashboard.schemaVersion == 39)
      #expect(dashboard.timezone == "utc", "\(file): a date would be shown as the day before, west of Greenwich")
      #expect(Set(dashboard.panels.map(\.id)).count == dashboard.panels.count)
      #expect(Set(dashboard.panels.map(\.title)).count == dashboard.panels.count)
      let names = Set(dashboard.templating.list.map(\.name))
      for variable in dashboard.templating.list {
        #expect(variable.multi == variable.includeAll)
        #expect(variable.includeAll == (variable.allValue == "'all'"), "\(variable.name)")
        #expect(variable.name != "currency" || !variable.multi, "money of two currencies would be added")
        if let source = variable.datasource { #expect(sources.contains(source.uid)) }
      }
      for (index, panel) in dashboard.panels.enumerated() {
        let place = "\(file): \(panel.title)"
        #expect(panel.gridPos.x >= 0 && panel.gridPos.x + panel.gridPos.w <= 24, "\(place)")
        for other in dashboard.panels.dropFirst(index + 1) {
          let isBeside =
            panel.gridPos.x + panel.gridPos.w <= other.gridPos.x || other.gridPos.x + other.gridPos.w <= panel.gridPos.x
            || panel.gridPos.y + panel.gridPos.h <= other.gridPos.y
            || other.gridPos.y + other.gridPos.h <= panel.gridPos.y
          #expect(isBeside, "\(place) lies over \(other.title)")
        }
        #expect(panel.targets.count == 1 && !panel.description.isEmpty, "\(place)")
        for target in panel.targets {
          #expect(target.rawQuery && target.datasource == panel.datasource && sources.contains(panel.datasource.uid))
          for variable in target.rawSql.matches(of: /\$\{?(\w+)/) where !variable.1.hasPrefix("__") {
            #expect(names.contains(String(variable.1)), "\(place) asks for \(variable.1)")
          }
        }
      }
    }
  }

  // MARK: - Queries

  private static let range = (from: "2025-01-01", to: "2025-12-31")

  /// A query as Grafana sends it: macros and variables in their places.
  private static func expanded(_ sql: String, _ values: [String: String]) -> String {
    var text =
      sql
      .replacing(/\$__timeFilter\((\w+)\)/) {
        "\($0.1) BETWEEN '\(range.from)T00:00:00Z' AND '2099-12-31T23:59:59Z'"
      }
      .replacing("$__timeFrom()", with: "'\(range.from)T00:00:00Z'")
      .replacing("$__timeTo()", with: "'\(range.to)T23:59:59.999Z'")
    for (name, value) in values {
      text = text.replacing("${\(name):sqlstring}", with: "'\(value)'").replacing("($\(name))", with: "('\(value)')")
    }
    return text
  }

  /// A measured year, and the two logins that Grafana has, made as the documentation says.
  private static func measured() async throws -> (database: TestDatabase, connections: [String: Connection]) {
    let database = try await TestDatabase.empty()
    let demo = try await TestProgram.run(
      ["demo", "--subscribers", "80", "--seed", "3"], environment: ["DATABASE_URL": database.connectionString])
    try #require(demo.code == 0, "\(demo.output) \(demo.errors)")
    for _ in 1...2 {
      let made = try await Turnstile.grafanaLogins.pass {
        try await TestProgram.run(
          ["--no-psqlrc", "--quiet", "--file", folder.appending(path: "logins.sql").path, database.connectionString],
          environment: ["TENURE_GRAFANA_PASSWORD": "it's a password"], file: "/usr/bin/psql")
      }
      #expect(made.code == 0, "\(made.errors)")
    }
    return (
      database,
      [
        "tenure": try await Connection.open(database.connectionString(user: "tenure_grafana")),
        "tenure-support": try await Connection.open(database.connectionString(user: "tenure_grafana_support")),
      ]
    )
  }

  @Test("without a password no login is made")
  func loginsWithoutPassword() async throws {
    let database = try await TestDatabase.empty()
    let outcome = try await TestProgram.run(
      [
        "--no-psqlrc", "--quiet", "--file", Self.folder.appending(path: "logins.sql").path,
        database.connectionString,
      ], file: "/usr/bin/psql")
    #expect(outcome.code == 3)
    #expect(outcome.errors.contains("TENURE_GRAFANA_PASSWORD is not set"))
  }

  /// Panels in which the year has nothing to show.
  private static let empty: Set<String> = [
    "Rejections in the time shown, by reason", "Newest rejections", "Deliveries that are refused or wait",
    "App Store messages due now",
  ]

  @Test("every panel reads reports as its login may, in columns that are theirs, and shows what tenure report prints")
  func figures() async throws {
    let (database, connections) = try await Self.measured()
    var values = [
      "app": "demo", "environment": "Production", "store": "all", "product": "all", "country": "all",
      "period": "month", "cohort_by": "month", "currency": "USD",
    ]
    let reader = try #require(connections["tenure"])
    for (file, dashboard) in try Self.dashboards() {
      for variable in dashboard.templating.list where variable.type == "query" {
        let found = try await reader.query(Self.expanded(variable.query, values)).compactMap { $0[0] }
        #expect(!found.isEmpty, "\(file): \(variable.name)")
        if variable.name == "app" { values["app"] = found[0] }
        if variable.name == "currency" {
          #expect(found.count > 2)
          values["currency"] = found[0]
        }
      }
      for panel in dashboard.panels {
        let target = panel.targets[0]
        let place = "\(file): \(panel.title)"
        let connection = try #require(connections[target.datasource.uid])
        let sql = Self.expanded(target.rawSql, values)
        #expect(!sql.contains("$"), "\(place): \(sql)")
        let rows = try await connection.query("select row_to_json(panel)::text as line from (\(sql)) as panel")
          .map { try JSONDecoder().decode([String: Scalar].self, from: Data(($0[0] ?? "").utf8)) }
        #expect(!rows.isEmpty || Self.empty.contains(panel.title), "\(place) shows nothing")
        if target.format == "time_series" {
          #expect(rows.allSatisfy { $0["time"] != nil }, "\(place)")
          for row in rows {
            for (name, value) in row where !["time", "metric", "store"].contains(name) {
              switch value {
              case .number, .none: break
              default: Issue.record("\(place): \(name) is \(value)")
              }
            }
          }
        }
        try await expectReported(rows, by: target.rawSql, place, values, database)
      }
    }
    for connection in connections.values { await connection.close() }
  }

  /// Expects that `tenure report` prints a row that agrees with each row of a panel.
  private func expectReported(
    _ rows: [[String: Scalar]], by sql: String, _ place: String, _ values: [String: String], _ database: TestDatabase
  ) async throws {
    let report = String(try #require(sql.firstMatch(of: /from report\.(\w+)/), "\(place)").1)
    var words = ["report", report, "--format", "json"]
    if !["runs", "rejections"].contains(report) { words += ["--app", values["app"] ?? ""] }
    if sql.contains("day between") || sql.contains("starts_on between") {
      words += ["--from", Self.range.from, "--to", Self.range.to]
    }
    if sql.contains("period = ${period") { words += ["--by", "month"] }
    if sql.contains("cohort_by = ${cohort_by") { words += ["--by", "month"] }
    var names: [String: String] = ["time": report == "churn" ? "starts_on" : "day"]
    for renamed in sql.matches(of: /(\w+)(?:, 'unknown'\))? as metric/) { names["metric"] = String(renamed.1) }
    if let grouped = sql.firstMatch(of: /group by (.*)/) {
      let keys = grouped.1.matches(of: /[a-z_]+/).map { String($0.output) }
        .filter { !["day", "currency", "coalesce", "unknown"].contains($0) }
      words += ["--group-by", (["app"] + keys).joined(separator: ",")]
      if let counted = sql.firstMatch(of: /count\(\*\) as (\w+)/) {
        names[String(counted.1)] = "rows"
      } else if !grouped.1.contains("day") {
        words += ["--by", "year"]
      }
      // In one statement they are added and in their own currencies, in the command one or the other.
      if sql.firstMatch(of: /net_converted|mrr_converted|unconverted/) != nil, !grouped.1.contains("currency") {
        words.append("--converted")
      }
    }
    let printed = try await Scalar.rows(printedBy: words, database)
    for row in rows {
      var told = Dictionary(
        row.map { (names[$0.key] ?? $0.key, $0.value) }, uniquingKeysWith: { first, _ in first })
      if sql.contains("currency = ${currency") { told["currency"] = .text(values["currency"] ?? "") }
      for name in told.keys where name.hasSuffix("_at") || ["as_of", "cohort"].contains(name) { told[name] = nil }
      let isPrinted = printed.contains { line in
        told.allSatisfy { name, value in
          line[name] == value || (value == .text("unknown") && line[name] == Scalar.none)
        }
      }
      #expect(isPrinted, "\(place): \(told) is not what \(words.joined(separator: " ")) prints")
    }
  }

  @Test("no panel computes: it selects, and adds up only what the report's own column says may be added")
  func arithmetic() async throws {
    let database = try await TestDatabase.clone()
    struct Shape: Decodable {
      struct Column: Decodable { let name, role: String }
      let name: String
      let columns: [Column]
    }
    let listed = try await TestProgram.run(
      ["report", "--json"], environment: ["DATABASE_URL": database.connectionString])
    let shapes = try JSONDecoder().decode([Shape].self, from: Data(listed.output.utf8))
    for (file, dashboard) in try Self.dashboards() {
      for panel in dashboard.panels {
        let sql = panel.targets[0].rawSql
        let place = "\(file): \(panel.title)"
        let bare = sql.replacing(/'[^']*'/, with: "''").replacing("count(*)", with: "")
        #expect(!bare.contains { "+-*/%".contains($0) }, "\(place) computes: \(sql)")
        #expect(bare.matches(of: /(?:from|join) ([\w.]+)/).map { String($0.1) }.allSatisfy { $0.hasPrefix("report.") })
        #expect(bare.firstMatch(of: /\b(avg|min|max|round|date_trunc|over)\b/) == nil, "\(place)")
        let report = try #require(sql.firstMatch(of: /from report\.(\w+)/)).1
        let shape = try #require(shapes.first { $0.name == report })
        for summed in sql.matches(of: /sum\((\w+)\)/) {
          let role = shape.columns.first { $0.name == summed.1 }?.role
          #expect(["Flow", "Stock", "Opening"].contains(role), "\(place) adds \(summed.1), a \(role ?? "nothing")")
          if role != "Flow" { #expect(sql.contains("group by day"), "\(place) adds \(summed.1) over days") }
        }
        // Money is added in one currency, or converted.
        for column in shape.columns where ["gross", "refunds", "net", "mrr", "arr", "amount"].contains(column.name) {
          guard sql.contains("sum(\(column.name))"), shape.columns.contains(where: { $0.name == "currency" }) else {
            continue
          }
          let isApart = sql.contains("currency = ${currency") || sql.firstMatch(of: /group by .*currency/) != nil
          #expect(isApart, "\(place) adds \(column.name) over currencies")
        }
      }
    }
  }
}
