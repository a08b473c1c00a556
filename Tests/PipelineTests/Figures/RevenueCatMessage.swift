import Foundation

/// What RevenueCat posts about a monthly subscription, with what a test changes in it.
struct RevenueCatMessage {
  /// The event, without its envelope.
  private var event: [String: any Sendable]

  /// - Parameters:
  ///   - at: when it was made.
  ///   - from, until: the period of the transaction.
  ///   - with: fields beyond the usual ones; null takes one away.
  init(
    _ type: String, at: String, id: String = "1", from: String = "2025-02-01", until: String? = "2025-03-01",
    chain: String = "1", price: Double = 9.99, user: String? = "u1", event name: String? = nil,
    with more: [String: any Sendable] = [:]
  ) {
    event = [
      "id": name ?? "\(type)-\(chain)-\(id)-\(at)", "type": type, "event_timestamp_ms": Notification.milliseconds(at),
      "product_id": "monthly", "period_type": "NORMAL", "purchased_at_ms": Notification.milliseconds(from),
      "environment": "PRODUCTION", "store": "APP_STORE", "transaction_id": id, "original_transaction_id": chain,
      "is_family_share": false, "country_code": "US", "currency": "USD", "price": price,
      "price_in_purchased_currency": price, "tax_percentage": 0.1, "commission_percentage": 0.3,
    ]
    if let until { event["expiration_at_ms"] = Notification.milliseconds(until) }
    if let user { event["app_user_id"] = user }
    event = event.merging(more) { $1 }.filter { !($0.value is NSNull) }
  }

  /// A transfer of all that belongs to some customers.
  init(transfer from: [String], to: [String], at: String, event name: String? = nil) {
    event = [
      "id": name ?? "transfer-\(from)-\(to)-\(at)", "type": "TRANSFER",
      "event_timestamp_ms": Notification.milliseconds(at),
      "store": "APP_STORE", "environment": "PRODUCTION", "transferred_from": from, "transferred_to": to,
    ]
  }

  /// The body that RevenueCat posts.
  var body: String {
    let envelope: [String: any Sendable] = ["api_version": "1.0", "event": event]
    let json = try? JSONSerialization.data(withJSONObject: envelope, options: [.sortedKeys, .withoutEscapingSlashes])
    return String(decoding: json ?? Data(), as: UTF8.self)
  }
}

extension Installation {
  /// Reads what RevenueCat posted.
  @discardableResult
  func ingest(_ messages: [RevenueCatMessage], ends code: Int32 = 0) async throws -> Summary {
    try await ingest(lines: messages.map(\.body), source: "revenuecat", app: "video", ends: code)
  }
}
