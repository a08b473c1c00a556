import COpenSSL

/// HMAC with SHA-256 (RFC 2104), the proof of origin that vendors with a shared secret use.
public enum HMACSHA256 {
  /// The 32 bytes of authentication code of a message under a key.
  public static func code(_ message: [UInt8], key: [UInt8]) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: SHA256.byteCount) { code, count in
      // A key of no bytes still needs an address: libcrypto takes NULL for "the key given before".
      let paddedKey = key + [0]
      let done = HMAC(
        SHA256.algorithm, paddedKey, CInt(key.count), message, message.count, code.baseAddress, nil)
      precondition(done != nil, "libcrypto could not compute HMAC-SHA-256")
      count = SHA256.byteCount
    }
  }

  /// Whether `code` is the message's authentication code, compared in constant time.
  public static func isValid(_ code: [UInt8], message: [UInt8], key: [UInt8]) -> Bool {
    ConstantTime.areEqual(code, self.code(message, key: key))
  }
}
