import Synchronization

/// How many refusals are stored in a second: anyone can be refused, and must not be able to fill the database.
final class RejectionLimit: Sendable {
  private struct State {
    var second: ContinuousClock.Instant?
    var count = 0
  }

  private let perSecond: Int
  private let state = Mutex(State())

  init(perSecond: Int) { self.perSecond = perSecond }

  /// Whether so many more are stored now.
  func take(_ count: Int) -> Bool {
    state.withLock { state in
      let now = ContinuousClock.now
      if state.second.map({ now - $0 >= .seconds(1) }) ?? true {
        state.second = now
        state.count = 0
      }
      guard state.count < perSecond else { return false }
      state.count += count
      return true
    }
  }
}
