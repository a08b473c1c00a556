import Foundation
public import Signatures
import Synchronization
public import Vocabulary

/// The App Store Server API as far as history goes: pages, and fails as it is told. Answers an ``HTTPReceiver``.
///
/// Its rules are those of https://developer.apple.com/documentation/appstoreserverapi: a token is signed by the developer's
/// key and names the app; a page's token goes with the same body; a chain's revision tells what came after it.
public final class AppStoreService: Sendable {
  /// What the developer's key is called.
  public static let keyID = "2X9R4HXF34"
  /// Who the developer is.
  public static let issuerID = "57246542-96fe-1a63-e053-0824d011072a"
  /// The app that it knows.
  public static let bundleID = "com.example.video"

  private struct Sent {
    let at: Int64
    let signed: String
    let attempts: [String]
  }

  private struct State {
    var notifications: [Sent] = []
    var transactions: [String: [String]] = [:]
    var generation = 0
    var planned: [HTTPReceiver.Answer?] = []
    var refusals: [String] = []
  }

  /// The developer's key.
  public let key = SigningKey(.p256)
  private let pageSize: Int
  private let environment: String
  private let state = Mutex(State())

  /// - Parameter pageSize: How many notifications or transactions a page has.
  public init(pageSize: Int = 2, environment: StoreEnvironment = .production) {
    self.pageSize = pageSize
    self.environment = environment.rawValue
  }

  /// Why tokens were refused.
  public var refusals: [String] { state.withLock { $0.refusals } }

  /// Has the next requests answered so; nil is as usual.
  public func plan(_ answers: HTTPReceiver.Answer?...) { state.withLock { $0.planned += answers } }

  /// Makes every token of a page and every revision that was given out unknown.
  public func expireTokens() { state.withLock { $0.generation += 1 } }

  /// A renewal was charged: its transaction is in the chain's history, and a notification of it was sent.
  ///
  /// - Parameters:
  ///   - number: The transaction's id.
  ///   - attempts: How the attempts to send it ended.
  ///   - isKept: Whether the notification is in the history.
  public func renew(
    _ chain: String, number: Int, at moment: Instant, attempts: [String] = ["SUCCESS"], isKept: Bool = true,
    inHistoryOf others: [String] = []
  ) {
    let milliseconds = moment.microseconds / 1000
    let transaction = TestCertificateAuthority.shared.sign(
      """
      {"transactionId":"\(number)","originalTransactionId":"\(chain)","bundleId":"\(Self.bundleID)","productId":"monthly",\
      "subscriptionGroupIdentifier":"20","purchaseDate":\(milliseconds),"expiresDate":\(milliseconds + 2_592_000_000),\
      "quantity":1,"type":"Auto-Renewable Subscription","inAppOwnershipType":"PURCHASED","signedDate":\(milliseconds),\
      "environment":"\(environment)","transactionReason":"\(chain == "\(number)" ? "PURCHASE" : "RENEWAL")",\
      "storefront":"USA","price":9990,"currency":"USD"}
      """)
    let notification = TestCertificateAuthority.shared.sign(
      """
      {"notificationType":"DID_RENEW","version":"2.0","notificationUUID":"n\(number)","signedDate":\(milliseconds),\
      "data":{"bundleId":"\(Self.bundleID)","environment":"\(environment)","signedTransactionInfo":"\(transaction)"}}
      """)
    state.withLock { state in
      for chain in [chain] + others { state.transactions[chain, default: []].append(transaction) }
      if isKept { state.notifications.append(Sent(at: milliseconds, signed: notification, attempts: attempts)) }
    }
  }

  /// Answers a request.
  public func answer(_ request: HTTPReceiver.Request) -> HTTPReceiver.Answer {
    let planned = state.withLock { state in
      state.planned.isEmpty ? nil : state.planned.removeFirst()
    }
    if let planned { return planned }
    if let refusal = refusal(of: request.headers["authorization"] ?? "") {
      state.withLock { $0.refusals.append(refusal) }
      return .status(401, body: "Unauthenticated\n\nRequest ID: 1.0.0\n")
    }
    let parts = request.path.split(separator: "?", maxSplits: 1).map(String.init)
    let query = parts.count > 1 ? parts[1].split(separator: "=", maxSplits: 1).map(String.init) : []
    let token = query.count == 2 ? query[1].removingPercentEncoding : nil
    if request.method == "POST", parts[0] == "/inApps/v1/notifications/history" {
      return notifications(request.body, token: query.first == "paginationToken" ? token : nil)
    }
    if request.method == "GET", parts[0].hasPrefix("/inApps/v2/history/") {
      return transactions(String(parts[0].dropFirst(19)), revision: query.first == "revision" ? token : nil)
    }
    return .status(404)
  }

