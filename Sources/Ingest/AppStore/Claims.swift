import Signatures
import Vocabulary

/// The claims of one signed payload, with the app that they are for, on their way to an event.
struct Claims {
  /// What a payload is, told by its claims.
  enum Kind {
    case notification
    case transaction
    case renewalInfo
    case appTransaction

    init?(_ root: JSONValue) {
      if root["notificationType"] != nil || root["notificationUUID"] != nil {
        self = .notification
      } else if root["transactionId"] != nil {
        self = .transaction
      } else if root["receiptType"] != nil || root["originalApplicationVersion"] != nil {
        self = .appTransaction
      } else if root["autoRenewProductId"] != nil || root["autoRenewStatus"] != nil {
        self = .renewalInfo
      } else {
        return nil
      }
    }

    /// The object that names app and environment. Of a notification one of several forms, future ones included.
    func subject(of root: JSONValue) -> JSONValue? {
      guard self == .notification else { return root }
      return root["data"] ?? root["summary"] ?? root["externalPurchaseToken"] ?? root["appData"]
        ?? root.members.map(\.value).first { $0["bundleId"] != nil }
    }
  }

  let kind: Kind
  let root: JSONValue
  let app: AppConfiguration
  let bundleID: String?
  let receivedAt: Instant
  /// The claims of signed data nested in these, verified by itself.
  let nested: (_ value: JSONValue, _ field: StaticString) throws(Rejection) -> JSONValue

  init(
    kind: Kind, root: JSONValue, app: AppConfiguration, bundleID: String?, receivedAt: Instant,
    nested: @escaping (_ value: JSONValue, _ field: StaticString) throws(Rejection) -> JSONValue
  ) {
    self.kind = kind
    self.root = root
    self.app = app
    self.bundleID = bundleID
    self.receivedAt = receivedAt
    self.nested = nested
  }

  /// The event.
  ///
  /// - Parameter digest: A digest of the claims: the id of what has none.
  func event(digest: () -> String) throws(Rejection) -> Event {
    do throws(Rejection) {
      try checkBundle(bundleID)
      switch kind {
      case .notification: return try notification()
      case .transaction: return try transaction(id: digest())
      case .renewalInfo: return try renewalInfo(id: digest())
      case .appTransaction: return try appTransaction(id: digest())
      }
    } catch {
      var rejection = error
      rejection.app = app.key
      throw rejection
    }
  }

  // MARK: The four kinds

  private func notification() throws(Rejection) -> Event {
    let type = try root.required("notificationType")
    let subtype = try root.string("subtype")
    let id = try root.required("notificationUUID")
    let subject = kind.subject(of: root)
    let transaction = try subject?["signedTransactionInfo"].map { (value) throws(Rejection) in
      try AppStoreTransaction(nested(value, "signedTransactionInfo"))
    }
    let renewal = try subject?["signedRenewalInfo"].map { (value) throws(Rejection) in
      try AppStoreRenewalInfo(nested(value, "signedRenewalInfo"))
    }
    let appTransaction = try subject?["signedAppTransactionInfo"].map { (value) throws(Rejection) in
      try nested(value, "signedAppTransactionInfo")
    }
    // All of it is about one app, one environment and one chain.
    try checkBundle(transaction?.bundleID)
    try checkBundle(appTransaction?.string("bundleId"))
    let inner = [
      transaction?.environment, renewal?.environment,
      try appTransaction?.string("receiptType").map(StoreEnvironment.init),
    ].compactMap { $0 }
    guard let environment = try Self.environment(of: root, subject) ?? inner.first else {
      throw Rejection(.fieldMissing, excerpt: "environment")
    }
    guard inner.allSatisfy({ $0 == environment }) else { throw JSONValue.malformed("environment") }
    if let transaction, let renewal, transaction.originalTransactionID != renewal.originalTransactionID {
      throw JSONValue.malformed("originalTransactionId")
    }
    try app.check(environment, appAppleID: subject?.string("appAppleId"))

    // A version must have the same moment whenever it comes in, so the time of arrival is only the last resort.
    let signedAt =
      try root.moment("signedDate") ?? transaction?.signedAt ?? renewal?.signedAt ?? transaction?.purchasedAt
      ?? receivedAt
    let meaning = AppStoreMeaning(
      type: type, subtype: subtype, transaction: transaction, signedAt: signedAt,
      consumptionReason: try subject?.string("consumptionRequestReason"))
    var event = Event(
      eventID: id, kind: meaning.kind,
      occurredAt: meaning.occurredAt(
        subtype: subtype, transaction: transaction, renewal: renewal, signedAt: signedAt),
      signedAt: signedAt, app: app.key, store: .appStore, environment: environment)
    event.also = meaning.also
    event.detail = meaning.detail
    event.rawKind = subtype.map { "\(type).\($0)" } ?? type
    add(transaction, to: &event)
    add(renewal, to: &event)
    if event.appTransactionID == nil { event.appTransactionID = try appTransaction?.string("appTransactionId") }
    return event
  }

