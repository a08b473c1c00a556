import Ingest

/// `tenure taxes import`: takes tax rates from a file.
struct TaxesImportCommand: Command {
  static let syntax = CommandSyntax(
    "taxes import", summary: "takes tax rates of storefronts from a file",
    operands: [OperandSyntax("FILE", help: "CSV with the columns country, rate and from; - for standard input")],
    options: [OptionSyntax("dry-run", help: "only check the file")],
    notes: """
      The file replaces all tax rates. A rate is a share of the price paid, from 0 to less than 1: 20 % VAT on top of the
      net price is 0.166667 (20 / 120). The country is that of the storefront, three letters such as DEU; from is the first
      day of the rate, such as 2021-01-01, and empty for ever.
      """)

  private let path: String
  private let isDry: Bool

  init(_ arguments: Arguments) throws(UsageError) {
    path = arguments.operands[0]
    isDry = arguments.flag("dry-run")
  }

  private struct Result: Encodable {
    let countries: Int
    let rates: Int
    let isDryRun: Bool
  }

  func run(_ context: Context) async throws -> ExitCode {
    let bytes = try ImportFile.read(path)
    let taxes: TaxRates
    do {
      taxes = try TaxRates(reading: bytes)
    } catch {
      throw ImportFile.failure(error, in: path, context.log)
    }
    if !isDry {
      try await context.withDatabase { [taxes] database in
        try await RateImporter(database.open()).replace(with: taxes)
      }
    }
    let countries = Set(taxes.rates.map(\.country)).count
    if context.isJSON {
      try context.output.json(Result(countries: countries, rates: taxes.rates.count, isDryRun: isDry))
    } else {
      try context.output.line(
        "\(taxes.rates.count) tax rates of \(countries) countries" + (isDry ? " (dry run: nothing was changed)" : ""))
    }
    return .done
  }
}
