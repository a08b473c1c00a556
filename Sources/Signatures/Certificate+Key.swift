import COpenSSL

extension Certificate {
  /// Whether the private key in a file of PEM, not encrypted, is the one that this certificate is for; false where there is
  /// none in it.
  public func isFor(keyInFile bytes: [UInt8]) -> Bool {
    let key = bytes.withUnsafeBytes { bytes -> OpaquePointer? in
      guard let buffer = BIO_new_mem_buf(bytes.baseAddress, Int32(clamping: bytes.count)) else { return nil }
      defer { BIO_free(buffer) }
      // Without a callback of its own libcrypto asks at the terminal for the password of an encrypted key.
      return PEM_read_bio_PrivateKey(buffer, nil, { _, _, _, _ in -1 }, nil)
    }
    defer { ERR_clear_error() }
    guard let key else { return false }
    defer { EVP_PKEY_free(key) }
    return X509_check_private_key(x509, key) == 1
  }
}
