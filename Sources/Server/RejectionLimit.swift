import Synchronization

/// How many refusals of strangers are stored in a second: anyone can be refused, and must not be able to fill the database.
final class RejectionLimit: Sendable {
  private struct State {
    var second: ContinuousClock.Instant?
    var count = 0
  }

  private let perSecond: Int
  private let state = Mutex(State())

  init(perSecond: Int) { self.perSecond = perSecond }

  /// How many of so many more are stored now.
  func take(_ count: Int) -> Int {
    state.withLock { state in
      let now = ContinuousClock.now
      if state.second.map({ now - $0 >= .seconds(1) }) ?? true {
        state.second = now
        state.count = 0
      }
      let taken = min(count, perSecond - state.count)
      state.count += taken
      return taken
    }
  }
}
