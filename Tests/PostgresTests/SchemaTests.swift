import Foundation
import Postgres
import SQL
import TestSupport
import Testing

/// The schema that all migrations together make.
@Suite struct SchemaTests {
  private static let folder = URL(filePath: #filePath).deletingLastPathComponent()

  /// Every column, constraint, index, function and view, one line each.
  private static let description = """
    select line from (
      select format('column %s.%s %s %s%s', c.table_schema, c.table_name, lpad(c.ordinal_position::text, 2, '0'),
        c.column_name || ' ' || c.udt_name, case when c.is_nullable = 'NO' then ' not null' else '' end) as line
      from information_schema.columns as c
      inner join information_schema.tables as t using (table_schema, table_name)
      where c.table_schema in ('ingest', 'fact', 'ledger', 'measure', 'forward', 'reference', 'report', 'tenure')
        and c.table_name not like 'payload\\_2%'
      union all
      select format('constraint %s %s %s', conrelid::regclass, conname, pg_get_constraintdef(oid))
      from pg_constraint
      where connamespace::regnamespace::text in ('ingest', 'fact', 'ledger', 'measure', 'forward', 'reference', 'tenure')
        and conrelid::regclass::text not like '%payload\\_2%'
      union all
      select format('index %s.%s', schemaname, indexdef) from pg_indexes
      where schemaname in ('ingest', 'fact', 'ledger', 'measure', 'forward', 'reference', 'tenure')
        and tablename not like 'payload\\_2%'
      union all
      select format('function %s(%s) returns %s', p.oid::regproc, pg_get_function_arguments(p.oid), p.prorettype::regtype)
      from pg_proc as p
      where p.pronamespace::regnamespace::text in ('ingest', 'fact', 'ledger', 'measure', 'forward', 'reference', 'tenure')
    ) as lines
    order by line
    """

  @Test("the schema is the one that Fixtures/schema.txt shows; after a wanted change, copy the new one there")
  func golden() async throws {
    let database = try await TestDatabase.clone()
    let connection = try await database.connect()
    let lines = try await connection.query(Self.description).map { try $0.text("line") }
    await connection.close()
    let file = Self.folder.appending(path: "Fixtures/schema.txt")
    let text = lines.joined(separator: "\n") + "\n"
    let golden = (try? String(contentsOf: file, encoding: .utf8)) ?? ""
    if text != golden {
      let made = FileManager.default.temporaryDirectory.appending(path: "tenure-schema.txt")
      try text.write(to: made, atomically: true, encoding: .utf8)
      let added = Set(lines).subtracting(golden.split(separator: "\n").map(String.init))
      Issue.record("the schema differs; the new one is in \(made.path). New lines: \(added.sorted().prefix(5))")
    }
  }

  @Test("every key of a table with one row per event, fact, period or entry holds the subscription key")
  func distributableKeys() async throws {
    let database = try await TestDatabase.clone()
    let connection = try await database.connect()
    let wrong = try await connection.query(
      """
      select i.indexrelid::regclass::text as name
      from pg_index as i
      inner join pg_class as c on c.oid = i.indrelid
      where i.indisunique and c.relnamespace::regnamespace::text in ('ingest', 'fact', 'ledger')
        and exists (
          select from pg_attribute as a where a.attrelid = c.oid and a.attname = 'subscription_key'
        )
        and not exists (
          select from pg_attribute as a
          where a.attrelid = c.oid and a.attname = 'subscription_key' and a.attnum = any(i.indkey)
        )
      """)
    let typed = try await connection.query(
      """
      select a.attrelid::regclass::text as name
      from pg_attribute as a
      inner join pg_class as c on c.oid = a.attrelid
      where a.attname = 'subscription_key' and c.relkind in ('r', 'p')
        and (a.atttypid <> 'bigint'::regtype or a.attgenerated <> '' or not a.attnotnull)
        and c.relnamespace::regnamespace::text in ('ingest', 'fact', 'ledger', 'forward')
      """)
    await connection.close()
    #expect(wrong.map { $0["name"] } == [])
    #expect(typed.map { $0["name"] } == [])
  }

  @Test("the program carries the files of sql/ as they are")
  func embedded() throws {
    let root = Self.folder.deletingLastPathComponent().deletingLastPathComponent().appending(path: "sql")
    let paths = try FileManager.default.subpathsOfDirectory(atPath: root.path)
      .filter { $0.hasSuffix(".sql") || $0.hasSuffix(".csv") }
    #expect(Set(SQLFiles.all.map(\.path)) == Set(paths), "after adding or removing a file of sql/, touch Package.swift")
    for path in paths where SQLFiles.all.contains(where: { $0.path == path }) {
      #expect(SQLFiles.text(path) == (try String(contentsOf: root.appending(path: path), encoding: .utf8)), "\(path)")
    }
  }

  @Test("every report view and each of its columns says what it means, in a word that the report command knows")
  func comments() async throws {
    let database = try await TestDatabase.clone()
    let connection = try await database.connect()
    let silent = try await connection.query(
      """
      select c.relname || '.' || a.attname as name
      from pg_class as c
      inner join pg_attribute as a on a.attrelid = c.oid and a.attnum > 0
      where c.relnamespace = 'report'::regnamespace and c.relkind = 'v'
        and (
          obj_description(c.oid, 'pg_class') is null
          or coalesce(col_description(c.oid, a.attnum), '')
            !~ '^(Dimension|Flow|Whole|Stock|Opening|Distinct|Count|Rate|Ratio|Every|Detail): .'
        )
      """)
    await connection.close()
    #expect(silent.map { $0["name"] } == [])
  }
}
