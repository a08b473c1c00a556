public import Signatures
public import Vocabulary

/// Decodes what the App Store signs, in every form that it comes in: the body of a notification, bare signed data
/// (notifications, transactions, renewal infos, app transactions), and answers of the App Store Server API (notification
/// history, transaction history, subscription statuses).
///
/// Everything signed is verified, nested data by itself. One decoder serves one thread at a time.
public final class AppStoreDecoder {
  private let apps: (String?) -> AppConfiguration?
  private let acceptsUnsigned: Bool
  private let allowance: ChainAllowance?
  /// The apps that were met, each with a verifier for its roots.
  private var workers: [String: (app: AppConfiguration, verifier: SignedDataVerifier)] = [:]

  /// A decoder.
  ///
  /// - Parameters:
  ///   - acceptsUnsigned: Whether decoded claims without a signature are taken: for tests only. What is signed is
  ///     verified all the same.
  ///   - allowance: How many chains of certificates may be verified, where strangers can send something.
  ///   - apps: The app of a bundle id; nil where there is none. It is asked with nil for data that names no bundle. Where
  ///     the app is given, it is that one whatever the bundle: data of another bundle is refused then.
  public init(
    acceptsUnsigned: Bool = false, allowance: ChainAllowance? = nil,
    apps: @escaping (_ bundleID: String?) -> AppConfiguration?
  ) {
    self.apps = apps
    self.allowance = allowance
    self.acceptsUnsigned = acceptsUnsigned
  }

  /// Decodes one document: a signed text, or one JSON text.
  ///
  /// - Parameter receivedAt: When it came in: the moment at which certificates must be valid if the data does not say
  ///   when it was signed.
  /// - Returns: What became of each signed thing in it, in their order; more than one only of an API answer or an array.
  public func decode(_ document: [UInt8], receivedAt: Instant) -> [Decoded] {
    let text = Self.trimmed(document)
    if Self.looksSigned(text) { return [decodeSigned(text, receivedAt)] }
    do {
      let json = try JSONDocument(text.count == document.count ? document : Array(text))
      return decode(json.root, receivedAt)
    } catch {
      return [.rejection(Rejection(error.isSyntax ? .notJSON : .malformed, excerpt: "byte \(error.offset)"))]
    }
  }

  private static func trimmed(_ document: [UInt8]) -> ArraySlice<UInt8> {
    let spaces: [UInt8] = [0x20, 0x09, 0x0A, 0x0D]
    var text = document[...]
    while let last = text.last, spaces.contains(last) { text.removeLast() }
    return text.drop { spaces.contains($0) }
  }

  /// Whether a text is meant as a signed one: it has a dot and begins as no JSON text does. (Every protected header is an
  /// object, so every signed text begins with `ey`.)
  private static func looksSigned(_ text: ArraySlice<UInt8>) -> Bool {
    guard let first = text.first, !"{[\"-0123456789".utf8.contains(first) else { return false }
    return text.contains(UInt8(ascii: "."))
  }

  // MARK: JSON around signed data

  /// Decodes one JSON value.
  func decode(_ root: JSONValue, _ receivedAt: Instant) -> [Decoded] {
    if root.kind == .string { return [decodeSigned(root, receivedAt)] }
    if let elements = root.elements { return elements.flatMap { decode($0, receivedAt) } }
    guard root.kind == .object else { return [.rejection(Rejection(.malformed))] }
    if let payload = root["signedPayload"] { return [decodeSigned(payload, receivedAt)] }
    if let history = root["notificationHistory"]?.elements {
      return history.map { decodeSigned($0["signedPayload"], receivedAt) }
    }
    if let transactions = root["signedTransactions"]?.elements {
      return transactions.map { decodeSigned($0, receivedAt) }
    }
    if let groups = root["data"]?.elements {
      return groups.flatMap { $0["lastTransactions"]?.elements ?? [] }.flatMap { decodeStatus($0, receivedAt) }
    }
    // Single answers, and the pair of signed texts that an app may send.
    if root["signedTransactionInfo"] != nil || root["signedRenewalInfo"] != nil {
      return decodeStatus(root, receivedAt)
    }
    if let appTransaction = root["signedAppTransactionInfo"] { return [decodeSigned(appTransaction, receivedAt)] }
    guard Claims.Kind(root) != nil else {
      return [.rejection(Rejection(.malformed, excerpt: "no signed data of the App Store"))]
    }
    guard acceptsUnsigned else { return [.rejection(Rejection(.unsigned, excerpt: Self.identifiers(root)))] }
    return [decoded { () throws(Rejection) in try self.event(unsigned: root, receivedAt) }]
  }

  /// A chain's last transaction with its renewal status. The renewal info names no bundle: its app is the transaction's.
  private func decodeStatus(_ item: JSONValue, _ receivedAt: Instant) -> [Decoded] {
    var results: [Decoded] = []
    var chain: Event?
    if let transaction = item["signedTransactionInfo"] {
      results.append(decodeSigned(transaction, receivedAt))
      if case .event(let event, _) = results[0] { chain = event }
    }
    if let renewal = item["signedRenewalInfo"] { results.append(decodeSigned(renewal, receivedAt, besides: chain)) }
    if results.isEmpty { results = [.rejection(Rejection(.fieldMissing, excerpt: "signedTransactionInfo"))] }
    return results
  }