  private func transaction(id: String) throws(Rejection) -> Event {
    let transaction = try AppStoreTransaction(root)
    var event = try bare(
      "transaction", id: id, environment: transaction.environment, signedAt: transaction.signedAt)
    add(transaction, to: &event)
    return event
  }

  private func renewalInfo(id: String) throws(Rejection) -> Event {
    let renewal = try AppStoreRenewalInfo(root)
    var event = try bare("renewal_info", id: id, environment: renewal.environment, signedAt: renewal.signedAt)
    add(renewal, to: &event)
    return event
  }

  private func appTransaction(id: String) throws(Rejection) -> Event {
    var event = try bare(
      "app_transaction", id: id, environment: root.string("receiptType").map(StoreEnvironment.init),
      signedAt: root.moment("receiptCreationDate"))
    event.appTransactionID = try root.string("appTransactionId")
    return event
  }

  /// An event that only brings facts.
  private func bare(
    _ word: String, id: String, environment: StoreEnvironment?, signedAt: Instant?
  ) throws(Rejection) -> Event {
    guard let environment else { throw Rejection(.fieldMissing, excerpt: "environment") }
    guard let signedAt else { throw Rejection(.fieldMissing, excerpt: "signedDate") }
    try app.check(environment, appAppleID: root.string("appAppleId"))
    var event = Event(
      eventID: id, kind: .ignored, occurredAt: signedAt, app: app.key, store: .appStore, environment: environment)
    event.rawKind = word
    return event
  }

  // MARK: Facts

  private func add(_ transaction: AppStoreTransaction?, to event: inout Event) {
    guard let transaction else { return }
    event.originalTransactionID = transaction.originalTransactionID
    event.previousOriginalTransactionID = transaction.previousOriginalTransactionID
    event.appTransactionID = transaction.appTransactionID
    event.subscriberID = transaction.appAccountToken
    event.transaction = transaction.fact(signedAt: event.signedAt)
  }

  private func add(_ renewal: AppStoreRenewalInfo?, to event: inout Event) {
    guard let renewal else { return }
    event.originalTransactionID = renewal.originalTransactionID
    event.appTransactionID = event.appTransactionID ?? renewal.appTransactionID
    event.subscriberID = event.subscriberID ?? renewal.appAccountToken
    event.renewal = renewal.fact(signedAt: event.signedAt)
  }

  // MARK: Identity

  private func checkBundle(_ named: String?) throws(Rejection) {
    guard let named, let expected = app.bundleID ?? bundleID else { return }
    if named != expected { throw Rejection(.otherApp, excerpt: named) }
  }

  private static func environment(of root: JSONValue, _ subject: JSONValue?) throws(Rejection) -> StoreEnvironment? {
    if let environment = try subject?.string("environment") { return StoreEnvironment(rawValue: environment) }
    // The form for external purchases tells its environment by the token's first letters only.
    guard let token = try root["externalPurchaseToken"]?.string("externalPurchaseId") else { return nil }
    return token.hasPrefix("SANDBOX") ? .sandbox : .production
  }
}
