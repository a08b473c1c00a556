import Foundation
import Postgres
import TestSupport
import Testing

@testable import tenure

@Suite("The program")
struct CommandLineTests {
  @Test("every command has a help text, and the program lists them all")
  func help() async throws {
    let overview = try await TestProgram.run(["--help"])
    #expect(overview.code == 0)
    for command in Program.commands {
      let syntax = command.syntax
      #expect(overview.output.contains("  \(syntax.name) "), "\(syntax.name)")
      let help = try await TestProgram.run(syntax.words + ["--help"])
      #expect(help.code == 0)
      #expect(help.output.contains("Usage: \(syntax.usage)"), "\(syntax.name)")
      for option in syntax.options + OptionSyntax.global {
        #expect(help.output.contains("--\(option.name)"), "\(syntax.name) --\(option.name)")
      }
      let asked = try await TestProgram.run(["help"] + syntax.words)
      #expect(asked.output == help.output)
    }
  }

  @Test(
    "wrong usage ends with 2 and says what would be right",
    arguments: [
      ([], "no command"), (["migrat"], "did you mean \\\"migrate\\\"?"), (["apps", "renam", "a", "b"], "apps rename"),
      (["migrate", "--statsu"], "did you mean \\\"--status\\\"?"), (["apps", "rename", "a"], "NEW is missing"),
      (["apps", "rename", "a", "b/c"], "NEW is a key"), (["--jsno", "apps"], "did you mean \\\"--json\\\"?"),
      (["migrate", "now"], "unexpected \\\"now\\\""),
    ])
  func wrongUsage(words: [String], message: String) async throws {
    let outcome = try await TestProgram.run(words)
    #expect(outcome.code == 2)
    #expect(outcome.output.isEmpty)
    #expect(outcome.errors.contains(message), "\(outcome.errors)")
    for line in outcome.errors.split(separator: "\n") {
      #expect((try? JSONSerialization.jsonObject(with: Data(line.utf8))) is [String: Any], "\(line)")
    }
  }

