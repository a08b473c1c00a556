import Foundation
import TestSupport
import Testing
import Vocabulary

/// Generated lives, ingested and measured by the built program in three ways, against a judge that has never seen its
/// SQL.
///
/// `TENURE_LIVES` says how many lives (300), `TENURE_SEED` the first one's seed (1), `TENURE_RUNS` over how many runs the
/// split test spreads them (20), `TENURE_DIFFERENCES` names a file that takes every difference. With a life's seed and
/// `TENURE_LIVES=1` a disagreement is reproduced.
@Suite("The oracle and the reports agree", .fewAtOnce)
struct OracleTests {
  private static func number(_ name: String, _ normal: Int) -> Int {
    ProcessInfo.processInfo.environment[name].flatMap(Int.init) ?? normal
  }

  private static let seeds: [UInt64] = {
    let first = UInt64(number("TENURE_SEED", 1))
    return (0..<UInt64(number("TENURE_LIVES", 300))).map { first + $0 }
  }()
  private static let lives = seeds.map(LifeGenerator.life)
  private static let zone = "Europe/Berlin"
  static let reports = [
    "revenue", "renewal_revenue", "active_subscriptions", "movements", "churn", "active_subscribers", "subscriptions",
    "winback_eligibility", "trials", "mrr", "mrr_movement", "refunds", "renewal_rate", "billing_recovery",
    "customers", "lifetime_value", "retention", "win_back_rate", "store_messages",
  ]

  /// An installation with both apps, the catalogue, the win-back offers and what rates and taxes are known.
  static func installation(zone: String = "UTC", rates: String? = LifeGenerator.ratesTable) async throws -> (
    Installation, TestFolder
  ) {
    let folder = try TestFolder()
    try configure(folder, zone: zone)
    let program = Installation(database: try await TestDatabase.clone(), folder: folder)
    try await program.import("catalogue", LifeGenerator.catalogueTable, ["--app", "video"])
    try await program.import("winback", LifeGenerator.offersFile)
    if let rates { try await program.import("rates", rates) }
    try await program.import("taxes", LifeGenerator.taxesTable)
    return (program, folder)
  }

  static func configure(_ folder: TestFolder, zone: String) throws {
    let apps = LifeGenerator.apps.map { app in
      """
      { key: "\(app)", bundle_id: "com.example.\(app)", app_apple_id: 1,
        commission: "\(LifeGenerator.market.smallBusinesses.contains(app) ? "small_business" : "standard")",
        sources: { tenure: { environments: ["Production", "Sandbox"] } } }
      """
    }
    try folder.write(
      "{ reporting: { timezone: \"\(zone)\" }, apps: [\(apps.joined(separator: ", "))] }", to: "tenure.json")
  }

  static func measure(_ program: Installation, _ asOf: Instant) async throws {
    try await program.run(["measure", "--as-of", asOf.description])
  }

  private static func report(_ program: Installation, _ name: String, _ environment: String) async throws -> ReportRows
  {
    var json = try await program.run(["report", name, "--format", "json", "--environment", environment])
    if name == "store_messages" {
      // Its rows name subscriptions by numbers of the database's own.
      let query = ["report", "subscriptions", "--format", "json", "--environment", environment]
      let decoder = JSONDecoder()
      decoder.keyDecodingStrategy = .convertFromSnakeCase
      let known = try decoder.decode([Identity].self, from: Data(await program.run(query).utf8))
      let originals = Dictionary(known.map { ($0.subscriptionId, $0.originalTransactionId) }) { first, _ in first }
      json.replace(/"subscription_id":\s*"(-?\d+)"/) { number in
        "\"subscription_id\": \"\(originals[String(number.output.1)] ?? "of no subscription")\""
      }
    }
    return try ReportRows(json: json, figures: Oracle.figures(of: name))
  }

  private struct Identity: Decodable {
    var subscriptionId: String
    var originalTransactionId: String
  }

  private static func reports(_ program: Installation) async throws -> [String: ReportRows] {
    var found: [String: ReportRows] = [:]
    for environment in ["Production", "Sandbox"] {
      for name in reports { found["\(name) \(environment)"] = try await report(program, name, environment) }
    }
    return found
  }

