/// An authority of three certificates like Apple's, for signing made-up payloads that pass every check but for whose root
/// it is: trust its ``root`` by configuration.
public struct CertificateAuthority: Sendable {
  /// The root (P-384), to be configured as trusted.
  public let root: Certificate
  /// The protected header's JSON of everything this authority signs.
  public let header: [UInt8]
  private let key: SigningKey
  private let encodedHeader: [UInt8]

  /// Makes new keys and certificates.
  ///
  /// - Parameters:
  ///   - validFrom: The first second of their validity since 1970.
  ///   - validUntil: The last.
  public init(validFrom: Int64, validUntil: Int64) {
    let rootKey = SigningKey(.p384)
    let intermediateKey = SigningKey(.p384)
    let leafKey = SigningKey(.p256)
    let root = CertificateRequest(
      name: "Test Root", key: rootKey, usage: .authority(pathLength: nil), validFrom: validFrom, validUntil: validUntil
    ).issued(by: rootKey, issuer: nil)
    let intermediate = CertificateRequest(
      name: "Test Developer Relations", key: intermediateKey, usage: .authority(pathLength: 0), validFrom: validFrom,
      validUntil: validUntil, markers: [Self.intermediateMarker]
    ).issued(by: rootKey, issuer: root)
    let leaf = CertificateRequest(
      name: "Test Receipt Signing", key: leafKey, usage: .signing, validFrom: validFrom, validUntil: validUntil,
      markers: [Self.leafMarker]
    ).issued(by: intermediateKey, issuer: intermediate)
    self.init(chain: [leaf, intermediate, root], root: root, key: leafKey)
  }

  /// An authority of certificates made elsewhere.
  ///
  /// - Parameters:
  ///   - chain: The certificates that signed data is to carry, the signing one first.
  ///   - root: The root to be trusted.
  ///   - key: The key of the signing certificate.
  public init(chain: [Certificate], root: Certificate, key: SigningKey) {
    self.root = root
    self.key = key
    let list = chain.map { "\"\(Base64.encode($0.der))\"" }.joined(separator: ",")
    header = Array("{\"alg\":\"ES256\",\"x5c\":[\(list)]}".utf8)
    encodedHeader = Base64URL.encode(header)
  }

  /// The extension that a signing certificate must have.
  public static let leafMarker = CertificateChain.leafMarker
  /// The extension that the authority above it must have.
  public static let intermediateMarker = CertificateChain.intermediateMarker

  /// The signed text (JWS compact serialization) of a payload's JSON.
  public func sign(_ payload: some Collection<UInt8>) -> String {
    let dot = [UInt8(ascii: ".")]
    let signed = encodedHeader + dot + Base64URL.encode(payload)
    return String(decoding: signed + dot + Base64URL.encode(key.signature(of: signed)), as: UTF8.self)
  }

  /// The signed text of a payload's JSON.
  public func sign(_ payload: String) -> String {
    sign(payload.utf8)
  }
}
