public import Vocabulary

/// What is told while history is fetched.
public enum BackfillProgress: Sendable {
  /// A page was stored; the summary is of all pages so far, and so many spans or chains are left.
  case stored(BackfillSummary, left: Int)
  /// The App Store was asked too often: nothing is asked for before that moment.
  case held(until: Instant)
  /// A request failed for the moment and is made again.
  case failedForNow(String)
  /// A span's pages are read from its beginning again, since the next one is no longer known.
  case spanRestarted(from: Instant)
}

/// What fetching history brought.
public struct BackfillSummary: Sendable, Equatable {
  /// What cannot be fetched.
  public struct Missed: Sendable, Equatable, Encodable {
    /// The app's key.
    public var app: String
    /// The environment.
    public var environment: String
    /// What it is of.
    public var what: String
    /// Why.
    public var reason: String
    /// Of how many chains, where it is of chains.
    public var chains: Int?
  }

  /// What became of everything that was fetched. Of notifications, those stored had been missed until then.
  public var ingest = IngestSummary()
  /// Notifications among it that the App Store sent and no attempt succeeded.
  public var undelivered = 0
  /// Spans of notification history that were read to their end.
  public var spans = 0
  /// Spans of it that the App Store refused: they are asked for again the next time.
  public var refusedSpans = 0
  /// Chains whose transactions were read to their end.
  public var chains = 0
  /// What cannot be fetched; of chains, one for each reason.
  public var missed: [Missed] = []

  /// Nothing yet.
  public init() {}

  /// The sum of two summaries.
  public static func + (left: BackfillSummary, right: BackfillSummary) -> BackfillSummary {
    var sum = left
    sum.ingest = left.ingest + right.ingest
    sum.undelivered += right.undelivered
    sum.spans += right.spans
    sum.refusedSpans += right.refusedSpans
    sum.chains += right.chains
    for missed in right.missed { sum.note(missed) }
    return sum
  }

  /// Notes what cannot be fetched: of several chains with one reason the first, and how many they are.
  mutating func note(_ missed: Missed) {
    let same = self.missed.firstIndex {
      $0.chains != nil && $0.app == missed.app && $0.environment == missed.environment && $0.reason == missed.reason
    }
    if let same, let chains = missed.chains {
      self.missed[same].chains = (self.missed[same].chains ?? 0) + chains
    } else {
      self.missed.append(missed)
    }
  }
}
