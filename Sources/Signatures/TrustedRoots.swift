/// The roots to which a chain of certificates must lead.
public struct TrustedRoots: Sendable {
  /// SHA-256 of Apple Root CA - G3 (https://www.apple.com/certificateauthority/). The root itself need not be shipped:
  /// signed data brings it along, and the fingerprint tells it from every other.
  public static let appleRootFingerprint: [UInt8] = [
    0x63, 0x34, 0x3A, 0xBF, 0xB8, 0x9A, 0x6A, 0x03, 0xEB, 0xB5, 0x7E, 0x9B, 0x3F, 0x5F, 0xA7, 0xBE,
    0x7C, 0x4F, 0x5C, 0x75, 0x6F, 0x30, 0x17, 0xB3, 0xA8, 0xC4, 0x88, 0xC3, 0x65, 0x3E, 0x91, 0x79,
  ]

  /// Roots named by the configuration.
  let configured: [Certificate]
  /// Whether Apple's own root is trusted too.
  let trustsApple: Bool

  /// Apple's root and more.
  ///
  /// - Parameters:
  ///   - configured: Further roots, as of a test authority. They are trusted wherever they come from: a chain need not
  ///     name them.
  ///   - trustsApple: False leaves Apple's root out.
  public init(configured: [Certificate] = [], trustsApple: Bool = true) {
    self.configured = configured
    self.trustsApple = trustsApple
  }

  /// Those of these roots that can be the end of a chain whose third certificate is `last` (DER, nil where it cannot be
  /// read).
  func candidates(last: [UInt8]?) -> [Certificate] {
    guard trustsApple, let last, SHA256.digest(last) == Self.appleRootFingerprint, let apple = Certificate(der: last)
    else { return configured }
    return configured + [apple]
  }
}
