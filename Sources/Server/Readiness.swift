import Postgres

/// Says whether the database can be written to.
actor Readiness {
  private let open: @Sendable () async throws -> Connection
  private var connection: Connection?

  init(open: @escaping @Sendable () async throws -> Connection) { self.open = open }

  /// Whether events can be stored now.
  func isReady() async -> Bool {
    if let connection {
      if let isReady = try? await Self.canStore(connection) { return isReady }
      self.connection = nil
    }
    guard let opened = try? await open() else { return false }
    connection = opened
    return (try? await Self.canStore(opened)) ?? false
  }

  private static func canStore(_ connection: Connection) async throws -> Bool {
    let rows = try await connection.query(
      """
      select not pg_is_in_recovery() and current_setting('default_transaction_read_only') = 'off'
        and has_table_privilege('ingest.event', 'insert') as can_store
      """)
    return try rows[0].bool("can_store")
  }
}
