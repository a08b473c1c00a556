import COpenSSL

/// The two forms of an ECDSA signature on P-256: JWS has r and s side by side, libcrypto reads and writes DER.
enum ECDSASignature {
  /// Writes the DER form of 64 bytes r and s.
  ///
  /// - Parameter target: Room for 72 bytes.
  /// - Returns: How many bytes were written.
  static func writeDER(of signature: [UInt8], to target: UnsafeMutablePointer<UInt8>) -> Int {
    var length = 2
    for part in [0, 32] {
      let end = part + 32
      var start = part
      // The shortest form of a number that is not negative.
      while start < end - 1, signature[start] == 0 { start += 1 }
      let needsZero = signature[start] >= 0x80
      target[length] = 0x02
      target[length + 1] = UInt8(end - start + (needsZero ? 1 : 0))
      length += 2
      if needsZero {
        target[length] = 0
        length += 1
      }
      for index in start..<end {
        target[length] = signature[index]
        length += 1
      }
    }
    target[0] = 0x30
    target[1] = UInt8(length - 2)
    return length
  }

  /// The 64 bytes r and s of a signature in DER.
  static func raw(der: [UInt8]) -> [UInt8] {
    der.withUnsafeBufferPointer { bytes in
      var next = bytes.baseAddress
      guard let signature = d2i_ECDSA_SIG(nil, &next, bytes.count) else {
        preconditionFailure("libcrypto made a signature that it cannot read")
      }
      defer { ECDSA_SIG_free(signature) }
      return [UInt8](unsafeUninitializedCapacity: 64) { raw, count in
        BN_bn2binpad(ECDSA_SIG_get0_r(signature), raw.baseAddress, 32)
        BN_bn2binpad(ECDSA_SIG_get0_s(signature), raw.baseAddress.map { $0 + 32 }, 32)
        count = 64
      }
    }
  }
}
