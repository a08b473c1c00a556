import Signatures
import Vocabulary

/// What a vendor's request must carry: a header whose value only the vendor and the seller know, a signature, or both.
public struct VendorProof: Sendable {
  /// A header, its name in small letters.
  let header: (name: String, value: String)?
  /// What requests are signed with.
  let secret: TimestampedWebhookSecret?

  /// The two names that the signature's header goes by: RevenueCat's guide has the second, its senders the first.
  private static let signatureHeaders = ["x-revenuecat-webhook-signature", "x-revenuecat-signature"]

  /// Whether a request carries it.
  ///
  /// - Parameters:
  ///   - bodies: The body as it was sent and without its compression: a signature may be of either.
  ///   - moment: Now.
  func holds(_ head: HTTPHead, bodies: [[UInt8]], at moment: Instant) -> Bool {
    if let header {
      guard let value = head.header(header.name), ConstantTime.areEqual(value, header.value) else { return false }
    }
    guard let secret else { return header != nil }
    let now = moment.microseconds / 1_000_000
    return Self.signatureHeaders.compactMap { head.header($0) }.contains { signature in
      bodies.contains { secret.accepts(signature, body: $0, now: now) }
    }
  }
}
