/// Signed data whose signature and certificates hold, in its parts.
///
/// Only canonical base64url is accepted, so the parts give back the signed text byte for byte: ``compact(header:payload:signature:)``.
public struct VerifiedPayload: Sendable {
  /// The payload's JSON, as signed.
  public let document: JSONDocument
  /// The protected header.
  public let header: ProtectedHeader
  /// The signature: r and s of 32 bytes each.
  public let signature: [UInt8]
  /// When it was signed, by its own word (`signedDate`, of app transactions `receiptCreationDate`), in microseconds since
  /// 1970; nil when it does not say.
  public let signedAt: Int64?

  /// The payload's bytes.
  public var bytes: [UInt8] { document.bytes }

  /// The signed text of the parts: JWS compact serialization (RFC 7515).
  public static func compact(header: [UInt8], payload: [UInt8], signature: [UInt8]) -> [UInt8] {
    let dot = [UInt8(ascii: ".")]
    return Base64URL.encode(header) + dot + Base64URL.encode(payload) + dot + Base64URL.encode(signature)
  }
}
