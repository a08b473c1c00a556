public import Signatures
public import Vocabulary

/// What ingest needs to know of an app.
public struct AppConfiguration: Sendable {
  /// The app's name in addresses and reports.
  public var key: String
  /// The bundle id that its data must name; nil where any will do.
  public var bundleID: String?
  /// Apple's number of the app, which its data of Production must name if it names one; nil where any will do.
  public var appAppleID: String?
  /// The environments whose data is taken.
  public var environments: Set<StoreEnvironment>
  /// The roots that its signed data must lead to.
  public var roots: TrustedRoots

  /// An app. Without more it takes data of Production that Apple signed.
  public init(
    key: String, bundleID: String? = nil, appAppleID: Int64? = nil, environments: Set<StoreEnvironment> = [.production],
    roots: TrustedRoots = TrustedRoots()
  ) {
    self.key = key
    self.bundleID = bundleID
    self.appAppleID = appAppleID.map { String($0) }
    self.environments = environments
    self.roots = roots
  }
}