  @Test("a configuration with problems ends with 2 and names each")
  func wrongConfiguration() async throws {
    let folder = try TestFolder()
    try folder.write(#"{ databas: "x", server: { reports: "nowhere" } }"#, to: "tenure.json")
    // Found by the option, by the environment, and by where the program runs.
    let outcomes = [
      try await TestProgram.run(["apps", "--config", folder.file("tenure.json")]),
      try await TestProgram.run(["apps"], environment: ["TENURE_CONFIG": folder.file("tenure.json")]),
      try await TestProgram.run(["apps"], directory: folder.path),
    ]
    for outcome in outcomes {
      #expect(outcome.code == 2)
      #expect(outcome.errors.contains("\"path\":\"databas\""))
      #expect(outcome.errors.contains("\"path\":\"server.reports\""))
    }
  }

  @Test("an empty database is migrated by the first command, and migrate finds nothing more to do")
  func emptyDatabase() async throws {
    let database = try await TestDatabase.empty()
    let environment = ["DATABASE_URL": database.connectionString]
    let apps = try await TestProgram.run(["apps", "--json"], environment: environment)
    #expect(apps.code == 0, "\(apps.errors)")
    #expect(apps.output == "[]\n")
    let migrate = try await TestProgram.run(["migrate"], environment: environment)
    #expect(migrate.code == 0)
    #expect(migrate.output.contains("nothing to do"))
  }

  @Test("migrate --status tells what is missing and changes nothing")
  func status() async throws {
    let database = try await TestDatabase.empty()
    let environment = ["DATABASE_URL": database.connectionString]
    for _ in 0..<2 {
      let outcome = try await TestProgram.run(["migrate", "--status", "--json"], environment: environment)
      #expect(outcome.code == 0)
      #expect(outcome.output.hasPrefix("{\"applied\":[],\"pending\":[\"0001_"))
    }
    #expect(try await TestProgram.run(["migrate"], environment: environment).code == 0)
    let outcome = try await TestProgram.run(["migrate", "--status"], environment: environment)
    #expect(outcome.output.contains("report views: current"))
    #expect(!outcome.output.contains("pending"))
  }

  @Test("an older database says that tenure migrate is needed, a newer one is refused")
  func otherVersions() async throws {
    let database = try await TestDatabase.clone()
    let environment = ["DATABASE_URL": database.connectionString]
    let connection = try await database.connect()
    try await connection.execute(
      """
      create table was as select * from tenure.migration;
      delete from tenure.migration where version = (select max(version) from tenure.migration)
      """)
    let older = try await TestProgram.run(["apps"], environment: environment)
    #expect(older.code == 1)
    #expect(older.errors.contains("tenure migrate"))
    try await connection.execute(
      """
      truncate tenure.migration; insert into tenure.migration select * from was;
      insert into tenure.migration (version, name, checksum, seconds) values (9999, '9999_future', '', 0)
      """)
    for words in [["apps"], ["migrate"], ["migrate", "--status"]] {
      let newer = try await TestProgram.run(words, environment: environment)
      #expect(newer.code == 1)
      #expect(newer.errors.contains("newer than this program"))
    }
  }

  @Test("a figure is drawn in the terminal, and what cannot be drawn is wrong usage")
  func plot() async throws {
    let database = try await TestDatabase.clone()
    let environment = ["DATABASE_URL": database.connectionString]
    let none = try await TestProgram.run(["report", "movements", "--plot"], environment: environment)
    #expect(none.code == 0, "\(none.errors)")
    #expect(none.output.hasPrefix("new: "))
    let closing = try await TestProgram.run(
      ["report", "movements", "--plot", "--column", "closing"], environment: environment)
    #expect(closing.output.hasPrefix("closing: "))
    for (words, message) in [
      (["movements", "--plot", "--column", "closin"], "did you mean \\\"closing\\\"?"),
      (["products", "--plot"], "over time"),
      (["movements", "--plot", "--json"], "a format of its own"), (["--plot"], "needs the report"),
      (["movements", "--column", "closing"], "goes with --plot"), (["movements", "--last", "0"], "is a number"),
    ] {
      let outcome = try await TestProgram.run(["report"] + words, environment: environment)
      #expect(outcome.code == 2)
      #expect(outcome.errors.contains(message), "\(words): \(outcome.errors)")
    }
  }

  @Test("an app is renamed and keeps its identity")
  func rename() async throws {
    let database = try await TestDatabase.clone()
    let environment = ["DATABASE_URL": database.connectionString]
    let connection = try await database.connect()
    try await connection.execute(
      "insert into ingest.app values (7, 'video', 'com.example.video', '2026-01-01 00:00+00')")
    #expect(try await TestProgram.run(["apps", "rename", "video", "films"], environment: environment).code == 0)
    let apps = try await TestProgram.run(["apps", "--json"], environment: environment)
    #expect(
      apps.output == #"[{"app":"films","bundle_id":"com.example.video","created_at":"2026-01-01T00:00:00Z","#
        + #""is_configured":false}]"# + "\n")
    #expect(try await connection.query("select app_id from ingest.app")[0].int("app_id") == 7)
    let missing = try await TestProgram.run(["apps", "rename", "flims", "x"], environment: environment)
    #expect(missing.code == 1)
    #expect(missing.errors.contains("did you mean \\\"films\\\"?"))
  }

  @Test(
    "no error shows the password of the database",
    arguments: [
      "postgresql://user:s3cr3t@127.0.0.1:1/x", "postgresql://user:s3/cr3t@127.0.0.1:1/x",
      "host=127.0.0.1 port=1 pasword=s3cr3t",
    ])
  func secrets(connectionString: String) async throws {
    let outcome = try await TestProgram.run(["apps"], environment: ["DATABASE_URL": connectionString])
    #expect(outcome.code == 1)
    #expect(!outcome.errors.contains("cr3t"))
    let folder = try TestFolder()
    try folder.write("{ database: \"\(connectionString)\" }", to: "tenure.json")
    let configured = try await TestProgram.run(["apps"], directory: folder.path)
    #expect(configured.code == 1)
    #expect(!configured.errors.contains("cr3t"))
  }

  /// Whether a statement in the connection's database waits for a lock.
  private func isAnyoneWaiting(_ connection: Connection) async throws -> Bool {
    try await connection.query(
      """
      select exists (
        select from pg_locks, pg_database
        where pg_database.oid = pg_locks.database and datname = current_database() and not granted
      ) as is_anyone
      """)[0].bool("is_anyone")
  }

  @Test("a signal to end stops the running statement, and the program says so", arguments: [SIGTERM, SIGINT])
  func interruption(signal: Int32) async throws {
    let database = try await TestDatabase.clone()
    let holder = try await database.connect()
    try await holder.execute("begin; lock table ingest.app in access exclusive mode")
    let program = try TestProgram(["apps"], environment: ["DATABASE_URL": database.connectionString])
    try await waiting(for: "the command to wait for the table") { try await isAnyoneWaiting(holder) }
    program.send(signal)
    let outcome = await program.ended()
    #expect(outcome.code == 1)
    #expect(outcome.errors.contains("interrupted by a signal"))
    #expect(outcome.output.isEmpty)
  }

  @Test("a signal to end is heard while the program waits for input")
  func interruptedInput() async throws {
    let database = try await TestDatabase.clone()
    let folder = try TestFolder()
    try #require(mkfifo(folder.file("input"), 0o600) == 0)
    let program = try TestProgram(
      ["ingest", "--source", "tenure", "--app", "video", folder.file("input")],
      environment: ["DATABASE_URL": database.connectionString])
    // Returns when the program has opened the other end; nothing is ever written.
    let writer = await withCheckedContinuation { continuation in
      Thread.detachNewThread { continuation.resume(returning: open(folder.file("input"), O_WRONLY | O_CLOEXEC)) }
    }
    defer { close(writer) }
    program.send(SIGTERM)
    let outcome = await program.ended()
    #expect(outcome.code == 1)
    #expect(outcome.errors.contains("interrupted by a signal"))
  }

  @Test("a reader who stops reading is no failure")
  func closedOutput() async throws {
    let database = try await TestDatabase.clone()
    let shell = try await TestProgram.run(
      ["-c", "{ \"$1\" apps; echo $? >&2; } | true", "sh", TestProgram.path],
      environment: ["DATABASE_URL": database.connectionString], file: "/bin/sh")
    #expect(shell.errors == "0\n")
  }
}
