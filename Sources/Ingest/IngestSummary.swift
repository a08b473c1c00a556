/// What became of the input: `received` = `stored` + `duplicates` + `rejected`.
public struct IngestSummary: Sendable, Equatable {
  /// Events and refused pieces of input.
  public var received = 0
  /// Events that were new.
  public var stored = 0
  /// Events that were there already, or came twice. Their facts were read all the same.
  public var duplicates = 0
  /// Pieces of input that were refused.
  public var rejected = 0
  /// Stored events of a kind that is not known.
  public var unrecognised = 0

  /// Nothing yet.
  public init() {}

  /// The sum of two summaries.
  public static func + (left: IngestSummary, right: IngestSummary) -> IngestSummary {
    var sum = left
    sum.received += right.received
    sum.stored += right.stored
    sum.duplicates += right.duplicates
    sum.rejected += right.rejected
    sum.unrecognised += right.unrecognised
    return sum
  }

  /// One JSON object, as `tenure ingest --json` prints it.
  public var json: String {
    "{\"received\": \(received), \"stored\": \(stored), \"duplicates\": \(duplicates), \"rejected\": \(rejected), "
      + "\"unrecognised\": \(unrecognised)}"
  }
}

/// What became of one thing that came in.
public enum StoredItem: Sendable, Equatable {
  /// An event that was new; unrecognised when its kind is not known.
  case stored(isUnrecognised: Bool)
  /// An event that was there already, or came twice.
  case duplicate
  /// It was refused, and the refusal stored.
  case rejected(Rejection)
}

extension IngestSummary {
  /// The sum of what became of single things.
  public init(_ items: [StoredItem]) {
    for item in items {
      received += 1
      switch item {
      case .stored(let isUnrecognised):
        stored += 1
        if isUnrecognised { unrecognised += 1 }
      case .duplicate: duplicates += 1
      case .rejected: rejected += 1
      }
    }
  }
}

/// What an ingester tells while it works.
public enum IngestProgress: Sendable {
  /// A batch was committed; the summary is of all batches so far.
  case committed(IngestSummary)
  /// An app was put down at first sight.
  case appAdded(key: String)
  /// The database refused a batch for its data; it is stored in smaller pieces.
  case batchDivided(pieces: Int)
}
