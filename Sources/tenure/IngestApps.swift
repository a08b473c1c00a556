import Ingest
import Synchronization
import Vocabulary

/// Finds the app that input belongs to.
///
/// Input of an app that is not configured is refused; with the program's own database it is accepted, since someone is
/// trying out: its key is then its bundle id, or the one that was given, and both Production and Sandbox are listed.
final class IngestApps: Sendable {
  private let configured: [AppConfiguration]
  /// The key that the command line gives.
  private let given: String?
  private let acceptsUnknown: Bool
  private let log: Log
  private let warned = Mutex<Set<String>>([])

  init(_ configured: [AppConfiguration], given: String?, acceptsUnknown: Bool, log: Log) {
    self.configured = configured
    self.given = given
    self.acceptsUnknown = acceptsUnknown
    self.log = log
  }

  /// The app of a bundle id, or the given one whatever the bundle.
  func app(bundleID: String?) -> AppConfiguration? {
    if let given { return app(key: given) }
    guard let bundleID else { return nil }
    return configured.first { $0.bundleID == bundleID } ?? unknown(key: bundleID, bundleID: bundleID)
  }

  /// The app of a key.
  func app(key: String) -> AppConfiguration? {
    configured.first { $0.key == key } ?? unknown(key: key, bundleID: nil)
  }

  /// A decoder of what a source sends.
  ///
  /// - Parameters:
  ///   - app: The key of the app that it is given for, if any.
  ///   - prices: What purchases of receipts cost.
  ///   - acceptsUnsigned: Whether App Store data without a signature is taken: for tests only.
  func decoder(
    _ source: Source, app: String?, prices: CataloguePrices = CataloguePrices(), acceptsUnsigned: Bool = false
  ) -> any EventDecoder {
    switch source {
    case .tenure: TenureDecoder(app: app) { self.app(key: $0) }
    case .appClient: AppClientDecoder { self.app(bundleID: $0) }
    case .appStoreReceipt: ReceiptDecoder(prices: prices) { self.app(bundleID: $0) }
    case .revenueCat, .adapty, .apphud: VendorDecoder(source) { self.app(bundleID: $0) }
    case .appStore: AppStoreDecoder(acceptsUnsigned: acceptsUnsigned) { self.app(bundleID: $0) }
    }
  }

  private func unknown(key: String, bundleID: String?) -> AppConfiguration? {
    guard acceptsUnknown, Configuration.isAppKey(key) else { return nil }
    let isNew = warned.withLock { $0.insert(key).inserted }
    if isNew {
      log.warning(
        "the app is not configured; its Production and Sandbox data is accepted all the same", ["app": .init(key)])
    }
    return AppConfiguration(key: key, bundleID: bundleID, environments: [.production, .sandbox])
  }
}
