import Dispatch
import Ingest
import Signatures
import Vocabulary

/// Checks what requests of one source bring and decodes it, on a queue of its own: signatures take a core.
actor EventReceiver {
  private let queue = ReceiverQueue()
  nonisolated var unownedExecutor: UnownedSerialExecutor { queue.asUnownedSerialExecutor() }

  /// What a request holds.
  enum Content: Sendable {
    /// Events and refusals, and whether the request carried a secret that its sender alone knows.
    case items([BatchItem], isProven: Bool)
    /// Nothing: it only asks whether anyone is there.
    case greeting
    /// Chains of certificates would have to be verified, and enough were this second.
    case tooManyChains
  }

  private let allowance: ChainAllowance
  private let now: @Sendable () -> Instant
  private var appStoreDecoders: [String: AppStoreDecoder] = [:]
  private var appClientDecoders: [String: AppClientDecoder] = [:]

  /// - Parameters:
  ///   - chainsPerSecond: How many chains of certificates that are not known may be verified.
  ///   - now: The clock.
  init(chainsPerSecond: Int, now: @escaping @Sendable () -> Instant) {
    let start = ContinuousClock.now
    allowance = ChainAllowance(perSecond: chainsPerSecond) {
      let (seconds, attoseconds) = (ContinuousClock.now - start).components
      return seconds * 1_000_000 + attoseconds / 1_000_000_000_000
    }
    self.now = now
  }

  /// Reads a request.
  ///
  /// - Parameters:
  ///   - body: The body without its compression.
  ///   - sent: The body as it was sent.
  func read(_ head: HTTPHead, body: [UInt8], sent: [UInt8], for endpoint: IngestEndpoint) -> Content {
    let receivedAt = now()
    let key = endpoint.app.key
    var isProven = false
    func refused(_ reason: Rejection.Reason, _ excerpt: String) -> Content {
      let rejection = Rejection(reason, app: key, excerpt: excerpt)
      return .items([BatchItem(.rejection(rejection), place: "http")], isProven: isProven)
    }
    let decoded: [Decoded]
    switch endpoint.proof {
    case .appStoreSignatures:
      if body.allSatisfy(Self.isSpace) { return refused(.notJSON, "the body is empty") }
      let root: JSONValue
      do {
        root = try JSONDocument(body).root
      } catch {
        return refused(error.isSyntax ? .notJSON : .malformed, "byte \(error.offset)")
      }
      // Other forms of signed data are for files.
      guard root["signedPayload"] != nil else {
        return refused(root["notificationType"] == nil ? .malformed : .unsigned, "the body has no signedPayload")
      }
      allowance.isExhausted = false
      decoded = decoder(for: endpoint.app).decode(body, receivedAt: receivedAt)
      if allowance.isExhausted { return .tooManyChains }
    case .appClient(let publicKey):
      if let publicKey, head.bearer.map({ ConstantTime.areEqual($0, publicKey) }) != true {
        return refused(.secret, "the app's public key is missing or wrong")
      }
      if body.allSatisfy(Self.isSpace) { return refused(.notJSON, "the body is empty") }
      allowance.isExhausted = false
      guard let read = decodeClient(body, app: endpoint.app, receivedAt) else {
        return refused(.tooLarge, "more than \(AppClientDecoder.mostAtOnce) things at once")
      }
      decoded = read
      if allowance.isExhausted { return .tooManyChains }
    case .standardWebhook(let secret):
      guard Self.isSigned(head, by: secret, bodies: [sent, body], at: receivedAt) else {
        return refused(.secret, "the webhook signature is missing or wrong, or its timestamp is not of now")
      }
      isProven = true
      if body.allSatisfy(Self.isSpace) { return refused(.notJSON, "the body is empty") }
      decoded = Self.decodeEvents(body, app: endpoint.app, receivedAt)
    case .vendor(let proof):
      guard proof.holds(head, bodies: [sent, body], at: receivedAt) else {
        return refused(.secret, "the secret or the signature is missing or wrong, or the signature is not of now")
      }
      isProven = true
      if body.allSatisfy(Self.isSpace) { return refused(.notJSON, "the body is empty") }
      var decoder = VendorDecoder(endpoint.source) { _ in endpoint.app }
      decoded = decoder.decode(body, receivedAt: receivedAt)
      if decoded.isEmpty { return .greeting }
    }
    return .items(
      decoded.map { one in
        guard case .rejection(var rejection) = one else { return BatchItem(one, place: "http") }
        // Whoever it was meant for, it came to this app's address.
        rejection.app = key
        return BatchItem(.rejection(rejection), place: "http")
      }, isProven: isProven)
  }

  private static func isSpace(_ byte: UInt8) -> Bool { [0x20, 0x09, 0x0A, 0x0D].contains(byte) }

  private func decoder(for app: AppConfiguration) -> AppStoreDecoder {
    if let decoder = appStoreDecoders[app.key] { return decoder }
    // The address says the app: data of another one is refused.
    let decoder = AppStoreDecoder(allowance: allowance) { _ in app }
    appStoreDecoders[app.key] = decoder
    return decoder
  }

  /// What an app sent: one thing, or several as lines or an array; nil when it is more than an app has to send at once.
  private func decodeClient(_ body: [UInt8], app: AppConfiguration, _ receivedAt: Instant) -> [Decoded]? {
    guard let documents = InputDocument.all(in: body, atMost: AppClientDecoder.mostAtOnce) else { return nil }
    // The address says the app.
    var decoder = appClientDecoders[app.key] ?? AppClientDecoder(allowance: allowance) { _ in app }
    defer { appClientDecoders[app.key] = decoder }
    var decoded: [Decoded] = []
    for document in documents {
      decoded += Self.decode(document) { decoder.decode($0, receivedAt: receivedAt) }
      // A report comes with a transaction and its renewal info.
      if decoded.count > 3 * AppClientDecoder.mostAtOnce { return nil }
    }
    return decoded
  }

  /// What becomes of a document of a body.
  private static func decode(_ document: InputDocument, _ decode: ([UInt8]) -> [Decoded]) -> [Decoded] {
    guard case .document(let text, _) = document else {
      return [.rejection(Rejection(.notJSON, excerpt: "the array is not closed, or a comma is missing or too many"))]
    }
    return decode(text)
  }

  private static func isSigned(
    _ head: HTTPHead, by secret: StandardWebhookSecret, bodies: [[UInt8]], at moment: Instant
  ) -> Bool {
    guard let id = head.header("webhook-id"), let signatures = head.header("webhook-signature"),
      let timestamp = head.header("webhook-timestamp").flatMap({ Int64($0) })
    else { return false }
    let now = moment.microseconds / 1_000_000
    // Senders differ about whether they sign before or after compressing; both need the secret.
    return bodies.contains { secret.accepts(signatures, id: id, timestamp: timestamp, body: $0, now: now) }
  }

  /// Canonical events: one, several (an array or lines), or one in the envelope in which Tenure's own webhooks carry it.
  private static func decodeEvents(_ body: [UInt8], app: AppConfiguration, _ receivedAt: Instant) -> [Decoded] {
    var decoder = TenureDecoder(app: app.key) { $0 == app.key ? app : nil }
    return InputDocument.all(in: body).flatMap { document in
      decode(document) { text in
        if let root = try? JSONDocument(text).root, root["event_id"] == nil, let data = root["data"],
          data.kind == .object, root["type"] != nil
        {
          return decoder.decode(Array(data.source), receivedAt: receivedAt)
        }
        return decoder.decode(text, receivedAt: receivedAt)
      }
    }
  }
}

/// Runs a receiver's work one after another, outside of the threads that tasks share.
private final class ReceiverQueue: SerialExecutor {
  private let queue = DispatchQueue(label: "tenure.server.receiver")

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    let executor = asUnownedSerialExecutor()
    queue.async { job.runSynchronously(on: executor) }
  }

  func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }
}
