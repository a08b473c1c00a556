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
    /// The request carries what a vendor was told to send.
    case vendor(VendorProof)
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

  /// An endpoint for RevenueCat's webhooks: nil without any secret. What is given must hold, both where both are.
  ///
  /// - Parameters:
  ///   - authorization: The value of the Authorization header, as it was entered there.
  ///   - secret: The secret of its signatures.
  public static func revenueCat(
    _ app: AppConfiguration, authorization: String?, secret: TimestampedWebhookSecret?
  ) -> IngestEndpoint? {
    if authorization == nil, secret == nil { return nil }
    let header = authorization.map { (name: "authorization", value: $0) }
    return IngestEndpoint(source: .revenueCat, app: app, proof: .vendor(VendorProof(header: header, secret: secret)))
  }

  /// An endpoint for Adapty's webhooks.
  ///
  /// - Parameter authorization: The value of the Authorization header, as it was entered there.
  public static func adapty(_ app: AppConfiguration, authorization: String) -> IngestEndpoint {
    let header = (name: "authorization", value: authorization)
    return IngestEndpoint(source: .adapty, app: app, proof: .vendor(VendorProof(header: header, secret: nil)))
  }

  /// An endpoint for Apphud's webhooks.
  ///
  /// - Parameter token: The value of the X-Apphud-Token header, as it was entered there.
  public static func apphud(_ app: AppConfiguration, token: String) -> IngestEndpoint {
    let header = (name: "x-apphud-token", value: token)
    return IngestEndpoint(source: .apphud, app: app, proof: .vendor(VendorProof(header: header, secret: nil)))
  }

  /// An endpoint for an app's canonical events, signed with a secret.
  public static func tenure(_ app: AppConfiguration, secret: StandardWebhookSecret) -> IngestEndpoint {
    IngestEndpoint(source: .tenure, app: app, proof: .standardWebhook(secret))
  }
}
