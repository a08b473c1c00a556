import COpenSSL

/// Comparing secrets so that the time taken does not tell how much of a guess was right.
public enum ConstantTime {
  /// Whether both are the same bytes. Only their lengths can be learned from the time it takes.
  public static func areEqual(_ first: [UInt8], _ second: [UInt8]) -> Bool {
    first.count == second.count && CRYPTO_memcmp(first, second, first.count) == 0
  }

  /// Whether both texts are the same UTF-8 bytes, whatever their lengths: their digests are compared, so that not even
  /// the length of a secret shows.
  public static func areEqual(_ first: String, _ second: String) -> Bool {
    areEqual(SHA256.digest(first), SHA256.digest(second))
  }
}
