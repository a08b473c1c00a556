import Vocabulary

/// Whether data is the app's own.
extension AppConfiguration {
  /// Refuses data that names another bundle.
  func check(bundleID named: String?) throws(Rejection) {
    guard let named, let expected = bundleID else { return }
    if named != expected { throw Rejection(.otherApp, app: key, excerpt: named) }
  }

  /// Refuses an environment that is not listed, and in Production another number of the app: elsewhere it is missing or
  /// means nothing.
  func check(_ environment: StoreEnvironment, appAppleID named: String? = nil) throws(Rejection) {
    guard environments.contains(environment) else {
      throw Rejection(.environmentNotListed, app: key, excerpt: environment.rawValue)
    }
    if environment == .production, let named, let expected = appAppleID, named != expected {
      throw Rejection(.otherApp, app: key, excerpt: named)
    }
  }
}
