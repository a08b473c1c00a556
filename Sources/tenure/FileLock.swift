import Dispatch
import Glibc

/// A lock on a file, as flock(2) gives it: the kernel takes it back when the process ends, however that happens.
final class FileLock: Sendable {
  enum Mode: Sendable {
    case shared
    case exclusive
  }

  private let descriptor: Int32
  private let path: String

  /// Opens the file, and makes it where it is missing.
  ///
  /// - Parameter owner: whom a new file shall belong to.
  init(path: String, owner: ServerUser) throws {
    self.path = path
    descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw Failure("opening \(path): \(String(cString: strerror(errno)))") }
    if geteuid() == 0 { fchown(descriptor, owner.uid, owner.gid) }
  }

  deinit { close(descriptor) }

  /// Takes the lock if that needs no waiting. A lock held in the other mode is exchanged; when that fails it is lost.
  func tryLock(_ mode: Mode) -> Bool { flock(descriptor, (mode == .shared ? LOCK_SH : LOCK_EX) | LOCK_NB) == 0 }

  /// Takes the lock as soon as it can be had.
  ///
  /// - Throws: `CancellationError` when the task is cancelled meanwhile.
  func lock(_ mode: Mode) async throws {
    while !tryLock(mode) {
      guard errno == EWOULDBLOCK || errno == EINTR else {
        throw Failure("locking \(path): \(String(cString: strerror(errno)))")
      }
      try await Task.sleep(for: .milliseconds(20))
    }
  }

  /// Takes the lock exclusively as soon as it can be had, also in a task that was cancelled.
  func lockRegardless() async {
    await withCheckedContinuation { continuation in
      DispatchQueue.global().async {
        while flock(self.descriptor, LOCK_EX) != 0, errno == EINTR {}
        continuation.resume()
      }
    }
  }

  /// Gives the lock back.
  func unlock() { flock(descriptor, LOCK_UN) }
}
