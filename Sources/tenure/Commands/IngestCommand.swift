import Glibc
import Ingest
import Postgres
import SQL
import Vocabulary

/// `tenure ingest`: stores events from files and standard input.
struct IngestCommand: Command {
  static let syntax = CommandSyntax(
    "ingest", summary: "stores events from files, folders or standard input",
    operands: [OperandSyntax("FILE", .many, help: "a file, a folder, or - for standard input (default)")],
    options: [
      OptionSyntax("source", value: "S", help: "where the events come from: \(sources.joined(separator: ", "))"),
      OptionSyntax("app", value: "KEY", help: "the app they belong to (default: what they say themselves)"),
      OptionSyntax(
        "prices-from-catalogue",
        help: "what purchases of receipts cost is what the catalogue says (default: it is unknown)"),
      OptionSyntax("unsigned", help: "accept App Store data without a signature: for tests only"),
    ],
    notes: """
      Files may be plain or gzip, and hold lines of JSON, one JSON document, a JSON array, or one signed payload per line:
      what it is, is recognised. The same input can be given again: what is known is counted as a duplicate.
      app_client reads what an app sends of itself (docs/app-client.md): data that StoreKit 2 signed, and store messages.
      app_store_receipt reads answers of verifyReceipt and notifications of version 1. Receipts know no prices; the catalogue
      (tenure catalogue import) can fill them in where it has one for a product, with its currency, that has no country or is
      the only one. What was bought with a paid offer stays unknown.
      Webhooks of revenuecat, adapty and apphud are read as they were sent; the first two do not name their app, which --app
      then does.
      """)

  /// The sources whose files can be read.
  static let sources = [
    Source.appStore, .appClient, .appStoreReceipt, .revenueCat, .adapty, .apphud, .tenure,
  ].map(\.rawValue)

  private let source: Source
  private let app: String?
  private let acceptsUnsigned: Bool
  private let takesPricesFromCatalogue: Bool
  private let paths: [String]

  init(_ arguments: Arguments) throws(UsageError) {
    guard let name = try arguments.choice("source", among: Self.sources), let source = Source(rawValue: name) else {
      throw UsageError(
        "ingest: --source is missing: it says where the events come from, one of \(Self.sources.joined(separator: ", "))"
      )
    }
    self.source = source
    app = arguments.value("app")
    if let app, !Configuration.isAppKey(app) {
      throw UsageError("ingest: --app is a key of letters, digits, dots, dashes and underscores, at most 64")
    }
    acceptsUnsigned = arguments.flag("unsigned")
    takesPricesFromCatalogue = arguments.flag("prices-from-catalogue")
    if takesPricesFromCatalogue, source != .appStoreReceipt {
      throw UsageError("ingest: --prices-from-catalogue is for --source app_store_receipt: other sources tell prices")
    }
    if arguments.operands.isEmpty, isatty(STDIN_FILENO) == 1 {
      throw UsageError("ingest: FILE is missing; usage: \(Self.syntax.usage)")
    }
    paths = arguments.operands.isEmpty ? ["-"] : arguments.operands
  }

  func run(_ context: Context) async throws -> ExitCode {
    let configured = try context.configuration().ingestApps(source)
    let summary = try await context.withDatabase { database in
      let log = context.log
      let apps = IngestApps(configured, given: app, acceptsUnknown: database.isEmbedded && configured.isEmpty, log: log)
      let connection = try await database.open()
      let prices = takesPricesFromCatalogue ? try await CataloguePrices(reading: connection) : CataloguePrices()
      let ingester = Ingester(
        connection, source: source, apps: configured,
        afterStoring: SQLFiles.folder("forward").filter { $0.name == "announce" }, now: { .now }
      ) { progress in
        switch progress {
        case .committed(let summary):
          log.progress(
            "ingest: \(summary.received) received, \(summary.stored) stored, \(summary.duplicates) duplicates, "
              + "\(summary.rejected) rejected")
        case .appAdded(let key): log.info("app added", ["app": .init(key)])
        case .batchDivided: break
        }
      }
      defer { log.endProgress() }
      return try await ingester.ingest(paths) { [source, app, acceptsUnsigned] in
        apps.decoder(source, app: app, prices: prices, acceptsUnsigned: acceptsUnsigned)
      }
    }
    if context.isJSON {
      try context.output.line(summary.json)
    } else {
      try context.output.line(
        "received \(summary.received): stored \(summary.stored), duplicates \(summary.duplicates), "
          + "rejected \(summary.rejected)"
          + (summary.unrecognised > 0 ? "; of an unknown kind \(summary.unrecognised)" : ""))
    }
    if summary.rejected > 0 {
      context.log.warning(
        "some input was rejected; tenure report rejections says what and why", ["rejected": .init(summary.rejected)])
    }
    return summary.rejected > 0 ? .rejected : .done
  }
}
