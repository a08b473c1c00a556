/// Base64 with `+` and `/` and its padding (RFC 4648 section 4), as in certificate lists and webhook secrets.
public enum Base64 {
  private static let alphabet = Base64Alphabet(last: "+/")

  /// The bytes of a text, or nil when it is not canonical: foreign characters (line breaks too), missing or needless
  /// padding, or unused bits that are not zero.
  public static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
    guard text.count % 4 == 0 else { return nil }
    let padding = text.suffix(2).reversed().prefix { $0 == UInt8(ascii: "=") }.count
    return alphabet.decode(text.dropLast(padding))
  }

  /// The bytes of a text, or nil when it is not canonical.
  public static func decode(_ text: String) -> [UInt8]? {
    decode(text.utf8)
  }

  /// The text of the bytes, padded.
  public static func encode(_ bytes: some Collection<UInt8>) -> String {
    var text = alphabet.encode(bytes)
    while text.count % 4 != 0 { text.append(UInt8(ascii: "=")) }
    return String(decoding: text, as: UTF8.self)
  }
}

/// Base64 with `-` and `_` and without padding (RFC 4648 section 5 as RFC 7515 uses it).
///
/// Only the canonical text of the bytes is accepted, so that one text stands for one value: a signed text could otherwise
/// be changed in its last character and still decode to the same bytes.
public enum Base64URL {
  private static let alphabet = Base64Alphabet(last: "-_")

  /// The bytes of a text, or nil when it is not canonical: foreign characters, `=`, a length of 4n + 1, or unused bits
  /// that are not zero.
  public static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
    alphabet.decode(text)
  }

  /// The bytes of a text, or nil when it is not canonical.
  public static func decode(_ text: String) -> [UInt8]? {
    alphabet.decode(text.utf8)
  }

  /// How long the text of so many bytes is.
  public static func count(encoding bytes: Int) -> Int {
    (bytes * 4 + 2) / 3
  }

  /// The text of the bytes.
  public static func encode(_ bytes: some Collection<UInt8>) -> [UInt8] {
    alphabet.encode(bytes)
  }
}

/// The 64 characters of one kind of base64, as tables.
///
/// A table loop is as fast as libcrypto's decoder (about 1 GB/s), which knows neither the URL alphabet nor how to refuse
/// what is not canonical.
struct Base64Alphabet: Sendable {
  private static let foreign: UInt32 = 1 << 31

  private let characters: [UInt8]
  /// Four tables of 256, one per place in a group of four: the character's six bits where they belong in the group's 24.
  private let values: [UInt32]

  init(last: String) {
    characters = Array(("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789" + last).utf8)
    var values = [UInt32](repeating: Self.foreign, count: 4 * 256)
    for (value, character) in characters.enumerated() {
      for place in 0..<4 { values[place * 256 + Int(character)] = UInt32(value) << (18 - 6 * place) }
    }
    self.values = values
  }

  /// The bytes of an unpadded text, or nil when it is not canonical.
  func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
    // Two steps because a closure that can be passed over gives an optional of its own.
    let decoded: [UInt8]?? = text.withContiguousStorageIfAvailable { decode($0) }
    return decoded ?? Array(text).withUnsafeBufferPointer { decode($0) }
  }

  private func decode(_ text: UnsafeBufferPointer<UInt8>) -> [UInt8]? {
    let groups = text.count / 4
    let rest = text.count % 4
    guard rest != 1 else { return nil }
    var seen: UInt32 = 0
    let bytes = values.withUnsafeBufferPointer { values in
      [UInt8](unsafeUninitializedCapacity: groups * 3 + max(rest - 1, 0)) { bytes, count in
        guard text.count > 0 else { return }
        func value(_ place: Int, _ index: Int) -> UInt32 { values[place &* 256 &+ Int(text[index])] }
        for group in 0..<groups {
          let first = group &* 4
          let bits =
            value(0, first) | value(1, first &+ 1) | value(2, first &+ 2) | value(3, first &+ 3)
          seen |= bits
          let target = group &* 3
          bytes[target] = UInt8(truncatingIfNeeded: bits >> 16)
          bytes[target &+ 1] = UInt8(truncatingIfNeeded: bits >> 8)
          bytes[target &+ 2] = UInt8(truncatingIfNeeded: bits)
        }
        count = groups * 3
        guard rest > 0 else { return }
        var bits = value(0, groups * 4) | value(1, groups * 4 + 1)
        if rest == 3 { bits |= value(2, groups * 4 + 2) }
        // Bits that belong to no byte must be zero.
        if bits & (rest == 2 ? 0xFFFF : 0xFF) != 0 { bits |= Self.foreign }
        seen |= bits
        bytes[count] = UInt8(truncatingIfNeeded: bits >> 16)
        if rest == 3 { bytes[count + 1] = UInt8(truncatingIfNeeded: bits >> 8) }
        count += rest - 1
      }
    }
    return seen & Self.foreign == 0 ? bytes : nil
  }

  /// The unpadded text of the bytes.
  func encode(_ bytes: some Collection<UInt8>) -> [UInt8] {
    // One concrete loop whatever the collection: a generic one is not specialised for callers in other modules.
    encode(Array(bytes))
  }

  private func encode(_ bytes: [UInt8]) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: Base64URL.count(encoding: bytes.count)) { text, count in
      func append(_ bits: UInt32, _ characters: Int) {
        for place in 0..<characters {
          text[count] = self.characters[Int(bits >> UInt32(18 - 6 * place) & 63)]
          count += 1
        }
      }
      var place = 0
      while place + 3 <= bytes.count {
        append(UInt32(bytes[place]) << 16 | UInt32(bytes[place + 1]) << 8 | UInt32(bytes[place + 2]), 4)
        place += 3
      }
      if place + 1 == bytes.count { append(UInt32(bytes[place]) << 16, 2) }
      if place + 2 == bytes.count { append(UInt32(bytes[place]) << 16 | UInt32(bytes[place + 1]) << 8, 3) }
    }
  }
}
