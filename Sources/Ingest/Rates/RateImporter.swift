public import Postgres
import SQL
import Vocabulary

/// Puts exchange rates and tax rates into the reference tables, each file in one transaction.
public struct RateImporter: Sendable {
  /// What exchange rates change in the database.
  public struct Changes: Sendable, Equatable {
    /// Rates, and ends of publication, for currencies and days that had none.
    public let added: Int
    /// Rates and ends that became another, or that the file takes away.
    public let changed: Int
  }

  private let connection: Connection

  /// Creates an importer.
  public init(_ connection: Connection) { self.connection = connection }

  /// Adds and corrects the days that the rates have; other days and other currencies stay as they are. Waits for a run of
  /// `measure`, so that each run sees all of a file or nothing of it.
  ///
  /// - Parameter isDry: Whether it is only told what would change.
  public func merge(_ rates: ExchangeRates, isDry: Bool = false) async throws -> Changes {
    var rows = BinaryRows()
    for day in rates.days {
      // Days of a file have been read as such.
      let number = Instant("\(day.date)T00:00:00Z").map { Int32($0.microseconds / 86_400_000_000) }
      for (currency, perEuro) in zip(rates.currencies, day.perEuro) {
        rows.startRow(columns: 3)
        rows.text(currency)
        rows.date(days: number)
        rows.text(perEuro)
      }
    }
    return try await connection.transaction { [rows] connection in
      if !isDry { try Self.waitForMeasuring(connection) }
      try connection.execute(SQLFiles.text("ingest/rate_staging.sql"))
      try connection.copyIn("copy staged_rate (currency, day, per_euro) from stdin (format binary)", rows)
      try connection.execute(SQLFiles.text("ingest/rate_difference.sql"))
      if !isDry { try connection.execute(SQLFiles.text("ingest/rate_merge.sql")) }
      let counts = try connection.query(
        """
        select count(*) filter (where not had_rate) as added, count(*) filter (where had_rate) as changed
        from rate_difference
        """)[0]
      return Changes(added: Int(try counts.int("added")), changed: Int(try counts.int("changed")))
    }
  }

  /// Replaces all tax rates.
  public func replace(with taxes: TaxRates) async throws {
    try await connection.transaction { connection in
      try Self.waitForMeasuring(connection)
      try connection.execute("delete from reference.tax_rate")
      try connection.query(
        """
        insert into reference.tax_rate (country, from_day, rate)
        select country, coalesce(from_day::date, '-infinity'), rate::numeric
        from unnest($1::text[], $2::text[], $3::text[]) as given (country, from_day, rate)
        """,
        [
          .texts(taxes.rates.map(\.country)), .texts(taxes.rates.map(\.from)), .texts(taxes.rates.map(\.rate)),
        ])
    }
  }

  /// Until the transaction ends, no run begins: runs hold the same lock.
  private static func waitForMeasuring(_ connection: isolated Connection) throws {
    try connection.query("select pg_advisory_xact_lock(hashtextextended('tenure.measure', 0))")
  }
}
