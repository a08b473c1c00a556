import CPostgres
import Glibc
import Synchronization

/// What is needed to end a connection from any thread while its own waits for the server.
///
/// It has a descriptor of its own of the connection's socket: libpq closes its one when it finds the connection lost, and
/// the number may be another file's by then.
final class SocketHandle: Sendable {
  private struct State {
    var descriptor: Int32?
    var isDropped = false
  }

  private let state: Mutex<State>

  init(of connection: OpaquePointer) {
    let descriptor = fcntl(PQsocket(connection), F_DUPFD_CLOEXEC, 0)
    state = Mutex(State(descriptor: descriptor >= 0 ? descriptor : nil))
  }

  deinit { free() }

  /// Ends the connection on this side, without a word to the server: a call that waits for it fails at once.
  func drop() {
    state.withLock { state in
      guard let descriptor = state.descriptor else { return }
      state.isDropped = true
      shutdown(descriptor, Int32(SHUT_RDWR))
    }
  }

  /// Whether the connection was ended by ``drop()``.
  var isDropped: Bool { state.withLock { $0.isDropped } }

  /// Gives the descriptor back; later requests do nothing.
  func free() {
    state.withLock { state in
      if let descriptor = state.descriptor { close(descriptor) }
      state.descriptor = nil
    }
  }
}
