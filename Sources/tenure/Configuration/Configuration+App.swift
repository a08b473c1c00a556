import Foundation
import Measure
import Signatures
import Vocabulary

extension Configuration {
  /// An app and where its events come from.
  struct App: Sendable, Equatable {
    /// The developer's own key to the store's interface.
    struct AppStoreServer: Sendable, Equatable {
      var issuerID = ""
      var keyID = ""
      /// An absolute path.
      var privateKeyFile = ""
      /// The address that stands in for the App Store's, in Production and in Sandbox; nil for its own.
      var baseURL: String?
      var sandboxBaseURL: String?
      var allowsPrivateNetwork = false
    }

    /// What is needed to accept events of a source. Files need none of it.
    struct SourceSettings: Sendable, Equatable {
      /// The environments that are accepted.
      var environments = ["Production"]
      /// Files of further root certificates (`app_store`, `app_client`), as absolute paths.
      var roots: [String] = []
      /// The value of the Authorization header (`revenuecat`, `adapty`).
      var authorization: String?
      /// The secret of its signatures (`revenuecat`), or of the Standard Webhooks signature (`tenure`).
      var secret: String?
      /// The value of the X-Apphud-Token header (`apphud`).
      var token: String?
      /// The app's public key (`app_client`).
      var key: String?
    }

    /// What addresses and reports call it.
    var key = ""
    var bundleID: String?
    var appAppleID: Int64?
    var commission = Commission.standard
    /// The address of a person's page, with `{subscriber_id}` in it.
    var subscriberURL: String?
    var appStoreServer: AppStoreServer?
    /// The sources that are listed.
    var sources: [Source: SourceSettings] = [:]
  }
}

extension Configuration.App {
  init(_ reader: ConfigurationReader) {
    key = reader.requiredText("key")
    if !key.isEmpty, !Configuration.isAppKey(key) {
      reader.problem("key", "must consist of letters, digits, dots, dashes and underscores, at most 64")
    }
    bundleID = reader.text("bundle_id")
    appAppleID = reader.integer("app_apple_id")
    switch reader.decimalOrText("commission") {
    case (let share?, _):
      commission = .share(share)
      if !(0...1).contains(share) { reader.problem("commission", "must be a share from 0 to 1, such as 0.15") }
    case (_, "standard"?): commission = .standard
    case (_, "small_business"?): commission = .smallBusiness
    case (_, .some): reader.problem("commission", "must be \"standard\", \"small_business\" or a share such as 0.15")
    case (nil, nil): break
    }
    subscriberURL = reader.text("subscriber_url")
    if let subscriberURL, !subscriberURL.contains("{subscriber_id}") {
      reader.problem("subscriber_url", "must hold {subscriber_id}")
    }
    if let section = reader.section("app_store_server") {
      appStoreServer = AppStoreServer(
        issuerID: section.requiredText("issuer_id"), keyID: section.requiredText("key_id"),
        privateKeyFile: section.existingFile("private_key_file") ?? "", baseURL: section.url("base_url"),
        sandboxBaseURL: section.url("sandbox_base_url"),
        allowsPrivateNetwork: section.bool("allow_private_network") ?? false)
      section.finish()
    }
    if let section = reader.section("sources") {
      for source in Source.allCases {
        guard let settings = section.section(source.rawValue) else { continue }
        sources[source] = SourceSettings(settings, source)
      }
      section.finish()
    }
    reader.finish()
  }
}

extension Configuration.App.SourceSettings {
  fileprivate init(_ reader: ConfigurationReader, _ source: Source) {
    environments =
      reader.choices("environments", among: ["Production", "Sandbox", "Xcode", "LocalTesting"]) ?? environments
    switch source {
    case .appStore: roots = reader.existingFiles("roots") ?? []
    case .appClient:
      key = reader.headerText("key")
      roots = reader.existingFiles("roots") ?? []
    case .appStoreReceipt: break
    case .revenueCat:
      authorization = reader.headerText("authorization")
      secret = reader.text("signing_secret")
    case .adapty: authorization = reader.headerText("authorization")
    case .apphud: token = reader.headerText("token")
    case .tenure:
      secret = reader.text("secret")
      if let secret, StandardWebhookSecret(secret) == nil {
        reader.problem(
          "secret", "must be \"whsec_\" and base64 text, such as \"whsec_\" and the output of: openssl rand -base64 32")
      }
    }
    reader.finish()
  }
}
