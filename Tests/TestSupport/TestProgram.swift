public import Foundation
import Glibc
import Synchronization

/// The built program, run as its users run it.
///
/// It sees nothing of this process's environment but the search path.
public final class TestProgram: Sendable {
  /// How a run ended.
  public struct Outcome: Sendable {
    /// The exit code; 128 and more when a signal ended it.
    public let code: Int32
    /// What it wrote to stdout.
    public let output: String
    /// What it wrote to stderr.
    public let errors: String
  }

  /// The program's file, beside the tests' own.
  public static let path: String = {
    let tests = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
    return URL(filePath: tests).deletingLastPathComponent().appending(path: "tenure").path
  }()

  /// What it has written so far to one of its streams.
  private final class Recording: Sendable {
    private struct State {
      var data = Data()
      var isEnded = false
      var waiters: [(word: String, continuation: CheckedContinuation<String?, Never>)] = []
    }

    private let state = Mutex(State())

    /// Reads until the stream ends.
    func record(_ pipe: Pipe) async -> Data {
      await withCheckedContinuation { continuation in
        Thread.detachNewThread {
          // Foundation's own reading returns when it has as much as was asked for, or at the end.
          let descriptor = pipe.fileHandleForReading.fileDescriptor
          var part = [UInt8](repeating: 0, count: 1 << 16)
          while true {
            let count = read(descriptor, &part, part.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { break }
            self.tell { $0.data += part[..<count] }
          }
          self.tell { $0.isEnded = true }
          continuation.resume(returning: self.state.withLock { $0.data })
        }
      }
    }

    private func tell(_ change: (inout State) -> Void) {
      let ready = state.withLock { state -> [(CheckedContinuation<String?, Never>, String?)] in
        change(&state)
        let found = state.waiters.map { ($0, Self.line(state.data, containing: $0.word)) }
        state.waiters = found.filter { $0.1 == nil && !state.isEnded }.map(\.0)
        return found.filter { $0.1 != nil || state.isEnded }.map { ($0.0.continuation, $0.1) }
      }
      for (continuation, line) in ready { continuation.resume(returning: line) }
    }

    /// The first whole line with that word in it; nil when the stream ends without one.
    func line(containing word: String) async -> String? {
      await withCheckedContinuation { continuation in
        let (line, isEnded) = state.withLock { state in
          let line = Self.line(state.data, containing: word)
          if line == nil, !state.isEnded { state.waiters.append((word, continuation)) }
          return (line, state.isEnded)
        }
        if line != nil || isEnded { continuation.resume(returning: line) }
      }
    }

    private static func line(_ data: Data, containing word: String) -> String? {
      guard let end = data.lastIndex(of: UInt8(ascii: "\n")) else { return nil }
      return String(decoding: data[..<end], as: UTF8.self).split(separator: "\n").first { $0.contains(word) }
        .map(String.init)
    }
  }

  private let process: Process
  private let outputRecording = Recording()
  private let errorRecording = Recording()
  private let outcome: Task<Outcome, Never>

  /// Starts the program.
  ///
  /// - Parameters:
  ///   - arguments: its arguments.
  ///   - input: what it reads from stdin; nothing when nil.
  ///   - environment: what it sees beside the search path.
  ///   - directory: where it runs.
  ///   - user: as whom it runs; needs root. As this process's user when nil.
  ///   - file: the program's file.
  /// - Throws: when it cannot be started.
  public init(
    _ arguments: [String], input: Data? = nil, environment: [String: String] = [:], directory: String = "/",
    user: String? = nil, file: String = TestProgram.path
  ) throws {
    let process = Process()
    let output = Pipe()
    let errors = Pipe()
    if let user {
      process.executableURL = URL(filePath: "/usr/bin/setpriv")
      process.arguments = ["--reuid=\(user)", "--regid=\(user)", "--init-groups", file] + arguments
    } else {
      process.executableURL = URL(filePath: file)
      process.arguments = arguments
    }
    process.environment = ["PATH": "/usr/bin:/bin"].merging(environment) { $1 }
    process.currentDirectoryURL = URL(filePath: directory)
    process.standardOutput = output
    process.standardError = errors
    let inputPipe = input.map { _ in Pipe() }
    if let inputPipe { process.standardInput = inputPipe } else { process.standardInput = FileHandle.nullDevice }
    let (exits, exit) = AsyncStream.makeStream(of: Void.self)
    process.terminationHandler = { _ in exit.finish() }
    try process.run()
    self.process = process
    if let input, let inputPipe {
      // On a thread of its own: the program may write before it has read everything.
      Thread.detachNewThread {
        signal(SIGPIPE, SIG_IGN)
        try? inputPipe.fileHandleForWriting.write(contentsOf: input)
        try? inputPipe.fileHandleForWriting.close()
      }
    }
    // No test runs a program for so long: one that hangs is killed, so that its test fails and the others go on.
    let watch = Task {
      try await Task.sleep(for: .seconds(1200))
      kill(process.processIdentifier, SIGKILL)
    }
    outcome = Task { [outputRecording, errorRecording] in
      async let outputData = outputRecording.record(output)
      async let errorData = errorRecording.record(errors)
      let texts = await (String(decoding: outputData, as: UTF8.self), String(decoding: errorData, as: UTF8.self))
      for await _ in exits {}
      watch.cancel()
      let code = process.terminationReason == .exit ? process.terminationStatus : 128 + process.terminationStatus
      return Outcome(code: code, output: texts.0, errors: texts.1)
    }
  }

  /// Its process number.
  public var processID: Int32 { process.processIdentifier }

  /// Sends it a signal.
  public func send(_ signal: Int32) { kill(process.processIdentifier, signal) }

  /// The first line with that word in it that it writes to stdout; nil when it ends without one.
  public func outputLine(containing word: String) async -> String? { await outputRecording.line(containing: word) }

  /// The first line with that word in it that it writes to stderr; nil when it ends without one.
  public func errorLine(containing word: String) async -> String? { await errorRecording.line(containing: word) }

  /// How it ended, as soon as it has.
  public func ended() async -> Outcome { await outcome.value }

  /// Runs the program to its end. The parameters are those of ``init(_:input:environment:directory:user:file:)``.
  @discardableResult
  public static func run(
    _ arguments: [String], input: Data? = nil, environment: [String: String] = [:], directory: String = "/",
    user: String? = nil, file: String = TestProgram.path
  ) async throws -> Outcome {
    try await TestProgram(
      arguments, input: input, environment: environment, directory: directory, user: user, file: file
    ).ended()
  }
}
