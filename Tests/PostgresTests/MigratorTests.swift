import Postgres
import TestSupport
import Testing

@Suite("Migrator")
struct MigratorTests {
  private let first = Script(name: "0001_first", text: "create table thing (number integer)")
  private let second = Script(name: "0002_second", text: "alter table thing alter number type bigint")
  private let view = Script(name: "things", text: "create view report.things as select number from thing")

  @Test("what is missing is applied once, and the status tells")
  func appliesOnce() async throws {
    let connection = try await TestDatabase.empty().connect()
    let migrator = Migrator(migrations: [first, second], repeatable: [view])
    let before = try await migrator.status(on: connection)
    #expect(before.isEmpty)
    #expect(before.pending == ["0001_first", "0002_second"])
    #expect(try await connection.query("select 1 from pg_namespace where nspname = 'tenure'").isEmpty)
    let outcome = try await migrator.migrate(on: connection)
    #expect(outcome.applied == ["0001_first", "0002_second"])
    #expect(outcome.didRepeat)
    let after = try await migrator.status(on: connection)
    #expect(after.isCurrent)
    #expect(after.applied.map(\.name) == ["0001_first", "0002_second"])
    let again = try await migrator.migrate(on: connection)
    #expect(again.applied.isEmpty)
    #expect(!again.didRepeat)
  }

  @Test("a later program applies only what is new, under the views that stand on it")
  func goesForward() async throws {
    let connection = try await TestDatabase.empty().connect()
    _ = try await Migrator(migrations: [first], repeatable: [view]).migrate(on: connection)
    let outcome = try await Migrator(migrations: [first, second], repeatable: [view]).migrate(on: connection)
    #expect(outcome.applied == ["0002_second"])
    #expect(outcome.didRepeat)
    #expect(
      try await connection.query("select pg_typeof(sum(number)) as type from report.things")[0]["type"] == "numeric")
  }

  @Test("numbers may be missing, and a migration that comes with one of them later is applied then")
  func missingNumbers() async throws {
    let connection = try await TestDatabase.empty().connect()
    let third = Script(name: "0003_third", text: "create table other (number integer)")
    #expect(try await Migrator(migrations: [first, third], repeatable: []).migrate(on: connection).applied.count == 2)
    let later = Migrator(migrations: [first, second, third], repeatable: [])
    #expect(try await later.status(on: connection).pending == ["0002_second"])
    #expect(try await later.migrate(on: connection).applied == ["0002_second"])
    #expect(try await later.status(on: connection).isCurrent)
  }

  @Test("changed views are made again, without those that are gone")
  func changedViews() async throws {
    let connection = try await TestDatabase.empty().connect()
    _ = try await Migrator(migrations: [first], repeatable: [view]).migrate(on: connection)
    let renamed = Script(name: "things", text: "create view report.all_things as select number from thing")
    let outcome = try await Migrator(migrations: [first], repeatable: [renamed]).migrate(on: connection)
    #expect(outcome.applied.isEmpty)
    #expect(outcome.didRepeat)
    let views = try await connection.query("select viewname from pg_views where schemaname = 'report'")
    #expect(views.map { $0["viewname"] } == ["all_things"])
  }

  @Test("a database newer than the program is refused")
  func newerDatabase() async throws {
    let connection = try await TestDatabase.empty().connect()
    _ = try await Migrator(migrations: [first, second], repeatable: []).migrate(on: connection)
    let older = Migrator(migrations: [first], repeatable: [])
    let error = await #expect(throws: PostgresError.self) { try await older.migrate(on: connection) }
    #expect(error?.message.contains("newer than this program") == true)
    #expect(error?.message.contains("0002_second") == true)
    await #expect(throws: PostgresError.self) { try await older.status(on: connection) }
  }

  @Test("a migration whose text changed is refused, and nothing is applied")
  func changedText() async throws {
    let connection = try await TestDatabase.empty().connect()
    _ = try await Migrator(migrations: [first], repeatable: []).migrate(on: connection)
    let changed = Migrator(
      migrations: [Script(name: first.name, text: first.text + " "), second], repeatable: [])
    let error = await #expect(throws: PostgresError.self) { try await changed.migrate(on: connection) }
    #expect(error?.message.contains("0001_first") == true)
    let type = try await connection.query(
      "select data_type from information_schema.columns where table_name = 'thing'")[0]
    #expect(type["data_type"] == "integer")
    // The lock is given back: the right program still works on the same connection and on another.
    _ = try await Migrator(migrations: [first, second], repeatable: []).migrate(on: connection)
  }

  @Test("a script that fails leaves nothing behind, and what came before it stays")
  func failingScript() async throws {
    let connection = try await TestDatabase.empty().connect()
    let broken = Script(name: "0002_broken", text: "create table half (number integer); select 1 / 0")
    _ = try await Migrator(migrations: [first], repeatable: [view]).migrate(on: connection)
    let error = await #expect(throws: PostgresError.self) {
      try await Migrator(migrations: [first, broken], repeatable: [view]).migrate(on: connection)
    }
    #expect(error?.context == "applying 0002_broken")
    let row = try await connection.query(
      """
      select to_regclass('half') is null as is_gone, to_regclass('report.things') is not null as has_view,
        (select max(version) from tenure.migration) as version
      """)[0]
    #expect(try row.bool("is_gone"))
    #expect(try row.bool("has_view"))
    #expect(try row.int("version") == 1)
  }

  @Test("several at once: one works, the others find it done")
  func race() async throws {
    let database = try await TestDatabase.empty()
    let migrator = Migrator(migrations: [first, second], repeatable: [view])
    let applied = try await withThrowingTaskGroup(of: Int.self) { group in
      for _ in 0..<4 {
        group.addTask {
          let connection = try await database.connect()
          return try await migrator.migrate(on: connection).applied.count
        }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(applied.sorted() == [0, 0, 0, 2])
  }
}
