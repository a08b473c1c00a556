/// One value of a ``JSONDocument``.
public struct JSONValue: Sendable {
  /// The kinds of value.
  public enum Kind: Sendable, Equatable {
    /// `{…}`.
    case object
    /// `[…]`.
    case array
    /// `"…"`.
    case string
    /// A number.
    case number
    /// `true` or `false`.
    case bool
    /// `null`.
    case null
  }

  let document: JSONDocument
  let index: Int

  private var node: JSONDocument.Node { document.nodes[index] }

  /// What kind of value it is.
  public var kind: Kind {
    switch node.kind {
    case .object: .object
    case .array: .array
    case .string, .name: .string
    case .number: .number
    case .bool: .bool
    case .null: .null
    }
  }

  /// Whether it is `null`.
  public var isNull: Bool { node.kind == .null }

  /// The value's bytes as they are in the text; of a string without its quotation marks and with its escapes.
  public var source: ArraySlice<UInt8> { document.bytes[Int(node.start)..<Int(node.end)] }

  // MARK: Objects and arrays

  /// The member of that name; nil when there is none, when it is `null`, or when this is no object.
  ///
  /// A member that is `null` says the same as one that is missing in every format that is read by it; where `null` has
  /// its own meaning, ``members`` shows it.
  public subscript(_ name: StaticString) -> JSONValue? {
    member(UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount))
  }

  /// The same, for a name that is not known when the program is built.
  public func member(named name: String) -> JSONValue? {
    var name = name
    return name.withUTF8 { member($0) }
  }

  private func member(_ name: UnsafeBufferPointer<UInt8>) -> JSONValue? {
    let nodes = document.nodes
    guard nodes[index].kind == .object else { return nil }
    return document.bytes.withUnsafeBufferPointer { text in
      let end = Int(nodes[index].next)
      var at = index + 1
      while at < end {
        let found = nodes[at]
        let raw = UnsafeBufferPointer(rebasing: text[Int(found.start)..<Int(found.end)])
        let isNamed =
          found.isEscaped
          ? Self.unescaped(raw).elementsEqual(name) : raw.count == name.count && raw.elementsEqual(name)
        if isNamed { return nodes[at + 1].kind == .null ? nil : JSONValue(document: document, index: at + 1) }
        at = Int(nodes[at + 1].next)
      }
      return nil
    }
  }

  /// The members of an object with their names, in the order of the text, `null` ones too; none of anything else.
  public var members: [(name: String, value: JSONValue)] {
    guard node.kind == .object else { return [] }
    var members: [(name: String, value: JSONValue)] = []
    var at = index + 1
    while at < Int(node.next) {
      members.append((JSONValue(document: document, index: at).string, JSONValue(document: document, index: at + 1)))
      at = Int(document.nodes[at + 1].next)
    }
    return members
  }

  /// The elements of an array in their order, `null` ones too; nil of anything else.
  public var elements: [JSONValue]? {
    guard node.kind == .array else { return nil }
    var elements: [JSONValue] = []
    var at = index + 1
    while at < Int(node.next) {
      elements.append(JSONValue(document: document, index: at))
      at = Int(document.nodes[at].next)
    }
    return elements
  }

  // MARK: Single values

  /// The text of a string; nil of anything else.
  public var text: String? { node.kind == .string ? string : nil }

  /// The UTF-8 bytes of a string; nil of anything else. Nothing is copied unless the string has escapes.
  public var utf8: ArraySlice<UInt8>? {
    guard node.kind == .string else { return nil }
    return node.isEscaped ? source.withUnsafeBufferPointer { Self.unescaped($0) }[...] : source
  }

  /// `true` or `false`; nil of anything else.
  public var bool: Bool? { node.kind == .bool ? source.first == UInt8(ascii: "t") : nil }

  /// A number without a fraction that fits (`3`, also `3.0` and `3e0`); nil of anything else.
  public var int64: Int64? { integer(scaledBy: 0, rounding: .exact) }

  /// The text of a string, or the digits of a number as they are written: an identifier that some write as a number.
  public var textOrNumber: String? {
    node.kind == .number ? String(decoding: source, as: UTF8.self) : text
  }

  /// How digits that are too many are treated.
  public enum Rounding: Sendable {
    /// They make the number unreadable.
    case exact
    /// They are cut off toward minus infinity, as an earlier moment.
    case down
  }

  /// A number times a power of ten, worked out from its digits (9.99 scaled by 6 is 9990000), never through a floating
  /// point number; nil of anything else, or when it does not fit.
  public func integer(scaledBy power: Int, rounding: Rounding) -> Int64? {
    guard node.kind == .number else { return nil }
    return source.withUnsafeBufferPointer { Self.integer($0, scaledBy: power, rounding: rounding) }
  }

  private var string: String {
    node.isEscaped
      ? String(decoding: source.withUnsafeBufferPointer { Self.unescaped($0) }, as: UTF8.self)
      : document.bytes.withUnsafeBufferPointer {
        String(decoding: UnsafeBufferPointer(rebasing: $0[Int(node.start)..<Int(node.end)]), as: UTF8.self)
      }
  }

  // MARK: Reading checked text

  private static func integer(
    _ number: UnsafeBufferPointer<UInt8>, scaledBy power: Int, rounding: Rounding
  ) -> Int64? {
    let isNegative = number.first == UInt8(ascii: "-")
    // A number is digits, perhaps a fraction, perhaps an exponent: it was checked when the text was read.
    let mantissa = number.dropFirst(isNegative ? 1 : 0).prefix { $0 | 0x20 != UInt8(ascii: "e") }
    var exponent = power
    if mantissa.endIndex < number.endIndex {
      guard let written = Int(String(decoding: number[(mantissa.endIndex + 1)...], as: UTF8.self)) else { return nil }
      exponent += written
    }
    let whole = mantissa.prefix { $0 != UInt8(ascii: ".") }
    let fraction = mantissa.dropFirst(whole.count + 1)
    exponent -= fraction.count
    var magnitude: Int64 = 0
    var isCut = false
    // Digits right of the scaled number's point are cut, places left of its last digit are filled with zeros.
    let kept = whole.count + fraction.count + min(exponent, 0)
    for (place, digit) in [whole, fraction].joined().enumerated() {
      guard place < kept else {
        isCut = isCut || digit != UInt8(ascii: "0")
        continue
      }
      guard let next = append(digit &- UInt8(ascii: "0"), to: magnitude) else { return nil }
      magnitude = next
    }
    if magnitude != 0 {
      for _ in 0..<max(exponent, 0) {
        guard let next = append(0, to: magnitude) else { return nil }
        magnitude = next
      }
    }
    if isCut, rounding == .exact { return nil }
    // The magnitude is kept negative, since that side reaches one further.
    if isNegative { return isCut ? (magnitude == .min ? nil : magnitude - 1) : magnitude }
    return magnitude == .min ? nil : -magnitude
  }

  private static func append(_ digit: UInt8, to magnitude: Int64) -> Int64? {
    let (tens, overflow) = magnitude.multipliedReportingOverflow(by: 10)
    let (sum, overflowed) = tens.subtractingReportingOverflow(Int64(digit))
    return overflow || overflowed ? nil : sum
  }

  /// The value of four hexadecimal digits.
  static func hexadecimal(_ digits: UnsafePointer<UInt8>) -> UInt16? {
    var unit: UInt16 = 0
    for index in 0..<4 {
      let byte = digits[index]
      let digit: UInt8
      switch byte {
      case UInt8(ascii: "0")...UInt8(ascii: "9"): digit = byte - UInt8(ascii: "0")
      case UInt8(ascii: "a")...UInt8(ascii: "f"): digit = byte - UInt8(ascii: "a") + 10
      case UInt8(ascii: "A")...UInt8(ascii: "F"): digit = byte - UInt8(ascii: "A") + 10
      default: return nil
      }
      unit = unit << 4 | UInt16(digit)
    }
    return unit
  }

  /// The text of a string whose escapes were checked when the text was read.
  static func unescaped(_ raw: UnsafeBufferPointer<UInt8>) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(raw.count)
    var at = 0
    while at < raw.count {
      guard raw[at] == UInt8(ascii: "\\") else {
        bytes.append(raw[at])
        at += 1
        continue
      }
      at += 2
      switch raw[at - 1] {
      case UInt8(ascii: "b"): bytes.append(0x08)
      case UInt8(ascii: "f"): bytes.append(0x0C)
      case UInt8(ascii: "n"): bytes.append(0x0A)
      case UInt8(ascii: "r"): bytes.append(0x0D)
      case UInt8(ascii: "t"): bytes.append(0x09)
      case UInt8(ascii: "u"):
        var units = [unit(raw, at)]
        at += 4
        if units[0] & 0xFC00 == 0xD800 {
          units.append(unit(raw, at + 2))
          at += 6
        }
        bytes += Array(String(decoding: units, as: UTF16.self).utf8)
      default: bytes.append(raw[at - 1])
      }
    }
    return bytes
  }

  private static func unit(_ raw: UnsafeBufferPointer<UInt8>, _ start: Int) -> UInt16 {
    raw.baseAddress.flatMap { hexadecimal($0 + start) } ?? 0
  }
}
