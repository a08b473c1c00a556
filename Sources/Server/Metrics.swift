import Synchronization

/// Counts what the server does, and writes it as Prometheus reads it
/// (https://prometheus.io/docs/instrumenting/exposition_formats/).
final class Metrics: Sendable {
  /// What is counted.
  enum Counter: String, CaseIterable, Sendable {
    case requests = "tenure_http_requests_total"
    case events = "tenure_ingest_events_total"
    case commits = "tenure_ingest_commits_total"
    case failures = "tenure_ingest_failed_commits_total"
    case droppedRejections = "tenure_ingest_dropped_rejections_total"

    var help: String {
      switch self {
      case .requests: "Requests that were answered"
      case .events: "What came in over HTTP, by what became of it"
      case .commits: "Transactions in which requests were stored together"
      case .failures: "Transactions that failed, so that their requests were told to come again"
      case .droppedRejections: "Refusals that were answered and not stored, since there were too many"
      }
    }
  }

  /// A value that goes up and down, read when it is asked for.
  struct Gauge: Sendable {
    let name: String
    let help: String
    let values: [(labels: [String: String], value: Int)]
  }

  private struct Key: Hashable {
    let counter: Counter
    let labels: [String: String]
  }

  private let counts = Mutex<[Key: Int]>([:])

  init() {}

  /// Adds to a counter.
  func add(_ count: Int, to counter: Counter, _ labels: [String: String] = [:]) {
    guard count > 0 else { return }
    counts.withLock { $0[Key(counter: counter, labels: labels), default: 0] += count }
  }

  /// Everything as text.
  func text(_ gauges: [Gauge]) -> String {
    let counts = counts.withLock { $0 }
    var text = ""
    for counter in Counter.allCases {
      text += "# HELP \(counter.rawValue) \(counter.help).\n# TYPE \(counter.rawValue) counter\n"
      let lines = counts.filter { $0.key.counter == counter }
        .map { Self.line(counter.rawValue, $0.key.labels, $0.value) }
      text += lines.sorted().joined()
    }
    for gauge in gauges {
      text += "# HELP \(gauge.name) \(gauge.help).\n# TYPE \(gauge.name) gauge\n"
      text += gauge.values.map { Self.line(gauge.name, $0.labels, $0.value) }.joined()
    }
    return text
  }

  private static func line(_ name: String, _ labels: [String: String], _ value: Int) -> String {
    let list = labels.sorted { $0.key < $1.key }.map { label in
      let value = label.value.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n")
      return "\(label.key)=\"\(value)\""
    }
    return name + (list.isEmpty ? "" : "{\(list.joined(separator: ","))}") + " \(value)\n"
  }
}
