import Signatures
public import Vocabulary

/// Decodes old receipts: answers of the verifyReceipt endpoint and App Store Server Notifications of version 1, one of each
/// customer or arrays of many.
///
/// Nothing of it is signed, so it is for files. Each purchase and each renewal status is an event of its own, with what it
/// was made from as its payload: the app's shared secret and the encoded receipt are kept nowhere.
public struct ReceiptDecoder: EventDecoder {
  private let apps: (String?) -> AppConfiguration?
  private let prices: CataloguePrices

  /// A decoder.
  ///
  /// - Parameters:
  ///   - prices: What purchases without an offer cost; without prices they stay unknown.
  ///   - apps: The app of a bundle id; nil where there is none. It is asked with nil for data that names no bundle.
  public init(
    prices: CataloguePrices = CataloguePrices(), apps: @escaping (_ bundleID: String?) -> AppConfiguration?
  ) {
    self.apps = apps
    self.prices = prices
  }

  /// Reads one answer or notification, or an array of them.
  public mutating func decode(_ document: [UInt8], receivedAt: Instant) -> [Decoded] {
    do {
      return decode(try JSONDocument(document).root, receivedAt)
    } catch {
      return [.rejection(Rejection(error.isSyntax ? .notJSON : .malformed, excerpt: "byte \(error.offset)"))]
    }
  }

  private func decode(_ root: JSONValue, _ receivedAt: Instant) -> [Decoded] {
    if let elements = root.elements { return elements.flatMap { decode($0, receivedAt) } }
    do throws(Rejection) {
      guard root.kind == .object else { throw Rejection(.malformed, excerpt: "an object is needed") }
      let receipt = try Receipt(root)
      guard let app = apps(receipt.bundleID) else { throw Rejection(.unknownApp, excerpt: receipt.bundleID) }
      try app.check(bundleID: receipt.bundleID)
      try app.check(receipt.environment, appAppleID: receipt.appAppleID)
      return receipt.purchases.map { event($0, app, receipt, receivedAt, purchase) }
        + receipt.statuses.map { event($0, app, receipt, receivedAt, status) }
    } catch {
      return [.rejection(error)]
    }
  }

  /// What becomes of one entry; one that is wrong does not take the others with it.
  private func event(
    _ entry: Receipt.Entry, _ app: AppConfiguration, _ receipt: Receipt, _ receivedAt: Instant,
    _ make: (JSONValue, Instant, AppConfiguration, Receipt) throws(Rejection) -> Event
  ) -> Decoded {
    do throws(Rejection) {
      var event = try make(entry.json, entry.asOf ?? receivedAt, app, receipt)
      event.rawKind = "receipt"
      return .event(event, payload: StoredPayload(plain: Array(entry.json.source)))
    } catch {
      var rejection = error
      rejection.app = app.key
      let id = entry.json["transaction_id"] ?? entry.json["original_transaction_id"]
      rejection.excerpt = [id?.textOrNumber.map { String($0.prefix(64)) }, error.excerpt].compactMap { $0 }
        .joined(separator: ": ")
      return .rejection(rejection)
    }
  }

  /// A purchase: one event however many answers repeat it unchanged.
  private func purchase(
    _ entry: JSONValue, _ asOf: Instant, _ app: AppConfiguration, _ receipt: Receipt
  ) throws(Rejection) -> Event {
    let transaction = try ReceiptTransaction(entry)
    let price = transaction.isAtUsualPrice ? prices.price(of: transaction.productID, app: app.key) : nil
    var event = Event(
      eventID: Self.id(
        receipt.environment, transaction.originalTransactionID, transaction.appAccountToken ?? "",
        transaction.fact(signedAt: asOf, price: nil).json),
      kind: .ignored, occurredAt: transaction.purchasedAt, signedAt: asOf, app: app.key, store: .appStore,
      environment: receipt.environment, originalTransactionID: transaction.originalTransactionID)
    event.subscriberID = transaction.appAccountToken
    event.transaction = transaction.fact(
      signedAt: asOf, price: price.flatMap { $0.times(transaction.quantity ?? 1) })
    return event
  }

  /// A renewal status, which is a word about its moment.
  private func status(
    _ entry: JSONValue, _ asOf: Instant, _ app: AppConfiguration, _ receipt: Receipt
  ) throws(Rejection) -> Event {
    let status = try ReceiptStatus(entry, chain: receipt.onlyChain)
    let fact = status.fact(signedAt: asOf)
    var event = Event(
      eventID: Self.id(receipt.environment, status.originalTransactionID, asOf.description, fact.json),
      kind: .ignored, occurredAt: asOf, app: app.key, store: .appStore, environment: receipt.environment,
      originalTransactionID: status.originalTransactionID)
    event.renewal = fact
    return event
  }

  private static func id(_ environment: StoreEnvironment, _ parts: String...) -> String {
    SHA256.hexadecimalDigest(Array(([environment.rawValue] + parts).joined(separator: "\u{1F}").utf8))
  }
}
