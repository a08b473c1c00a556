import Signatures

/// The token of the reports listener, and the cookie that the page exchanges it for.
struct AccessToken: Sendable {
  /// The cookie's name.
  static let cookie = "tenure"

  private let token: String
  /// The cookie's value: it proves the token and does not tell it.
  let session: String

  init(_ token: String) {
    self.token = token
    session = HMACSHA256.code(Array("page".utf8), key: Array(token.utf8)).map { byte in
      (byte < 16 ? "0" : "") + String(byte, radix: 16)
    }.joined()
  }

  /// Whether a text is the token.
  func isToken(_ text: String) -> Bool { ConstantTime.areEqual(text, token) }

  /// Whether a request has the token, or the cookie.
  func isProven(by head: HTTPHead) -> Bool {
    if head.header("authorization") != nil { return head.bearer.map(isToken) ?? false }
    return head.headers.filter { $0.name == "cookie" }
      .flatMap { $0.value.split(separator: ";") }
      .contains { cookie in
        let parts = cookie.drop { $0 == " " }.split(separator: "=", maxSplits: 1)
        return parts.count == 2 && parts[0] == Self.cookie && ConstantTime.areEqual(String(parts[1]), session)
      }
  }
}
