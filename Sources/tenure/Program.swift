import Dispatch
import Foundation
import Glibc
import Postgres
import Synchronization

/// The program: finds the command, runs it, and turns how it ended into an exit code.
enum Program {
  /// The program's version.
  static let version = "0.1.0"

  /// Every command, in the order the help text shows them.
  static let commands: [any Command.Type] = [
    DemoCommand.self, MigrateCommand.self, IngestCommand.self, BackfillCommand.self, ConsumeCommand.self,
    MeasureCommand.self, ReportCommand.self, ExplainCommand.self,
    ForwardCommand.self, RunCommand.self, ServeCommand.self,
    AppsCommand.self, AppsRenameCommand.self, TargetsCommand.self, TargetsTestCommand.self, TargetsPauseCommand.self,
    TargetsResumeCommand.self, TargetsReplayCommand.self, RatesImportCommand.self, TaxesImportCommand.self,
    CatalogueImportCommand.self, WinbackImportCommand.self, EraseCommand.self, DoctorCommand.self,
  ]

  /// Runs the program with the arguments of the process, and ends the process.
  static func main() async -> Never {
    // Writing to a closed pipe or socket is an error where it happens, not the end of the program.
    signal(SIGPIPE, SIG_IGN)
    let code = await run(Array(CommandLine.arguments.dropFirst()), log: Log(), output: Output())
    exit(code.rawValue)
  }

  static func run(_ words: [String], log: Log, output: Output) async -> ExitCode {
    do {
      guard let call = try Call(words, commands: commands) else {
        try output.write(help)
        return .done
      }
      if let text = call.text {
        try output.write(text)
        return .done
      }
      let context = Context(arguments: call.arguments, log: log, output: output)
      let command = try call.type.init(call.arguments)
      return try await interruptibly(call.type.interruption, log: log) { try await command.run(context) }
    } catch let error as UsageError {
      log.error("wrong usage", ["error": .init(error.description)])
      return .usage
    } catch let error as ConfigurationError {
      for problem in error.problems {
        log.error(
          "wrong configuration",
          ["file": .init(error.file), "path": .init(problem.path), "error": .init(problem.message)])
      }
      return .usage
    } catch is Output.Closed {
      return .done
    } catch {
      log.error("failed", ["error": .init("\(error)")])
      return .failed
    }
  }

  /// The help text of the program as a whole.
  static var help: String {
    """
    Subscription figures from streams of store events, in your own PostgreSQL

    Usage: tenure <command> [options]

    Commands:
    \(CommandSyntax.table(commands.map { ($0.syntax.name, $0.syntax.summary) }))
    tenure <command> --help tells more. Exit codes: 0 done, 1 failed, 2 wrong usage or configuration, 3 done, but some
    input was rejected.

    """
  }

  // MARK: - Signals

  private enum State {
    case running
    case interrupted
    case ended
  }

  /// How long after the first signal a command may take to return before the process ends without it. What its
  /// connections have open is rolled back then, and the program's own server is stopped by its keeper.
  private static let patience = DispatchTimeInterval.seconds(3)

  /// Runs `body` so that TERM and INT end it: the first one in order, the second one at once.
  private static func interruptibly(
    _ interruption: Interruption, log: Log, _ body: @escaping @Sendable () async throws -> ExitCode
  ) async throws -> ExitCode {
    let state = Mutex(State.running)
    let task = Task { try await body() }
    // On a queue of its own: a task could not be relied on to run while the work keeps the threads busy.
    let queue = DispatchQueue(label: "tenure.signals")
    @Sendable func stopStatements() {
      // Again and again, since a request that arrives between two statements stops neither.
      if state.withLock({ $0 == .ended }) { return }
      Connection.cancelAll()
      queue.asyncAfter(deadline: .now() + .milliseconds(100)) { stopStatements() }
    }
    let sources = [SIGTERM, SIGINT].map { number in
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
      source.setEventHandler { @Sendable in
        let isFirst = state.withLock { state in
          defer { state = .interrupted }
          return state == .running
        }
        if !isFirst { _exit(ExitCode.failed.rawValue) }
        log.info("ending, as a signal asked; a second one ends at once")
        task.cancel()
        if interruption == .stopsStatements {
          stopStatements()
          // Work that waits for something else than the database, such as more input, cannot be woken.
          queue.asyncAfter(deadline: .now() + patience) {
            if state.withLock({ $0 == .ended }) { return }
            log.error("failed", ["error": "interrupted by a signal; nothing is half done"])
            _exit(ExitCode.failed.rawValue)
          }
        }
      }
      source.resume()
      return source
    }
    defer {
      for source in sources { source.cancel() }
    }
    let result = await task.result
    let isInterrupted = state.withLock { state in
      defer { state = .ended }
      return state == .interrupted
    }
    do {
      return try result.get()
    } catch {
      guard isInterrupted else { throw error }
      if error is CancellationError || (error as? PostgresError)?.isCancelled == true {
        throw Failure("interrupted by a signal; nothing is half done")
      }
      throw error
    }
  }
}
