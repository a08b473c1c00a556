@testable import Forward

extension Verdict {
  /// What it says, without its words.
  var meaning: String {
    switch self {
    case .delivered: "delivered"
    case .retry: "retry"
    case .throttled(let seconds, _): seconds.map { "throttled \($0)" } ?? "throttled"
    case .refused: "refused"
    case .paused: "paused"
    case .doubtful: "doubtful"
    case .reworded: "reworded"
    case .again: "again"
    case .delayed(let seconds, _): "delayed \(seconds)"
    case .divided: "divided"
    case .moved(let destination, _): "moved \(destination)"
    }
  }
}
