import Foundation
import Measure
import Postgres
import SQL
import Vocabulary

/// `tenure measure`: makes the figures.
struct MeasureCommand: Command {
  static let syntax = CommandSyntax(
    "measure", summary: "settles what changed or came due, posts entries, brings totals up to date, runs the checks",
    options: [
      OptionSyntax(
        "as-of", value: "T", help: "what happens at this moment or later does not count (default: now)"),
      OptionSyntax(
        "rebuild", help: "derive everything again and sum the totals anew; only what differs is posted"),
    ],
    notes: """
      A run happens whole or not at all, and can be repeated: what it found settled stays as it is. An as-of moment
      earlier than the last run's is refused.
      """)

  private let asOf: Instant?
  private let isRebuild: Bool

  init(_ arguments: Arguments) throws(UsageError) {
    asOf = try arguments.instant("as-of")
    isRebuild = arguments.flag("rebuild")
  }

  func run(_ context: Context) async throws -> ExitCode {
    let result = try await context.withDatabase { database in
      try await Self.measure(context, database, asOf: asOf ?? .now, isRebuild: isRebuild, command: "measure")
    }
    try Self.show(result, context)
    return .done
  }

  /// One run, as `measure` and `run` do it.
  static func measure(
    _ context: Context, _ database: Database, asOf: Instant, isRebuild: Bool = false, command: String
  ) async throws -> MeasureResult {
    let configuration = try context.configuration()
    let reporting = configuration.reporting
    let commissions = configuration.apps.filter { $0.commission != .standard }.map { ($0.key, $0.commission) }
    let connection = try await database.open()
    let measurer = Measurer(
      connection: connection,
      settings: MeasureSettings(
        timeZone: reporting.timezone, waitForWord: reporting.waitForWord, monthlyFactors: reporting.mrrFactors,
        currency: reporting.currency, commissions: Dictionary(uniqueKeysWithValues: commissions)),
      command: command, afterMeasuring: SQLFiles.folder("forward").filter { ["announce", "digest"].contains($0.name) }
    ) { progress in
      switch progress {
      case .step(let name, let number, let total):
        context.log.progress("measure: step \(number) of \(total), \(name)")
      }
    }
    let result: MeasureResult
    do {
      result = try await measurer.run(asOf: asOf, isRebuild: isRebuild)
    } catch let error as MeasureError {
      throw Failure("measure: \(error)")
    }
    context.log.endProgress()
    await connection.close()
    return result
  }

  private struct Shown: Encodable {
    let runId: Int64
    let asOf: String
    let facts: Int64
    let settled: Int64
    let entries: Int64
    let checksFailed: Int
    let seconds: Decimal
  }

  static func show(_ result: MeasureResult, _ context: Context) throws {
    if context.isJSON {
      try context.output.json(
        Shown(
          runId: result.runID, asOf: result.asOf.description, facts: result.facts, settled: result.settled,
          entries: result.entries, checksFailed: 0, seconds: Decimal(Int64(result.seconds * 1000)) / 1000))
    } else {
      try context.output.line(
        """
        run \(result.runID) as of \(result.asOf): \(result.facts) facts, \(result.settled) subscriptions settled, \
        \(result.entries) entries posted
        """)
    }
  }
}

extension Instant {
  /// The wall clock. Only commands read it; everything else is told the moment.
  static var now: Instant { Instant(microseconds: Int64(Date().timeIntervalSince1970 * 1_000_000)) }
}
