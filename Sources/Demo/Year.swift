import Vocabulary

/// The time that is told of: from a moment up to another, which does not belong to it.
struct Year: Sendable {
  let start: Instant
  let end: Instant

  /// Whether a moment has come by the end.
  func holds(_ moment: Instant) -> Bool { moment >= start && moment < end }
}
