import Foundation
import Glibc
import SpawnShim
import Synchronization

/// A child process whose streams are pipes of this process.
///
/// Foundation's own `Process` looks for open descriptors in a folder whose entries it copies beyond their end, which now and
/// then ends the process that starts many children; `posix_spawn` closes them itself.
final class SpawnedProcess: Sendable {
  /// Its process number.
  let processID: pid_t
  /// Where to write what it reads from stdin; nil where it reads nothing.
  let input: Int32?
  /// Where to read what it writes to stdout.
  let output: Int32
  /// Where to read what it writes to stderr.
  let errors: Int32
  /// Whether its number may be another's by now.
  private let isGone = Mutex(false)

  /// Starts a program.
  ///
  /// - Parameters:
  ///   - words: its file and its arguments.
  ///   - environment: all that it sees of an environment.
  ///   - directory: where it runs.
  ///   - hasInput: whether something is written to its stdin.
  /// - Throws: `POSIXError` when it cannot be started.
  init(_ words: [String], environment: [String: String], directory: String, hasInput: Bool) throws {
    var arguments = words.map { strdup($0) } + [nil]
    var variables = environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
    defer { for text in arguments + variables { free(text) } }
    var streams: (input: Int32, output: Int32, errors: Int32) = (-1, -1, -1)
    var processID: pid_t = 0
    let code =
      hasInput
      ? tenure_spawn(
        &arguments, &variables, directory, &streams.input, &streams.output, &streams.errors, &processID)
      : tenure_spawn(&arguments, &variables, directory, nil, &streams.output, &streams.errors, &processID)
    guard code == 0 else { throw POSIXError(POSIXErrorCode(rawValue: code) ?? .EIO) }
    self.processID = processID
    input = hasInput ? streams.input : nil
    output = streams.output
    errors = streams.errors
  }

  /// Sends it a signal, unless it has ended.
  func send(_ signal: Int32) {
    isGone.withLock { if !$0 { _ = kill(processID, signal) } }
  }

  /// Waits on the calling thread for its end, and returns its exit code; 128 and more when a signal ended it.
  func wait() -> Int32 {
    var information = siginfo_t()
    while waitid(P_PID, id_t(processID), &information, WEXITED | WNOWAIT) < 0, errno == EINTR {}
    return isGone.withLock { isGone in
      isGone = true
      var status: Int32 = 0
      guard waitpid(processID, &status, 0) == processID else { return -1 }
      let signal = status & 0x7F
      return signal == 0 ? (status >> 8) & 0xFF : 128 + signal
    }
  }
}
