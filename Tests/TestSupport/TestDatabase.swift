public import Postgres
import Synchronization

/// A migrated database of its own for one test or suite, on the private server of the test process.
///
/// It is a copy of a template that was migrated once, and is dropped when the value is let go, unless a connection to it
/// is still open.
public final class TestDatabase: Sendable {
  /// How to connect to it; serves as the `DATABASE_URL` of a program under test that runs as the same user.
  public let connectionString: String
  private let name: String

  private init(name: String, connectionString: String) {
    self.name = name
    self.connectionString = connectionString
  }

  deinit {
    let name = name
    // Refused while a connection is open: a test may let go of the database before its connection. What is left goes
    // with the server.
    Task { try? await Self.administrate("drop database if exists \(name)") }
  }

  /// Makes a migrated database.
  public static func clone() async throws -> TestDatabase { try await make(template: "template") }

  /// Makes a database in which nothing has been made yet.
  public static func empty() async throws -> TestDatabase { try await make(template: "template1") }

  /// How another login connects to it.
  public func connectionString(user: String) -> String { connectionString + " user=\(user)" }

  /// A way to it over TCP that can be cut.
  public func proxy() async throws -> DatabaseProxy {
    let server = try await TestServer.shared.value
    return try DatabaseProxy(
      to: self, socket: "\(server.directory)/.s.PGSQL.5432", options: "user=tenure dbname=\(name)")
  }

  /// Connects to it.
  public func connect() async throws -> Connection { try await Connection.open(connectionString) }

  /// Has commits on the private server, those of all its databases, wait for the disk; or not, as they usually do not.
  public func waitForDisk(_ isDurable: Bool) async throws {
    let server = try await TestServer.shared.value
    let superuser = try await Connection.open(server.connectionString(database: "postgres", user: "postgres"))
    for setting in ["fsync", "synchronous_commit", "full_page_writes"] {
      try await superuser.execute("alter system set \(setting) = \(isDurable ? "on" : "off")")
    }
    try await superuser.execute("select pg_reload_conf()")
    await superuser.close()
  }

  private static let made = Mutex(0)

  private static func make(template: String) async throws -> TestDatabase {
    let server = try await TestServer.shared.value
    let number = made.withLock { made in
      made += 1
      return made
    }
    let name = "test_\(number)"
    try await administrate("create database \(name) template \(template)")
    return TestDatabase(name: name, connectionString: server.connectionString(database: name))
  }

  /// Runs a statement in the server's own database.
  private static func administrate(_ sql: String) async throws {
    let server = try await TestServer.shared.value
    let connection = try await Connection.open(server.connectionString(database: "postgres"))
    try await connection.execute(sql)
    await connection.close()
  }
}
