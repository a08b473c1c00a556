/// When a delivery that failed is tried again.
///
/// After 5 s, 30 s, 5 min, 30 min, 2 h, 5 h and then every 10 h, each a fifth more or less so that many do not come back
/// at once, for three days: Standard Webhooks' schedule with an even end.
struct RetrySchedule {
  /// How long after its first failure a delivery is tried again at the latest, in seconds.
  static let limit: Int64 = 3 * 86_400
  /// The longest wait that a target may ask for, in seconds.
  static let longestAskedWait: Int64 = 3600

  private static let waits: [Int64] = [5, 30, 300, 1800, 7200, 18_000, 36_000]

  /// How long to wait after so many failures, in microseconds.
  ///
  /// - Parameters:
  ///   - failures: how many there were, from 1.
  ///   - chance: from 0 to 1; 0.5 gives the wait itself.
  static func wait(afterFailures failures: Int, chance: Double) -> Int64 {
    let seconds = waits[min(max(failures, 1), waits.count) - 1]
    return Int64(Double(seconds) * 1_000_000 * (0.8 + 0.4 * chance))
  }
}