  /// Where the oracle and the program differ over some events: report, row, column, expected and found.
  private static func differences(_ found: [String: ReportRows], _ events: [Event], zone: String) -> [String] {
    ["Production", "Sandbox"].flatMap { environment in
      let oracle = Oracle(
        events, Oracle.Settings(asOf: LifeGenerator.asOf, timeZone: zone, environment: environment))
      return reports.flatMap { name in
        found["\(name) \(environment)"]!.differences(from: oracle.report(name)).map { "\(name): \($0)" }
      }
    }
  }

  /// The differences over some lives alone.
  private static func differences(_ lives: [LifeGenerator.Life], zone: String) async throws -> [String] {
    let (program, _) = try await installation(zone: zone)
    let events = lives.flatMap(\.events)
    try await program.ingest(lines: events.map(\.json))
    try await measure(program, LifeGenerator.asOf)
    return differences(try await reports(program), events, zone: zone)
  }

  /// Judges, and where there is a difference names one life that shows it by itself.
  private static func judge(_ reports: [String: ReportRows], zone: String) async throws {
    let found = differences(reports, lives.flatMap(\.events), zone: zone)
    guard !found.isEmpty else { return }
    if let path = ProcessInfo.processInfo.environment["TENURE_DIFFERENCES"] {
      try found.joined(separator: "\n").write(toFile: path, atomically: true, encoding: .utf8)
    }
    var suspects = lives
    while suspects.count > 1 {
      let half = Array(suspects.prefix(suspects.count / 2))
      suspects = try await differences(half, zone: zone).isEmpty ? Array(suspects.dropFirst(half.count)) : half
    }
    let alone = try await differences(suspects, zone: zone)
    Issue.record(
      """
      \(found.count) differences in \(zone). Life \(suspects[0].seed) shows \(alone.count) by itself \
      (TENURE_SEED=\(suspects[0].seed) TENURE_LIVES=1):
      \((alone.isEmpty ? found : alone).prefix(20).joined(separator: "\n"))
      \(suspects[0].events.map(\.json).joined(separator: "\n"))
      """)
  }

  /// All lives in the order in which their events came, measured once.
  private static let inOrder = Task {
    let (program, folder) = try await installation()
    let arrivals = lives.flatMap(\.arrivals).sorted { $0.receivedAt < $1.receivedAt }
    try await program.ingest(lines: arrivals.map(\.event.json))
    try await measure(program, LifeGenerator.asOf)
    return (program, folder, try await reports(program))
  }

  private func expectSame(_ program: Installation, _ what: String) async throws {
    let expected = try await Self.inOrder.value.2
    for (name, rows) in try await Self.reports(program) {
      let (found, expected) = (rows.texts(), expected[name]!.texts())
      guard found != expected else { continue }
      let differences = Set(found).symmetricDifference(expected).sorted().prefix(6)
      Issue.record("\(what): \(name) from seed \(Self.seeds[0]) on: \(differences.joined(separator: "\n"))")
    }
  }

