import Foundation
import Postgres
import SQL
import TestSupport

/// A migrated database with nothing in it, for one benchmark.
struct ScratchDatabase: Sendable {
  /// A connection that is open as long as the database is in use.
  let connection: Connection
  /// How to connect to it.
  let connectionString: String
  /// What it is a copy in; nil where `DATABASE_URL` named the database.
  private let clone: TestDatabase?

  /// Makes it in the database that `DATABASE_URL` names, or else on a private server.
  static func make() async throws -> ScratchDatabase {
    guard let string = ProcessInfo.processInfo.environment["DATABASE_URL"], !string.isEmpty else {
      let clone = try await TestDatabase.clone()
      return ScratchDatabase(
        connection: try await clone.connect(), connectionString: clone.connectionString, clone: clone)
    }
    let connection = try await Connection.open(string, applicationName: "tenure-bench")
    let foreign = try await connection.query(
      """
      select nspname as name from pg_catalog.pg_namespace
      where nspname !~ '^pg_' and nspname not in ('information_schema', 'public')
      union all
      select relname from pg_catalog.pg_class where relnamespace = to_regnamespace('public')
      limit 1
      """)
    if let name = try foreign.first?.text("name") {
      throw BenchError("the database of DATABASE_URL is not empty: it has \(name). Name one made for this")
    }
    let migrator = Migrator(
      migrations: SQLFiles.folder("migrations").map { Script(name: $0.name, text: $0.text) },
      repeatable: SQLFiles.folder("report").map { Script(name: $0.name, text: $0.text) })
    _ = try await migrator.migrate(on: connection)
    return ScratchDatabase(connection: connection, connectionString: string, clone: nil)
  }

  /// Opens another connection.
  func connect() async throws -> Connection {
    try await Connection.open(connectionString, applicationName: "tenure-bench")
  }

  /// Makes it, works in it and leaves nothing behind.
  ///
  /// - Parameter isDurable: Whether a commit waits for the disk, also on the private server.
  static func with(isDurable: Bool = false, _ work: (ScratchDatabase) async throws -> Void) async throws {
    let database = try await make()
    do {
      if let clone = database.clone { try await clone.waitForDisk(isDurable) }
      try await work(database)
    } catch {
      try? await database.remove()
      throw error
    }
    try await database.remove()
  }

  private func remove() async throws {
    if clone == nil {
      try await connection.execute(
        "drop schema if exists ingest, fact, ledger, measure, forward, reference, report, tenure cascade")
    }
    await connection.close()
  }
}
