import COpenSSL

/// What a certificate is to say; ``issued(by:issuer:)`` makes it.
public struct CertificateRequest: Sendable {
  /// What a certificate's key may do.
  public enum Usage: Sendable {
    /// Sign certificates. The number is how many authorities may follow; nil leaves it open.
    case authority(pathLength: Int?)
    /// Sign payloads.
    case signing
  }

  /// The common name of its subject.
  public var name: String
  /// The subject's key.
  public var key: SigningKey
  /// What the key may do.
  public var usage: Usage
  /// The first second of validity since 1970.
  public var validFrom: Int64
  /// The last second of validity since 1970.
  public var validUntil: Int64
  /// Object identifiers of extensions that say nothing but that they are there, as Apple marks its certificates.
  public var markers: [String]

  /// A request of these parts.
  public init(
    name: String, key: SigningKey, usage: Usage, validFrom: Int64, validUntil: Int64, markers: [String] = []
  ) {
    self.name = name
    self.key = key
    self.usage = usage
    self.validFrom = validFrom
    self.validUntil = validUntil
    self.markers = markers
  }

  /// The certificate, signed with SHA-384 by the issuer's key. Without an issuer it is self-signed: a root.
  public func issued(by issuerKey: SigningKey, issuer: Certificate?) -> Certificate {
    guard let x509 = X509_new() else { preconditionFailure("libcrypto is out of memory") }
    let certificate = Certificate(owning: x509)
    X509_set_version(x509, 2)
    // 63 random bits: unique without keeping account, and never negative.
    var serial = RandomBytes.make(count: 8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    serial = serial >> 1 | 1
    ASN1_INTEGER_set_uint64(X509_get_serialNumber(x509), serial)
    ASN1_TIME_set(X509_getm_notBefore(x509), time_t(validFrom))
    ASN1_TIME_set(X509_getm_notAfter(x509), time_t(validUntil))
    X509_NAME_add_entry_by_txt(X509_get_subject_name(x509), "CN", MBSTRING_UTF8, name, -1, -1, 0)
    X509_set_issuer_name(x509, X509_get_subject_name(issuer?.x509 ?? x509))
    X509_set_pubkey(x509, key.key)
    switch usage {
    case .authority(let pathLength):
      let limit = pathLength.map { ",pathlen:\($0)" } ?? ""
      add(NID_basic_constraints, "critical,CA:TRUE\(limit)", to: x509, issuer: issuer)
      add(NID_key_usage, "critical,keyCertSign,cRLSign", to: x509, issuer: issuer)
    case .signing:
      add(NID_basic_constraints, "critical,CA:FALSE", to: x509, issuer: issuer)
      add(NID_key_usage, "critical,digitalSignature", to: x509, issuer: issuer)
    }
    add(NID_subject_key_identifier, "hash", to: x509, issuer: issuer)
    if issuer != nil { add(NID_authority_key_identifier, "keyid:always", to: x509, issuer: issuer) }
    for marker in markers { addMarker(marker, to: x509) }
    precondition(X509_sign(x509, issuerKey.key, EVP_sha384()) > 0, "libcrypto could not sign a certificate")
    // Read again, so that what is handed out is what others will read.
    guard let issued = Certificate(der: certificate.der) else { preconditionFailure("a certificate cannot be read") }
    return issued
  }

  private func add(_ kind: CInt, _ value: String, to x509: OpaquePointer, issuer: Certificate?) {
    var context = X509V3_CTX()
    X509V3_set_ctx(&context, issuer?.x509 ?? x509, x509, nil, nil, 0)
    let made = X509V3_EXT_conf_nid(nil, &context, kind, value)
    precondition(made != nil, "libcrypto does not know the extension \(value)")
    X509_add_ext(x509, made, -1)
    X509_EXTENSION_free(made)
  }

  private func addMarker(_ identifier: String, to x509: OpaquePointer) {
    let object = OBJ_txt2obj(identifier, 1)
    let null = ASN1_OCTET_STRING_new()
    ASN1_OCTET_STRING_set(null, [0x05, 0x00], 2)
    let made = X509_EXTENSION_create_by_OBJ(nil, object, 0, null)
    X509_add_ext(x509, made, -1)
    X509_EXTENSION_free(made)
    ASN1_OCTET_STRING_free(null)
    ASN1_OBJECT_free(object)
  }
}
