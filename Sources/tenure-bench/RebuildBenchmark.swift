import Measure
import Postgres
import Vocabulary

/// A run that derives everything from the facts, against COPY of what it derived.
enum RebuildBenchmark: Benchmark {
  static let name = "rebuild"
  static let summary = "derive periods, entries and totals from all facts, against COPY of the finished ones"
  static let size = 1_000_000
  static let unit = "transactions"

  /// The periods, entries and totals.
  private static let tables = [
    "ledger.period", "ledger.entry", "ledger.subscriber_entry", "ledger.customer", "ledger.course",
    "measure.daily_customer", "measure.daily_customer_change", "measure.cohort_value", "measure.daily_movement",
    "measure.daily_movement_change", "measure.daily_revenue", "measure.daily_revenue_change",
    "measure.daily_subscriber", "measure.daily_subscriber_change", "measure.period_churn",
    "measure.period_churn_change", "measure.daily_mrr", "measure.daily_mrr_change",
    "measure.daily_trial", "measure.daily_trial_change", "measure.daily_renewal", "measure.daily_renewal_change",
    "measure.daily_failure", "measure.daily_failure_change", "measure.posted_day",
  ]

  static func run(_ plan: Plan) async throws {
    var comparison = Comparison("rebuild, work to limit", .times, reach: 2)
    try await ScratchDatabase.with { database in
      let connection = database.connection
      let lives = SubscriptionLives(chains: max(plan.size / 10, 10), periods: 10, lateEvery: 10)
      try await lives.lay(withLate: true, on: connection)
      for _ in 0..<plan.repetitions {
        try await SubscriptionLives.forgetRuns(on: connection)
        let times = StepTimes()
        let work = try await measure(database, times).cost
        times.say()
        let rows = try await FinishedRows(of: tables, on: connection, plan)
        let limit = try await Cost.measure(on: connection) { try await rows.load(on: connection) }
        comparison.add(work: work, limit: limit)
      }
    }
    comparison.conclude()
  }

  /// One run over whatever is unsettled, on a connection of its own.
  static func measure(
    _ database: ScratchDatabase, _ times: StepTimes
  ) async throws -> (cost: Cost, result: MeasureResult) {
    let connection = try await database.connect()
    let measurer = Measurer(connection: connection, settings: MeasureSettings()) { progress in
      switch progress {
      case .step(let name, _, _): times.begin(name)
      }
    }
    var result: MeasureResult?
    let cost = try await Cost.measure(on: connection) {
      result = try await measurer.run(asOf: Instant(microseconds: SubscriptionLives.end))
    }
    await connection.close()
    guard let result else { preconditionFailure("a run ended without result or error") }
    return (cost, result)
  }
}
