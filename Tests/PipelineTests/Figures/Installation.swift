import Foundation
import Postgres
import Signatures
import TestSupport
import Testing
import Vocabulary

/// The built program with a database and a configuration of its own: events in, `tenure report … --format json` out.
struct Installation: Sendable {
  private let database: TestDatabase
  private let folder: TestFolder

  /// With the one app `video`.
  init(reporting: String = "", environments: String = "\"Production\", \"Sandbox\"", targets: String = "") async throws
  {
    database = try await TestDatabase.clone()
    folder = try TestFolder()
    try folder.write(TestCertificateAuthority.shared.root.pem, to: "root.pem")
    try configure(reporting: reporting, environments: environments, targets: targets)
  }

  /// An installation with a configuration that lies in the folder already.
  init(database: TestDatabase, folder: TestFolder) {
    self.database = database
    self.folder = folder
  }

  /// An installation that has read the lives and measured once.
  init(_ lives: [Life], asOf: String, reporting: String = "") async throws {
    try await self.init(reporting: reporting)
    try await ingest(lives)
    try await measure(asOf: asOf)
  }

  /// Writes the configuration anew.
  func configure(
    reporting: String = "", environments: String = "\"Production\", \"Sandbox\"", commission: String = "\"standard\"",
    targets: String = ""
  ) throws {
    let listed = "environments: [\(environments)]"
    let signed = ["app_store", "app_client"].map { "\($0): { \(listed), roots: [\"root.pem\"] }" }
    let others = ["app_store_receipt", "tenure"].map { "\($0): { \(listed) }" }
    let sources = "sources: { \((signed + others).joined(separator: ", ")) }"
    let app =
      "{ key: \"video\", bundle_id: \"com.example.video\", app_apple_id: 1234567890, commission: \(commission), "
      + "\(sources) }"
    try folder.write("{ reporting: { \(reporting) }, apps: [\(app)], targets: [\(targets)] }", to: "tenure.json")
  }

  /// Runs a command and returns what it printed.
  @discardableResult
  func run(
    _ words: [String], input: String? = nil, ends code: Int32 = 0, environment: [String: String] = [:],
    authorities: String? = nil
  ) async throws -> String {
    let program = try start(words, input: input, environment: environment, authorities: authorities)
    let outcome = await program.ended()
    try #require(outcome.code == code, "\(words): \(outcome.errors)")
    return outcome.output
  }

  /// Starts a command and leaves it running.
  func start(
    _ words: [String], input: String? = nil, environment: [String: String] = [:], authorities: String? = nil
  ) throws -> TestProgram {
    try TestProgram(
      words + ["--config", folder.file("tenure.json")], input: input.map { Data($0.utf8) },
      environment: ["DATABASE_URL": database.connectionString].merging(environment) { $1 }, authorities: authorities)
  }

  /// A connection to the database, to look on.
  func connect() async throws -> Connection { try await database.connect() }

  @discardableResult
  func ingest(_ lives: [Life]) async throws -> Summary {
    try await ingest(lines: lives.flatMap(\.events))
  }

  @discardableResult
  func ingest(lines: [String], source: String = "tenure", app: String? = nil, ends code: Int32 = 0) async throws
    -> Summary
  {
    let output = try await run(
      ["ingest", "--source", source, "--json"] + (app.map { ["--app", $0] } ?? []) + ["-"],
      input: lines.joined(separator: "\n") + "\n", ends: code)
    return try JSONDecoder().decode(Summary.self, from: Data(output.utf8))
  }

  /// What `tenure ingest --json` prints.
  struct Summary: Decodable, Equatable {
    var received = 0
    var stored = 0
    var duplicates = 0
    var rejected = 0
    var unrecognised = 0
  }

