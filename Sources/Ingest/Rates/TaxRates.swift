import Vocabulary

/// What share of a price is tax, by storefront and day, as a CSV table describes it.
public struct TaxRates: Sendable, Equatable {
  /// A storefront's rate from a day on.
  public struct Rate: Sendable, Equatable {
    /// The storefront's country, three letters.
    public var country: String
    /// The first day, as `2021-01-01`; nil for as long as there are prices.
    public var from: String?
    /// The share of the price paid, in the digits of the file: from 0 to less than 1.
    public var rate: String
  }

  /// The rates, in the order of the file.
  public let rates: [Rate]

  private static let columns = ["country", "rate", "from"]

  /// Reads a table with the columns country, rate and from, in any order; without `from`, rates hold from ever.
  ///
  /// - Throws: All that is wrong with the file.
  public init(reading bytes: [UInt8]) throws(ImportProblems) {
    var problems: [ImportProblem] = []
    var rates: [Rate] = []
    var seen: Set<[String?]> = []
    if var table = CSVTable(bytes[...], columns: Self.columns, required: ["country", "rate"], &problems) {
      while let row = table.next(&problems) {
        guard let rate = Self.rate(row, &problems) else { continue }
        if !seen.insert([rate.country, rate.from]).inserted {
          problems.append(
            ImportProblem(
              row.place, "there is a rate for \(rate.country) from \(rate.from ?? "ever") already; keep one of them"))
        }
        rates.append(rate)
      }
    }
    if problems.isEmpty, rates.isEmpty { problems.append(ImportProblem("file", "there is no rate in it")) }
    if !problems.isEmpty { throw ImportProblems(problems: problems) }
    self.rates = rates
  }

  private static func rate(_ row: CSVTable.Row, _ problems: inout [ImportProblem]) -> Rate? {
    let before = problems.count
    let country = row.fields["country"] ?? ""
    if !Catalogue.isCode(country) {
      let hint = country.utf8.count == 2 ? "; storefronts have no codes of two" : ""
      problems.append(
        ImportProblem(row.place, "country: three capital letters are needed, such as DEU for Germany\(hint)"))
    }
    let rate = row.fields["rate"] ?? ""
    if !ExchangeRates.isDecimal(rate)
      || rate.utf8.prefix(while: { $0 != UInt8(ascii: ".") }).contains(where: { $0 != 0x30 })
    {
      problems.append(
        ImportProblem(
          row.place,
          "rate: a share of the price paid is needed, from 0 to less than 1: 20 % VAT on top of the net price "
            + "is 0.166667 (20 / 120)"))
    }
    let from = row.fields["from"]
    if let from, from.utf8.count != 10 || Instant("\(from)T00:00:00Z") == nil {
      problems.append(ImportProblem(row.place, "from: a day is needed, such as 2021-01-01, or nothing for ever"))
    }
    return problems.count == before ? Rate(country: country, from: from, rate: rate) : nil
  }
}
