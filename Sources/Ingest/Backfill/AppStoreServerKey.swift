public import Signatures
import Vocabulary

/// A developer's own key to the App Store Server API, for one app, and the tokens that it signs.
///
/// What a token holds: https://developer.apple.com/documentation/appstoreserverapi/generating-json-web-tokens-for-api-requests
public struct AppStoreServerKey: Sendable {
  /// How long a token is taken, in seconds. Apple takes at most an hour.
  static let lifetime: Int64 = 20 * 60

  private let issuerID: String
  private let keyID: String
  private let bundleID: String
  private let key: SigningKey

  /// Creates a key.
  ///
  /// - Parameters:
  ///   - issuerID: The issuer id that App Store Connect shows beside its keys for In-App Purchase.
  ///   - keyID: The key's own id.
  ///   - bundleID: The app that is asked about.
  ///   - key: The private key.
  public init(issuerID: String, keyID: String, bundleID: String, key: SigningKey) {
    self.issuerID = issuerID
    self.keyID = keyID
    self.bundleID = bundleID
    self.key = key
  }

  /// A token to be sent with requests. A secret.
  func token(at now: Instant) -> String {
    let seconds = now.microseconds / 1_000_000
    func part(_ members: KeyValuePairs<String, String>) -> [UInt8] {
      Base64URL.encode("{\(members.map { "\"\($0.key)\":\($0.value)" }.joined(separator: ","))}".utf8)
    }
    let header = part(["alg": "\"ES256\"", "kid": Self.quoted(keyID), "typ": "\"JWT\""])
    let claims = part([
      "iss": Self.quoted(issuerID), "iat": "\(seconds)", "exp": "\(seconds + Self.lifetime)",
      "aud": "\"appstoreconnect-v1\"", "bid": Self.quoted(bundleID),
    ])
    let dot = [UInt8(ascii: ".")]
    let signed = header + dot + claims
    return String(decoding: signed + dot + Base64URL.encode(key.signature(of: signed)), as: UTF8.self)
  }

  /// A JSON string of an identifier.
  private static func quoted(_ text: String) -> String {
    "\"" + text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
  }
}
