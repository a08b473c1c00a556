import Foundation
import Postgres
import TestSupport
import Testing

/// `tenure rates import` and `taxes import` as people and cron jobs run them.
@Suite("Rate commands")
struct RateCommandTests {
  private let folder: TestFolder
  private let database: TestDatabase

  init() async throws {
    folder = try TestFolder()
    database = try await TestDatabase.clone()
  }

  private func run(_ words: [String], input: String? = nil) async throws -> TestProgram.Outcome {
    try await TestProgram.run(
      words, input: input.map { Data($0.utf8) }, environment: ["DATABASE_URL": database.connectionString])
  }

  private func result(added: Int, changed: Int, isDryRun: Bool = false) -> String {
    """
    {"added":\(added),"changed":\(changed),"currencies":10,"days":11,"first_day":"2022-12-23","is_dry_run":\(isDryRun),\
    "last_day":"2023-01-09"}\n
    """
  }

  @Test("the ECB's zip is imported, and imported again without a change; a corrected day is told")
  func rates() async throws {
    // Told by what is in it, whatever its name is.
    let file = folder.file("rates")
    try Data(await ZipArchives.archive([("eurofxref-hist.csv", PublishedRates.history)])).write(to: URL(filePath: file))
    let connection = try await database.connect()
    let dry = try await run(["rates", "import", file, "--dry-run", "--json"])
    #expect(dry.code == 0, "\(dry.errors)")
    #expect(dry.output == result(added: 83, changed: 0, isDryRun: true))
    #expect(try await connection.query("select from reference.rate").isEmpty)
    let first = try await run(["rates", "import", file, "--json"])
    #expect(first.output == result(added: 83, changed: 0), "\(first.errors)")
    let second = try await run(["rates", "import", file, "--json"])
    #expect(second.output == result(added: 0, changed: 0), "\(second.errors)")
    let corrected = try await run(
      ["rates", "import", "-"], input: PublishedRates.history.replacing("1357.8", with: "1357.9"))
    #expect(
      corrected.output == "10 currencies on 11 days from 2022-12-23 to 2023-01-09: 0 rates added, 1 changed\n",
      "\(corrected.errors)")
    let next = try await run(["rates", "import", "-", "--dry-run"], input: PublishedRates.nextDay)
    #expect(
      next.output == "7 currencies on 1 days from 2023-01-10 to 2023-01-10: 7 rates added, 0 changed "
        + "(dry run: nothing was changed)\n", "\(next.errors)")
    #expect(
      try await connection.query("select per_euro from reference.rate where day = '2023-01-02' and currency = 'KRW'")
        .map { $0["per_euro"] } == ["1357.9"])
    #expect(try await connection.query("select from reference.rate").count == 83)
  }

  @Test("a file with a problem changes nothing, and each problem is named with its line")
  func wrongRates() async throws {
    let text = PublishedRates.history.replacing("140.66", with: "none").replacing("2022-12-27", with: "2022-12-32")
    let outcome = try await run(["rates", "import", "-"], input: text)
    #expect(outcome.code == 1)
    #expect(outcome.output.isEmpty)
    #expect(outcome.errors.contains("\"place\":\"line 8\",\"error\":\"JPY, "), "\(outcome.errors)")
    #expect(outcome.errors.contains("\"place\":\"line 11\""))
    #expect(outcome.errors.contains("2 problems; nothing was imported"))
    #expect(try await database.connect().query("select from reference.rate").isEmpty)
    let absent = try await run(["rates", "import", folder.file("absent.zip")])
    #expect(absent.code == 1)
    #expect(absent.errors.contains("absent.zip"))
  }

  @Test("tax rates are imported whole or, with all their problems named, not at all")
  func taxes() async throws {
    let file = try folder.write(
      "country,rate,from\nDEU,0.159664,\nDEU,0.137931,2020-07-01\nGBR,0.166667,\n", to: "t.csv")
    let connection = try await database.connect()
    let dry = try await run(["taxes", "import", file, "--dry-run", "--json"])
    #expect(dry.output == "{\"countries\":2,\"is_dry_run\":true,\"rates\":3}\n", "\(dry.errors)")
    #expect(try await connection.query("select from reference.tax_rate").isEmpty)
    let done = try await run(["taxes", "import", file])
    #expect(done.code == 0, "\(done.errors)")
    #expect(done.output == "3 tax rates of 2 countries\n")
    let wrong = try await run(["taxes", "import", "-"], input: "country,rate\nDE,20\n")
    #expect(wrong.code == 1)
    #expect(wrong.errors.contains("\"place\":\"line 2\",\"error\":\"country: "))
    #expect(wrong.errors.contains("\"place\":\"line 2\",\"error\":\"rate: a share of the price paid"))
    #expect(try await connection.query("select from reference.tax_rate").count == 3)
  }
}
