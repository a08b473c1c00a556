import COpenSSL

/// SHA-256 (FIPS 180-4) in one call.
public enum SHA256 {
  /// How many bytes a digest has.
  public static let byteCount = 32

  /// The algorithm, looked up once: OpenSSL 3 searches its providers at every use of `EVP_sha256()`.
  /// Reading it from several threads is what libcrypto allows.
  nonisolated(unsafe) static let algorithm: OpaquePointer? = EVP_MD_fetch(nil, "SHA256", nil)

  /// The digest of the bytes.
  public static func digest(_ bytes: UnsafeRawBufferPointer) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: byteCount) { digest, count in
      let done = EVP_Digest(bytes.baseAddress, bytes.count, digest.baseAddress, nil, algorithm, nil)
      precondition(done == 1, "libcrypto could not compute SHA-256")
      count = byteCount
    }
  }

  /// The digest of the bytes.
  public static func digest(_ bytes: some Sequence<UInt8>) -> [UInt8] {
    bytes.withContiguousStorageIfAvailable { digest(UnsafeRawBufferPointer($0)) }
      ?? Array(bytes).withUnsafeBytes { digest($0) }
  }

  /// The digest of the text's UTF-8 bytes.
  public static func digest(_ text: String) -> [UInt8] {
    digest(text.utf8)
  }

  /// The digest of the bytes in 64 lower-case hexadecimal digits.
  public static func hexadecimalDigest(_ bytes: some Sequence<UInt8>) -> String { hexadecimal(digest(bytes)) }

  /// Bytes in lower-case hexadecimal digits.
  static func hexadecimal(_ bytes: [UInt8]) -> String {
    let digits = Array("0123456789abcdef".utf8)
    var text: [UInt8] = []
    text.reserveCapacity(2 * bytes.count)
    for byte in bytes {
      text.append(digits[Int(byte >> 4)])
      text.append(digits[Int(byte & 15)])
    }
    return String(decoding: text, as: UTF8.self)
  }
}
