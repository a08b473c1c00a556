import Postgres
import SQL

/// The database a command works on.
struct Database: Sendable {
  /// How to connect to it. It may hold a password: never to be shown.
  let connectionString: String
  /// Whether it is the program's own server's.
  let isEmbedded: Bool

  /// The program's migrations and report views.
  static let migrator = Migrator(
    migrations: SQLFiles.folder("migrations").map { Script(name: $0.name, text: $0.text) },
    repeatable: SQLFiles.folder("report").map { Script(name: $0.name, text: $0.text) })

  /// Connects.
  func open() async throws -> Connection {
    let connection = try await Connection.open(connectionString)
    let version = await connection.serverVersion
    guard version >= 140_000 else {
      throw Failure("the database server has version \(version / 10_000); PostgreSQL 14 or newer is needed")
    }
    return connection
  }

  /// Whether nothing was ever put into it, by this program or another.
  func isEmpty() async throws -> Bool {
    let connection = try await open()
    let hasApps = try await connection.query("select to_regclass('ingest.app') is not null as has_apps")[0]
      .bool("has_apps")
    // What the program itself makes is no content, as long as no app is known.
    let rows =
      hasApps
      ? try await connection.query("select from ingest.app union all select from forward.target limit 1")
      : try await connection.query(
        """
        select from pg_catalog.pg_class as relation
        inner join pg_catalog.pg_namespace as namespace on namespace.oid = relation.relnamespace
        where relation.relkind in ('r', 'p', 'v', 'm', 'f') and relation.relpersistence <> 't'
          and namespace.nspname not in ('pg_catalog', 'information_schema', 'pg_toast')
        limit 1
        """)
    await connection.close()
    return rows.isEmpty
  }

  /// Makes sure that the schema is there and is the program's.
  func prepare(_ log: Log) async throws {
    let connection = try await open()
    let status = try await Self.migrator.status(on: connection)
    if !status.isCurrent {
      guard isEmbedded || status.isEmpty else {
        let reason = status.pending.isEmpty ? "its report views are" : "its schema is"
        throw Failure("the database is not ready: \(reason) of another version of tenure. Run: tenure migrate")
      }
      let outcome = try await Self.migrator.migrate(on: connection)
      log.info("database migrated", ["migrations": .init(outcome.applied.count)])
    }
    await connection.close()
  }
}
