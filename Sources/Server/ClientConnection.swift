import Glibc
import Synchronization

/// A client's connection, and since when its next request has been on its way.
///
/// libmicrohttpd's own limit is one of idleness: a client that sends a byte a second would never reach it.
final class ClientConnection: Sendable {
  private struct State {
    var descriptor: Int32?
    var since: ContinuousClock.Instant
    /// Whether the client waits for us, and not we for it.
    var isInHand = false
  }

  private let state: Mutex<State>
  /// The address that it comes from; empty where that is not known.
  let peer: String

  init(descriptor: Int32) {
    state = Mutex(State(descriptor: descriptor, since: .now))
    peer = Self.peer(of: descriptor) ?? ""
  }

  private static func peer(of descriptor: Int32) -> String? {
    var storage = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    return withUnsafeMutableBytes(of: &storage) { bytes in
      guard let address = bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self),
        getpeername(descriptor, address, &length) == 0
      else { return nil }
      return withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(NI_MAXHOST)) { name in
        guard getnameinfo(address, length, name.baseAddress, socklen_t(name.count), nil, 0, NI_NUMERICHOST) == 0,
          let text = name.baseAddress
        else { return nil }
        return String(cString: text)
      }
    }
  }

  /// A request has begun, or ended.
  func restart() {
    state.withLock { state in
      state.since = .now
      state.isInHand = false
    }
  }

  /// Who waits for whom.
  func setInHand(_ isInHand: Bool) { state.withLock { $0.isInHand = isInHand } }

  /// Ends the connection when its request has not come whole in that time. Its thread then sees the end of the stream.
  func end(ifOlderThan limit: Duration) {
    state.withLock { state in
      guard let descriptor = state.descriptor, !state.isInHand, .now - state.since > limit else { return }
      shutdown(descriptor, Int32(SHUT_RDWR))
    }
  }

  /// The socket is about to be closed, after which its number may be another's.
  func forget() { state.withLock { $0.descriptor = nil } }

  /// Sends an answer while the client is still sending its request, and nothing after it. What the client sends on can be
  /// read and dropped: closing at once would reset the connection, and the client might never see the answer.
  func answerEarly(_ answer: HTTPAnswer) {
    state.withLock { state in
      state.isInHand = false
      guard let descriptor = state.descriptor else { return }
      // A few hundred bytes into an empty buffer: they go in one call.
      let bytes = answer.serialized
      _ = bytes.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
      shutdown(descriptor, Int32(SHUT_WR))
    }
  }
}
