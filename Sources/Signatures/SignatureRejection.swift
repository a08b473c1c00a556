/// Why signed data was refused. The raw values are the reason codes that people see in `report.rejections`.
public enum SignatureRejection: String, Error, Sendable, CaseIterable {
  /// Not three parts of canonical base64url around JSON that has one meaning.
  case malformed
  /// The signature is missing.
  case unsigned
  /// Signed with another algorithm than ES256, or with none.
  case algorithm
  /// The list of certificates is missing, has not exactly three, or they do not belong together.
  case chain
  /// A certificate cannot be read or is not fit for its place.
  case certificate
  /// A certificate lacks the extension by which Apple marks those of its receipts.
  case markerMissing = "marker_missing"
  /// A certificate was not valid when the payload was signed: no longer, or not yet.
  case certificateExpired = "certificate_expired"
  /// The chain does not lead to a root that is trusted.
  case untrustedRoot = "untrusted_root"
  /// The signature is not one of these bytes by that key.
  case signature
}
