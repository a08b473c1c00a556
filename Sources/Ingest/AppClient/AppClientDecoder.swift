public import Signatures
public import Vocabulary

/// Decodes what an app sends itself: data that StoreKit 2 has signed (`jwsRepresentation` of transactions, renewal infos and
/// the app transaction), and reports of the App Store's messages.
///
/// Whoever has the app can send something: nothing that is not signed becomes a fact. A report names its subscription by a
/// signed transaction, and is refused when it names one without.
public struct AppClientDecoder: EventDecoder {
  /// How many things may be sent at once. A body of the usual size holds no more of what the App Store signs; of what is
  /// short, such as reports of messages, it would hold thousands.
  public static let mostAtOnce = 200

  private let apps: (String?) -> AppConfiguration?
  private let signed: AppStoreDecoder

  /// A decoder.
  ///
  /// - Parameters:
  ///   - allowance: How many chains of certificates may be verified, where strangers can send something.
  ///   - apps: The app of a bundle id; nil where there is none. It is asked with nil for data that names no bundle.
  public init(
    allowance: ChainAllowance? = nil, apps: @escaping (_ bundleID: String?) -> AppConfiguration?
  ) {
    self.apps = apps
    // A renewal info alone names no bundle: anyone could send one of another app. It comes with its transaction.
    signed = AppStoreDecoder(allowance: allowance) { $0 == nil ? nil : apps($0) }
  }

  /// Reads one signed text, a report, a transaction with its renewal info, or an array of these.
  public mutating func decode(_ document: [UInt8], receivedAt: Instant) -> [Decoded] {
    guard let root = try? JSONDocument(document).root else { return signed.decode(document, receivedAt: receivedAt) }
    return decode(root, receivedAt)
  }

  private func decode(_ root: JSONValue, _ receivedAt: Instant) -> [Decoded] {
    guard let elements = root.elements else { return decodeOne(root, receivedAt) }
    guard elements.count <= Self.mostAtOnce else {
      return [.rejection(Rejection(.tooLarge, excerpt: "more than \(Self.mostAtOnce) things at once"))]
    }
    return elements.flatMap { decodeOne($0, receivedAt) }
  }

  private func decodeOne(_ root: JSONValue, _ receivedAt: Instant) -> [Decoded] {
    // Lists in lists, and the answers that the App Store gives to servers, are nothing that an app sends.
    guard root.kind != .array, !Self.lists.contains(where: { root[$0]?.kind == .array }) else {
      return [.rejection(Rejection(.malformed, excerpt: "a list of many in the place of one thing"))]
    }
    if root["kind"]?.text == EventKind.storeMessage.rawValue { return report(root, receivedAt) }
    return signed.decode(root, receivedAt)
  }

  private static let lists: [StaticString] = ["notificationHistory", "signedTransactions", "data"]

  /// A report, after the transaction that it comes with.
  private func report(_ root: JSONValue, _ receivedAt: Instant) -> [Decoded] {
    var results: [Decoded] = []
    if root["signedTransactionInfo"] != nil {
      results = signed.decode(root, receivedAt)
      // A report whose transaction is refused proves nothing.
      guard results.allSatisfy({ if case .event = $0 { true } else { false } }) else { return results }
    }
    var transaction: Event?
    if case .event(let event, _)? = results.first { transaction = event }
    do throws(Rejection) {
      results.append(.event(try message(root, of: transaction, receivedAt), payload: StoredPayload(plain: [])))
    } catch {
      results.append(.rejection(error))
    }
    return results
  }

  private func message(
    _ root: JSONValue, of transaction: Event?, _ receivedAt: Instant
  ) throws(Rejection) -> Event {
    let (app, environment) = try scope(root, of: transaction)
    do throws(Rejection) {
      let name = EventDetail.messageName(try root.required("message"))
      let state = try root.string("state") ?? "shown"
      guard EventDetail.messageStates.contains(state) else { throw JSONValue.malformed("state") }
      guard let at = Instant(try root.required("occurred_at")) else { throw JSONValue.malformed("occurred_at") }
      if transaction == nil, root["original_transaction_id"] != nil {
        throw Rejection(.unsigned, excerpt: "a report names its subscription by signedTransactionInfo")
      }
      let chain = transaction?.originalTransactionID
      let parts = [environment.rawValue, chain ?? "", name, state, at.description]
      var event = Event(
        eventID: SHA256.hexadecimalDigest(Array(parts.joined(separator: "\u{1F}").utf8)), kind: .storeMessage,
        // Clocks of devices go wrong; it was not shown after it was told.
        occurredAt: min(at, receivedAt), app: app, store: .appStore, environment: environment,
        originalTransactionID: chain)
      event.subscriberID = transaction?.subscriberID
      event.appTransactionID = transaction?.appTransactionID
      event.detail = EventDetail(message: name, state: state)
      event.rawKind = "store_message"
      return event
    } catch {
      var rejection = error
      rejection.app = app
      throw rejection
    }
  }

  /// App and environment of a report: the transaction's, which were checked with it, else the report's own.
  private func scope(
    _ root: JSONValue, of transaction: Event?
  ) throws(Rejection) -> (app: String, environment: StoreEnvironment) {
    if let transaction, let key = transaction.app { return (key, transaction.environment) }
    let bundleID = try root.string("bundleId")
    guard let app = apps(bundleID) else { throw Rejection(.unknownApp, excerpt: bundleID) }
    try app.check(bundleID: bundleID)
    let environment = try root.string("environment").map(StoreEnvironment.init) ?? .production
    try app.check(environment)
    return (app.key, environment)
  }
}
