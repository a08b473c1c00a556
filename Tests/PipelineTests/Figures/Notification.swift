import Foundation
import TestSupport
import Vocabulary

/// A signed App Store Server Notification of one monthly subscription, with what a test changes in it.
struct Notification {
  typealias Claims = [String: any Sendable]

  private var outer: Claims
  private var transaction: Claims?
  private var renewal: Claims?

  /// - Parameters:
  ///   - type: `TYPE` or `TYPE.SUBTYPE`.
  ///   - signed: when the notification and what is nested in it were signed.
  ///   - buys: the period of the transaction; `2025-02-01` to `2025-03-01` unless told.
  ///   - transaction: claims of the transaction beyond the usual ones; null takes one away.
  ///   - renewal: claims of the renewal info likewise; nil where there is none.
  init(
    _ type: String, signed: String, id: String = "1", from: String = "2025-02-01", until: String? = "2025-03-01",
    chain: String = "1", uuid: String? = nil, environment: String = "Production", transaction: Claims = [:],
    renewal: Claims? = nil
  ) {
    let words = type.split(separator: ".").map(String.init)
    let date = Self.milliseconds(signed)
    outer = [
      "notificationType": words[0], "version": "2.0", "signedDate": date,
      "notificationUUID": uuid ?? "\(type)-\(chain)-\(id)-\(date)",
    ]
    if words.count > 1 { outer["subtype"] = words[1] }
    var bought: Claims = [
      "transactionId": id, "originalTransactionId": chain, "bundleId": "com.example.video", "productId": "monthly",
      "subscriptionGroupIdentifier": "20", "purchaseDate": Self.milliseconds(from), "quantity": 1,
      "type": "Auto-Renewable Subscription", "inAppOwnershipType": "PURCHASED", "signedDate": date,
      "environment": environment, "transactionReason": id == chain ? "PURCHASE" : "RENEWAL", "storefront": "USA",
      "price": 9990, "currency": "USD",
    ]
    if let until { bought["expiresDate"] = Self.milliseconds(until) }
    self.transaction = bought.merging(transaction) { $1 }.filter { !($0.value is NSNull) }
    if let renewal {
      let status: Claims = [
        "originalTransactionId": chain, "productId": "monthly", "autoRenewProductId": "monthly", "autoRenewStatus": 1,
        "signedDate": date, "environment": environment,
      ]
      self.renewal = status.merging(renewal) { $1 }.filter { !($0.value is NSNull) }
    }
    data = ["bundleId": "com.example.video", "appAppleId": 1_234_567_890, "environment": environment]
  }

  private let data: Claims

  static func milliseconds(_ moment: String) -> Int64 {
    (Instant(Life.moment(moment))?.microseconds ?? 0) / 1000
  }

  static func sign(_ claims: Claims) -> String {
    let json = (try? JSONSerialization.data(withJSONObject: claims, options: .sortedKeys)) ?? Data()
    return TestCertificateAuthority.shared.sign(String(decoding: json, as: UTF8.self))
  }

  /// The transaction as StoreKit 2 gives it to an app.
  var signedTransaction: String { Self.sign(transaction ?? [:]) }

  /// The signed notification.
  var signed: String {
    var data = data
    if let transaction { data["signedTransactionInfo"] = Self.sign(transaction) }
    if let renewal { data["signedRenewalInfo"] = Self.sign(renewal) }
    return Self.sign(outer.merging(["data": data]) { $1 })
  }

  /// The body that the App Store posts.
  var body: String { "{\"signedPayload\":\"\(signed)\"}" }
}

extension Installation {
  /// Reads signed notifications.
  @discardableResult
  func ingest(_ notifications: [Notification], ends code: Int32 = 0) async throws -> Summary {
    try await ingest(lines: notifications.map(\.body), source: "app_store", ends: code)
  }

  /// An installation that has read the notifications and measured once.
  init(_ notifications: [Notification], asOf: String) async throws {
    try await self.init()
    try await ingest(notifications)
    try await measure(asOf: asOf)
  }
}
