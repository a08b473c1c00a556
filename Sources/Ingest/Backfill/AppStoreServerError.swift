/// Why the App Store Server API gave no page.
public enum AppStoreServerError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The token is not taken: the key, its ids or this machine's clock are wrong.
  case unauthorized
  /// The token of the page is no longer, or never was, one.
  case pageUnknown
  /// What was asked for is refused, and will be again; in Apple's words, with Apple's number where there is one.
  case refused(code: Int64?, words: String)
  /// There was no answer to go by, however often it was asked for.
  case unavailable(String)

  /// One line for people, with what to do.
  public var description: String {
    switch self {
    case .unauthorized:
      "the App Store refuses the key (401): check issuer_id, key_id and private_key_file of app_store_server, that the key "
        + "is one for In-App Purchase and not revoked, the bundle_id, and this machine's clock"
    case .pageUnknown: "the App Store does not know the page that was to be read next"
    case .refused(let code, let words): "\(words)\(code.map { " (\($0))" } ?? "")"
    case .unavailable(let words): "\(words); what has been read is kept: the same command goes on from here"
    }
  }
}
