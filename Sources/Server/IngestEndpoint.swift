public import Ingest
public import Signatures
import Vocabulary

/// Where one app's events of one source are received: `POST /v1/ingest/{source}/{app}`. Only sources with proof have one.
public struct IngestEndpoint: Sendable {
  /// How the source proves itself.
  public enum Proof: Sendable {
    /// The data is signed by the App Store.
    case appStoreSignatures
    /// The request is signed as Standard Webhooks says.
    case standardWebhook(StandardWebhookSecret)
    /// The data is signed by the App Store, and the request has the app's public key where one is configured. Anyone can
    /// read that key from the app: how often an address may send is limited.
    case appClient(key: String?)
  }

  let source: Source
  let app: AppConfiguration
  let proof: Proof

  /// An endpoint for an app's notifications from the App Store.
  public static func appStore(_ app: AppConfiguration) -> IngestEndpoint {
    IngestEndpoint(source: .appStore, app: app, proof: .appStoreSignatures)
  }

  /// An endpoint for what an app sends itself.
  ///
  /// - Parameter key: The app's public key; nil where none is asked for.
  public static func appClient(_ app: AppConfiguration, key: String?) -> IngestEndpoint {
    IngestEndpoint(source: .appClient, app: app, proof: .appClient(key: key))
  }

  /// An endpoint for an app's canonical events, signed with a secret.
  public static func tenure(_ app: AppConfiguration, secret: StandardWebhookSecret) -> IngestEndpoint {
    IngestEndpoint(source: .tenure, app: app, proof: .standardWebhook(secret))
  }
}