  // MARK: Signed data

  private func decodeSigned(_ value: JSONValue?, _ receivedAt: Instant, besides chain: Event? = nil) -> Decoded {
    guard let value else { return .rejection(Rejection(.fieldMissing, excerpt: "signedPayload")) }
    guard let compact = value.utf8 else { return .rejection(Rejection(.malformed, excerpt: "signed data is text")) }
    return decodeSigned(compact, receivedAt, besides: chain)
  }

  /// - Parameter chain: The event of the same chain beside which a renewal info stands.
  private func decodeSigned(
    _ compact: ArraySlice<UInt8>, _ receivedAt: Instant, besides chain: Event? = nil
  ) -> Decoded {
    switch UnverifiedPayload.read(compact) {
    case .failure(let rejection): return .rejection(Rejection(of: rejection))
    case .success(let payload):
      let root = payload.document.root
      return decoded(identifiers: root) { () throws(Rejection) in
        guard let kind = Claims.Kind(root) else { throw Rejection(.malformed, excerpt: "no claims that are known") }
        let bundleID = try kind.subject(of: root)?.string("bundleId")
        let isBeside = kind == .renewalInfo && chain?.originalTransactionID == root["originalTransactionId"]?.text
        let (app, verifier) = try self.worker(of: bundleID, orOf: isBeside ? chain?.app : nil)
        let verified: VerifiedPayload
        switch verifier.verify(payload, now: receivedAt.microseconds) {
        case .failure(let rejection): throw Rejection(of: rejection, app: app.key)
        case .success(let payload): verified = payload
        }
        var nested: [(range: Range<Int>, payload: VerifiedPayload)] = []
        let claims = Claims(kind: kind, root: root, app: app, bundleID: bundleID, receivedAt: receivedAt) {
          (value, field) throws(Rejection) in
          guard let compact = value.utf8 else { throw JSONValue.malformed(field) }
          switch verifier.verify(compact, now: receivedAt.microseconds) {
          case .failure(let rejection): throw Rejection(of: rejection, app: app.key, excerpt: "\(field)")
          case .success(let inner):
            // Escaped, it would not be found in the payload's bytes as it is.
            if value.source == compact { nested.append((value.source.indices, inner)) }
            return inner.document.root
          }
        }
        let event = try claims.event(digest: { SHA256.hexadecimalDigest(verified.bytes) })
        return .event(event, payload: StoredPayload(verified, nested: nested))
      }
    }
  }

  private func event(unsigned root: JSONValue, _ receivedAt: Instant) throws(Rejection) -> Decoded {
    guard let kind = Claims.Kind(root) else { throw Rejection(.malformed) }
    let bundleID = try kind.subject(of: root)?.string("bundleId")
    guard let app = apps(bundleID) else { throw Rejection(.unknownApp, excerpt: bundleID) }
    let claims = Claims(kind: kind, root: root, app: app, bundleID: bundleID, receivedAt: receivedAt) {
      (value, field) throws(Rejection) in
      if value.kind == .object { return value }
      guard let compact = value.utf8, case .success(let inner) = UnverifiedPayload.read(compact) else {
        throw JSONValue.malformed(field)
      }
      return inner.document.root
    }
    let source = Array(root.source)
    let event = try claims.event(digest: { SHA256.hexadecimalDigest(source) })
    return .event(event, payload: StoredPayload(plain: source))
  }

  private func worker(
    of bundleID: String?, orOf key: String?
  ) throws(Rejection) -> (app: AppConfiguration, verifier: SignedDataVerifier) {
    if bundleID == nil, let key, let worker = workers[key] { return worker }
    guard let app = apps(bundleID) else { throw Rejection(.unknownApp, excerpt: bundleID) }
    if let worker = workers[app.key] { return worker }
    let worker = (app, SignedDataVerifier(roots: app.roots, allowance: allowance))
    workers[app.key] = worker
    return worker
  }

  private func decoded(
    identifiers root: JSONValue? = nil, _ decode: () throws(Rejection) -> Decoded
  ) -> Decoded {
    do throws(Rejection) {
      return try decode()
    } catch {
      var rejection = error
      let known = root.map(Self.identifiers) ?? ""
      rejection.excerpt = [known, error.excerpt ?? ""].filter { !$0.isEmpty }.joined(separator: ": ")
      return .rejection(rejection)
    }
  }

  /// By what the sender can find the thing again.
  private static func identifiers(_ root: JSONValue) -> String {
    [
      root["notificationType"], root["subtype"], root["notificationUUID"], root["transactionId"],
      root["originalTransactionId"],
    ].compactMap { $0?.textOrNumber.map { String($0.prefix(64)) } }.joined(separator: " ")
  }
}

extension Rejection {
  /// The same reason, for signed data.
  init(of rejection: SignatureRejection, app: String? = nil, excerpt: String? = nil) {
    self.init(Reason(of: rejection), app: app, excerpt: excerpt)
  }
}

extension Rejection.Reason {
  init(of rejection: SignatureRejection) {
    self =
      switch rejection {
      case .malformed: .malformed
      case .unsigned: .unsigned
      case .algorithm: .algorithm
      case .chain: .chain
      case .certificate: .certificate
      case .markerMissing: .markerMissing
      case .certificateExpired: .certificateExpired
      case .untrustedRoot: .untrustedRoot
      case .signature: .signature
      }
  }
}
