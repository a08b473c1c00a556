import Postgres
import SQL

/// What became of what the targets were sent, as Prometheus reads it.
enum TargetCounters {
  private static let series: [(name: String, column: String, help: String)] = [
    ("tenure_forward_attempts_total", "attempts", "Deliveries tried, each time counted"),
    ("tenure_forward_delivered_total", "delivered", "Deliveries that their target took"),
    ("tenure_forward_refused_total", "refused", "Deliveries that were refused or given up"),
    ("tenure_forward_waiting", "waiting", "Deliveries that wait"),
    ("tenure_forward_oldest_due_seconds", "oldest_due", "When the oldest of them was due, in seconds since 1970"),
    ("tenure_forward_paused", "is_paused", "Whether the target is paused"),
  ]

  /// All of it as text.
  static func text(_ connection: Connection) async throws -> String {
    let rows = try await connection.query(SQLFiles.text("forward/counters.sql"))
    var text = ""
    for (name, column, help) in series {
      text += "# HELP \(name) \(help).\n# TYPE \(name) \(name.hasSuffix("_total") ? "counter" : "gauge")\n"
      for row in rows {
        let value: Int?
        switch column {
        case "is_paused": value = try row.bool(column) ? 1 : 0
        case "oldest_due": value = try row.optionalTimestamp("oldest_due_at").map { Int($0 / 1_000_000) }
        default: value = Int(try row.int(column))
        }
        let labels = ["target": try row.text("name"), "type": try row.text("type")]
        if let value { text += Metrics.line(name, labels, value) }
      }
    }
    return text
  }
}
