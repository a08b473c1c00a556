import Foundation
import Glibc
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
    var ends: [Int32] = []
    func pipe() throws -> (reading: Int32, writing: Int32) {
      var pair: [Int32] = [0, 0]
      guard pipe2(&pair, O_CLOEXEC) == 0 else { throw Self.error(errno) }
      ends += pair
      return (pair[0], pair[1])
    }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    do {
      let toInput = hasInput ? try pipe() : nil
      let fromOutput = try pipe()
      let fromErrors = try pipe()
      if let toInput {
        posix_spawn_file_actions_adddup2(&actions, toInput.reading, STDIN_FILENO)
      } else {
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
      }
      posix_spawn_file_actions_adddup2(&actions, fromOutput.writing, STDOUT_FILENO)
      posix_spawn_file_actions_adddup2(&actions, fromErrors.writing, STDERR_FILENO)
      posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1)
      posix_spawn_file_actions_addchdir_np(&actions, directory)
      // A group of its own, so that a signal to the tests' group does not reach it; no signal blocked or ignored.
      posix_spawnattr_setflags(
        &attributes, Int16(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
      posix_spawnattr_setpgroup(&attributes, 0)
      var signals = sigset_t()
      sigemptyset(&signals)
      posix_spawnattr_setsigmask(&attributes, &signals)
      sigfillset(&signals)
      posix_spawnattr_setsigdefault(&attributes, &signals)
      var arguments = words.map { strdup($0) } + [nil]
      var variables = environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
      defer { for text in arguments + variables { free(text) } }
      var processID: pid_t = 0
      let code = posix_spawn(&processID, words[0], &actions, &attributes, &arguments, &variables)
      guard code == 0 else { throw Self.error(code) }
      self.processID = processID
      input = toInput?.writing
      output = fromOutput.reading
      errors = fromErrors.reading
      for end in [toInput?.reading, fromOutput.writing, fromErrors.writing] { if let end { close(end) } }
    } catch {
      for end in ends { close(end) }
      throw error
    }
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

  private static func error(_ code: Int32) -> POSIXError { POSIXError(POSIXErrorCode(rawValue: code) ?? .EIO) }
}
