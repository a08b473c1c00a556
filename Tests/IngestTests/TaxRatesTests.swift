import Ingest
import Postgres
import TestSupport
import Testing

@Suite("Tax rates")
struct TaxRatesTests {
  private func problems(_ text: String) -> [String] {
    do throws(ImportProblems) {
      _ = try TaxRates(reading: Array(text.utf8))
      return []
    } catch {
      return error.problems.map(\.description)
    }
  }

  @Test("a table replaces all rates that were there")
  func replaces() async throws {
    let connection = try await TestDatabase.clone().connect()
    let importer = RateImporter(connection)
    try await importer.replace(with: TaxRates(reading: Array("country,rate\nFRA,0.166667\nDEU,0.1".utf8)))
    let text = "\u{FEFF}from,country,rate\r\n,DEU,0.159664\r\n2020-07-01,DEU,0.137931\r\n2021-01-01,DEU,0.159664\r\n"
    try await importer.replace(with: TaxRates(reading: Array(text.utf8)))
    let rows = try await connection.query("select country, from_day, rate from reference.tax_rate order by 1, 2")
      .map { $0.values.map { $0 ?? "null" }.joined(separator: " ") }
    #expect(rows == ["DEU -infinity 0.159664", "DEU 2020-07-01 0.137931", "DEU 2021-01-01 0.159664"])
  }

  @Test("shares from 0 to less than 1 are taken, in all their digits")
  func shares() throws {
    let taxes = try TaxRates(reading: Array("country,rate\nUSA,0\nDEU,0.999999999\nFRA,00.5".utf8))
    #expect(taxes.rates.map(\.rate) == ["0", "0.999999999", "00.5"])
  }

  @Test("all that is wrong with a table is told at once, with its line and what would be right")
  func wrong() {
    #expect(problems("").count == 1)
    #expect(problems("country,from\nDEU,\n") == ["line 1: the column rate is missing"])
    #expect(
      problems("country,rate,day\n") == ["line 1: there is no column \"day\"; they are country,rate,from"])
    #expect(problems("country,rate\n") == ["file: there is no rate in it"])
    let text = """
      country,rate,from
      DE,0.1,
      deu,0.1,
      ,0.1,
      DEU,1,
      DEU,19,
      DEU,19%,
      DEU,-0.1,
      DEU,,
      DEU,0.1,2021-1-1
      DEU,0.1,2021-02-29
      DEU,0.1,
      DEU,0.2,
      DEU,0.1,2021-01-01,x
      """
    let share =
      "rate: a share of the price paid is needed, from 0 to less than 1: 20 % VAT on top of the net price is 0.166667 "
      + "(20 / 120)"
    let country = "country: three capital letters are needed, such as DEU for Germany"
    let day = "from: a day is needed, such as 2021-01-01, or nothing for ever"
    #expect(
      problems(text) == [
        "line 2: \(country); storefronts have no codes of two", "line 3: \(country)", "line 4: \(country)",
        "line 5: \(share)", "line 6: \(share)", "line 7: \(share)", "line 8: \(share)", "line 9: \(share)",
        "line 10: \(day)", "line 11: \(day)", "line 13: there is a rate for DEU from ever already; keep one of them",
        "line 14: 3 fields are needed, and there is 4",
      ])
  }
}
