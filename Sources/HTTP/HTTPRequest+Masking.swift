extension HTTPRequest {
  /// A text without what must not be shown: neither as it is, nor as a string of JSON has it, nor with characters
  /// percent-encoded, whichever they are, nor these within one another.
  public static func masking(_ secrets: [String], in text: String) -> String {
    let plain = Spelling(text)
    let (once, inJSON) = (plain.percentDecoded, plain.unescaped)
    let spellings =
      [plain] + [once, inJSON, once?.percentDecoded, inJSON?.percentDecoded, once?.unescaped].compactMap { $0 }
    var found: [Range<Int>] = []
    for secret in secrets where !secret.isEmpty {
      for spelling in spellings { found += spelling.places(of: Array(secret.utf8)) }
    }
    guard !found.isEmpty else { return text }
    var shown: [UInt8] = []
    var next = 0
    for range in found.sorted(by: { $0.lowerBound < $1.lowerBound }) {
      if range.lowerBound >= next { shown += Array(plain.bytes[next..<range.lowerBound]) + Array("…".utf8) }
      next = max(next, range.upperBound)
    }
    return String(decoding: shown + plain.bytes[next...], as: UTF8.self)
  }
}

/// A text's bytes as someone may read them, and where in the text each comes from.
private struct Spelling {
  let bytes: [UInt8]
  /// `nil` where each is the text's own.
  private let ranges: [Range<Int>]?

  init(_ text: String) {
    bytes = Array(text.utf8)
    ranges = nil
  }

  private init(_ bytes: [UInt8], _ ranges: [Range<Int>]) {
    self.bytes = bytes
    self.ranges = ranges
  }

  /// Where in the text the bytes from one to before another come from.
  private func range(_ start: Int, _ end: Int) -> Range<Int> {
    ranges.map { $0[start].lowerBound..<$0[end - 1].upperBound } ?? start..<end
  }

  /// With what `%3A` stands for in its place; `nil` where there is no such thing.
  var percentDecoded: Spelling? {
    decoded(UInt8(ascii: "%")) { bytes in
      guard let value = Self.hexadecimal(bytes.dropFirst().prefix(2), digits: 2)
      else { return nil }
      return ([UInt8(value)], 3)
    }
  }

  /// With what `\/` and `\u003a` stand for in a string of JSON in their place; `nil` where there is no such thing.
  var unescaped: Spelling? {
    decoded(UInt8(ascii: "\\")) { bytes in
      guard let kind = bytes.dropFirst().first else { return nil }
      switch kind {
      case UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "\""): return ([kind], 2)
      case UInt8(ascii: "u"):
        guard let value = Self.hexadecimal(bytes.dropFirst(2).prefix(4), digits: 4),
          let scalar = Unicode.Scalar(value)
        else { return nil }
        return (Array(String(Character(scalar)).utf8), 6)
      default: return nil
      }
    }
  }

  /// - Parameters:
  ///   - mark: What begins all that stands for something else.
  ///   - read: What the first of some bytes stand for, and how many those are; `nil` where they are what they are.
  private func decoded(
    _ mark: UInt8, _ read: (ArraySlice<UInt8>) -> (bytes: [UInt8], count: Int)?
  ) -> Spelling? {
    guard bytes.contains(mark) else { return nil }
    var result: [UInt8] = []
    var places: [Range<Int>] = []
    var next = 0
    while next < bytes.count {
      let (meant, count) = (bytes[next] == mark ? read(bytes[next...]) : nil) ?? ([bytes[next]], 1)
      result += meant
      places += meant.map { _ in range(next, next + count) }
      next += count
    }
    return Spelling(result, places)
  }

  private static func hexadecimal(_ text: ArraySlice<UInt8>, digits: Int) -> UInt32? {
    guard text.count == digits else { return nil }
    var value: UInt32 = 0
    for byte in text {
      switch byte {
      case UInt8(ascii: "0")...UInt8(ascii: "9"): value = value << 4 | UInt32(byte - UInt8(ascii: "0"))
      case UInt8(ascii: "a")...UInt8(ascii: "f"): value = value << 4 | UInt32(byte - UInt8(ascii: "a") + 10)
      case UInt8(ascii: "A")...UInt8(ascii: "F"): value = value << 4 | UInt32(byte - UInt8(ascii: "A") + 10)
      default: return nil
      }
    }
    return value
  }

  /// Where in the text some bytes are written so.
  func places(of wanted: [UInt8]) -> [Range<Int>] {
    bytes.ranges(of: wanted).map { range($0.lowerBound, $0.upperBound) }
  }
}
