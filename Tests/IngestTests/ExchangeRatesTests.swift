import Ingest
import Postgres
import TestSupport
import Testing
import Vocabulary

@Suite("Exchange rates")
struct ExchangeRatesTests {
  private func read(_ text: String) throws -> ExchangeRates {
    try ExchangeRates(reading: Array(text.utf8), now: noon)
  }

  private func problems(_ bytes: [UInt8]) -> [String] {
    do throws(ImportProblems) {
      _ = try ExchangeRates(reading: bytes, now: noon)
      return []
    } catch {
      return error.problems.map(\.description)
    }
  }

  private func problems(_ text: String) -> [String] { problems(Array(text.utf8)) }

  // MARK: - Reading

  @Test("the ECB's history is read with the digits that it has")
  func history() throws {
    let rates = try read(PublishedRates.history)
    #expect(rates.currencies == ["USD", "JPY", "BGN", "CYP", "GBP", "CHF", "HRK", "RUB", "IDR", "KRW"])
    #expect(rates.days.count == 11)
    #expect(rates.days.first?.date == "2022-12-23")
    #expect(rates.days.last?.date == "2023-01-09")
    #expect(
      rates.days[4].perEuro
        == ["1.0666", "140.66", "1.9558", nil, "0.88693", "0.9847", "7.5365", nil, "16519.82", "1344.09"])
    // Lines that end as elsewhere, without the last comma, after a byte order mark, are the same.
    let other = "\u{FEFF}" + PublishedRates.history.replacing(",\n", with: "\r\n")
    #expect(try read(other) == rates)
  }

  @Test("the file of one day is read with its spaces and the day in words")
  func nextDay() throws {
    let rates = try read(PublishedRates.nextDay)
    #expect(rates.currencies == ["USD", "JPY", "BGN", "GBP", "CHF", "IDR", "KRW"])
    #expect(rates.days.map(\.date) == ["2023-01-10"])
    #expect(rates.days[0].perEuro == ["1.0723", "141.92", "1.9558", "0.8833", "0.9908", "16675.07", "1338.38"])
    #expect(try read("Date, USD\n3 March 2026, 1\n").days.map(\.date) == ["2026-03-03"])
  }

  @Test("all that is wrong with a file is told at once, with its line and what would be right")
  func wrong() {
    #expect(problems("").first?.hasPrefix("line 1: Date and the currencies are needed") == true)
    #expect(problems("product_id,price\na,1\n").count == 1)
    #expect(problems("Date,\n2022-12-30,\n").count == 1)
    #expect(problems("Date,USD,\n") == ["file: there is no day in it"])
    #expect(problems([0x44, 0xFF]).first?.hasPrefix("file: it is not UTF-8") == true)
    #expect(
      problems("Date,USD,usd,EUR,US,USD,,JPY,\n").map { $0.prefix(20) } == [
        "line 1: \"usd\": a cur", "line 1: EUR: rates a", "line 1: \"US\": a curr", "line 1: USD stands t",
        "line 1: \"\": a curren",
      ])
    let text = """
      Date,USD,JPY,
      2022-12-30,1.0666,140.66,
      2022-12-30,1.0666,140.66,
      2022-02-30,1.0666,140.66,
      30/12/2022,1.0666,140.66,
      2022-12-29,-1,0.00,
      2022-12-28,1e3,"1,5",
      2022-12-27,.5,,
      2022-12-26,1.0666
      1998-12-31,1,1,
      2026-03-03,1.0666,140.66,
      2026-03-04,1.0666,140.66,
      2022-12-23,1.0666,"140
      """
    #expect(
      problems(text).map { $0.prefix(25) } == [
        "line 3: 2022-12-30 stands", "line 4: \"2022-02-30\": a d", "line 5: \"30/12/2022\": a d",
        "line 6: USD, \"-1\": units ", "line 6: JPY, \"0.00\": unit", "line 7: USD, \"1e3\": units",
        "line 7: JPY, \"1,5\": units", "line 8: USD, \".5\": units ", "line 8: JPY, \"\": units fo",
        "line 9: a day and 2 rates", "line 10: 1998-12-31: ther", "line 12: 2026-03-04 lies ",
        "line 13: a day and 2 rate",
      ])
  }

  @Test("of a file that is something else only the first problems are told")
  func manyProblems() {
    let found = problems("Date,USD,\n" + String(repeating: "x,1,\n", count: 1000))
    #expect(found.count == 21)
    #expect(found.last == "line 22: from here on the file was not looked at")
  }

  // MARK: - Archives

  @Test("the zip that the ECB offers is read as the file in it", arguments: [ZipArchives.Method.stored, .deflated])
  func archive(method: ZipArchives.Method) async throws {
    let file = ("eurofxref-hist.csv", PublishedRates.history)
    let rates = try read(PublishedRates.history)
    let archive = try await ZipArchives.archive([file], method: method)
    #expect(try ExchangeRates(reading: archive, now: noon) == rates)
    let more = try await ZipArchives.archive(
      [("folder/", ""), file], method: method, comment: "PK\u{5}\u{6}" + String(repeating: " ", count: 40))
    #expect(try ExchangeRates(reading: more, now: noon) == rates)
  }

  @Test(
    "an archive that is damaged or cut off is refused, wherever it is",
    arguments: [ZipArchives.Method.stored, .deflated])
  func damagedArchive(method: ZipArchives.Method) async throws {
    let archive = try await ZipArchives.archive([("rates.csv", PublishedRates.history)], method: method)
    for length in stride(from: 4, to: archive.count, by: 7) {
      #expect(problems(Array(archive[..<length])).count == 1, "cut off after \(length) bytes")
    }
    // The contents, the check in the central directory, its signature, and where it begins.
    let directory = archive.count - 22 - 46 - "rates.csv".utf8.count
    for position in [60, 100, directory + 16, directory, directory + 42, archive.count - 5] {
      var changed = archive
      changed[position] ^= 1
      #expect(problems(changed) == ["zip: the archive is damaged; fetch it again"], "byte \(position)")
    }
  }

  @Test("an archive of none or several files, or of what cannot be read, is refused with the reason")
  func otherArchive() async throws {
    let file = ("rates.csv", PublishedRates.history)
    #expect(
      problems(try await ZipArchives.archive([]))
        == ["zip: one file is needed in the archive, and there is none"])
    #expect(
      problems(try await ZipArchives.archive([file, ("other.csv", "x")]))
        == ["zip: one file is needed in the archive, and there is rates.csv, other.csv"])
    let archive = try await ZipArchives.archive([file])
    let directory = archive.count - 22 - 46 - "rates.csv".utf8.count
    var changed = archive
    changed[directory + 8] |= 1
    #expect(problems(changed) == ["zip, rates.csv: it is encrypted"])
    changed = archive
    changed[directory + 10] = 12
    #expect(problems(changed) == ["zip, rates.csv: it is compressed by method 12, and only deflate (8) is read"])
  }

  @Test("not more is inflated than any file of rates holds, whatever size the archive tells")
  func largeArchive() async throws {
    let archive = try await ZipArchives.archive([("rates.csv", String(repeating: " ", count: 17 << 20))])
    let message = ["zip, rates.csv: it holds more than 16 MiB, which no file of rates does"]
    #expect(problems(archive) == message)
    var changed = archive
    let directory = archive.count - 22 - 46 - "rates.csv".utf8.count
    changed.replaceSubrange((directory + 24)..<(directory + 28), with: [1, 0, 0, 0])
    #expect(problems(changed) == message)
  }

  // MARK: - Merging

  private func merge(_ text: String, _ connection: Connection, isDry: Bool = false) async throws -> [Int] {
    let changes = try await RateImporter(connection).merge(read(text), isDry: isDry)
    return [changes.added, changes.changed]
  }

  private func rows(_ connection: Connection, _ table: String, _ currency: String) async throws -> [String] {
    try await connection.query("select * from reference.\(table) where currency = $1 order by day", [.text(currency)])
      .map { $0.values.dropFirst().map { $0 ?? "null" }.joined(separator: " ") }
  }

  /// As a run leaves it.
  private func forget(_ connection: Connection) async throws {
    try await connection.query("delete from reference.rate_change")
  }

  @Test("rates are added with the end of those that are no longer published, and a second time nothing changes")
  func merges() async throws {
    let connection = try await TestDatabase.clone().connect()
    // Seven currencies on 11 days, HRK on 5 and its end.
    #expect(try await merge(PublishedRates.history, connection, isDry: true) == [83, 0])
    #expect(try await connection.query("select from reference.rate").isEmpty)
    #expect(try await connection.query("select from reference.rate_change").isEmpty)
    #expect(try await merge(PublishedRates.history, connection) == [83, 0])
    #expect(
      try await rows(connection, "rate", "HRK") == [
        "2022-12-23 7.537", "2022-12-27 7.5375", "2022-12-28 7.5365", "2022-12-29 7.5365", "2022-12-30 7.5365",
        "2023-01-02 null",
      ])
    #expect(try await rows(connection, "rate", "CYP").isEmpty)
    #expect(try await rows(connection, "rate", "KRW").last == "2023-01-09 1330.37")
    #expect(try await rows(connection, "rate_change", "HRK").last == "2023-01-02 f null")
    #expect(try await connection.query("select from reference.rate_change").count == 83)
    try await forget(connection)
    #expect(try await merge(PublishedRates.history, connection) == [0, 0])
    // The same number in other digits is the same rate.
    #expect(try await merge("Date,USD\n2023-01-06,1.050\n", connection) == [0, 0])
    #expect(try await connection.query("select from reference.rate_change").isEmpty)
  }

  @Test("a day that is corrected keeps what it was at the last run, however often it changes")
  func corrects() async throws {
    let connection = try await TestDatabase.clone().connect()
    _ = try await merge(PublishedRates.history, connection)
    try await forget(connection)
    #expect(try await merge("Date,USD,JPY,\n2022-12-30,1.0666,140.67,\n", connection) == [0, 1])
    #expect(try await merge("Date,USD,JPY,\n2022-12-30,1.0666,140.68,\n", connection) == [0, 1])
    #expect(try await rows(connection, "rate_change", "JPY") == ["2022-12-30 t 140.66"])
    #expect(try await rows(connection, "rate_change", "USD").isEmpty)
    #expect(try await rows(connection, "rate", "JPY").filter { $0.hasPrefix("2022-12-30") } == ["2022-12-30 140.68"])
    #expect(try await connection.query("select from reference.rate").count == 83)
  }

  @Test("an end moves with what the file says, and a later rate begins a currency again")
  func ends() async throws {
    let connection = try await TestDatabase.clone().connect()
    _ = try await merge(PublishedRates.history, connection)
    try await forget(connection)
    // The last rate was none: the end is earlier, and the row that told it is gone.
    #expect(
      try await merge("Date,HRK\n2023-01-02,N/A\n2022-12-30,N/A\n2022-12-29,7.5365\n", connection) == [0, 2])
    #expect(try await rows(connection, "rate", "HRK").suffix(2) == ["2022-12-29 7.5365", "2022-12-30 null"])
    #expect(try await rows(connection, "rate_change", "HRK") == ["2022-12-30 t 7.5365", "2023-01-02 t null"])
    // It is there again for a day.
    #expect(try await merge("Date,HRK\n2023-01-05,N/A\n2023-01-04,7.6\n2023-01-03,N/A\n", connection) == [2, 0])
    #expect(
      try await rows(connection, "rate", "HRK").suffix(3) == ["2022-12-30 null", "2023-01-04 7.6", "2023-01-05 null"])
  }

  @Test("a day's file adds its day alone, and ends what had a rate before it")
  func adds() async throws {
    let connection = try await TestDatabase.clone().connect()
    _ = try await merge(PublishedRates.history, connection)
    #expect(try await merge(PublishedRates.nextDay, connection) == [7, 0])
    #expect(try await merge("Date, USD, HRK, CYP, \n11 January 2023, N/A, N/A, N/A, \n", connection) == [1, 0])
    #expect(
      try await rows(connection, "rate", "USD").suffix(3)
        == ["2023-01-09 1.0696", "2023-01-10 1.0723", "2023-01-11 null"])
    #expect(try await rows(connection, "rate", "HRK").last == "2023-01-02 null")
    #expect(try await connection.query("select from reference.rate").count == 91)
  }

  @Test("rates wait for a run that is under way")
  func waits() async throws {
    let database = try await TestDatabase.clone()
    let run = try await database.connect()
    let connection = try await database.connect()
    try await run.query("select pg_advisory_lock(hashtextextended('tenure.measure', 0))")
    async let added = merge(PublishedRates.history, connection)
    try await waiting(for: "the import to wait") {
      try await !run.query(
        """
        select from pg_locks inner join pg_database on database = pg_database.oid
        where datname = current_database() and locktype = 'advisory' and not granted
        """
      ).isEmpty
    }
    #expect(try await run.query("select from reference.rate").isEmpty)
    try await run.query("select pg_advisory_unlock(hashtextextended('tenure.measure', 0))")
    #expect(try await added == [83, 0])
  }
}
