import Foundation
import Glibc
import Postgres
import TestSupport
import Testing

/// `tenure demo`, with fewer customers than people see.
@Suite("Demo", .fewAtOnce)
struct DemoCommandTests {
  private struct Result: Decodable {
    struct Difference: Decodable {
      let report: String
      let column: String
    }
    let subscribers: Int
    let notifications: Int
    let stored: Int
    let delivered: Int
    let compared: Int
    let differences: [Difference]
  }

  private func run(_ database: TestDatabase, _ words: String...) async throws -> (code: Int32, result: Result) {
    let outcome = try await TestProgram.run(
      ["demo", "--json"] + words, environment: ["DATABASE_URL": database.connectionString])
    return (
      outcome.code,
      try #require(try? JSONDecoder().decode(Result.self, from: Data(outcome.output.utf8)), "\(outcome.errors)")
    )
  }

  @Test("the reports say of a made-up year what its books say, and what was made stays in the named database")
  func agreement() async throws {
    let database = try await TestDatabase.empty()
    let (code, result) = try await run(database, "--subscribers", "120", "--seed", "3")
    #expect(result.differences.map { "\($0.report) \($0.column)" } == [])
    #expect(code == 0)
    #expect(result.compared > 1000)
    #expect(result.notifications > result.stored)
    #expect(result.delivered > 0)
    let connection = try await database.connect()
    let stored = try await connection.query(
      "select count(*) as stored from ingest.event where source = 'app_store'")[0].int("stored")
    #expect(Int(stored) == result.stored)
    await connection.close()
    // Nothing is mixed into what is there.
    let again = try await TestProgram.run(
      ["demo", "--subscribers", "1"], environment: ["DATABASE_URL": database.connectionString])
    #expect(again.code == 1)
    #expect(again.errors.contains("mixes with nothing"))
    #expect(again.output.isEmpty)
  }

