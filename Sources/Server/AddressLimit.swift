import Synchronization

/// How often each address may ask where anyone may ask: so many requests at once, and as many a minute after that.
final class AddressLimit: Sendable {
  /// How many addresses are remembered.
  static let capacity = 20_000
  private static let minute = Duration.seconds(60)

  /// What one request takes of an address's minute.
  private let share: Duration
  private let now: @Sendable () -> ContinuousClock.Instant
  /// When each address will have all of its minute again.
  private let restored = Mutex<[ClientAddress: ContinuousClock.Instant]>([:])

  /// - Parameter now: A clock that never goes back.
  init(perMinute: Int, now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }) {
    share = Self.minute / perMinute
    self.now = now
  }

  /// Counts a request; nil when it may be made, else in how many seconds the next one may.
  func take(_ address: ClientAddress) -> Int? {
    let now = now()
    return restored.withLock { restored in
      if restored.count >= Self.capacity, restored[address] == nil {
        // Those who have all of theirs again need not be remembered. If there are none, none is favoured.
        restored = restored.filter { $0.value > now }
        if restored.count >= Self.capacity { restored = [:] }
      }
      let after = max(restored[address] ?? now, now) + share
      let excess = after - now - Self.minute
      guard excess > .zero else {
        restored[address] = after
        return nil
      }
      let (seconds, rest) = excess.components
      return Int(seconds) + (rest > 0 ? 1 : 0)
    }
  }
}
