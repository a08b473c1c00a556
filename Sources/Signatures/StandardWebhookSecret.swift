/// The secret of a webhook signed as Standard Webhooks says (https://www.standardwebhooks.com): signs what is sent, checks
/// what is received.
public struct StandardWebhookSecret: Sendable {
  /// How far a message's timestamp may lie from now, either way, in seconds.
  public static let tolerance: Int64 = 300

  private let key: [UInt8]

  /// Reads the secret's text: base64, with or without `whsec_` before it. Nil when it is neither, or holds no key.
  public init?(_ text: String) {
    let encoded = text.hasPrefix("whsec_") ? text.dropFirst("whsec_".count) : text[...]
    guard let key = Base64.decode(encoded.utf8), !key.isEmpty else { return nil }
    self.key = key
  }

  /// The value of the `webhook-signature` header: `v1,` and the code in base64.
  ///
  /// - Parameter timestamp: Seconds since 1970, as in the `webhook-timestamp` header.
  public func signature(id: String, timestamp: Int64, body: [UInt8]) -> String {
    "v1," + Base64.encode(code(id: id, timestamp: timestamp, body: body))
  }

  /// Whether one of the header's signatures (several are separated by spaces while a secret is changed) is this secret's
  /// for that message. Signatures of unknown versions are passed over.
  ///
  /// - Parameters:
  ///   - signatures: The value of the `webhook-signature` header.
  ///   - now: Seconds since 1970; a message further than ``tolerance`` from it is refused, as it may be a replay.
  public func accepts(_ signatures: String, id: String, timestamp: Int64, body: [UInt8], now: Int64) -> Bool {
    let (age, overflow) = now.subtractingReportingOverflow(timestamp)
    guard !overflow, age.magnitude <= Self.tolerance.magnitude else { return false }
    let expected = code(id: id, timestamp: timestamp, body: body)
    var isAccepted = false
    for signature in signatures.split(separator: " ") where signature.hasPrefix("v1,") {
      guard let code = Base64.decode(signature.dropFirst(3).utf8) else { continue }
      if ConstantTime.areEqual(code, expected) { isAccepted = true }
    }
    return isAccepted
  }

  private func code(id: String, timestamp: Int64, body: [UInt8]) -> [UInt8] {
    HMACSHA256.code(Array("\(id).\(timestamp).".utf8) + body, key: key)
  }
}
