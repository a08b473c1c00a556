import Synchronization
import Vocabulary

/// Counts what the server does, and writes it as Prometheus reads it
/// (https://prometheus.io/docs/instrumenting/exposition_formats/).
final class Metrics: Sendable {
  /// What is counted.
  enum Series: String, CaseIterable, Sendable {
    case connections = "tenure_http_connections"
    case requestsInHand = "tenure_http_requests_in_hand"
    case requests = "tenure_http_requests_total"
    case events = "tenure_ingest_events_total"
    case commits = "tenure_ingest_commits_total"
    case failures = "tenure_ingest_failed_commits_total"
    case droppedRejections = "tenure_ingest_dropped_rejections_total"
    case limitedRequests = "tenure_ingest_limited_requests_total"

    var help: String {
      switch self {
      case .connections: "Connections that are open"
      case .requestsInHand: "Requests that have begun and are not answered"
      case .requests: "Requests that were answered"
      case .events: "What came in over HTTP, by what became of it"
      case .commits: "Transactions in which requests were stored together"
      case .failures: "Transactions that failed, so that their requests were told to come again"
      case .droppedRejections: "Refusals that were answered and not stored, since there were too many"
      case .limitedRequests: "Requests that were refused, since too many came from their address"
      }
    }
  }

  private static let startTime = "process_start_time_seconds"

  private struct Key: Hashable {
    let series: Series
    let labels: [String: String]
  }

  private let counts = Mutex<[Key: Int]>([:])

  private let startedAt: Instant

  init(startedAt: Instant) { self.startedAt = startedAt }

  /// Adds to a series; of connections and requests in hand also less than nothing.
  func add(_ count: Int, to series: Series, _ labels: [String: String] = [:]) {
    guard count != 0 else { return }
    counts.withLock { $0[Key(series: series, labels: labels), default: 0] += count }
  }

  /// Everything as text.
  var text: String {
    let counts = counts.withLock { $0 }
    var text = "# HELP \(Self.startTime) When the program was started, in seconds since 1970.\n"
    text += "# TYPE \(Self.startTime) gauge\n"
    text += Self.line(Self.startTime, [:], Int(startedAt.microseconds / 1_000_000))
    for series in Series.allCases {
      text += "# HELP \(series.rawValue) \(series.help).\n"
      text += "# TYPE \(series.rawValue) \(series.rawValue.hasSuffix("_total") ? "counter" : "gauge")\n"
      let lines = counts.filter { $0.key.series == series }
        .map { Self.line(series.rawValue, $0.key.labels, $0.value) }
      text += lines.sorted().joined()
    }
    return text
  }

  /// One sample.
  static func line(_ name: String, _ labels: [String: String], _ value: Int) -> String {
    let list = labels.sorted { $0.key < $1.key }.map { label in
      let value = label.value.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n")
      return "\(label.key)=\"\(value)\""
    }
    return name + (list.isEmpty ? "" : "{\(list.joined(separator: ","))}") + " \(value)\n"
  }
}
