import Ingest
import Vocabulary

/// `tenure rates import`: takes exchange rates from the ECB's file.
struct RatesImportCommand: Command {
  static let syntax = CommandSyntax(
    "rates import", summary: "takes exchange rates from the ECB's file",
    operands: [OperandSyntax("FILE", help: "eurofxref-hist.csv, or the zip that it comes in; - for standard input")],
    options: [OptionSyntax("dry-run", help: "only check the file, and tell what would change")],
    notes: """
      The file is at https://www.ecb.europa.eu/stats/eurofxref/eurofxref-hist.zip; the one of a day, eurofxref.csv, is taken
      as well. Days of the file are added or corrected, and days and currencies that it does not have stay as they are. A
      currency with N/A on a day after a rate is no longer published from that day on.
      """)

  private let path: String
  private let isDry: Bool

  init(_ arguments: Arguments) throws(UsageError) {
    path = arguments.operands[0]
    isDry = arguments.flag("dry-run")
  }

  private struct Result: Encodable {
    let currencies: Int
    let days: Int
    let added: Int
    let changed: Int
    let firstDay: String
    let lastDay: String
    let isDryRun: Bool
  }

  func run(_ context: Context) async throws -> ExitCode {
    let bytes = try ImportFile.read(path)
    let rates: ExchangeRates
    do {
      rates = try ExchangeRates(reading: bytes, now: .now)
    } catch {
      throw ImportFile.failure(error, in: path, context.log)
    }
    let changes = try await context.withDatabase { [rates] database in
      try await RateImporter(database.open()).merge(rates, isDry: isDry)
    }
    // A file without days has been refused.
    let (first, last) = (rates.days.first?.date ?? "", rates.days.last?.date ?? "")
    if context.isJSON {
      try context.output.json(
        Result(
          currencies: rates.currencies.count, days: rates.days.count, added: changes.added, changed: changes.changed,
          firstDay: first, lastDay: last, isDryRun: isDry))
    } else {
      try context.output.line(
        "\(rates.currencies.count) currencies on \(rates.days.count) days from \(first) to \(last): "
          + "\(changes.added) rates added, \(changes.changed) changed"
          + (isDry ? " (dry run: nothing was changed)" : ""))
    }
    return .done
  }
}
