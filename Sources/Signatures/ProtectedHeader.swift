/// The protected header of signed data: the algorithm and the certificates. All data signed with one certificate has the
/// same, so that it is stored once and referred to by its digest.
public struct ProtectedHeader: Sendable, Equatable {
  /// The header's JSON, as signed.
  public let bytes: [UInt8]
  /// SHA-256 of ``bytes``.
  public let digest: [UInt8]

  /// A header with its digest.
  public init(_ bytes: [UInt8]) {
    self.bytes = bytes
    digest = SHA256.digest(bytes)
  }
}