  /// Measures, and returns how many entries were posted.
  @discardableResult
  func measure(asOf: String, _ options: [String] = []) async throws -> Int {
    try await measure(asOf: try #require(Instant(Life.moment(asOf))), options)
  }

  /// Measures, and returns how many entries were posted.
  @discardableResult
  func measure(asOf: Instant, _ options: [String] = []) async throws -> Int {
    struct Result: Decodable {
      let entries: Int
      let checksFailed: Int
    }
    let output = try await run(["measure", "--as-of", asOf.description, "--json"] + options)
    let decoder = JSONDecoder()
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    let result = try decoder.decode(Result.self, from: Data(output.utf8))
    expect(result.checksFailed, is: 0)
    return result.entries
  }

  /// Imports what `text` holds: `import("catalogue", …)`.
  func `import`(_ what: String, _ text: String, _ options: [String] = []) async throws {
    try await run([what, "import"] + options + ["-"], input: text)
  }

  /// The rows of a report.
  func rows(_ report: String, _ options: [String] = []) async throws -> [[String: Cell]] {
    let output = try await run(["report", report, "--format", "json"] + options)
    return try JSONDecoder().decode([[String: Cell]].self, from: Data(output.utf8))
  }

  /// The rows of a report, each the named columns with spaces between them; `-` is null.
  func lines(_ report: String, _ columns: String, _ options: [String] = []) async throws -> [String] {
    let names = columns.split(separator: " ").map(String.init)
    return try await rows(report, options).map { row in
      try names.map { try #require(row[$0], "\(report) has no column \($0)").description }.joined(separator: " ")
    }
  }

  /// The movements, day by day and row by row: the columns that are not 0. Dimensions beyond the day are named.
  func movements(_ options: [String] = [], by dimensions: String = "app") async throws -> [String] {
    let named = dimensions == "app" ? [] : dimensions.split(separator: ",").map(String.init)
    return try await rows("movements", ["--group-by", dimensions] + options).compactMap { row in
      let flows = Self.flows.filter { row[$0] != 0 }.map { row[$0] == 1 ? $0 : "\($0) \(row[$0, default: .null])" }
      guard !flows.isEmpty else { return nil }
      return ((["day"] + named).map { "\(row[$0, default: .null])" } + flows).joined(separator: " ")
    }
  }

  /// The movements of MRR, day by day and row by row: the columns that are not 0. Dimensions beyond the day and the
  /// currency are named.
  func mrrMovements(_ options: [String] = [], by dimensions: String = "app") async throws -> [String] {
    let named = dimensions == "app" ? [] : dimensions.split(separator: ",").map(String.init)
    return try await rows("mrr_movement", ["--group-by", dimensions] + options).compactMap { row in
      let flows = Self.mrrFlows.filter { row[$0] != 0 }.map { "\($0) \(row[$0, default: .null])" }
      guard !flows.isEmpty else { return nil }
      return ((["day"] + named + ["currency"]).map { "\(row[$0, default: .null])" } + flows).joined(separator: " ")
    }
  }

  /// The columns of `movements` that count what comes in, without those that are part of another.
  static let inflows = [
    "new", "trial_converted", "reactivated", "recovered", "refund_reversed", "resumed", "moved_in",
  ]
  /// The columns of `movements` that count what goes out.
  static let outflows = [
    "churned_voluntary", "churned_billing", "churned_price_increase", "churned_product_unavailable",
    "churned_refunded", "churned_other", "churned_unconfirmed", "suspended", "paused", "moved_out",
  ]
  /// The columns of `mrr_movement`, signed.
  static let mrrFlows = [
    "new", "reactivation", "expansion", "contraction", "churn", "suspension", "recovery", "moved_in", "moved_out",
  ]
  private static let flows =
    ["new", "trial_converted", "reactivated", "won_back"] + inflows.dropFirst(3) + outflows + [
      "renewed", "upgraded", "downgraded", "crossgraded",
    ]

  /// The stocks at the end of a day that are not 0.
  func stocks(_ day: String, _ options: [String] = []) async throws -> String {
    let rows = try await rows(
      "active_subscriptions", ["--group-by", "app", "--from", day, "--to", day] + options)
    return rows.map { row in
      [
        "active_subscriptions", "active_trials", "in_grace", "in_billing_retry", "set_to_cancel", "paused",
        "family_shared",
      ].filter { row[$0] != 0 }.map { "\($0) \(row[$0, default: .null])" }.joined(separator: " ")
    }.joined(separator: "; ")
  }

  /// Revenue: day, kind, charges, gross, refunds and currency of each row.
  func revenue(_ options: [String] = []) async throws -> [String] {
    try await lines("revenue", "day kind charges gross refunds currency", ["--group-by", "kind"] + options)
  }
}

/// A value of a report's row, compared exactly.
enum Cell: Decodable, Equatable, CustomStringConvertible, Sendable {
  case null
  case bool(Bool)
  case number(Decimal)
  case text(String)
  case list([Cell])

  init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    // The most frequent first: what is of another kind costs an error each.
    if container.decodeNil() {
      self = .null
    } else if let value = try? container.decode(String.self) {
      self = .text(value)
    } else if let value = try? container.decode(Decimal.self) {
      self = .number(value)
    } else if let value = try? container.decode(Bool.self) {
      self = .bool(value)
    } else {
      self = .list(try container.decode([Cell].self))
    }
  }

  var description: String {
    switch self {
    case .null: "-"
    case .bool(let value): "\(value)"
    case .number(let value): "\(value)"
    case .text(let value): value
    case .list(let values): "[\(values.map(\.description).joined(separator: ","))]"
    }
  }
}

extension Cell: ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral, ExpressibleByStringLiteral,
  ExpressibleByNilLiteral, ExpressibleByBooleanLiteral
{
  init(integerLiteral value: Int) { self = .number(Decimal(value)) }
  // By its text: the shortest that reads back as this number is what the test says.
  init(floatLiteral value: Double) { self = Decimal(string: "\(value)").map(Cell.number) ?? .null }
  init(stringLiteral value: String) { self = .text(value) }
  init(nilLiteral: ()) { self = .null }
  init(booleanLiteral value: Bool) { self = .bool(value) }
}

/// Expects two values to be the same and shows both where they are not.
func expect<Value: Equatable>(_ found: Value, is expected: Value, at location: SourceLocation = #_sourceLocation) {
  #expect(found == expected, sourceLocation: location)
}
