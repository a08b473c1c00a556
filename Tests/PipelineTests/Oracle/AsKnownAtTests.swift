import Foundation
import Postgres
import TestSupport
import Testing
import Vocabulary

/// What a report says of an earlier moment is what it said at that moment.
@Suite("Reports as they were known", .fewAtOnce)
struct AsKnownAtTests {
  /// Every report made of daily totals.
  private static let reports = [
    "active_subscribers", "active_subscriptions", "billing_recovery", "churn", "customers", "movements", "mrr",
    "mrr_movement",
    "refunds", "renewal_rate", "renewal_revenue", "revenue", "trials",
  ]

  private func printed(_ program: Installation, _ options: [String] = []) async throws -> [String: String] {
    var printed: [String: String] = [:]
    for report in Self.reports {
      printed[report] = try await program.run(["report", report, "--format", "csv"] + options)
      // Shares of customers are not added.
      guard report != "customers" else { continue }
      printed["\(report) by month"] = try await program.run(
        ["report", report, "--format", "csv", "--by", "month"] + options)
    }
    return printed
  }

  @Test("over a year of late facts, refunds, recoveries and settings that change, every report at every moment")
  func everyMoment() async throws {
    let (program, folder) = try await OracleTests.installation()
    let connection = try await program.connect()
    let lives = (1...60).map { LifeGenerator.life(UInt64($0)) }
    var arrivals = lives.flatMap(\.arrivals).sorted { $0.receivedAt < $1.receivedAt }[...]
    let first = arrivals[0].receivedAt.microseconds / 1_000_000
    let last = LifeGenerator.asOf.microseconds / 1_000_000
    var told: [(moment: String, printed: [String: String])] = []
    let runs = 8
    for run in 1...runs {
      let asOf = Instant(microseconds: (first + (last - first) * Int64(run) / Int64(runs)) * 1_000_000)
      // Some of what happened before an earlier run comes only now.
      let came = arrivals.prefix { run == runs || $0.receivedAt <= asOf }
      arrivals = arrivals.dropFirst(came.count)
      try await program.ingest(lines: came.map(\.event.json))
      if run == 4 { try OracleTests.configure(folder, zone: "America/New_York") }
      // Rates of before are corrected.
      if run == 5 { try await program.import("rates", "Date,USD,JPY,\n2024-03-04,1.5,100,\n2024-03-05,1.1,160,\n") }
      if run == 6 { try OracleTests.configure(folder, zone: "UTC") }
      try await program.measure(asOf: asOf, run == 7 ? ["--rebuild"] : [])
      let finished = try await connection.query(
        "select date_trunc('milliseconds', max(finished_at)) + interval '1 ms' as at from measure.run")[0]
      let moment = Instant(microseconds: try #require(try finished.optionalTimestamp("at"))).description
      told.append((moment, try await printed(program)))
    }
    for (moment, expected) in told {
      let found = try await printed(program, ["--as-known-at", moment])
      for (report, text) in expected {
        #expect(found[report] == text, "\(report) as known at \(moment)")
      }
    }
    // The comparison has something to compare.
    for report in Self.reports {
      #expect(told.last?.printed[report] != told[runs - 2].printed[report], "\(report)")
      #expect((told.last?.printed[report]?.count ?? 0) > 300, "\(report)")
    }
    await connection.close()
  }

  @Test("what is not made of daily totals, and what nobody knew, is refused with the reason")
  func refusals() async throws {
    let program = try await Installation(
      [Life("a").buys("2025-01-01", until: "2025-02-01")], asOf: "2025-01-02")
    let now = "2999-01-01"
    struct Listed: Decodable { let name: String }
    let all = try JSONDecoder().decode([Listed].self, from: Data(try await program.run(["report", "--json"]).utf8))
    let others = Set(all.map(\.name)).subtracting(Self.reports)
    #expect(
      others.isSuperset(of: [
        "subscriptions", "winback_eligibility", "store_messages", "data_quality", "events", "runs", "restatements",
      ]))
    for report in others {
      let outcome = try await program.start(["report", report, "--as-known-at", now]).ended()
      #expect(outcome.code == 2, "\(report)")
      #expect(outcome.errors.contains("\(report) is not made of daily totals"), "\(outcome.errors)")
    }
    let before = try await program.start(["report", "movements", "--as-known-at", "2025-01-02"]).ended()
    #expect(before.code == 2)
    #expect(before.errors.contains("no run had finished by then"), "\(before.errors)")
    let unreadable = try await program.start(["report", "movements", "--as-known-at", "soon"]).ended()
    #expect(unreadable.code == 2)
    try await expect(
      program.lines("movements", "day new", ["--as-known-at", now]), is: program.lines("movements", "day new"))
  }
}
