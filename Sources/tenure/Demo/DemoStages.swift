import Demo
import Forward
import Foundation
import Ingest
import Measure
import Postgres
import Report
import SQL
import Server
import Signatures
import Vocabulary

/// What each stage of the demo does.
struct DemoStages: Sendable {
  let context: Context
  let database: Database
  let receiver: DemoReceiver

  /// How many notifications are signed and stored at a time.
  private static let portion = 2000

  /// Tells people what was done; programs get the result alone.
  func say(_ text: String) throws {
    if !context.isJSON { try context.output.line(text) }
  }

  /// The notifications of each half of the year, and the figures after it.
  func ingestAndMeasure(_ year: Demonstration) async throws -> IngestSummary {
    let validity = Demonstration.validity
    let authority = CertificateAuthority(validFrom: validity.lowerBound, validUntil: validity.upperBound)
    let stranger = CertificateAuthority(validFrom: validity.lowerBound, validUntil: validity.upperBound)
    let app = AppConfiguration(
      key: Demonstration.app, bundleID: Demonstration.bundleID, appAppleID: Demonstration.appAppleID,
      environments: [.production, .sandbox], roots: TrustedRoots(configured: [authority.root], trustsApple: false))
    try await prepare(app)
    let ingester = Ingester(
      try await database.open(), source: .appStore, apps: [app],
      afterStoring: SQLFiles.folder("forward").filter { $0.name == "announce" }, now: { .now })
    let folder = FileManager.default.temporaryDirectory.appending(path: "tenure-demo-\(UUID().uuidString)")
    try FileManager.default.createDirectory(
      at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    defer { try? FileManager.default.removeItem(at: folder) }
    let measurer = Measurer(connection: try await database.open(), settings: MeasureSettings(), command: "demo")

    var total = IngestSummary()
    for (half, asOf) in Demonstration.asOf.enumerated() {
      let count = year.count(of: half)
      let portions = stride(from: 0, to: count, by: Self.portion).map { $0..<min($0 + Self.portion, count) }
      var stored = IngestSummary()
      var next = Self.sign(portions.first ?? 0..<0, of: half, year, authority, stranger, folder)
      for (index, portion) in portions.enumerated() {
        try Task.checkCancellation()
        let file = try await next.value
        // The next portion is signed while this one is verified and stored.
        if index + 1 < portions.count {
          next = Self.sign(portions[index + 1], of: half, year, authority, stranger, folder)
        }
        stored =
          stored + (try await ingester.ingest([file]) { AppStoreDecoder { _ in app } })
        try FileManager.default.removeItem(atPath: file)
        context.log.progress("demo: \(portion.upperBound) of \(count) notifications stored")
      }
      context.log.endProgress()
      try say(
        "ingest: received \(stored.received), stored \(stored.stored), duplicates \(stored.duplicates), "
          + "rejected \(stored.rejected)")
      total = total + stored
      let measured = try await measurer.run(asOf: asOf)
      try say(
        "measure as of \(asOf.description.prefix(10)): \(measured.facts) facts, \(measured.settled) subscriptions settled, "
          + "\(measured.entries) entries posted")
    }
    return total
  }

  private static func sign(
    _ range: Range<Int>, of half: Int, _ year: Demonstration, _ authority: CertificateAuthority,
    _ stranger: CertificateAuthority, _ folder: URL
  ) -> Task<String, any Error> {
    Task.detached {
      let file = folder.appending(path: "\(half)-\(range.lowerBound).ndjson")
      try Data(year.lines(of: half, range, signedBy: authority, forgedBy: stranger).utf8).write(to: file)
      return file.path
    }
  }

  /// The catalogue, the offers and the target.
  private func prepare(_ app: AppConfiguration) async throws {
    let connection = try await database.open()
    let importer = CatalogueImporter(connection, apps: [app], now: .now)
    try await importer.replace(
      with: try Catalogue(reading: Array(Demonstration.catalogue.utf8), app: app.key), app: app.key)
    try await importer.replace(with: try WinBackOffer.read(Array(Demonstration.winBackOffers.utf8)))
    try await TargetRegister(connection).register([target], at: .now)
    await connection.close()
  }

  /// The refunds, however long ago.
  private var target: TargetConfiguration {
    var target = TargetConfiguration(name: "receiver", type: "webhook")
    target.url = receiver.url
    target.secret = receiver.secret
    target.events = [.refunded, .refundReversed]
    target.maximumAge = 100 * 366 * 86_400
    target.from = Demonstration.start
    target.allowsPrivateNetwork = true
    return target
  }

  /// Sends what is due to the receiver.
  func forward() async throws -> ForwardSummary {
    let summary = try await Forwarder(
      connectionString: database.connectionString, targets: [try target.makeTarget()],
      report: { [log = context.log] in ForwardCommand.tell($0, log) }
    ).runOnce()
    try say(
      "forward: delivered \(summary.delivered) refunds and reversals to \(receiver.url), "
        + "\(receiver.taken.accepted) of them with a signature that is right")
    return summary
  }

  /// Serves the reports, and says under which address the page is. Nothing is received: the year is over.
  func server(at address: ListenAddress) throws -> (Server?, page: String?) {
    guard let nowhere = ListenAddress("127.0.0.1:0") else { return (nil, nil) }
    let token = String(decoding: Base64URL.encode(RandomBytes.make(count: 32)), as: UTF8.self)
    let server = try Server(
      Server.Settings(ingest: nowhere, reports: address, token: token), open: { try await database.open() },
      now: { .now }, report: { [log = context.log] in ServeCommand.tell($0, log) })
    return (server, "http://\(server.reportsAddress.reachable)/?token=\(token)")
  }

  /// The reports that a business looks at first.
  func show(_ reporter: Reporter) async throws {
    guard !context.isJSON else { return }
    for query in [
      ReportQuery(name: "active_subscriptions", by: .month, groupBy: ["app"]),
      ReportQuery(name: "movements", by: .quarter, groupBy: ["app"]),
      ReportQuery(name: "churn", by: .month),
      ReportQuery(name: "trials", by: .quarter, groupBy: ["app"]),
      ReportQuery(name: "mrr", from: "2025-12-01", by: .month, groupBy: ["app"]),
      ReportQuery(name: "renewal_revenue", by: .quarter, groupBy: ["app"]),
    ] {
      let by = query.by.map { " --by \($0.rawValue)" } ?? ""
      let groupBy = query.groupBy.map { " --group-by \($0.joined(separator: ","))" } ?? ""
      let from = query.from.map { " --from \($0)" } ?? ""
      try context.output.line("\n$ tenure report \(query.name)\(from)\(by)\(groupBy)")
      try await reporter.write(query, as: .table) { [output = context.output] in try output.write($0) }
    }
    try context.output.line("")
  }
}
