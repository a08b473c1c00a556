/// How many chains of certificates that are not known yet may be verified in a second.
///
/// A chain costs 3 ms, and anyone can make up new ones: without a limit, whoever can send data could keep a core busy. One
/// allowance serves one thread at a time, as the verifiers that share it do.
public final class ChainAllowance {
  private let perSecond: Int
  private let now: () -> Int64
  /// When the last ones were verified, the oldest first, in microseconds.
  private var taken: [Int64] = []
  /// Whether a chain was refused for want of allowance since this was last set to false.
  public var isExhausted = false

  /// An allowance.
  ///
  /// - Parameter now: A clock that never goes back, in microseconds.
  public init(perSecond: Int, now: @escaping () -> Int64) {
    self.perSecond = perSecond
    self.now = now
  }

  /// Whether one more may be verified now.
  func take() -> Bool {
    let now = now()
    taken.removeAll { now - $0 >= 1_000_000 }
    guard taken.count < perSecond else {
      isExhausted = true
      return false
    }
    taken.append(now)
    return true
  }
}
