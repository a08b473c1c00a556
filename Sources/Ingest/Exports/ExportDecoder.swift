public import Vocabulary

/// Decodes what vendors export for history: CSV whose first line names the columns. RevenueCat's scheduled exports
/// (versions 3 to 5) and Apphud's. What is JSON is a webhook of theirs.
///
/// Each row is one purchase, or one event about one, as the vendor knew it when it wrote the row. Nothing in it is signed:
/// it is for files. Beside what becomes facts nothing of a row is kept: it may hold attributes of people.
public struct ExportDecoder: EventDecoder {
  private let source: Source
  private let find: (String?) -> AppConfiguration?
  private var webhooks: VendorDecoder
  private var columns: [String] = []
  /// The beginning of a row that goes on in the next line.
  private var rest: [UInt8] = []

  /// When the last line came in.
  private var receivedAt = Instant(microseconds: 0)

  /// The longest row that is put together of several lines, in bytes.
  private static let longestRow = 1 << 16

  /// A decoder.
  ///
  /// - Parameters:
  ///   - source: `revenuecat` or `apphud`; rows of any other are refused.
  ///   - find: The app of a bundle id. Rows name none: nil then, and the answer is the app that was given, if any.
  public init(_ source: Source, app find: @escaping (_ bundleID: String?) -> AppConfiguration?) {
    self.source = source
    self.find = find
    webhooks = VendorDecoder(source, app: find)
  }

  private func app() -> AppConfiguration? { find(nil) }

  /// Reads one line, or one webhook.
  public mutating func decode(_ document: [UInt8], receivedAt: Instant) -> [Decoded] {
    self.receivedAt = receivedAt
    if rest.isEmpty, Self.isObject(document) { return webhooks.decode(document, receivedAt: receivedAt) }
    // Lines may end as they once did on a Mac.
    let lines = document.split(separator: UInt8(ascii: "\r"))
    if lines.count > 1 { return lines.flatMap { decode(Array($0), receivedAt: receivedAt) } }
    let text = rest.isEmpty ? document : rest + [UInt8(ascii: "\n")] + document
    rest = []
    guard var rows = CSVRows(text[...], marks: .loose) else {
      return [.rejection(Rejection(.notJSON, app: app()?.key, excerpt: "the line is not UTF-8"))]
    }
    guard let row = rows.next() else { return [] }
    guard row.isSound else {
      rest = text
      return text.count > Self.longestRow ? giveUp() : []
    }
    let fields = row.fields
    if fields.contains("original_store_transaction_id") || fields.contains("original_transaction_id") {
      columns = fields
      return []
    }
    do throws(Rejection) {
      guard let app = app() else {
        throw Rejection(.unknownApp, excerpt: "an export does not name its app: give its key with --app")
      }
      return try events(fields, app).map { event in .event(event, payload: StoredPayload(plain: [])) }
    } catch {
      var rejection = error
      rejection.app = app()?.key
      return [.rejection(rejection)]
    }
  }

  /// Whether a document is JSON's, and no row whose first field begins with a brace.
  private static func isObject(_ document: [UInt8]) -> Bool {
    guard document.first == UInt8(ascii: "{") else { return false }
    let next = document.dropFirst().first { ![0x20, 0x09, 0x0A, 0x0D].contains($0) }
    return next == nil || next == UInt8(ascii: "\"") || next == UInt8(ascii: "}")
  }

  /// What is left of a row whose quotation marks are not closed.
  public mutating func finish() -> [Decoded] {
    var decoded: [Decoded] = []
    while !rest.isEmpty { decoded += giveUp() }
    return decoded
  }

  /// Waits no longer for the end of a row: its first line is refused, and those after it are rows of their own.
  private mutating func giveUp() -> [Decoded] {
    let lines = rest.split(separator: UInt8(ascii: "\n"))
    rest = []
    let refused = Rejection(.malformed, app: app()?.key, excerpt: "a quotation mark is not closed")
    return [.rejection(refused)] + lines.dropFirst().flatMap { decode(Array($0), receivedAt: receivedAt) }
  }

  private func events(_ fields: [String], _ app: AppConfiguration) throws(Rejection) -> [Event] {
    guard !columns.isEmpty else {
      throw Rejection(.malformed, excerpt: "the first line of an export names its columns, and this does not")
    }
    guard fields.count == columns.count else {
      throw Rejection(.malformed, excerpt: "\(fields.count) fields, and \(columns.count) columns")
    }
    let row = ExportRow(columns: columns, fields: fields)
    var events: [Event]
    switch source {
    case .revenueCat: events = try RevenueCatExport(row).events
    case .apphud: events = try ApphudExport(row).events
    case .appStore, .appClient, .appStoreReceipt, .adapty, .tenure: throw Rejection(.malformed)
    }
    for index in events.indices {
      try app.check(events[index].environment)
      events[index].app = app.key
    }
    return events
  }
}
