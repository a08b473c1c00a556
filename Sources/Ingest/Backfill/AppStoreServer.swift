import HTTP
import Signatures
public import Vocabulary

/// The App Store Server API of one app in one environment: asks for pages of history, as fast as it is let.
///
/// Several may ask at once. When the App Store asks for a wait, all of them wait. What fails for the moment is asked for
/// again, longer and longer apart; the pages are in Apple's order.
public actor AppStoreServer {
  /// One page of history.
  struct Page: Sendable {
    /// The answer as it came, with signed notifications or transactions; empty where it has none.
    let body: [UInt8]
    /// What the next page, or the same question later, is asked for with.
    let next: String?
    /// Whether there are more pages.
    let hasMore: Bool
    /// How many of the page's notifications the App Store has sent, and no attempt succeeded.
    let undelivered: Int
  }

  /// How it works; the defaults are for every use but tests.
  public struct Settings: Sendable {
    /// Where it is; the App Store's own address unless a gateway stands in between.
    public var baseURL: String
    /// Whether it may be inside one's own network, and without TLS.
    public var allowsPrivateNetwork = false
    /// How long one answer may take.
    public var timeout = Duration.seconds(60)
    /// How often a request is made that fails for the moment, before it is given up.
    public var attempts = 8
    /// Waits. A test does something else.
    public var pause: @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }

    /// The settings for an environment: Production, or else Sandbox
    /// (https://developer.apple.com/documentation/appstoreserverapi).
    public init(_ environment: StoreEnvironment) {
      baseURL =
        environment == .production
        ? "https://api.storekit.apple.com" : "https://api.storekit-sandbox.apple.com"
    }
  }

  /// The longest page: 20 notifications with their certificates three times each are below a megabyte.
  private static let pageLimit = 16 << 20

  private let settings: Settings
  private let client: HTTPClient
  private let key: AppStoreServerKey
  private let now: @Sendable () -> Instant
  private let report: @Sendable (BackfillProgress) -> Void
  private var token: (text: String, until: Instant)?
  /// No request is made before this.
  private var heldUntil = Instant(microseconds: 0)
  /// How many requests were made.
  private(set) var requests = 0

  /// - Parameters:
  ///   - now: The clock: of tokens and of waits until a moment.
  ///   - report: Told of waits and of what is tried again.
  public init(
    _ settings: Settings, key: AppStoreServerKey, now: @escaping @Sendable () -> Instant,
    report: @escaping @Sendable (BackfillProgress) -> Void
  ) {
    self.settings = settings
    self.key = key
    self.now = now
    self.report = report
    client = HTTPClient(
      allowsPrivateNetwork: settings.allowsPrivateNetwork, timeout: settings.timeout, bodyLimit: Self.pageLimit)
  }

  /// A page of the notifications that were to be sent from a moment until another, in whole milliseconds
  /// (https://developer.apple.com/documentation/appstoreserverapi/get-notification-history).
  ///
  /// - Parameter page: The token of the page; nil for the first.
  /// - Throws: ``AppStoreServerError``.
  func notifications(from start: Instant, until end: Instant, page: String?) async throws -> Page {
    let body = "{\"startDate\":\(start.microseconds / 1000),\"endDate\":\(end.microseconds / 1000)}"
    let query = page.map { "?paginationToken=\(Self.escaped($0))" } ?? ""
    let (root, bytes) = try await answer(.post, "/inApps/v1/notifications/history\(query)", Array(body.utf8))
    let items = root["notificationHistory"]?.elements ?? []
    let undelivered = items.count { item in
      let attempts = item["sendAttempts"]?.elements ?? []
      return !attempts.isEmpty && !attempts.contains { $0["sendAttemptResult"]?.text == "SUCCESS" }
    }
    return Page(
      body: items.isEmpty ? [] : bytes, next: root["paginationToken"]?.text, hasMore: root["hasMore"]?.bool ?? false,
      undelivered: undelivered)
  }

  /// A page of a customer's transactions, those that changed last at the end
  /// (https://developer.apple.com/documentation/appstoreserverapi/get-transaction-history).
  ///
  /// - Parameters:
  ///   - transactionID: Any transaction of the customer.
  ///   - revision: The token of the page before; nil for the first.
  /// - Throws: ``AppStoreServerError``.
  func transactions(of transactionID: String, revision: String?) async throws -> Page {
    let query = revision.map { "?revision=\(Self.escaped($0))" } ?? ""
    let (root, bytes) = try await answer(.get, "/inApps/v2/history/\(Self.escaped(transactionID))\(query)", [])
    let items = root["signedTransactions"]?.elements ?? []
    return Page(
      body: items.isEmpty ? [] : bytes, next: root["revision"]?.text, hasMore: root["hasMore"]?.bool ?? false,
      undelivered: 0)
  }

  // MARK: - Asking

  /// What one answer means.
  private enum Meaning {
    case page(JSONValue)
    case failure(AppStoreServerError)
    /// Asked too often: not before that moment.
    case hold(Instant)
    case momentary(String)
  }

  private func answer(
    _ method: HTTPRequest.Method, _ path: String, _ body: [UInt8]
  ) async throws -> (root: JSONValue, bytes: [UInt8]) {
    var failures = 0
    var hasRenewedToken = false
    while true {
      // Others may have been told to wait while this one waited.
      while now() < heldUntil { try await settings.pause(.microseconds(heldUntil.microseconds - now().microseconds)) }
      let token = currentToken()
      let request = HTTPRequest(
        method, url: settings.baseURL + path,
        headers: [.init("authorization", "Bearer \(token)"), .init("content-type", "application/json")], body: body,
        secrets: [token])
      requests += 1
      let result = await client.send(request)
      try Task.checkCancellation()
      switch meaning(of: result) {
      case .page(let root): return (root, result.body)
      case .failure(.unauthorized) where !hasRenewedToken:
        // It may have grown old under way.
        hasRenewedToken = true
        self.token = nil
      case .failure(let error): throw error
      case .hold(let moment):
        heldUntil = max(heldUntil, moment)
        report(.held(until: heldUntil))
      case .momentary(let words):
        failures += 1
        guard failures < settings.attempts else { throw AppStoreServerError.unavailable(words) }
        report(.failedForNow(words))
        try await settings.pause(.seconds(min(60, 1 << (failures - 1))))
      }
    }
  }

  private func meaning(of result: Result<HTTPResponse, HTTPFailure>) -> Meaning {
    let response: HTTPResponse
    switch result {
    case .success(let answered): response = answered
    case .failure(let failure):
      switch failure {
      case .addressNotAllowed, .unusableURL:
        return .failure(.refused(code: nil, words: "base_url of app_store_server: \(failure)"))
      case .untrusted, .timedOut, .network, .stopped: return .momentary("the App Store: \(failure)")
      }
    }
    let root = (try? JSONDocument(response.body))?.root
    let code = root?["errorCode"]?.int64
    let words =
      root?["errorMessage"]?.text.map { String($0.prefix(200)) } ?? "the App Store answered \(response.status)"
    switch (response.status, code) {
    case (200, _):
      guard let root, root.kind == .object else { return .momentary("the App Store's answer is no JSON object") }
      return .page(root)
    case (401, _): return .failure(.unauthorized)
    case (429, _): return .hold(releaseMoment(response))
    // Invalid and expired tokens of pages, and invalid revisions.
    case (_, 4_000_014), (_, 4_000_017), (_, 4_000_005): return .failure(.pageUnknown)
    // What Apple marks as worth asking for again, beside the server's own failures.
    case (_, 4_040_002), (_, 4_040_004), (_, 4_040_006): return .momentary(words)
    case (500..., _), (408, _): return .momentary(words)
    default: return .failure(.refused(code: code, words: words))
    }
  }

  /// From when on requests may be made again: Apple says so as milliseconds since 1970
  /// (https://developer.apple.com/documentation/appstoreserverapi/identifying-rate-limits); seconds from now and dates, as
  /// gateways write them, are understood too. Without word, in a minute; the limits are those of an hour, so never later
  /// than in one.
  private func releaseMoment(_ response: HTTPResponse) -> Instant {
    let now = now()
    let moment: Instant?
    if let number = response.headers["retry-after"].flatMap({ Int64($0) }), number > 1_000_000_000 {
      moment = Instant(milliseconds: number > 100_000_000_000 ? number : number * 1000)
    } else {
      moment = response.retryAfter(now: now).map { now.adding(seconds: min($0, 3600)) }
    }
    return min(max(moment ?? now.adding(seconds: 60), now.adding(seconds: 1)), now.adding(seconds: 3600))
  }

  private func currentToken() -> String {
    let moment = now()
    if let token, moment < token.until { return token.text }
    let text = key.token(at: moment)
    token = (text, moment.adding(seconds: AppStoreServerKey.lifetime / 2))
    return text
  }

  /// A text as it stands in an address.
  private static func escaped(_ text: String) -> String {
    text.utf8.map { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."),
        UInt8(ascii: "~"):
        return String(UnicodeScalar(byte))
      default:
        let digits = String(byte, radix: 16, uppercase: true)
        return byte < 16 ? "%0\(digits)" : "%\(digits)"
      }
    }.joined()
  }
}

extension Result<HTTPResponse, HTTPFailure> {
  fileprivate var body: [UInt8] {
    switch self {
    case .success(let response): response.body
    case .failure: []
    }
  }
}
