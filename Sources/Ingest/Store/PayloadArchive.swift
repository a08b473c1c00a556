public import Postgres
public import Vocabulary

/// The payloads as they came, kept by month beside the events. Figures never read them.
public struct PayloadArchive: Sendable {
  private let connection: Connection

  /// The archive of a database.
  public init(_ connection: Connection) { self.connection = connection }

  /// Removes the payloads of the months, by UTC, that were over before a moment. Events and facts stay.
  ///
  /// The removal keeps others from storing while it waits for its turn, so it waits for a second at most.
  ///
  /// - Returns: How many months were removed; nil where others were at work on them: the next time will do.
  /// - Throws: `PostgresError`.
  public func removeMonths(before moment: Instant) async throws -> Int64? {
    do {
      return try await connection.transaction { connection in
        try connection.execute("set local lock_timeout = '1s'")
        return try connection.query(
          "select ingest.drop_payload_months($1) as months", [.timestamp(microseconds: moment.microseconds)]
        )[0].int("months")
      }
    } catch let error as PostgresError where error.sqlState == "55P03" {
      return nil
    }
  }
}
