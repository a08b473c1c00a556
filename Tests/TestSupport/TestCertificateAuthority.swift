public import Signatures

/// An authority like Apple's whose certificates can have any one defect that a verifier must notice.
public struct TestCertificateAuthority: Sendable {
  /// What the certificates are like. Without changes they pass every check.
  public struct Shape: Sendable {
    /// Seconds since 1970 (2020 to 2040).
    public var rootValidity: ClosedRange<Int64> = 1_577_836_800...2_208_988_800
    /// Seconds since 1970.
    public var intermediateValidity: ClosedRange<Int64> = 1_577_836_800...2_208_988_800
    /// Seconds since 1970.
    public var leafValidity: ClosedRange<Int64> = 1_577_836_800...2_208_988_800
    /// The marker extensions of the signing certificate.
    public var leafMarkers = [CertificateAuthority.leafMarker]
    /// The marker extensions of the authority above it.
    public var intermediateMarkers = [CertificateAuthority.intermediateMarker]
    /// What the authority in the middle may do.
    public var intermediateUsage = CertificateRequest.Usage.authority(pathLength: 0)
    /// The curve of the signing key.
    public var leafCurve = SigningKey.Curve.p256
    /// Whether the signing certificate was signed by a stranger who uses the middle authority's name and key identifier.
    public var isLeafForged = false
    /// Whether the middle authority was signed by a stranger who uses the root's name and key identifier.
    public var isIntermediateForged = false

    /// The shape without a defect.
    public init() {}
  }

  /// An authority without a defect, for all tests that only need signed data.
  public static let shared = TestCertificateAuthority()

  /// The root, the middle authority and the signing certificate.
  public let root: Certificate
  /// The middle authority.
  public let intermediate: Certificate
  /// The signing certificate.
  public let leaf: Certificate
  /// The key of the signing certificate.
  public let leafKey: SigningKey
  private let authority: CertificateAuthority

  /// Makes the certificates.
  public init(_ change: (inout Shape) -> Void = { _ in }) {
    var shape = Shape()
    change(&shape)
    let rootKey = SigningKey(.p384)
    let intermediateKey = SigningKey(.p384)
    leafKey = SigningKey(shape.leafCurve)
    root = CertificateRequest(
      name: "Test Root", key: rootKey, usage: .authority(pathLength: nil),
      validFrom: shape.rootValidity.lowerBound, validUntil: shape.rootValidity.upperBound
    ).issued(by: rootKey, issuer: nil)
    intermediate = CertificateRequest(
      name: "Test Developer Relations", key: intermediateKey, usage: shape.intermediateUsage,
      validFrom: shape.intermediateValidity.lowerBound, validUntil: shape.intermediateValidity.upperBound,
      markers: shape.intermediateMarkers
    ).issued(by: shape.isIntermediateForged ? SigningKey(.p384) : rootKey, issuer: root)
    leaf = CertificateRequest(
      name: "Test Receipt Signing", key: leafKey, usage: .signing,
      validFrom: shape.leafValidity.lowerBound, validUntil: shape.leafValidity.upperBound, markers: shape.leafMarkers
    ).issued(by: shape.isLeafForged ? SigningKey(.p384) : intermediateKey, issuer: intermediate)
    authority = CertificateAuthority(chain: [leaf, intermediate, root], root: root, key: leafKey)
  }

  /// Only this authority's root.
  public var roots: TrustedRoots { TrustedRoots(configured: [root], trustsApple: false) }

  /// The protected header's JSON.
  public var header: [UInt8] { authority.header }

  /// The signed text of a payload's JSON.
  public func sign(_ payload: String) -> String {
    authority.sign(payload)
  }

  /// A text with any protected header, truly signed by the signing key.
  public func sign(_ payload: String, header: String) -> String {
    let signed = Base64URL.encode(header.utf8) + [UInt8(ascii: ".")] + Base64URL.encode(payload.utf8)
    let signature = Base64URL.encode(leafKey.signature(of: signed))
    return String(decoding: signed + [UInt8(ascii: ".")] + signature, as: UTF8.self)
  }

  /// A protected header with any list of certificates.
  public static func header(algorithm: String = "ES256", x5c: [String]) -> String {
    "{\"alg\":\"\(algorithm)\",\"x5c\":[\(x5c.map { "\"\($0)\"" }.joined(separator: ","))]}"
  }
}
