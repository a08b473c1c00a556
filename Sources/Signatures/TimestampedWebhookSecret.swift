/// The secret of webhooks whose signature is a header `t=<seconds>,v1=<hexadecimal>`, as RevenueCat signs: HMAC-SHA256
/// over the seconds, a dot and the body, with the secret's text as the key.
public struct TimestampedWebhookSecret: Sendable {
  /// How far the signature's timestamp may lie from now, either way, in seconds.
  public static let tolerance: Int64 = 300

  private let key: [UInt8]

  /// A secret. It must not be empty: everyone knows that one.
  public init?(_ text: String) {
    guard !text.isEmpty else { return nil }
    key = Array(text.utf8)
  }

  /// The header's value for a body.
  ///
  /// - Parameter timestamp: Seconds since 1970.
  public func signature(timestamp: Int64, body: [UInt8]) -> String {
    "t=\(timestamp),v1=\(SHA256.hexadecimal(code(timestamp, body)))"
  }

  /// Whether one of the header's signatures (several while a secret is changed) is this secret's for that body.
  ///
  /// - Parameters:
  ///   - header: The header's value.
  ///   - now: Seconds since 1970; a signature further than ``tolerance`` from it is refused, as it may be a replay.
  public func accepts(_ header: String, body: [UInt8], now: Int64) -> Bool {
    let parts = header.split(separator: ",").map { part in
      part.drop { $0 == " " }.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    }
    guard let timestamp = parts.first(where: { $0.first == "t" && $0.count == 2 }).flatMap({ Int64($0[1]) }) else {
      return false
    }
    let (age, overflow) = now.subtractingReportingOverflow(timestamp)
    guard !overflow, age.magnitude <= Self.tolerance.magnitude else { return false }
    let expected = SHA256.hexadecimal(code(timestamp, body))
    var isAccepted = false
    for part in parts where part.count == 2 && part[0] == "v1" {
      if ConstantTime.areEqual(Array(part[1].lowercased().utf8), Array(expected.utf8)) { isAccepted = true }
    }
    return isAccepted
  }

  private func code(_ timestamp: Int64, _ body: [UInt8]) -> [UInt8] {
    HMACSHA256.code(Array("\(timestamp).".utf8) + body, key: key)
  }
}
