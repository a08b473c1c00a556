import Synchronization

/// Where the ends of requests are put down for the forwarder, with its other reasons to wake up.
///
/// Waiting is not ended by the task's cancellation: after a signal to stop the ends of what is in hand are still awaited.
final class Mailbox<Message: Sendable>: Sendable {
  private struct State {
    var messages: [Message] = []
    var isWoken = false
    var waiter: CheckedContinuation<Void, Never>?
  }

  private let state = Mutex(State())

  /// Puts a message down.
  func post(_ message: Message) {
    change { $0.messages.append(message) }
  }

  /// Ends the wait without a message.
  func wake() {
    change { $0.isWoken = true }
  }

  /// The messages put down since the last call; waits for one, or for ``wake()``. Only one task may wait.
  func next() async -> [Message] {
    await withCheckedContinuation { continuation in
      let isReady = state.withLock { state in
        if state.messages.isEmpty, !state.isWoken {
          state.waiter = continuation
          return false
        }
        return true
      }
      if isReady { continuation.resume() }
    }
    return state.withLock { state in
      defer {
        state.messages = []
        state.isWoken = false
      }
      return state.messages
    }
  }

  private func change(_ body: (inout sending State) -> Void) {
    let waiter = state.withLock { state in
      body(&state)
      defer { state.waiter = nil }
      return state.waiter
    }
    waiter?.resume()
  }
}
