import Vocabulary

/// How fast a target may be sent to: a bucket of tokens, one for each request, that fills evenly.
///
/// Kept as one moment, the earliest at which the next request may go, so that several forwarders share it in one column.
public struct Pace: Sendable, Equatable {
  /// Microseconds in which one token comes.
  public var interval: Int64
  /// How many tokens the bucket holds.
  public var burst: Int64

  /// Creates a pace.
  public init(interval: Int64, burst: Int64 = 1) {
    self.interval = max(interval, 1)
    self.burst = max(burst, 1)
  }

  /// So many requests in a minute.
  public init(perMinute: Int64, burst: Int64 = 1) {
    self.init(interval: 60_000_000 / max(perMinute, 1), burst: burst)
  }

  /// How many requests may go now.
  ///
  /// - Parameter next: the earliest moment for the next one, as the last request left it; `nil` for a full bucket.
  func allowance(at now: Instant, next: Instant?) -> Int64 {
    max(0, (now.microseconds + burst * interval - empty(at: now, next)) / interval)
  }

  /// The earliest moment for the next request after so many have gone now.
  func next(after requests: Int64, at now: Instant, next: Instant?) -> Instant {
    Instant(microseconds: empty(at: now, next) + requests * interval - (burst - 1) * interval)
  }

  /// When the bucket would be full again, now at the earliest.
  private func empty(at now: Instant, _ next: Instant?) -> Int64 {
    max(now.microseconds, next.map { $0.microseconds + (burst - 1) * interval } ?? .min)
  }
}
