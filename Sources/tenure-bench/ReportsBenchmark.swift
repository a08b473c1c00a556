import Foundation
import Measure
import Postgres
import Report
import Synchronization

/// How long reports take to answer: the whole history by month, and the last thirty days in the whole grain.
///
/// Reports with a row for each subscription or event are left out: what they take is the writing of their rows.
enum ReportsBenchmark: Benchmark {
  static let name = "reports"
  static let summary = "answer every report made of totals or periods, by month and for the last thirty days"
  static let size = 1_000_000
  static let unit = "transactions"

  /// The most that a report may take, in seconds.
  private static let mark = 5.0

  static func run(_ plan: Plan) async throws {
    var taken: [String: [Double]] = [:]
    try await ScratchDatabase.with { database in
      let connection = database.connection
      let lives = SubscriptionLives(chains: max(plan.size / 10, 10), periods: 10, lateEvery: 10)
      try await lives.lay(withLate: true, on: connection)
      try await layRates(on: connection)
      _ = try await RebuildBenchmark.measure(database, StepTimes())
      try await lives.vacuum([SubscriptionLives.derived], on: connection)
      let reporter = Reporter(connection: connection)
      for _ in 0..<plan.repetitions {
        for shape in try await reporter.shapes() {
          for query in try queries(of: shape) {
            let start = ContinuousClock.now
            let length = Mutex(0)
            try await reporter.write(query, as: .json) { text in length.withLock { $0 += text.utf8.count } }
            let seconds = (ContinuousClock.now - start) / Duration.seconds(1)
            let what = shape.name + (query.by == nil ? "" : " by month") + (query.from == nil ? "" : ", 30 days")
            BenchProgram.say("  \(what): \(Comparison.text(seconds)) s, \(length.withLock { $0 }) bytes")
            taken[what, default: []].append(seconds)
          }
        }
      }
    }
    // The median of each over the repetitions: the slowest of them is told.
    let medians = taken.mapValues { $0.sorted()[$0.count / 2] }
    guard let worst = medians.max(by: { $0.value < $1.value }) else { throw BenchError("there is no report") }
    BenchProgram.say(
      """
      reports, slowest of \(medians.count): \(Comparison.text(worst.value)) s (\(worst.key)), median of all \
      \(Comparison.text(medians.values.sorted()[medians.count / 2])) s; to reach: at most \(Comparison.text(mark)) s
      """)
  }

  /// What is asked of a report; nothing of those with a row for each subscription or event.
  private static func queries(of shape: ReportShape) throws -> [ReportQuery] {
    let names = Set(shape.columns.map(\.name))
    guard names.isDisjoint(with: ["subscription_id", "event_id", "delivery_id", "rejection_id"]) else { return [] }
    guard names.contains("day") else { return [ReportQuery(name: shape.name)] }
    let months = ReportQuery(name: shape.name, by: .month)
    let recent = ReportQuery(name: shape.name, from: "2026-06-01")
    do {
      _ = try months.statement(for: shape)
    } catch is ReportError {
      // Its figures cannot be brought together.
      return [ReportQuery(name: shape.name), recent]
    }
    return [months, recent]
  }

  /// Rates of every day, so that everything converts.
  private static func layRates(on connection: Connection) async throws {
    try await connection.execute(
      """
      insert into reference.rate (currency, day, per_euro)
      select currency, day::date, per_euro + mod(extract(doy from day)::int, 10) / 100.0
      from (values ('USD', 1.08), ('GBP', 0.85), ('JPY', 161.0), ('BRL', 5.9)) as currencies (currency, per_euro)
      cross join generate_series('2016-01-01'::date, '2026-07-01'::date, interval '1 day') as days (day)
      on conflict do nothing
      """)
  }
}
