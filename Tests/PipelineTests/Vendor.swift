import Testing

/// A vendor with its proof, and an event of it.
struct Vendor: Sendable, CustomTestStringConvertible {
  let name: String
  let header: (name: String, value: String)
  let event: @Sendable (_ id: String) -> String
  /// The status of a request that is refused where another source would answer with this one.
  let refusal: @Sendable (Int) -> Int
  var testDescription: String { name }
  var headers: [String: String] { [header.name: header.value] }

  static let revenueCat = Vendor(
    name: "revenuecat", header: ("Authorization", "Bearer rc-value"),
    event: { id in
      """
      {"api_version":"1.0","event":{"id":"\(id)","type":"RENEWAL","event_timestamp_ms":1767225600000,\
      "app_user_id":"u","product_id":"monthly","period_type":"NORMAL","purchased_at_ms":1767225600000,\
      "expiration_at_ms":1769904000000,"environment":"PRODUCTION","store":"APP_STORE","transaction_id":"\(id)",\
      "original_transaction_id":"1","currency":"EUR","price":10.4,"price_in_purchased_currency":9.99}}
      """
    }, refusal: { $0 })
  static let adapty = Vendor(
    name: "adapty", header: ("Authorization", "adapty value"),
    event: { id in
      """
      {"customer_user_id":"u","event_type":"subscription_renewed","event_properties":{"profile_event_id":"\(id)",\
      "store":"app_store","environment":"Production","currency":"EUR","price_local":9.99,"transaction_id":"\(id)",\
      "original_transaction_id":"1","purchase_date":"2026-01-01T00:00:00.000000+0000",\
      "subscription_expires_at":"2026-02-01T00:00:00.000000+0000","vendor_product_id":"monthly",\
      "event_datetime":"2026-01-01T00:00:00.000000+0000"}}
      """
    }, refusal: { _ in 503 })
  static let apphud = Vendor(
    name: "apphud", header: ("X-Apphud-Token", "apphud-token"),
    event: { id in
      """
      {"app":{"bundle_id":"com.example.video"},"event":{"id":"\(id)","created_at":"2026-01-01T00:00:00.000Z",\
      "name":"subscription_renewed","store":"app_store","properties":{},"receipt":{"transaction_id":"\(id)",\
      "original_transaction_id":"1","purchased_at":"2026-01-01T00:00:00.000Z","price":9.99,"currency":"EUR",\
      "product_id":"monthly"}},"user":{"user_id":"u","subscriptions":[{"original_transaction_id":"1",\
      "environment":"production","expires_at":"2026-02-01T00:00:00.000Z"}]}}
      """
    }, refusal: { $0 })
  static let all = [revenueCat, adapty, apphud]

  /// The sources of an app that all of them send to, with their secrets.
  static let sources = """
    revenuecat: { authorization: "Bearer rc-value" }, adapty: { authorization: "adapty value" },
    apphud: { token: "apphud-token" },
    """
}
