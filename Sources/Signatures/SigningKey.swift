import COpenSSL

/// A private key on one of the curves that the App Store uses.
///
/// It is never changed after it was made, and libcrypto allows signing with one from several threads.
public final class SigningKey: @unchecked Sendable {
  /// The curves.
  public enum Curve: String, Sendable {
    /// NIST P-256: keys that sign payloads.
    case p256 = "P-256"
    /// NIST P-384: keys of authorities.
    case p384 = "P-384"
  }

  /// The key itself, freed with this object.
  let key: OpaquePointer

  /// Makes a new key.
  public init(_ curve: Curve) {
    let context = EVP_PKEY_CTX_new_from_name(nil, "EC", nil)
    defer { EVP_PKEY_CTX_free(context) }
    var key: OpaquePointer?
    guard EVP_PKEY_keygen_init(context) == 1, EVP_PKEY_CTX_set_group_name(context, curve.rawValue) == 1,
      EVP_PKEY_generate(context, &key) == 1, let key
    else { preconditionFailure("libcrypto could not make a key") }
    self.key = key
  }

  /// Takes a key over.
  init(owning key: OpaquePointer) { self.key = key }

  deinit { EVP_PKEY_free(key) }

  /// The signature of the bytes by ECDSA with SHA-256 (ES256 of RFC 7518 for a key on P-256): r and s, 64 bytes.
  public func signature(of bytes: [UInt8]) -> [UInt8] {
    let digest = SHA256.digest(bytes)
    let context = EVP_PKEY_CTX_new(key, nil)
    defer { EVP_PKEY_CTX_free(context) }
    guard EVP_PKEY_sign_init(context) == 1 else { preconditionFailure("libcrypto could not sign") }
    let der = [UInt8](unsafeUninitializedCapacity: 128) { der, count in
      var length = der.count
      let done = EVP_PKEY_sign(context, der.baseAddress, &length, digest, digest.count)
      precondition(done == 1, "libcrypto could not sign")
      count = length
    }
    return ECDSASignature.raw(der: der)
  }

  /// Whether this key made the signature of the bytes: r and s, 64 bytes.
  public func isSignature(_ signature: [UInt8], of bytes: [UInt8]) -> Bool {
    guard signature.count == 64 else { return false }
    let digest = SHA256.digest(bytes)
    let der = [UInt8](unsafeUninitializedCapacity: 72) { der, count in
      count = der.baseAddress.map { ECDSASignature.writeDER(of: signature, to: $0) } ?? 0
    }
    let context = EVP_PKEY_CTX_new(key, nil)
    defer { EVP_PKEY_CTX_free(context) }
    guard EVP_PKEY_verify_init(context) == 1 else { preconditionFailure("libcrypto could not verify") }
    let verified = EVP_PKEY_verify(context, der, der.count, digest, digest.count)
    ERR_clear_error()
    return verified == 1
  }
}
