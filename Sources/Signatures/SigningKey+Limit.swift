import COpenSSL

extension SigningKey {
  /// Has libcrypto verify one signature by this key so many times, and does nothing else: the least that verifying as many
  /// signed texts can cost. A benchmark compares with it.
  public func verifySignature(times count: Int) {
    let digest = SHA256.digest("signed")
    let raw = signature(of: Array("signed".utf8))
    var der = [UInt8](repeating: 0, count: 72)
    let length = der.withUnsafeMutableBufferPointer { buffer in
      buffer.baseAddress.map { ECDSASignature.writeDER(of: raw, to: $0) } ?? 0
    }
    let context = EVP_PKEY_CTX_new(key, nil)
    defer { EVP_PKEY_CTX_free(context) }
    guard EVP_PKEY_verify_init(context) == 1 else { preconditionFailure("libcrypto could not verify") }
    for _ in 0..<count {
      let verified = EVP_PKEY_verify(context, der, length, digest, digest.count)
      precondition(verified == 1, "libcrypto refused a signature that it made")
    }
  }
}
