/// Brings a database to the program's version.
///
/// Migrations go forward only, each with its bookkeeping in one transaction. What has been applied is remembered in
/// `tenure.migration` with the SHA-256 of its text. Views that can be made again at any time, the repeatable scripts, are
/// dropped with their schema and made anew when one of their texts changed or a migration was applied.
public struct Migrator: Sendable {
  /// A migration that a database has.
  public struct Applied: Sendable {
    /// The number its name begins with.
    public let version: Int
    /// Its name.
    public let name: String
    /// When it was applied, in microseconds since 1970-01-01 00:00 UTC.
    public let appliedAt: Int64
    /// How long it took.
    public let seconds: Double
  }

  /// Where a database stands.
  public struct Status: Sendable {
    /// The migrations the database has, in order.
    public let applied: [Applied]
    /// The names of those it lacks, in order.
    public let pending: [String]
    /// Whether the repeatable scripts would be run.
    public let isRepeatableDue: Bool

    /// Whether there is nothing to do.
    public var isCurrent: Bool { pending.isEmpty && !isRepeatableDue }
    /// Whether the database was never migrated.
    public var isEmpty: Bool { applied.isEmpty }
  }

  /// What a call of ``migrate(on:)`` did.
  public struct Outcome: Sendable {
    /// The names of the migrations it applied, in order.
    public let applied: [String]
    /// Whether it ran the repeatable scripts.
    public let didRepeat: Bool
  }

  private struct Migration: Sendable {
    let version: Int
    let script: Script
  }

  private let migrations: [Migration]
  private let repeatable: [Script]
  private let schema: String

  /// Makes a migrator.
  ///
  /// - Parameters:
  ///   - migrations: scripts whose names begin with a number and an underscore, in the order of their numbers, of which
  ///     some may be missing. Anything else is a mistake in the program and stops it.
  ///   - repeatable: the scripts that fill `schema`, in the order to run them. The schema is made before they run.
  ///   - schema: a schema that holds nothing but what the repeatable scripts make.
  public init(migrations: [Script], repeatable: [Script], schema: String = "report") {
    var last = 0
    self.migrations = migrations.map { script in
      guard let version = Int(script.name.prefix { $0.isNumber }), version > last else {
        preconditionFailure("migration \(script.name) must have a number greater than \(last)")
      }
      last = version
      return Migration(version: version, script: script)
    }
    self.repeatable = repeatable
    self.schema = schema
  }

  /// Tells where the database stands and changes nothing.
  ///
  /// - Throws: ``PostgresError`` when the database is newer than the program or has a migration whose text changed.
  public func status(on connection: Connection) async throws -> Status {
    try await connection.transaction(.repeatableRead) { connection in
      try status(of: try state(on: connection))
    }
  }

  /// Applies what is missing. Of several at once one works, the others wait for it and find nothing to do.
  ///
  /// - Throws: ``PostgresError`` when the database is newer than the program, has a migration whose text changed, or a
  ///   script fails; the script that failed has then left nothing behind.
  public func migrate(on connection: Connection) async throws -> Outcome {
    // Held by the session, not by a transaction: there are several of those.
    try await connection.query("select pg_advisory_lock($1)", [.int(Self.lock)])
    do {
      let outcome = try await migrateLocked(on: connection)
      try await connection.query("select pg_advisory_unlock($1)", [.int(Self.lock)])
      return outcome
    } catch {
      _ = try? await connection.query("select pg_advisory_unlock($1)", [.int(Self.lock)])
      throw error
    }
  }

  // MARK: -

  /// The number of the lock that keeps migrators apart: the letters of "tenure".
  private static let lock: Int64 = 0x74_65_6E_75_72_65

  private struct Entry: Sendable {
    let applied: Applied
    let checksum: String
  }

  /// What the database remembers and the checksums of what the program has.
  private struct State: Sendable {
    var entries: [Entry] = []
    var repeatableChecksum: String?
    /// By version.
    var expected: [Int: String] = [:]
    var expectedRepeatable = ""
  }

  private func migrateLocked(on connection: Connection) async throws -> Outcome {
    let state = try await connection.transaction { connection in
      try connection.execute(Self.bookkeeping)
      return try self.state(on: connection)
    }
    let status = try self.status(of: state)
    for migration in pending(in: state) {
      try await apply(migration, checksum: state.expected[migration.version] ?? "", on: connection)
    }
    if status.isRepeatableDue { try await makeAgain(checksum: state.expectedRepeatable, on: connection) }
    return Outcome(applied: status.pending, didRepeat: status.isRepeatableDue)
  }

