import Ingest
import Vocabulary

/// `tenure winback import`: takes the rules of win-back offers from a file.
struct WinbackImportCommand: Command {
  static let syntax = CommandSyntax(
    "winback import", summary: "takes the rules of win-back offers from a file",
    operands: [OperandSyntax("FILE", help: "a JSON array of offers; - for standard input")],
    options: [OptionSyntax("dry-run", help: "only check the file")],
    notes: """
      The file replaces all offers of every app that it names. An offer has the keys offer_id, app, product_ids,
      min_paid_months, min_months_since, max_months_since, wait_months, starts_on, ends_on, territories and priority
      (high or normal); bounds are inclusive, and null or nothing is no bound.
      """)

  private let path: String
  private let isDry: Bool

  init(_ arguments: Arguments) throws(UsageError) {
    path = arguments.operands[0]
    isDry = arguments.flag("dry-run")
  }

  private struct Result: Encodable {
    let offers: Int
    let apps: [String]
    let isDryRun: Bool
  }

  func run(_ context: Context) async throws -> ExitCode {
    let configured = try context.configuration().ingestApps(.appStore)
    let bytes = try ImportFile.read(path)
    let offers: [WinBackOffer]
    do {
      offers = try WinBackOffer.read(bytes)
    } catch {
      throw ImportFile.failure(error, in: path, context.log)
    }
    let apps = Set(offers.map(\.app))
    if !isDry {
      try await context.withDatabase { database in
        try ImportFile.check(apps, configured, database)
        try await CatalogueImporter(database.open(), apps: configured, now: .now).replace(with: offers)
      }
    }
    if context.isJSON {
      try context.output.json(Result(offers: offers.count, apps: apps.sorted(), isDryRun: isDry))
    } else {
      try context.output.line(
        "\(offers.count) offers of \(apps.sorted().joined(separator: ", "))"
          + (isDry ? " (dry run: nothing was changed)" : ""))
    }
    return .done
  }
}
