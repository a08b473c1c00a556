import Ingest
import Vocabulary

/// `tenure catalogue import`: takes an app's products and prices from a file.
struct CatalogueImportCommand: Command {
  static let syntax = CommandSyntax(
    "catalogue import", summary: "takes an app's products and prices from a file",
    operands: [OperandSyntax("FILE", help: "a .storekit file, or CSV; - for standard input")],
    options: [
      OptionSyntax("app", value: "KEY", help: "the app they belong to"),
      OptionSyntax("dry-run", help: "only check the file"),
    ],
    notes: """
      The file replaces what was imported for the app before. CSV has the columns app, product_id, group_id, level, period,
      price, currency and country, with a row per product and country; rows of other apps are left out.
      """)

  private let path: String
  private let app: String
  private let isDry: Bool

  init(_ arguments: Arguments) throws(UsageError) {
    path = arguments.operands[0]
    guard let app = arguments.value("app") else { throw UsageError("catalogue import: --app is missing: --app KEY") }
    guard Configuration.isAppKey(app) else {
      throw UsageError("catalogue import: --app is a key of letters, digits, dots, dashes and underscores, at most 64")
    }
    self.app = app
    isDry = arguments.flag("dry-run")
  }

  private struct Result: Encodable {
    let app: String
    let products: Int
    let prices: Int
    let isDryRun: Bool
  }

  func run(_ context: Context) async throws -> ExitCode {
    let configured = try context.configuration().ingestApps(.appStore)
    let bytes = try ImportFile.read(path)
    let catalogue: Catalogue
    do {
      catalogue = try Catalogue(reading: bytes, app: app)
    } catch {
      throw ImportFile.failure(error, in: path, context.log)
    }
    if !isDry {
      try await context.withDatabase { database in
        try ImportFile.check([app], configured, database)
        try await CatalogueImporter(database.open(), apps: configured, now: .now).replace(with: catalogue, app: app)
      }
    }
    if context.isJSON {
      try context.output.json(
        Result(app: app, products: catalogue.products.count, prices: catalogue.prices.count, isDryRun: isDry))
    } else {
      try context.output.line(
        "\(app): \(catalogue.products.count) products, \(catalogue.prices.count) prices"
          + (isDry ? " (dry run: nothing was changed)" : ""))
    }
    return .done
  }
}