  @Test("one charge told with another price is noticed, and the demo fails")
  func alteration() async throws {
    let (code, result) = try await run(
      try await TestDatabase.empty(), "--subscribers", "40", "--seed", "3", "--alter")
    #expect(code == 1)
    #expect(Set(result.differences.map(\.report)).isSuperset(of: ["revenue", "renewal_revenue"]))
    #expect(
      Set(result.differences.map(\.column)).isSubset(of: [
        "gross", "net", "refunds", "mrr", "expansion", "contraction", "churn", "suspension",
      ]))
  }

  @Test("a database of something else is left alone")
  func foreignDatabase() async throws {
    let database = try await TestDatabase.empty()
    let connection = try await database.connect()
    try await connection.execute("create table customers (id integer)")
    let outcome = try await TestProgram.run(
      ["demo", "--subscribers", "1"], environment: ["DATABASE_URL": database.connectionString])
    #expect(outcome.code == 1)
    #expect(outcome.errors.contains("mixes with nothing"))
    #expect(try await connection.query("select from pg_namespace where nspname = 'ingest'").isEmpty)
    await connection.close()
  }

  @Test("without a database it makes one of its own, prints the figures, and leaves nothing behind")
  func ownDatabase() async throws {
    let readme = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().appending(path: "README.md")
    #expect(try String(contentsOf: readme, encoding: .utf8).contains("\nscripts/demo\n"))
    let outcome = try await TestProgram.run(["demo", "--subscribers", "25"])
    #expect(outcome.code == 0, "\(outcome.output) \(outcome.errors)")
    for text in [
      "25 customers", "ingest: received", "measure as of 2026-01-01", "forward: delivered",
      "$ tenure report active_subscriptions --by month --group-by app", "the figures agree: all ",
    ] { #expect(outcome.output.contains(text), "\(text)") }
    let folder = try #require(outcome.errors.firstMatch(of: /"folder":"(\/tmp\/tenure-[0-9a-f]+)\/postgres"/)?.output.1)
    #expect(!FileManager.default.fileExists(atPath: String(folder)))
  }

  @Test("however it ends, its own database is gone", arguments: [[SIGHUP], [SIGKILL], [SIGTERM, SIGTERM]])
  func endedEarly(signals: [Int32]) async throws {
    let program = try TestProgram(["demo", "--subscribers", "25", "--serve", "--reports-listen", "127.0.0.1:0"])
    let line = try #require(await program.errorLine(containing: "making a database"))
    let folder = String(try #require(line.firstMatch(of: /"folder":"(\/tmp\/tenure-[0-9a-f]+)\/postgres"/)).output.1)
    _ = try #require(await program.outputLine(containing: "ingest: received"))
    #expect(FileManager.default.fileExists(atPath: folder))
    for signal in signals { program.send(signal) }
    #expect(await program.ended().code != 0)
    try await waiting(for: "the end of \(folder)") { !FileManager.default.fileExists(atPath: folder) }
  }

  @Test("interrupted in a named database it says what is left there")
  func interrupted() async throws {
    let database = try await TestDatabase.empty()
    let program = try TestProgram(
      ["demo", "--subscribers", "400"], environment: ["DATABASE_URL": database.connectionString])
    _ = try #require(await program.outputLine(containing: "notifications of the year"))
    program.send(SIGINT)
    let outcome = await program.ended()
    #expect(outcome.code == 1)
    #expect(outcome.errors.contains("drop that database") && !outcome.errors.contains("nothing is half done"))
    #expect(try await !database.connect().query("select from pg_namespace where nspname = 'ingest'").isEmpty)
  }

  @Test("where there is nothing to alter it says so, not that the figures agree")
  func nothingToAlter() async throws {
    let outcome = try await TestProgram.run(["demo", "--subscribers", "1", "--seed", "3", "--alter"])
    #expect(outcome.code == 1 && outcome.output.isEmpty)
    #expect(outcome.errors.contains("--subscribers"))
  }

  @Test("told to stay up it serves the reports, and ends with 0 when it is told to end")
  func serving() async throws {
    let database = try await TestDatabase.empty()
    let program = try TestProgram(
      ["demo", "--subscribers", "3", "--serve", "--reports-listen", "127.0.0.1:0"],
      environment: ["DATABASE_URL": database.connectionString])
    guard let line = await program.outputLine(containing: "reports: http") else {
      let outcome = await program.ended()
      Issue.record("it ended with \(outcome.code): \(outcome.output) \(outcome.errors)")
      return
    }
    let page = try #require(line.firstMatch(of: /127\.0\.0\.1:(\d+)\/\?token=([\w-]+)/))
    let port = try #require(UInt16(page.output.1))
    let answer = try #require(
      try await HTTPConnection.request(
        "GET", "/v1/reports/churn?by=year", port: port, headers: ["Authorization": "Bearer \(page.output.2)"]))
    #expect(answer.status == 200)
    #expect(answer.text.contains("\"starts_on\":\"2025-01-01\""), "\(answer.text)")
    program.send(SIGTERM)
    #expect(await program.ended().code == 0)
  }

  @Test("a port that is taken is found out before anything is done")
  func takenPort() async throws {
    let receiver = HTTPReceiver()
    defer { receiver.close() }
    let outcome = try await TestProgram.run(["demo", "--serve", "--reports-listen", "127.0.0.1:\(receiver.port)"])
    #expect(outcome.code == 1)
    #expect(outcome.output == "")
    #expect(outcome.errors.contains("another address can be given"))
  }

  @Test("a year in which next to nothing happens is a year too", arguments: ["3", "5"])
  func oneCustomer(seed: String) async throws {
    let (code, result) = try await run(try await TestDatabase.empty(), "--subscribers", "1", "--seed", seed)
    #expect(code == 0)
    #expect(result.subscribers == 1)
    #expect(result.differences.isEmpty)
  }

  @Test("numbers of customers and seeds that are none are wrong usage", arguments: ["0", "-1", "many", "1.5"])
  func usage(number: String) async throws {
    let outcome = try await TestProgram.run(["demo", "--subscribers=\(number)"])
    #expect(outcome.code == 2)
    #expect(outcome.errors.contains("--subscribers is a whole number"))
  }
}
