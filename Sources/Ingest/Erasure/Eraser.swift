public import Postgres
import SQL
public import Vocabulary

/// Removes a person from the database, for good: identifiers, raw payloads, what waits to be sent, and excerpts of what was
/// refused. Facts and figures stay: in each place one identifier becomes the same random name.
///
/// Digests of the identifiers are kept, so that they are dropped when they come again.
public struct Eraser: Sendable {
  /// What was removed.
  public struct Erasure: Sendable, Equatable {
    /// The keys of the apps that it was looked for in.
    public var apps: [String] = []
    /// How many chains were the person's.
    public var subscriptions = 0
    /// How many events lost an identifier.
    public var events = 0
    /// How many raw payloads are gone.
    public var payloads = 0
    /// How many deliveries that waited are gone.
    public var deliveries = 0
    /// How many excerpts of refused input are gone.
    public var excerpts = 0
  }

  /// Why nobody was erased.
  public enum Failure: Error, Sendable, Equatable {
    /// There is no such app.
    case unknownApp
    /// The identifier is known in several apps, and may be of another person in each: their keys.
    case severalApps([String])
  }

  private let connection: Connection
  private let now: Instant

  /// An eraser.
  ///
  /// - Parameters:
  ///   - connection: Used for one erasure, and closed after it.
  ///   - now: When it happens.
  public init(_ connection: Connection, now: Instant) {
    self.connection = connection
    self.now = now
  }

  /// Erases a person.
  ///
  /// What is found is removed in one transaction. The digests are kept by one before it, which waits for what is being
  /// stored: interrupted between the two, it is to be repeated.
  ///
  /// - Parameters:
  ///   - identifier: The customer's id, or the app transaction id of one without.
  ///   - app: The key of the app; nil for the one that knows it, or for all where none does.
  /// - Throws: ``Failure``, `PostgresError`.
  public func erase(_ identifier: String, app: String?) async throws -> Erasure {
    var erasure = Erasure()
    let apps = try await connection.query(
      SQLFiles.text("ingest/erasure_apps.sql"), [.text(identifier), Parameter(app)])
    if apps.isEmpty { throw Failure.unknownApp }
    let knowing = try apps.filter { try $0.bool("is_known") }
    if app == nil, knowing.count > 1 { throw Failure.severalApps(try knowing.map { try $0.text("app_key") }) }
    let chosen = knowing.isEmpty ? apps : knowing
    erasure.apps = try chosen.map { try $0.text("app_key") }
    let appIDs = try chosen.map { try $0.int("app_id") }
    try await connection.execute(
      """
      create temporary table erasure_name (
        app_id bigint not null, identifier text not null, name text not null, pattern text not null,
        primary key (app_id, identifier)
      )
      """)
    try await connection.transaction { [now] connection in
      try connection.execute("lock table ingest.erased in access exclusive mode")
      try connection.query(
        SQLFiles.text("ingest/erasure_names.sql"),
        [.text(identifier), .ints(appIDs), .timestamp(microseconds: now.microseconds)])
    }
    let row = try await connection.transaction { connection in
      // A run of measure that has read the identifier would write it again.
      try connection.query("select pg_advisory_xact_lock(hashtextextended('tenure.measure', 0))")
      try connection.execute(SQLFiles.text("ingest/erasure.sql"))
      return try connection.query("select * from erasure_count")[0]
    }
    await connection.close()
    erasure.subscriptions = Int(try row.int("subscriptions"))
    erasure.events = Int(try row.int("events"))
    erasure.payloads = Int(try row.int("payloads"))
    erasure.deliveries = Int(try row.int("deliveries"))
    erasure.excerpts = Int(try row.int("excerpts"))
    return erasure
  }
}
