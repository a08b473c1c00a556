public import HTTP
internal import Signatures
public import Vocabulary

/// A webhook signed as Standard Webhooks 1.0 says (https://www.standardwebhooks.com).
public struct WebhookTarget: Target {
  /// What the configuration says.
  public let configuration: TargetConfiguration
  private let url: String
  private let secrets: [StandardWebhookSecret]

  /// Creates the target.
  ///
  /// - Throws: ``TargetProblem`` when `url` or `secret` is missing, or a secret is not base64 with at least one byte.
  public init(_ configuration: TargetConfiguration) throws(TargetProblem) {
    guard let url = configuration.url, url.contains("://") else {
      throw configuration.problem("url", "an address like https://example.com/hooks is needed")
    }
    let form = "\"whsec_\" and 24 to 64 random bytes in base64 are needed"
    guard let text = configuration.secret else { throw configuration.problem("secret", form) }
    guard let secret = StandardWebhookSecret(text) else { throw configuration.problem("secret", form) }
    self.configuration = configuration
    self.url = url
    if let text = configuration.previousSecret {
      guard let previous = StandardWebhookSecret(text) else { throw configuration.problem("previous_secret", form) }
      secrets = [secret, previous]
    } else {
      secrets = [secret]
    }
  }

  /// `{"type": kind, "timestamp": occurred_at, "data": the event}`.
  public func body(for announcement: Announcement) -> String {
    let event = announcement.event
    return #"{"type":"\#(event.kind.rawValue)","timestamp":"\#(event.occurredAt)","data":\#(event.json)}"#
  }

  /// The request, signed for this attempt's moment with every secret.
  public func request(carrying parcels: [Parcel], at now: Instant) -> HTTPRequest {
    let parcel = parcels[0]
    let id = Self.messageID(of: parcel.eventID)
    let timestamp = now.microseconds / 1_000_000
    let body = Array(parcel.body.utf8)
    let signatures = secrets.map { $0.signature(id: id, timestamp: timestamp, body: body) }
    return HTTPRequest(
      url: url,
      headers: [
        .init("content-type", "application/json"), .init("webhook-id", id), .init("webhook-timestamp", "\(timestamp)"),
        .init("webhook-signature", signatures.joined(separator: " ")),
      ], body: body, secrets: [configuration.secret, configuration.previousSecret].compactMap { $0 })
  }

  /// What the status says. The body is not read: it may repeat the request's address.
  public func verdicts(on response: HTTPResponse, carrying parcels: [Parcel], at now: Instant) -> [Verdict] {
    [Verdict(status: response.status, retryAfter: response.retryAfter(now: now))]
  }

  /// The event's id where it can be a message's id, else its SHA-256: a dot in it would make the signed text ambiguous.
  static func messageID(of eventID: String) -> String {
    let isPlain = eventID.utf8.allSatisfy {
      switch $0 {
      case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"):
        true
      default: false
      }
    }
    return isPlain && (1...64).contains(eventID.utf8.count) ? eventID : SHA256.hexadecimalDigest(eventID.utf8)
  }
}
