import COpenSSL

/// Unpredictable bytes for keys, tokens and certificate serial numbers.
public enum RandomBytes {
  /// That many bytes of libcrypto's generator, which is seeded by the system.
  public static func make(count: Int) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: count) { bytes, initialized in
      precondition(RAND_bytes(bytes.baseAddress, CInt(count)) == 1, "the system gave no random bytes")
      initialized = count
    }
  }
}