  private func state(on connection: isolated Connection) throws -> State {
    var state = State()
    let texts = migrations.map(\.script.text)
    let repeatableText = repeatable.map { "\($0.name)\n\($0.text)" }.joined(separator: "\n")
    let checksums = try connection.query(
      """
      select encode(sha256(convert_to(text, 'UTF8')), 'hex') as checksum
      from unnest($1) with ordinality as script (text, position) order by position
      """, [.texts(texts + [repeatableText])]
    ).map { try $0.text("checksum") }
    state.expected = Dictionary(uniqueKeysWithValues: zip(migrations.map(\.version), checksums))
    state.expectedRepeatable = checksums.last ?? ""
    let tables = try connection.query("select to_regclass('tenure.migration') is not null as is_there")
    guard try tables[0].bool("is_there") else { return state }
    let rows = try connection.query(
      "select version, name, checksum, applied_at, seconds from tenure.migration order by version")
    for row in rows {
      let checksum = try row.text("checksum")
      let version = Int(try row.int("version"))
      if version == 0 {
        state.repeatableChecksum = checksum
      } else {
        let applied = Applied(
          version: version, name: try row.text("name"), appliedAt: try row.timestamp("applied_at"),
          seconds: Double(try row.text("seconds")) ?? 0)
        state.entries.append(Entry(applied: applied, checksum: checksum))
      }
    }
    return state
  }

  private func status(of state: State) throws -> Status {
    let context = "comparing the database's version with the program's"
    for entry in state.entries {
      let applied = entry.applied
      guard let migration = migrations.first(where: { $0.version == applied.version }) else {
        throw PostgresError(
          message: "the database is newer than this program: it has migration \(applied.name), and this program's last "
            + "is \(migrations.last?.script.name ?? "none")",
          hint: "Use the version of the program that migrated it, or a newer one", context: context)
      }
      guard entry.checksum == state.expected[applied.version], applied.name == migration.script.name else {
        throw PostgresError(
          message: "migration \(migration.script.name) is not the text that was applied to this database as "
            + applied.name,
          hint: "A migration is never edited once it has been applied: put its text back as it was, and write what "
            + "should change as a new migration", context: context)
      }
    }
    let pending = pending(in: state).map(\.script.name)
    let isRepeatableDue = !pending.isEmpty || state.repeatableChecksum != state.expectedRepeatable
    return Status(applied: state.entries.map(\.applied), pending: pending, isRepeatableDue: isRepeatableDue)
  }

  /// The migrations that the database lacks, also such as have a lower number than those it has.
  private func pending(in state: State) -> [Migration] {
    let applied = Set(state.entries.map(\.applied.version))
    return migrations.filter { !applied.contains($0.version) }
  }

  private func apply(_ migration: Migration, checksum: String, on connection: Connection) async throws {
    let clock = ContinuousClock()
    let start = clock.now
    try await connection.transaction { connection in
      // The views would stand in the way of a change to the columns they show. Without their row they are due again,
      // also when this ends before they are made.
      try connection.execute("drop schema if exists \(schema) cascade; delete from tenure.migration where version = 0")
      try run(migration.script, on: connection)
      let seconds = (clock.now - start) / Duration.seconds(1)
      try connection.query(
        "insert into tenure.migration (version, name, checksum, seconds) values ($1, $2, $3, $4)",
        [.int(Int64(migration.version)), .text(migration.script.name), .text(checksum), .text("\(seconds)")])
    }
  }

  private func makeAgain(checksum: String, on connection: Connection) async throws {
    let clock = ContinuousClock()
    let start = clock.now
    try await connection.transaction { connection in
      try connection.execute("drop schema if exists \(schema) cascade; create schema \(schema)")
      for script in repeatable { try run(script, on: connection) }
      let seconds = (clock.now - start) / Duration.seconds(1)
      try connection.query(
        """
        insert into tenure.migration (version, name, checksum, seconds) values (0, $1, $2, $3)
        on conflict (version) do update
        set checksum = excluded.checksum, seconds = excluded.seconds, applied_at = excluded.applied_at
        """, [.text(schema), .text(checksum), .text("\(seconds)")])
    }
  }

  private func run(_ script: Script, on connection: isolated Connection) throws {
    do {
      try connection.execute(script.text)
    } catch let error as PostgresError {
      throw PostgresError(
        sqlState: error.sqlState, message: error.message, detail: error.detail, hint: error.hint,
        context: "applying \(script.name)", isConnectionLost: error.isConnectionLost)
    }
  }

  private static let bookkeeping = """
    create schema if not exists tenure;
    create table if not exists tenure.migration (
      version integer primary key,
      name text not null,
      checksum text not null,
      applied_at timestamptz not null default now(),
      seconds numeric(10, 3) not null
    );
    comment on table tenure.migration is
      'The migrations this database has. Version 0 stands for the views that are made again when they change.';
    """
}
