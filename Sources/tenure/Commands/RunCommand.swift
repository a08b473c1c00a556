import Forward
import Glibc
import Ingest
import Measure
import Postgres
import Vocabulary

/// `tenure run`: the scheduled job.
struct RunCommand: Command {
  static let syntax = CommandSyntax(
    "run", summary: "the scheduled job: measures, forwards, and removes raw payloads older than ingest.keep_raw",
    options: [
      OptionSyntax("every", value: "TIME", help: "again and again at this distance, such as 15m (default: once)"),
      OptionSyntax(
        "touch", value: "FILE", help: "touch this file each time the job is done, for who watches it by the file's age"),
    ],
    notes: """
      Only one runs on a database at a time: a second one exits at once and says so. With --every a failure is logged and
      the next time tried again; without it the command fails.
      """)

  static let interruption = Interruption.finishesWork

  private let every: Int64?
  private let touched: String?

  init(_ arguments: Arguments) throws(UsageError) {
    every = try arguments.duration("every")
    touched = arguments.value("touch")
  }

  private struct Result: Encodable {
    let runId: Int64
    let settled: Int64
    let entries: Int64
    let forwarded: ForwardSummary
  }

  func run(_ context: Context) async throws -> ExitCode {
    let configuration = try context.configuration()
    let targets = try configuration.makeTargets()
    return try await context.withDatabase { database in
      // The lock is the session's, so it is free again when this process ends, however that happens.
      let lock = try await database.open()
      let taken = try await lock.query("select pg_try_advisory_lock(hashtextextended('tenure.run', 0)) as taken")
      guard try taken[0].bool("taken") else {
        throw Failure("another tenure run is at work on this database; this one ends")
      }
      guard let every else {
        try await once(context, database, targets, configuration)
        return .done
      }
      let clock = ContinuousClock()
      var next = clock.now
      while !Task.isCancelled {
        do {
          try await once(context, database, targets, configuration)
        } catch {
          if Task.isCancelled { break }
          context.log.error("this time failed, the next is tried again", ["error": .init("\(error)")])
          // Without its session the lock is gone, and another copy may have begun.
          if await lock.isLost { throw error }
        }
        next = max(next.advanced(by: .seconds(every)), clock.now)
        do { try await clock.sleep(until: next) } catch { break }
      }
      return .done
    }
  }

  private func touch(_ path: String) throws {
    let descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY, 0o644)
    guard descriptor >= 0 else { throw Failure("touching \(path): \(String(cString: strerror(errno)))") }
    defer { close(descriptor) }
    guard futimens(descriptor, nil) == 0 else {
      throw Failure("touching \(path): \(String(cString: strerror(errno)))")
    }
  }

  private func removePayloads(olderThan age: Int64, _ database: Database, _ log: Log) async throws {
    let connection = try await database.open()
    let months = try await PayloadArchive(connection).removeMonths(before: Instant.now.adding(seconds: -age))
    await connection.close()
    switch months {
    case nil: log.info("raw payloads are being stored; the old ones are removed the next time")
    case 0: break
    case let months?: log.info("removed raw payloads", ["months": .init(months)])
    }
  }

  private func once(
    _ context: Context, _ database: Database, _ targets: [any Forward.Target], _ configuration: Configuration
  ) async throws {
    let measured = try await MeasureCommand.measure(context, database, asOf: .now, command: "run")
    let forwarded = try await Forwarder(
      connectionString: database.connectionString, targets: targets, settings: configuration.forwarderSettings,
      report: { [log = context.log] in ForwardCommand.tell($0, log) }
    ).runOnce()
    if let age = configuration.keepRaw { try await removePayloads(olderThan: age, database, context.log) }
    if let touched { try touch(touched) }
    if context.isJSON {
      try context.output.json(
        Result(
          runId: measured.runID, settled: measured.settled, entries: measured.entries, forwarded: forwarded))
    } else {
      try MeasureCommand.show(measured, context)
      try ForwardCommand.show(forwarded, context)
    }
  }
}
