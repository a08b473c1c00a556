import Foundation
import Glibc
import Postgres
import SQL

/// The private PostgreSQL server of this test process.
///
/// It listens on a socket in a folder of its own only and does not outlive the process, however that ends: a shell that
/// starts it waits for the end of a pipe whose other end only this process holds, and then stops it and removes its
/// folder.
struct TestServer: Sendable {
  /// The server's folder; its socket lies in it.
  let directory: String

  /// The server, started when it is first asked for.
  static let shared = Task { try await TestServer.start() }

  private struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  /// The connection string of a database of this server, as the role the tests run with: no superuser.
  func connectionString(database: String, user: String = "tenure") -> String {
    "host=\(directory) user=\(user) dbname=\(database)"
  }

  private static let script = """
    set -eu
    bin=$1 directory=$2
    shift 2
    cd "$directory"
    "$@" "$bin/initdb" --pgdata data --username postgres --auth trust --encoding UTF8 --locale C.UTF-8 \
      --no-sync >initdb.log
    printf '%s\\n' "fsync = off" "synchronous_commit = off" "full_page_writes = off" |
      "$@" tee -a data/postgresql.conf >>initdb.log
    "$@" --pdeathsig INT "$bin/postgres" -D "$directory/data" -c listen_addresses= \
      -c "unix_socket_directories=$directory" -c shared_buffers=64MB -c max_connections=1000 2>server.log &
    server=$!
    read -r _ || true
    kill -INT "$server" || true
    wait "$server" || true
    cd /
    rm -rf "$directory"
    """

  private static func start() async throws -> TestServer {
    guard let programs = ServerPrograms.find() else {
      throw Failure(
        description: "the tests need PostgreSQL's server programs, and there are none: install the package postgresql")
    }
    // Not the folder of temporary files the environment names: a socket's path must be short, and the user postgres
    // must be able to reach it.
    var template = Array("/tmp/tenure-test-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw Failure(description: "cannot make a folder in /tmp") }
    let directory = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    var prefix = ["setpriv"]
    if getuid() == 0 {
      // PostgreSQL refuses to run as root.
      guard let user = getpwnam("postgres") else {
        throw Failure(description: "run as root, the tests need the user postgres: install the package postgresql")
      }
      chown(directory, user.pointee.pw_uid, user.pointee.pw_gid)
      prefix += ["--reuid=postgres", "--regid=postgres", "--init-groups"]
    }
    let shell = Process()
    shell.executableURL = URL(filePath: "/bin/sh")
    shell.arguments = ["-c", script, "sh", programs.directory, directory] + prefix
    shell.standardInput = try lifeline()
    shell.standardOutput = FileHandle.nullDevice
    try shell.run()

    let server = TestServer(directory: directory)
    let superuser = try await server.firstConnection(while: shell)
    try await superuser.execute("create role tenure login createrole createdb")
    try await superuser.execute("create database template owner tenure")
    await superuser.close()
    let connection = try await Connection.open(server.connectionString(database: "template"))
    let migrator = Migrator(
      migrations: SQLFiles.folder("migrations").map { Script(name: $0.name, text: $0.text) },
      repeatable: SQLFiles.folder("report").map { Script(name: $0.name, text: $0.text) })
    _ = try await migrator.migrate(on: connection)
    await connection.close()
    return server
  }

  /// The reading end of a pipe whose writing end stays open as long as this process lives. No child inherits it.
  private static func lifeline() throws -> FileHandle {
    var ends: [Int32] = [0, 0]
    guard pipe(&ends) == 0, fcntl(ends[0], F_SETFD, FD_CLOEXEC) == 0, fcntl(ends[1], F_SETFD, FD_CLOEXEC) == 0 else {
      throw Failure(description: "cannot make a pipe")
    }
    return FileHandle(fileDescriptor: ends[0], closeOnDealloc: true)
  }

  /// Connects as soon as the server lets anyone in.
  private func firstConnection(while shell: Process) async throws -> Connection {
    let deadline = ContinuousClock.now + .seconds(60)
    while true {
      do {
        return try await Connection.open(connectionString(database: "postgres", user: "postgres"))
      } catch {
        guard shell.isRunning, ContinuousClock.now < deadline else {
          throw Failure(description: "the tests' PostgreSQL server did not start: \(error)")
        }
        try await Task.sleep(for: .milliseconds(50))
      }
    }
  }
}
