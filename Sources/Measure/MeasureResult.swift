public import Vocabulary

/// What one run of `measure` did.
public struct MeasureResult: Sendable, Equatable {
  /// The run's number.
  public let runID: Int64
  /// What happened before this moment counts.
  public let asOf: Instant
  /// How many facts it read that no run had read before.
  public let facts: Int64
  /// How many chains it settled.
  public let settled: Int64
  /// How many transactions it read to settle them.
  public let transactionsRead: Int64
  /// How many entries it posted, reversals included.
  public let entries: Int64
  /// How long it took, in seconds.
  public let seconds: Double
}
