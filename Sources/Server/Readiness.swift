import Postgres

/// Says whether the database can be written to.
///
/// It is asked once at a time: whoever wants to know meanwhile is told the same.
actor Readiness {
  private let patience: Duration
  private let open: @Sendable () async throws -> Connection
  private var connection: Connection?
  private var waiting: [CheckedContinuation<Bool, Never>] = []
  private var isAsking = false
  /// Whether the question has been asked for longer than anyone is kept waiting.
  private var isLate = false

  /// - Parameters:
  ///   - patience: How long the database may take to answer; where it takes longer nothing can be stored.
  ///   - open: Connects to it.
  init(patience: Duration, open: @escaping @Sendable () async throws -> Connection) {
    self.patience = patience
    self.open = open
  }

  /// Whether events can be stored now.
  func isReady() async -> Bool {
    // What has not answered yet is not asked again.
    if isLate { return false }
    return await withCheckedContinuation { continuation in
      waiting.append(continuation)
      guard !isAsking else { return }
      isAsking = true
      Task { await ask() }
    }
  }

  private func ask() async {
    let watch = Task {
      try await Task.sleep(for: patience)
      guard !Task.isCancelled else { return }
      isLate = true
      answer(false)
    }
    let isReady = await canStore()
    watch.cancel()
    isAsking = false
    isLate = false
    answer(isReady)
  }

  private func answer(_ isReady: Bool) {
    for continuation in waiting { continuation.resume(returning: isReady) }
    waiting = []
  }

  private func canStore() async -> Bool {
    // A connection that hangs is left in time for a new one to answer.
    let share = patience / 2
    if let connection {
      if let canStore = try? await Self.canStore(connection, within: share) { return canStore }
      self.connection = nil
    }
    guard let opened = try? await open(), let canStore = try? await Self.canStore(opened, within: share) else {
      return false
    }
    connection = opened
    return canStore
  }

  private static func canStore(_ connection: Connection, within patience: Duration) async throws -> Bool {
    let rows = try await connection.within(patience) {
      try await connection.query(
        """
        select not pg_is_in_recovery() and current_setting('default_transaction_read_only') = 'off'
          and has_table_privilege('ingest.event', 'insert') as can_store
        """)
    }
    return try rows[0].bool("can_store")
  }
}
