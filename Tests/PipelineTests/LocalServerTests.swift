import Foundation
import Glibc
import Postgres
import TestSupport
import Testing

@testable import tenure

/// The program's own server: who starts it, who stops it, and what a killed command leaves behind.
@Suite("The program's own PostgreSQL", .serialized)
struct LocalServerTests {
  private let folder: TestFolder
  private let environment: [String: String]

  init() throws {
    folder = try TestFolder()
    environment = ["TENURE_HOME": folder.file("home")]
  }

  /// A home that was migrated, made once and copied for the tests that do not look at how it is made.
  private static let migrated = Task {
    let folder = try TestFolder()
    let outcome = try await TestProgram.run(["migrate"], environment: ["TENURE_HOME": folder.file("home")])
    try #require(outcome.code == 0, "\(outcome.errors)")
    return folder
  }

  private func copyMigratedHome(to name: String = "home") async throws {
    let template = try await Self.migrated.value
    let copy = try await TestProgram.run(["-a", template.file("home"), folder.file(name)], file: "/bin/cp")
    try #require(copy.code == 0, "\(copy.errors)")
  }

  private var server: String { folder.file("home/postgres") }

  /// Returns when no process of a server is left: the server holds this lock for as long as it lives.
  private func serverHasEnded() async throws {
    let lock = try FileLock(path: "\(server)/server.lock", owner: try #require(ServerUser(uid: geteuid())))
    await lock.lockRegardless()
  }

  private var isServerRunning: Bool {
    get throws {
      let lock = try FileLock(path: "\(server)/server.lock", owner: try #require(ServerUser(uid: geteuid())))
      return !lock.tryLock(.exclusive)
    }
  }

  private var log: String {
    get throws { try String(contentsOfFile: "\(server)/server.log", encoding: .utf8) }
  }

  private func serverProcess() throws -> Int32 {
    let text = try String(contentsOfFile: "\(server)/data/postmaster.pid", encoding: .utf8)
    return try #require(text.split(separator: "\n").first.flatMap { Int32($0) })
  }

  /// The shell that stays beside the server.
  private func keeperProcess() throws -> Int32 {
    let text = try String(contentsOfFile: "/proc/\(try serverProcess())/status", encoding: .utf8)
    let line = try #require(text.split(separator: "\n").first { $0.hasPrefix("PPid:") })
    return try #require(Int32(line.dropFirst(5).filter { !$0.isWhitespace }))
  }

  /// Holds `ingest.app`, so that `tenure apps` waits, and returns the connection and a command that does.
  private func waitingCommand(on local: LocalServer) async throws -> (Connection, TestProgram) {
    let holder = try await Connection.open(local.connectionString)
    try await holder.execute("begin; lock table ingest.app in access exclusive mode")
    let program = try TestProgram(["apps"], environment: environment)
    try await waiting(for: "the command to wait for the table") {
      try await !holder.query("select 1 from pg_locks where relation = 'ingest.app'::regclass and not granted").isEmpty
    }
    return (holder, program)
  }

  @Test("a command makes it, starts it and stops it, and what it stored is there for the next")
  func lifecycle() async throws {
    let first = try await TestProgram.run(["migrate"], environment: environment)
    #expect(first.code == 0, "\(first.errors)")
    #expect(try !isServerRunning)
    #expect(try log.contains("database system is shut down"))
    let second = try await TestProgram.run(["migrate", "--status", "--json"], environment: environment)
    #expect(second.output.contains("\"pending\":[]"))
    #expect(try log.contains("database system was shut down at"))
    #expect(try !isServerRunning)
  }

  @Test("only its owner can reach it, no port is open, and the program's role is no superuser")
  func access() async throws {
    try await copyMigratedHome()
    let local = try await LocalServer.start(environment: environment, log: Log())
    var entry = stat()
    #expect(stat(server, &entry) == 0)
    #expect(entry.st_mode & 0o777 == 0o700)
    #expect(stat("\(server)/data", &entry) == 0)
    #expect(entry.st_uid != 0)
    let connection = try await Connection.open(local.connectionString)
    let row = try await connection.query(
      """
      select current_setting('listen_addresses') as addresses, rolsuper, current_setting('fsync') as fsync
      from pg_roles where rolname = current_user
      """)[0]
    #expect(try row.text("addresses") == "")
    #expect(try !row.bool("rolsuper"))
    #expect(try row.text("fsync") == "on")
    let rules = try String(contentsOfFile: "\(server)/data/pg_hba.conf", encoding: .utf8)
    #expect(rules == "local all all peer map=tenure\n")
    await connection.close()
    await local.leave()
  }

  @Test("commands that start at once share one server")
  func race() async throws {
    let codes = try await withThrowingTaskGroup(of: TestProgram.Outcome.self) { group in
      for _ in 0..<4 {
        group.addTask { [environment] in try await TestProgram.run(["migrate"], environment: environment) }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(codes.map(\.code) == [0, 0, 0, 0], "\(codes.map(\.errors))")
    #expect(try !isServerRunning)
  }

  @Test("it stays while another command uses it, and stops with the last")
  func sharing() async throws {
    try await copyMigratedHome()
    let local = try await LocalServer.start(environment: environment, log: Log())
    let (holder, program) = try await waitingCommand(on: local)
    await local.leave()
    #expect(try isServerRunning)
    try await holder.execute("rollback")
    #expect(await program.ended().code == 0)
    #expect(try !isServerRunning)
    #expect(try log.contains("database system is shut down"))
  }

  @Test("when every command is killed it stops in order, and the next command finds everything")
  func killedCommand() async throws {
    try await copyMigratedHome()
    let local = try await LocalServer.start(environment: environment, log: Log())
    let writer = try await Connection.open(local.connectionString)
    try await writer.execute("create table kept as select 1 as number")
    try await writer.execute("begin; create table lost as select 1 as number")
    let (holder, program) = try await waitingCommand(on: local)
    await local.leave()
    program.send(SIGKILL)
    #expect(await program.ended().code == 128 + SIGKILL)
    try await serverHasEnded()
    // Not before: a connection that nobody holds is closed, and then the command would not have waited, nor the writer
    // have been in the middle of its work.
    await holder.close()
    await writer.close()
    #expect(try log.contains("database system is shut down"))
    let again = try await LocalServer.start(environment: environment, log: Log())
    let row = try await Connection.open(again.connectionString).query(
      "select to_regclass('kept') is not null as kept, to_regclass('lost') is null as is_lost")[0]
    #expect(try row.bool("kept"))
    #expect(try row.bool("is_lost"))
    await again.leave()
    #expect(try !log.contains("automatic recovery"))
  }

  @Test("a command killed while it makes the database leaves nothing that stops the next")
  func killedAtFirstStart() async throws {
    let program = try TestProgram(["migrate"], environment: environment)
    try await waiting(for: "the database to be made") {
      FileManager.default.fileExists(atPath: "\(server)/data.new")
        || FileManager.default.fileExists(atPath: "\(server)/data")
    }
    program.send(SIGKILL)
    _ = await program.ended()
    let next = try await TestProgram.run(["migrate"], environment: environment)
    #expect(next.code == 0, "\(next.errors)")
    #expect(try !isServerRunning)
  }

  @Test("a command killed while it starts the server leaves none behind, whenever that is", arguments: 0..<12)
  func killedAtStart(_ step: Int) async throws {
    try await copyMigratedHome()
    try? FileManager.default.removeItem(atPath: "\(server)/socket")
    let program = try TestProgram(["apps"], environment: environment)
    // From the moment at which the keeper has written down the server's socket, which is just before it starts it.
    try await waiting(for: "the server to be started") { FileManager.default.fileExists(atPath: "\(server)/socket") }
    try await Task.sleep(for: .milliseconds(step * 2))
    program.send(SIGKILL)
    _ = await program.ended()
    try await serverHasEnded()
    let next = try await TestProgram.run(["apps"], environment: environment)
    #expect(next.code == 0, "\(next.errors)")
    #expect(try !isServerRunning)
  }

  @Test("a killed server recovers at the next start, also beside a command that is still there")
  func killedServer() async throws {
    try await copyMigratedHome()
    let local = try await LocalServer.start(environment: environment, log: Log())
    let connection = try await Connection.open(local.connectionString)
    try await connection.execute("create table kept as select 1 as number")
    kill(try serverProcess(), SIGKILL)
    try await serverHasEnded()
    let outcome = try await TestProgram.run(["apps"], environment: environment)
    #expect(outcome.code == 0, "\(outcome.errors)")
    #expect(try log.contains("automatic recovery in progress"))
    let row = try await Connection.open(local.connectionString).query("select number from kept")[0]
    #expect(try row.int("number") == 1)
    await local.leave()
    #expect(try !isServerRunning)
    #expect(try log.contains("database system is shut down"))
  }

  @Test("when its keeper is killed it stops in order, and the next command starts another")
  func killedKeeper() async throws {
    try await copyMigratedHome()
    let local = try await LocalServer.start(environment: environment, log: Log())
    kill(try keeperProcess(), SIGKILL)
    try await serverHasEnded()
    #expect(try log.contains("database system is shut down"))
    #expect(try await TestProgram.run(["apps"], environment: environment).code == 0)
    await local.leave()
    try await serverHasEnded()
  }

  @Test("what a killed machine leaves behind does not stop it: a process number that another process has now")
  func staleProcessNumber() async throws {
    try await copyMigratedHome()
    try "\(getpid())\n\(server)/data\n1\n5432\n\(server)\n\n0 0\nready\n".write(
      toFile: "\(server)/data/postmaster.pid", atomically: false, encoding: .utf8)
    let outcome = try await TestProgram.run(["apps"], environment: environment)
    #expect(outcome.code == 0, "\(outcome.errors)")
  }

  @Test(
    "a folder whose path cannot be a socket's has the socket elsewhere",
    arguments: [String(repeating: "long", count: 30), "with, comma and \"quotes\" and 'more' \\ of it"])
  func unfitPath(name: String) async throws {
    let environment = ["TENURE_HOME": folder.file(name)]
    try await copyMigratedHome(to: name)
    let outcome = try await TestProgram.run(["apps"], environment: environment)
    #expect(outcome.code == 0, "\(outcome.errors)")
    let local = try await LocalServer.start(environment: environment, log: Log())
    let sockets = try String(contentsOfFile: folder.file("\(name)/postgres/socket"), encoding: .utf8)
    #expect(sockets.hasPrefix("/tmp/tenure-"))
    var entry = stat()
    #expect(stat(sockets, &entry) == 0)
    #expect(entry.st_mode & 0o777 == 0o700)
    await local.leave()
    let lock = try FileLock(
      path: folder.file("\(name)/postgres/users.lock"), owner: try #require(ServerUser(uid: geteuid())))
    await lock.lockRegardless()
    #expect(!FileManager.default.fileExists(atPath: sockets))
  }

  @Test("a folder with spaces, quotes and other letters works like any other")
  func oddPath() async throws {
    let name = "Ünser 'data' $HOME"
    let environment = ["TENURE_HOME": folder.file(name)]
    try await copyMigratedHome(to: name)
    let outcome = try await TestProgram.run(["apps"], environment: environment)
    #expect(outcome.code == 0, "\(outcome.errors)")
  }

  @Test("a database of another major version is not started, and the message says how to move it")
  func otherMajorVersion() async throws {
    try await copyMigratedHome()
    try "9\n".write(toFile: "\(server)/data/PG_VERSION", atomically: false, encoding: .utf8)
    let outcome = try await TestProgram.run(["apps"], environment: environment)
    #expect(outcome.code == 1)
    for word in ["PostgreSQL 9", "pg_upgrade", "pg_dump", server] { #expect(outcome.errors.contains(word), "\(word)") }
  }

  @Test("the program runs from any directory and after it was moved, as another user as well")
  func movedProgram() async throws {
    try FileManager.default.copyItem(atPath: TestProgram.path, toPath: folder.file("moved"))
    let home = folder.file("someone")
    try FileManager.default.createDirectory(atPath: home, withIntermediateDirectories: true)
    var user: String?
    if geteuid() == 0 {
      let daemon = try #require(ServerUser(name: "daemon"))
      user = daemon.name
      chown(home, daemon.uid, daemon.gid)
      chmod(home, 0o700)
    }
    let outcome = try await TestProgram.run(
      ["migrate"], environment: ["HOME": home], directory: "/usr", user: user, file: folder.file("moved"))
    #expect(outcome.code == 0, "\(outcome.errors)")
    #expect(FileManager.default.fileExists(atPath: "\(home)/.local/share/tenure/postgres/data/PG_VERSION"))
  }

  @Test("root runs it as the owner of the folder, and that user goes on with it", .enabled(if: geteuid() == 0))
  func ownersFolder() async throws {
    let daemon = try #require(ServerUser(name: "daemon"))
    let home = folder.file("home")
    try FileManager.default.createDirectory(atPath: home, withIntermediateDirectories: true)
    chown(home, daemon.uid, daemon.gid)
    try FileManager.default.copyItem(atPath: TestProgram.path, toPath: folder.file("moved"))
    #expect(try await TestProgram.run(["migrate"], environment: environment).code == 0)
    var entry = stat()
    #expect(stat("\(server)/data", &entry) == 0)
    #expect(entry.st_uid == daemon.uid)
    let own = try await TestProgram.run(
      ["migrate", "--status"], environment: environment, user: "daemon", file: folder.file("moved"))
    #expect(own.code == 0, "\(own.errors)")
    let other = try await TestProgram.run(
      ["migrate", "--status"], environment: environment, user: "games", file: folder.file("moved"))
    #expect(other.code == 1)
    #expect(other.errors.contains("TENURE_HOME"))
  }

  @Test("root gives an empty folder of its own to the server's user, never to nobody", .enabled(if: geteuid() == 0))
  func emptyFolder() async throws {
    for owner in ["root", "nobody"] {
      let home = folder.file(owner)
      mkdir(home, 0o700)
      let user = try #require(ServerUser(name: owner))
      chown(home, user.uid, user.gid)
      chmod(home, owner == "nobody" ? 0o755 : 0o700)
      let found = try LocalServerHome(environment: ["TENURE_HOME": home])
      #expect(found.user.name == "postgres")
      for path in [found.folder] + (owner == "root" ? [home] : []) {
        var entry = stat()
        #expect(stat(path, &entry) == 0)
        #expect(entry.st_uid == found.user.uid)
        #expect(entry.st_mode & 0o777 == 0o700)
      }
    }
  }

  @Test("a folder the server's user cannot reach is named", .enabled(if: geteuid() == 0))
  func unreachableFolder() async throws {
    mkdir(folder.file("closed"), 0o700)
    try folder.write("", to: "closed/something")
    for path in ["closed", "closed/home"] {
      let outcome = try await TestProgram.run(["migrate"], environment: ["TENURE_HOME": folder.file(path)])
      #expect(outcome.code == 1)
      #expect(outcome.errors.contains("cannot enter \(folder.file("closed"))"), "\(outcome.errors)")
    }
  }
}