  private static func error(_ status: Int, _ code: Int, _ words: String) -> HTTPReceiver.Answer {
    .status(status, body: "{\"errorCode\":\(code),\"errorMessage\":\"\(words)\"}")
  }

  private func notifications(_ body: [UInt8], token: String?) -> HTTPReceiver.Answer {
    guard let root = try? JSONDocument(body).root, let start = root["startDate"]?.int64,
      let end = root["endDate"]?.int64, start < end
    else { return Self.error(400, 4_000_013, "Invalid request. The end date is before the start date.") }
    return state.withLock { state in
      let all = state.notifications.filter { $0.at >= start && $0.at < end }
      var first = 0
      if let token {
        // The "/" and "+" of a token must arrive as they were given out.
        let words = token.split(separator: "/").map(String.init)
        guard words.count == 4, words[0] == "page+\(state.generation)", words[1] == "\(start)", words[2] == "\(end)",
          let offset = Int(words[3])
        else { return Self.error(400, 4_000_017, "Invalid request. The pagination token is expired.") }
        first = offset
      }
      let page = all.dropFirst(first).prefix(pageSize)
      let items = page.map { sent in
        let attempts = sent.attempts.map { "{\"attemptDate\":\(sent.at),\"sendAttemptResult\":\"\($0)\"}" }
        return "{\"sendAttempts\":[\(attempts.joined(separator: ","))],\"signedPayload\":\"\(sent.signed)\"}"
      }
      let next = "page+\(state.generation)/\(start)/\(end)/\(first + page.count)"
      return .status(
        200,
        body: "{\"paginationToken\":\"\(next)\",\"hasMore\":\(first + page.count < all.count),"
          + "\"notificationHistory\":[\(items.joined(separator: ","))]}")
    }
  }

  private func transactions(_ id: String, revision: String?) -> HTTPReceiver.Answer {
    state.withLock { state in
      guard let all = state.transactions[id] else {
        return Self.error(404, 4_040_010, "Transaction id not found.")
      }
      var first = 0
      if let revision {
        let words = revision.split(separator: "/").map(String.init)
        guard words.count == 2, words[0] == "revision+\(state.generation)", let offset = Int(words[1]) else {
          return Self.error(400, 4_000_005, "Invalid request revision.")
        }
        first = offset
      }
      let page = all.dropFirst(first).prefix(pageSize)
      let list = page.map { "\"\($0)\"" }.joined(separator: ",")
      return .status(
        200,
        body: "{\"revision\":\"revision+\(state.generation)/\(first + page.count)\","
          + "\"hasMore\":\(first + page.count < all.count),\"bundleId\":\"\(Self.bundleID)\","
          + "\"environment\":\"\(environment)\",\"signedTransactions\":[\(list)]}")
    }
  }

  /// What is wrong with a token: nil when it is one that the App Store takes.
  private func refusal(of authorization: String) -> String? {
    guard authorization.hasPrefix("Bearer ") else { return "no bearer" }
    let parts = authorization.dropFirst(7).split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    guard parts.count == 3, let header = Base64URL.decode(parts[0]), let claims = Base64URL.decode(parts[1]),
      let signature = Base64URL.decode(parts[2]), let head = try? JSONDocument(header).root,
      let said = try? JSONDocument(claims).root
    else { return "no JWT" }
    guard head["alg"]?.text == "ES256", head["kid"]?.text == Self.keyID, head["typ"]?.text == "JWT" else {
      return "header"
    }
    guard said["iss"]?.text == Self.issuerID, said["aud"]?.text == "appstoreconnect-v1",
      said["bid"]?.text == Self.bundleID, let issued = said["iat"]?.int64, let expires = said["exp"]?.int64,
      (1...3600).contains(expires - issued)
    else { return "claims" }
    guard key.isSignature(signature, of: Array("\(parts[0]).\(parts[1])".utf8)) else { return "signature" }
    return nil
  }
}
