extension Connection {
  /// Does something with the connection, and leaves the connection when that takes longer than a while: what waits for the
  /// server then fails with a ``PostgresError`` whose `isConnectionLost` is true, and so does all that comes after it.
  ///
  /// What the server has been told by then may be done all the same.
  public nonisolated func within<T: Sendable>(
    _ patience: Duration, _ body: @Sendable () async throws -> T
  ) async rethrows -> T {
    let watch = Task {
      try await Task.sleep(for: patience)
      drop()
    }
    defer { watch.cancel() }
    return try await body()
  }

  /// Has the server find out within seconds when this side is gone without a word, so that what the session holds is free
  /// again: by probing it, and where the server's system can, also while it works on a statement or waits for a lock.
  public func beNoticedWhenGone() throws {
    try execute("set tcp_keepalives_idle = 3; set tcp_keepalives_interval = 2; set tcp_keepalives_count = 2")
    do {
      try execute("set client_connection_check_interval = '5s'")
    } catch  where !isLost {
      // A server on another system than Linux refuses it (PostgreSQL's documentation, "Connections and Authentication").
    }
  }
}
