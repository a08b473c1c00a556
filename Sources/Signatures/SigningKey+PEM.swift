import COpenSSL

extension SigningKey {
  /// Reads a private key on P-256 from PEM text, not encrypted: the form in which App Store Connect gives out keys
  /// (PKCS #8, RFC 5958).
  ///
  /// `nil` when it is none, or of another kind.
  public convenience init?(pem: [UInt8]) {
    let read = pem.withUnsafeBytes { bytes -> OpaquePointer? in
      guard let buffer = BIO_new_mem_buf(bytes.baseAddress, Int32(clamping: bytes.count)) else { return nil }
      defer { BIO_free(buffer) }
      // Without a callback of its own libcrypto asks at the terminal for the password of an encrypted key.
      return PEM_read_bio_PrivateKey(buffer, nil, { _, _, _, _ in -1 }, nil)
    }
    ERR_clear_error()
    guard let read else { return nil }
    var group = [CChar](repeating: 0, count: 32)
    guard EVP_PKEY_is_a(read, "EC") == 1, EVP_PKEY_get_group_name(read, &group, group.count, nil) == 1,
      group.starts(with: "prime256v1".utf8.map { CChar($0) } + [0])
    else {
      EVP_PKEY_free(read)
      return nil
    }
    self.init(owning: read)
  }

  /// The private key as PEM text (PKCS #8), not encrypted. A secret.
  public var pem: String {
    let buffer = BIO_new(BIO_s_mem())
    defer { BIO_free(buffer) }
    guard PEM_write_bio_PKCS8PrivateKey(buffer, key, nil, nil, 0, nil, nil) == 1 else {
      preconditionFailure("libcrypto could not write a key")
    }
    var bytes = [UInt8](repeating: 0, count: 1024)
    let count = BIO_read(buffer, &bytes, Int32(bytes.count))
    return String(decoding: bytes.prefix(Int(max(0, count))), as: UTF8.self)
  }
}
