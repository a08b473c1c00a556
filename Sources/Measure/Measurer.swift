import Foundation
public import Postgres
public import SQL
public import Vocabulary

/// Settles what changed or came due, posts it to the ledger and brings the daily totals up to date.
///
/// The work is the SQL of `sql/measure`, run in one transaction: a run happens whole or not at all.
public struct Measurer: Sendable {
  /// What a run is doing.
  public enum Progress: Sendable, Equatable {
    /// One step of `total` begins.
    case step(name: String, number: Int, total: Int)
  }

  private let connection: Connection
  private let settings: MeasureSettings
  private let command: String
  private let afterMeasuring: [SQLFile]
  private let report: @Sendable (Progress) -> Void

  /// Creates a measurer.
  ///
  /// - Parameters:
  ///   - connection: A connection of its own; the measurer holds the lock of runs on it.
  ///   - settings: The book's settings.
  ///   - command: The command that runs it, for `report.runs`.
  ///   - afterMeasuring: Statements run in each run's transaction once its figures stand. They find the events that the run
  ///     made in the temporary table `stored_event`.
  ///   - report: Called as the run proceeds.
  public init(
    connection: Connection, settings: MeasureSettings, command: String = "measure", afterMeasuring: [SQLFile] = [],
    report: @escaping @Sendable (Progress) -> Void = { _ in }
  ) {
    self.connection = connection
    self.settings = settings
    self.command = command
    self.afterMeasuring = afterMeasuring
    self.report = report
  }

  /// Runs once.
  ///
  /// Waits for a run that is under way elsewhere to end.
  ///
  /// - Parameters:
  ///   - asOf: What happens at this moment or later does not count.
  ///   - isRebuild: Whether to derive everything again, not only what changed.
  /// - Throws: ``MeasureError``, or a `PostgresError` when the database fails; in each case nothing was changed.
  public func run(asOf: Instant, isRebuild: Bool = false) async throws -> MeasureResult {
    try await connection.query("select pg_advisory_lock(hashtextextended('tenure.measure', 0))")
    do {
      let result = try await locked(asOf: asOf, isRebuild: isRebuild)
      try await connection.query("select pg_advisory_unlock(hashtextextended('tenure.measure', 0))")
      return result
    } catch {
      // When the connection is lost, the lock is gone with it.
      _ = try? await connection.query("select pg_advisory_unlock(hashtextextended('tenure.measure', 0))")
      throw error
    }
  }

  private func locked(asOf: Instant, isRebuild: Bool) async throws -> MeasureResult {
    let zones = try await connection.query(
      "select from pg_catalog.pg_timezone_names where name = $1", [.text(settings.timeZone)])
    guard !zones.isEmpty else { throw MeasureError.unknownTimeZone(settings.timeZone) }
    let last = try await connection.query("select max(as_of) as as_of from measure.run where outcome = 'done'")
    if let microseconds = try last.first?.optionalTimestamp("as_of"), asOf.microseconds < microseconds {
      throw MeasureError.asOfGoesBack(asked: asOf, last: Instant(microseconds: microseconds))
    }

    let start = ContinuousClock.now
    // Runs wait for each other: one that did not say how it ended was killed.
    try await connection.query("update measure.run set outcome = 'killed' where outcome = 'running'")
    // The run's row stands for itself, so that a run that was killed or failed can be seen.
    let opened = try await connection.query(
      """
      insert into measure.run (command, started_at, as_of, outcome)
      values ($1, clock_timestamp(), $2, 'running')
      returning run_id
      """, [.text(command), .timestamp(microseconds: asOf.microseconds)])
    guard let runID = try opened.first?.int("run_id") else { preconditionFailure("an insert returned no row") }
    do {
      return try await withTaskCancellationHandler {
        try await connection.transaction(.repeatableRead) { connection in
          try measure(on: connection, runID: runID, asOf: asOf, isRebuild: isRebuild, start: start)
        }
      } onCancel: {
        connection.cancel()
      }
    } catch {
      _ = try? await connection.query(
        """
        update measure.run
        set outcome = 'failed', error = $2, finished_at = clock_timestamp()
        where run_id = $1
        """, [.int(runID), .text("\(error)")])
      throw error
    }
  }

