import COpenSSL

/// An X.509 certificate.
///
/// It is never changed after it was made, and libcrypto allows reading one from several threads.
public final class Certificate: @unchecked Sendable {
  /// The certificate itself, freed with this object.
  let x509: OpaquePointer

  /// Takes over a certificate of libcrypto.
  init(owning x509: OpaquePointer) {
    self.x509 = x509
  }

  deinit { X509_free(x509) }

  /// Reads a certificate in DER; nil when the bytes are anything else, or more than one certificate.
  public convenience init?(der: [UInt8]) {
    let certificate = der.withUnsafeBufferPointer { bytes -> OpaquePointer? in
      var next = bytes.baseAddress
      guard let certificate = d2i_X509(nil, &next, bytes.count) else { return nil }
      if let next, let start = bytes.baseAddress, next - start == bytes.count { return certificate }
      X509_free(certificate)
      return nil
    }
    ERR_clear_error()
    guard let certificate else { return nil }
    self.init(owning: certificate)
  }

  /// Reads a file of certificates: one in DER, or any number in PEM. Empty when there is none, or when one of them cannot
  /// be read.
  public static func certificates(inFile bytes: [UInt8]) -> [Certificate] {
    if let certificate = Certificate(der: bytes) { return [certificate] }
    guard let bio = BIO_new_mem_buf(bytes, CInt(bytes.count)) else { return [] }
    defer {
      BIO_free(bio)
      ERR_clear_error()
    }
    var certificates: [Certificate] = []
    while let certificate = PEM_read_bio_X509(bio, nil, nil, nil) {
      certificates.append(Certificate(owning: certificate))
    }
    // The last error says why reading stopped: at the end of the file, or before a certificate that is broken.
    let error = ERR_peek_last_error()
    let reachedEnd = ERR_GET_REASON(error) == PEM_R_NO_START_LINE
    return reachedEnd ? certificates : []
  }

  /// The certificate in DER.
  public var der: [UInt8] {
    var buffer: UnsafeMutablePointer<UInt8>?
    let count = i2d_X509(x509, &buffer)
    defer { CRYPTO_free(buffer, #file, #line) }
    guard count > 0, let buffer else { return [] }
    return Array(UnsafeBufferPointer(start: buffer, count: Int(count)))
  }

  /// The certificate in PEM, as in the file of a configured root.
  public var pem: String {
    let body = Array(Base64.encode(der).utf8)
    let lines = stride(from: 0, to: body.count, by: 64).map { body[$0..<min($0 + 64, body.count)] }
    return "-----BEGIN CERTIFICATE-----\n"
      + lines.map { String(decoding: $0, as: UTF8.self) + "\n" }.joined() + "-----END CERTIFICATE-----\n"
  }

  /// When the certificate is valid, in seconds since 1970, both ends included; nil when its dates cannot be read.
  public var validity: ClosedRange<Int64>? {
    guard let start = Self.seconds(X509_get0_notBefore(x509)), let end = Self.seconds(X509_get0_notAfter(x509)),
      start <= end
    else { return nil }
    return start...end
  }

  private static func seconds(_ time: UnsafePointer<ASN1_TIME>?) -> Int64? {
    let start = ASN1_TIME_set(nil, 0)
    defer { ASN1_TIME_free(start) }
    var days: CInt = 0
    var seconds: CInt = 0
    guard ASN1_TIME_diff(&days, &seconds, start, time) == 1 else { return nil }
    return Int64(days) * 86_400 + Int64(seconds)
  }

  /// Whether the certificate has the extension of that object identifier.
  func hasExtension(_ identifier: String) -> Bool {
    let object = OBJ_txt2obj(identifier, 1)
    defer { ASN1_OBJECT_free(object) }
    return X509_get_ext_by_OBJ(x509, object, -1) >= 0
  }

  /// Whether basic constraints make it an authority.
  var isAuthority: Bool { X509_check_ca(x509) == 1 }

  /// How many authorities may stand between it and the last certificate; nil when that is not limited.
  var pathLength: Int? {
    let length = X509_get_pathlen(x509)
    return length < 0 ? nil : length
  }

  /// Whether its key is on the curve P-256.
  var hasP256Key: Bool {
    guard let key = X509_get0_pubkey(x509) else { return false }
    var name = [CChar](repeating: 0, count: 32)
    guard EVP_PKEY_get_group_name(key, &name, name.count, nil) == 1 else { return false }
    return strcmp(name, "prime256v1") == 0
  }

  /// Whether the names and key identifiers say that it was issued by that one; its signature is not looked at.
  func namesIssuer(_ issuer: Certificate) -> Bool {
    X509_check_issued(issuer.x509, x509) == X509_V_OK
  }
}
