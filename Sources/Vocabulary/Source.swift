/// Where a stream of events comes from.
public enum Source: String, Sendable, CaseIterable, Codable {
  /// App Store Server Notifications V2 and other data signed by the App Store.
  case appStore = "app_store"
  /// Signed StoreKit data and message reports straight from an app.
  case appClient = "app_client"
  /// Old receipts: verifyReceipt answers and version 1 notifications.
  case appStoreReceipt = "app_store_receipt"
  /// RevenueCat webhooks.
  case revenueCat = "revenuecat"
  /// Adapty webhooks.
  case adapty
  /// Apphud webhooks.
  case apphud
  /// Canonical events as lines of JSON.
  case tenure

  /// How far the source is believed where sources disagree about one transaction; the greater wins.
  ///
  /// Signed by the store comes first, then the store's own interface, then a vendor, then hand-made events.
  public var rank: Int16 {
    switch self {
    case .appStore, .appClient: 4
    case .appStoreReceipt: 3
    case .revenueCat, .adapty, .apphud: 2
    case .tenure: 1
    }
  }
}
