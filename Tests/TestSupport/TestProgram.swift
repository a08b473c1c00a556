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

    /// Reads until the stream ends, and closes it.
    func record(_ descriptor: Int32) async -> Data {
      await withCheckedContinuation { continuation in
        Thread.detachNewThread {
          var part = [UInt8](repeating: 0, count: 1 << 16)
          while true {
            let count = read(descriptor, &part, part.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { break }
            self.tell { $0.data += part[..<count] }
          }
          close(descriptor)
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

  private let process: SpawnedProcess
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
  ///   - authorities: the folder that it sees in place of the system's authorities; needs root. The system's when nil.
  ///   - file: the program's file.
  /// - Throws: when it cannot be started.
  public init(
    _ arguments: [String], input: Data? = nil, environment: [String: String] = [:], directory: String = "/",
    user: String? = nil, authorities: String? = nil, file: String = TestProgram.path
  ) throws {
    let mounting = "mount --bind \"$0\" /etc/ssl/certs && exec \"$@\""
    let prefix =
      (authorities.map { ["/usr/bin/unshare", "--mount", "/bin/sh", "-c", mounting, $0] } ?? [])
      + (user.map { ["/usr/bin/setpriv", "--reuid=\($0)", "--regid=\($0)", "--init-groups"] } ?? [])
    let process = try SpawnedProcess(
      prefix + [file] + arguments, environment: ["PATH": "/usr/bin:/bin"].merging(environment) { $1 },
      directory: directory, hasInput: input != nil)
    self.process = process
    if let input, let descriptor = process.input {
      // On a thread of its own: the program may write before it has read everything.
      Thread.detachNewThread {
        signal(SIGPIPE, SIG_IGN)
        try? FileHandle(fileDescriptor: descriptor, closeOnDealloc: true).write(contentsOf: input)
      }
    }
    outcome = Task { [outputRecording, errorRecording] in
      // No test runs a program for so long: one that hangs is killed, so that its test fails and the others go on.
      let watch = Task {
        try await Task.sleep(for: .seconds(1200))
        process.send(SIGKILL)
      }
      async let outputData = outputRecording.record(process.output)
      async let errorData = errorRecording.record(process.errors)
      let texts = await (String(decoding: outputData, as: UTF8.self), String(decoding: errorData, as: UTF8.self))
      let code = await withCheckedContinuation { continuation in
        Thread.detachNewThread { continuation.resume(returning: process.wait()) }
      }
      watch.cancel()
      return Outcome(code: code, output: texts.0, errors: texts.1)
    }
  }

  /// Its process number.
  public var processID: Int32 { process.processID }

  /// Sends it a signal, while it runs.
  public func send(_ signal: Int32) { process.send(signal) }

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