  private func measure(
    on connection: isolated Connection, runID: Int64, asOf: Instant, isRebuild: Bool, start: ContinuousClock.Instant
  ) throws -> MeasureResult {
    // Sorts and joins of a first load are worth more memory than a server gives to each by default. Pages are mostly in
    // memory: the default price of a random one makes scans of whole tables look cheaper than the few rows wanted.
    // Temporary tables have their buffers for the session, which cannot be changed once there is one.
    try connection.execute(
      "select set_config('temp_buffers', '128MB', false) where current_setting('temp_buffers') <> '128MB'")
    try connection.execute("set local work_mem = '256MB'; set local random_page_cost = 1.1")
    try connection.execute(SQLFiles.text("measure/00_run.sql"))
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    let commissions = try encoder.encode(settings.commissions.mapValues(\.text))
    try connection.query(
      SQLFiles.text("measure/00_book.sql"),
      [
        .int(runID), .timestamp(microseconds: asOf.microseconds), .text(settings.timeZone),
        .int(settings.waitForWord), .text(settings.monthlyFactors.rawValue), .text(settings.currency),
        .bool(isRebuild), .json(String(decoding: commissions, as: UTF8.self)),
      ])
    let steps = SQLFiles.folder("measure").filter { !$0.name.hasPrefix("00_") }
    let checks = SQLFiles.folder("checks")
    for (index, step) in steps.enumerated() {
      // A cancelled statement ends by itself; between two of them nothing else would.
      try Task.checkCancellation()
      report(.step(name: step.name, number: index + 1, total: steps.count + checks.count))
      if step.isQuery {
        try connection.execute("create temp view \(step.viewName) as\n\(step.text)")
      } else if step.name == "05_widen" {
        // Nearly always what was read is enough.
        let widened = try connection.query(step.text)[0].int("widened")
        for step in steps where widened > 0 && ["04_word", "05_period"].contains(step.name) {
          try connection.execute(step.text)
        }
      } else {
        try connection.execute(step.text)
      }
    }
    var failed: [MeasureError.FailedCheck] = []
    for (index, check) in checks.enumerated() {
      report(.step(name: check.name, number: steps.count + index + 1, total: steps.count + checks.count))
      let text = check.text.trimmingCharacters(in: .whitespacesAndNewlines).dropLast()
      let rows = try connection.query("select row_to_json(failing)::text as failing from (\(text)) as failing limit 5")
      if !rows.isEmpty { failed.append(.init(name: check.name, rows: try rows.map { try $0.text("failing") })) }
    }
    guard failed.isEmpty else { throw MeasureError.checksFailed(failed) }
    let counts = try connection.query(
      """
      select
        (select count(*) from unsettled) as facts,
        (select count(*) from settling) as settled,
        (select count(*) from line) as transactions_read,
        (select count(*) from posting) as entries
      """)[0]
    let facts = try counts.int("facts")
    let settled = try counts.int("settled")
    let read = try counts.int("transactions_read")
    let entries = try counts.int("entries")
    try connection.query(
      """
      update measure.run
      set outcome = 'done', finished_at = clock_timestamp(), book_id = (select book_id from this_run),
        facts = $2, settled = $3, transactions_read = $4, entries = $5
      where run_id = $1
      """, [.int(runID), .int(facts), .int(settled), .int(read), .int(entries)])
    // Of few rows each, whatever the planner fears of the views they read.
    try connection.execute("set local jit = off")
    for file in afterMeasuring { try connection.execute(file.text) }
    let elapsed = ContinuousClock.now - start
    return MeasureResult(
      runID: runID, asOf: asOf, facts: facts, settled: settled, transactionsRead: read, entries: entries,
      seconds: Double(elapsed.components.seconds) + Double(elapsed.components.attoseconds) / 1e18)
  }
}

extension SQLFile {
  /// Whether a step is a query: not to be run, but a view of the run, which later steps read by its name.
  fileprivate var isQuery: Bool {
    text.split(separator: "\n").first { !$0.hasPrefix("--") }?.hasPrefix("select") == true
  }

  /// The step's name without its number.
  fileprivate var viewName: Substring { name.drop { $0 != "_" }.dropFirst() }
}
