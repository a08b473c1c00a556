import COpenSSL

/// Signed data that was taken apart but not verified: who it says it is from can be read to know which roots it must lead
/// to. Nothing else of it may be believed before ``SignedDataVerifier`` has verified it.
public struct UnverifiedPayload: Sendable {
  /// The payload's JSON, an object.
  public let document: JSONDocument
  /// The whole signed text.
  let compact: ArraySlice<UInt8>
  /// Where the header ends in it.
  let headerEnd: Int
  /// Where the payload ends in it.
  let payloadEnd: Int
  /// The signature as it is, of any length.
  let signature: [UInt8]
  /// When it says it was signed, in microseconds since 1970.
  let signedAt: Int64?

  /// Takes a signed text apart: three parts of canonical base64url, the payload an object of one meaning.
  ///
  /// - Parameter compact: The text, without white space around it.
  /// - Returns: The parts, or `malformed`.
  public static func read(_ compact: ArraySlice<UInt8>) -> Result<UnverifiedPayload, SignatureRejection> {
    guard let headerEnd = dot(in: compact), let payloadEnd = dot(in: compact[(headerEnd + 1)...]),
      dot(in: compact[(payloadEnd + 1)...]) == nil,
      let signature = Base64URL.decode(compact[(payloadEnd + 1)...]),
      let bytes = Base64URL.decode(compact[(headerEnd + 1)..<payloadEnd]),
      let document = try? JSONDocument(bytes), document.root.kind == .object
    else { return .failure(.malformed) }
    // Fractions of a millisecond are what Xcode writes.
    var signedAt: Int64?
    if let date = document.root["signedDate"] ?? document.root["receiptCreationDate"] {
      guard let microseconds = date.integer(scaledBy: 3, rounding: .down) else { return .failure(.malformed) }
      signedAt = microseconds
    }
    return .success(
      UnverifiedPayload(
        document: document, compact: compact, headerEnd: headerEnd, payloadEnd: payloadEnd, signature: signature,
        signedAt: signedAt))
  }

  private static func dot(in text: ArraySlice<UInt8>) -> Int? {
    text.withUnsafeBytes { bytes in
      guard let start = bytes.baseAddress, let found = memchr(start, CInt(UInt8(ascii: ".")), bytes.count) else {
        return nil
      }
      return text.startIndex + (UnsafeRawPointer(found) - start)
    }
  }
}