  @Test("the lives are varied: every movement, every kind of charge and every end of a trial occurs")
  func varied() {
    let oracle = Oracle((1...600).map(LifeGenerator.life).flatMap(\.events), Oracle.Settings(asOf: LifeGenerator.asOf))
    for name in [
      "movements", "mrr_movement", "trials", "active_subscriptions", "churn", "refunds", "renewal_rate",
      "billing_recovery", "retention", "customers", "win_back_rate",
    ] {
      let report = oracle.report(name)
      for (index, column) in report.columns.enumerated() {
        #expect(report.rows.values.contains { !$0[index].isNothing }, "\(name).\(column)")
      }
    }
    let revenue = oracle.report("revenue")
    let kinds = Set(revenue.rows.keys.map { $0[revenue.key.firstIndex(of: "kind")!] })
    let known: Set = [
      "one_time", "trial_conversion", "billing_recovery", "win_back", "reactivation", "upgrade", "downgrade",
      "crossgrade", "renewal", "initial",
    ]
    #expect(kinds == known)
    let eligibility = oracle.report("winback_eligibility")
    let reasons = Set(eligibility.rows.values.map { $0[eligibility.columns.firstIndex(of: "reason")!].description })
    for reason in [
      "eligible", "billing_retry", "auto_renew_on", "not_offered_by_store", "too_little_paid_service", "too_recent",
      "too_long_ago", "waiting", "outside_dates", "outside_territories", "other_product",
    ] { #expect(reasons.contains(reason), "\(reason)") }
    let subscriptions = oracle.report("subscriptions")
    let statuses = Set(subscriptions.rows.values.map { $0[0].description })
    #expect(statuses == ["trial", "active", "grace", "billing_retry", "paused", "expired", "revoked"])
  }

  @Test("the oracle's own books balance: opening + in - out = closing, in counts and in MRR")
  func balance() {
    let oracle = Oracle(Self.lives.flatMap(\.events), Oracle.Settings(asOf: LifeGenerator.asOf, timeZone: Self.zone))
    let onward: Set = ["won_back", "renewed", "upgraded", "downgraded", "crossgraded", "is_complete"]
    let outgoing: Set = ["suspended", "paused", "moved_out"]
    let movements = oracle.report("movements")
    for (key, figures) in movements.rows {
      var sum = 0
      for (column, figure) in zip(movements.columns, figures) where !onward.contains(column) {
        guard case .count(let count) = figure else { continue }
        let isOut = outgoing.contains(column) || column.hasPrefix("churned_") || column == "closing"
        sum += isOut ? -count : count
      }
      if sum != 0 { Issue.record("\(key): \(figures)") }
    }
    let money = oracle.report("mrr_movement")
    for (key, figures) in money.rows {
      var sum: Int64 = 0
      for (column, figure) in zip(money.columns, figures) {
        guard case .amount(let amount) = figure else { continue }
        sum += column == "closing" ? -amount.value : amount.value
      }
      if sum != 0 { Issue.record("\(key): \(figures)") }
    }
  }

  @Test("the oracle's reports agree with each other where they tell the same")
  func agreement() {
    let oracle = Oracle(Self.lives.flatMap(\.events), Oracle.Settings(asOf: LifeGenerator.asOf, timeZone: Self.zone))
    /// The sums of some columns over the rows that agree in the columns of a key; nulls are nothing.
    func sums(_ report: String, by key: [String], _ isCounted: (String) -> Bool) -> [[String]: Decimal] {
      let found = oracle.report(report)
      let places = key.map { found.key.firstIndex(of: $0)! }
      var sums: [[String]: Decimal] = [:]
      for (row, figures) in found.rows {
        for (column, figure) in zip(found.columns, figures) where isCounted(column) {
          sums[places.map { row[$0] }, default: 0] += Decimal(string: figure.description) ?? 0
        }
      }
      return sums.filter { $0.value != 0 }
    }
    let place = ["app", "store", "product_id", "country"]
    // What was due is in one column. What was lost is a churn of its day or, after grace, of a later one.
    let outcomes = ["renewed", "recovered_in_grace", "recovered_in_retry", "changed_product", "lost", "open"]
    let due = sums("renewal_rate", by: place + ["day"]) { $0 == "due" }
    #expect(due == sums("renewal_rate", by: place + ["day"], outcomes.contains))
    let lost = sums("renewal_rate", by: place) { $0 == "lost" }
    #expect(lost == sums("movements", by: place) { $0.hasPrefix("churned_") && $0 != "churned_refunded" })
    // Every refund is in revenue, and taken back or counted on the day of its purchase too.
    let money = place + ["currency"]
    let amount = sums("refunds", by: money + ["day"]) { $0 == "amount" }
    #expect(amount == sums("revenue", by: money + ["day"]) { $0 == "refunds" })
    let counts = sums("refunds", by: money) { $0 == "refunded_charges" }
    #expect(counts == sums("refunds", by: money) { $0 == "refunded_charges_by_purchase_day" })
    // Whoever paid first on some day has paid by the last; of the cohorts of months and of weeks there are as many.
    let payers = sums("customers", by: ["app"]) { $0 == "new_paying" }
    let days = sums("customers", by: ["app", "day"]) { $0 == "paying_total" }
    for (app, count) in payers { #expect(count == days.filter { $0.key[0] == app[0] }.values.max()) }
    let retained = sums("retention", by: ["app", "store", "product_id", "period", "cohort_by"]) { $0 == "retained" }
    for (key, count) in retained where key[4] == "month" { #expect(retained[key.dropLast() + ["week"]] == count) }
  }

  @Test("in the order in which the facts came, in UTC and in a zone with summer time")
  func inOrderOfArrival() async throws {
    let (program, folder, reports) = try await Self.inOrder.value
    try await Self.judge(reports, zone: "UTC")
    try Self.configure(folder, zone: Self.zone)
    try await Self.measure(program, LifeGenerator.asOf)
    try await Self.judge(try await Self.reports(program), zone: Self.zone)
  }

  @Test("stocks from a day on are those of the whole report, in the middle of a month and on its first and last day")
  func fromADayOn() async throws {
    // Of its own: another test gives the one of all lives another zone.
    let (program, _) = try await Self.installation()
    try await program.ingest(lines: Self.lives.prefix(80).flatMap(\.events).map(\.json))
    try await Self.measure(program, LifeGenerator.asOf)
    /// The lines of the days from one on.
    func rows(_ csv: String, from: String) -> [Substring] {
      csv.split(separator: "\n").filter { $0.split(separator: ",", omittingEmptySubsequences: false)[3] >= from }
    }
    for name in ["movements", "mrr_movement", "active_subscriptions", "mrr"] {
      let whole = try await program.run(["report", name, "--format", "csv"])
      for from in ["2025-03-15", "2025-03-01", "2025-02-28", "2019-01-01"] {
        let part = try await program.run(["report", name, "--format", "csv", "--from", from])
        let (expected, found) = (rows(whole, from: from), rows(part, from: ""))
        if expected != found {
          Issue.record("\(name) \(from): \(Set(expected).symmetricDifference(found).sorted().prefix(4))")
        }
        #expect(found.count > 100)
      }
    }
  }

  @Test("shuffled and doubled, the same")
  func shuffledAndDoubled() async throws {
    let (program, _) = try await Self.installation()
    var random = SeededGenerator(seed: Self.seeds[0])
    let events = Self.lives.flatMap(\.events).map(\.json)
    try await program.ingest(lines: (events + events).shuffled(using: &random))
    try await Self.measure(program, LifeGenerator.asOf)
    try await expectSame(program, "shuffled and doubled")
  }

  @Test("split over runs with rising as-of moments and rates that come late, the same; also derived anew after it")
  func splitOverRuns() async throws {
    let (program, _) = try await Self.installation(rates: nil)
    var arrivals = Self.lives.flatMap(\.arrivals).sorted { $0.receivedAt < $1.receivedAt }[...]
    let runs = Self.number("TENURE_RUNS", 20)
    let first = arrivals[0].receivedAt.microseconds / 1_000_000
    let last = LifeGenerator.asOf.microseconds / 1_000_000
    for run in 1...runs {
      let asOf = Instant(microseconds: (first + (last - first) * Int64(run) / Int64(runs)) * 1_000_000)
      // The last run has also what came after its moment.
      let came = arrivals.prefix { run == runs || $0.receivedAt <= asOf }
      arrivals = arrivals.dropFirst(came.count)
      if !came.isEmpty { try await program.ingest(lines: came.map(\.event.json)) }
      if run == runs / 2 { try await program.import("rates", LifeGenerator.ratesTable(until: asOf)) }
      if run == runs - 1 { try await program.import("rates", LifeGenerator.ratesTable) }
      try await Self.measure(program, asOf)
    }
    try await expectSame(program, "split over runs")
    try await program.run(["measure", "--as-of", LifeGenerator.asOf.description, "--rebuild"])
    try await expectSame(program, "derived anew after being split over runs")
  }
}
