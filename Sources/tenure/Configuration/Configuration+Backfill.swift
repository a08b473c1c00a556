import Foundation
import Ingest
import Signatures
import Vocabulary

/// An app in an environment, and what it is asked about at the App Store with.
struct BackfillSource: Sendable {
  let app: AppConfiguration
  let bundleID: String
  let environment: StoreEnvironment
  let key: AppStoreServerKey
  let settings: AppStoreServer.Settings
}

extension Configuration {
  /// Every app that has the developer's own key, in each environment of the App Store's servers that it lists.
  ///
  /// - Parameters:
  ///   - only: The key of the one app that is wanted; nil for all.
  ///   - file: What messages call the configuration.
  /// - Throws: ``Failure`` when there is none, or a file cannot be read; ``ConfigurationError`` when a bundle id is missing.
  func backfillSources(only key: String?, file: String) throws -> [BackfillSource] {
    if let key, !apps.contains(where: { $0.key == key }) {
      throw Failure("\(file) has no app \(key)\(Suggestion.hint(for: key, among: apps.map(\.key)))")
    }
    let configured = try ingestApps(.appStore)
    let sources = try apps.enumerated().flatMap { index, app -> [BackfillSource] in
      guard key == nil || app.key == key, let server = app.appStoreServer,
        let key = try appStoreServerKey(ofApp: index, file: file), let bundleID = app.bundleID
      else { return [] }
      return [StoreEnvironment.production, .sandbox].filter { configured[index].environments.contains($0) }
        .map { environment in
          var settings = AppStoreServer.Settings(environment)
          let given = environment == .production ? server.baseURL : server.sandboxBaseURL
          if let given { settings.baseURL = given.hasSuffix("/") ? String(given.dropLast()) : given }
          settings.allowsPrivateNetwork = server.allowsPrivateNetwork
          return BackfillSource(
            app: configured[index], bundleID: bundleID, environment: environment, key: key, settings: settings)
        }
    }
    guard !sources.isEmpty else {
      throw Failure(
        "no app of \(file) has app_store_server: { issuer_id, key_id, private_key_file }, the key that the App Store is "
          + "asked with, and lists Production or Sandbox")
    }
    return sources
  }

  /// The key that the App Store is asked with about an app; nil where none is configured.
  ///
  /// - Parameters:
  ///   - index: The app's place in the configuration.
  ///   - file: What messages call the configuration.
  /// - Throws: ``Failure`` when its file cannot be read or holds no key; ``ConfigurationError`` when the bundle id is missing.
  func appStoreServerKey(ofApp index: Int, file: String) throws -> AppStoreServerKey? {
    let app = apps[index]
    guard let server = app.appStoreServer else { return nil }
    guard let bundleID = app.bundleID else {
      throw ConfigurationError(
        file: file,
        problems: [.init(path: "apps[\(index)].bundle_id", message: "is missing: app_store_server needs it")])
    }
    guard let pem = FileManager.default.contents(atPath: server.privateKeyFile) else {
      throw Failure("reading the key of the app \(app.key): \(server.privateKeyFile) cannot be read")
    }
    guard let key = SigningKey(pem: Array(pem)) else {
      throw Failure(
        "reading the key of the app \(app.key): \(server.privateKeyFile) holds no private key on P-256; it is the file "
          + "with the ending p8 that App Store Connect gives out once")
    }
    return AppStoreServerKey(issuerID: server.issuerID, keyID: server.keyID, bundleID: bundleID, key: key)
  }
}
