import Measure
import Postgres

/// A run after one new fact in each of many chains, 1 % of all, against the run that derived everything; and the same with
/// ten times the history in each chain, against the first.
enum IncrementBenchmark: Benchmark {
  static let name = "increment"
  static let summary =
    "a run after 1 % new facts, each in another chain, against the full one and with longer histories"
  static let size = 1_000_000
  static let unit = "transactions"

  static func run(_ plan: Plan) async throws {
    var toFull = Comparison("increment, run after 1 % new facts to the full one", .times, reach: 0.05)
    var toShort = Comparison("increment, ten times the history per chain to the same run", .times, reach: 1.3)
    // As many facts and as many new ones either way.
    let short = SubscriptionLives(chains: max(plan.size / 10, 10), periods: 10, lateEvery: 10)
    let long = SubscriptionLives(chains: max(plan.size / 100, 1), periods: 100, lateEvery: 1, isWeekly: true)
    try await ScratchDatabase.with { database in
      for _ in 0..<plan.repetitions {
        let ofShort = try await measure(short, database)
        toFull.add(work: ofShort.increment, limit: ofShort.full)
        let ofLong = try await measure(long, database)
        toShort.add(work: ofLong.increment, limit: ofShort.increment)
      }
    }
    toFull.conclude()
    toShort.conclude()
  }

  private static func measure(
    _ lives: SubscriptionLives, _ database: ScratchDatabase
  ) async throws -> (full: Cost, increment: Cost) {
    let connection = database.connection
    try await lives.lay(withLate: false, on: connection)
    let full = try await RebuildBenchmark.measure(database, StepTimes()).cost
    // What the server does by itself between two runs.
    try await lives.vacuum([SubscriptionLives.derived], on: connection)
    let late = try await lives.layLate(on: connection)
    let times = StepTimes()
    let increment = try await RebuildBenchmark.measure(database, times)
    guard increment.result.settled == late else {
      throw BenchError("\(late) chains had a new fact, and \(increment.result.settled) were settled")
    }
    times.say()
    return (full, increment.cost)
  }
}
