import Postgres

/// What consumers of streams put down about their partitions, as Prometheus reads it. Consumers are processes of their own:
/// they meet their watcher in the database.
struct StreamMetrics: Sendable {
  private let patience: Duration
  private let open: @Sendable () async throws -> Connection

  /// - Parameter patience: How long the database may take.
  init(patience: Duration, open: @escaping @Sendable () async throws -> Connection) {
    self.patience = patience
    self.open = open
  }

  private static let series: [(name: String, help: String, column: String)] = [
    ("tenure_stream_lag_messages", "Messages of a partition that waited when its consumer last told", "lag"),
    ("tenure_stream_messages_total", "Messages that were stored, those read twice included", "messages"),
    ("tenure_stream_rejections_total", "Refusals among what the messages held", "rejections"),
    ("tenure_stream_seen_timestamp_seconds", "When a partition's consumer last told, in seconds since 1970", "seen"),
  ]

  /// Everything as text; nothing while the database cannot be read, or where nothing was ever consumed.
  func text() async -> String {
    guard let rows = try? await rows(), !rows.isEmpty else { return "" }
    return Self.series.map { series in
      let kind = series.name.hasSuffix("_total") ? "counter" : "gauge"
      let lines = rows.map { row in
        let labels = [
          "group": row["consumer_group"] ?? "", "partition": row["partition"] ?? "", "topic": row["topic"] ?? "",
        ]
        return Metrics.line(series.name, labels, Int(row[series.column] ?? "") ?? 0)
      }
      return "# HELP \(series.name) \(series.help).\n# TYPE \(series.name) \(kind)\n" + lines.joined()
    }.joined()
  }

  private func rows() async throws -> [Row] {
    let connection = try await open()
    let rows = try await connection.within(patience) {
      try await connection.query(
        """
        select consumer_group, topic, partition, greatest(end_offset - next_offset, 0) as lag, messages, rejections,
          extract(epoch from seen_at)::bigint as seen
        from ingest.stream_partition order by consumer_group, topic, partition
        """)
    }
    await connection.close()
    return rows
  }
}
