import Foundation

/// Reads JSON5: JSON with comments, unquoted names, single quotes, commas at the end, and hexadecimal numbers.
///
/// Foundation's decoder reads JSON5 as well, but says neither where a mistake is nor that a name stands there twice.
/// Infinity and NaN, which JSON5 has, are no settings and are refused.
struct JSON5Parser {
  /// A mistake and its place.
  struct Mistake: Error {
    let line: Int
    let message: String
  }

  private let text: [UnicodeScalar]
  private var position = 0

  /// Reads a document.
  ///
  /// - Throws: ``Mistake``.
  static func parse(_ data: Data) throws(Mistake) -> ConfigurationValue {
    guard let text = String(validating: data, as: UTF8.self) else { throw Mistake(line: 1, message: "it is not UTF-8") }
    var parser = JSON5Parser(text: Array(text.unicodeScalars))
    if parser.text.first == "\u{FEFF}" { parser.position = 1 }
    let value = try parser.value(depth: 0)
    try parser.skipSpace()
    guard parser.position == parser.text.count else { throw parser.mistake("something follows the end") }
    return value
  }

  private init(text: [UnicodeScalar]) { self.text = text }

  private var next: UnicodeScalar? { position < text.count ? text[position] : nil }

  private func mistake(_ message: String) -> Mistake {
    Mistake(line: 1 + text.prefix(position).count { $0 == "\n" }, message: message)
  }

  private func unexpected(_ wanted: String) -> Mistake {
    // A character alone: what stands around it may be a secret.
    mistake(next.map { "\(wanted) is expected, and \"\($0)\" stands there" } ?? "\(wanted) is expected at the end")
  }

  private mutating func skipSpace() throws(Mistake) {
    while let scalar = next {
      if scalar.properties.isWhitespace || scalar == "\u{FEFF}" {
        position += 1
      } else if scalar == "/", position + 1 < text.count, text[position + 1] == "/" {
        while let scalar = next, scalar != "\n" && scalar != "\r" { position += 1 }
      } else if scalar == "/", position + 1 < text.count, text[position + 1] == "*" {
        let start = self
        position += 2
        while position + 1 < text.count, !(text[position] == "*" && text[position + 1] == "/") { position += 1 }
        guard position + 1 < text.count else { throw start.mistake("a comment has no end") }
        position += 2
      } else {
        return
      }
    }
  }

  private mutating func value(depth: Int) throws(Mistake) -> ConfigurationValue {
    guard depth < 100 else { throw mistake("it is nested too deeply") }
    try skipSpace()
    switch next {
    case "{": return try section(depth: depth)
    case "[": return try list(depth: depth)
    case "\"", "'": return .text(try string())
    case .some(let scalar) where "+-.0123456789".unicodeScalars.contains(scalar): return .number(try number())
    case .some(let scalar) where Self.beginsName(scalar):
      let start = self
      switch try name() {
      case "true": return .bool(true)
      case "false": return .bool(false)
      case "null": return .null
      default: throw start.mistake("text needs quotes")
      }
    default: throw unexpected("a value")
    }
  }

  private mutating func section(depth: Int) throws(Mistake) -> ConfigurationValue {
    position += 1
    var values: [String: ConfigurationValue] = [:]
    while true {
      try skipSpace()
      if next == "}" { break }
      let start = self
      let name = next == "\"" || next == "'" ? try string() : try name()
      try skipSpace()
      guard next == ":" else { throw unexpected("a \":\"") }
      position += 1
      let value = try value(depth: depth + 1)
      guard values.updateValue(value, forKey: name) == nil else {
        throw start.mistake("\"\(name)\" stands there twice")
      }
      try skipSpace()
      if next == "}" { break }
      guard next == "," else { throw unexpected("a \",\" or \"}\"") }
      position += 1
    }
    position += 1
    return .section(values)
  }

  private mutating func list(depth: Int) throws(Mistake) -> ConfigurationValue {
    position += 1
    var values: [ConfigurationValue] = []
    while true {
      try skipSpace()
      if next == "]" { break }
      values.append(try value(depth: depth + 1))
      try skipSpace()
      if next == "]" { break }
      guard next == "," else { throw unexpected("a \",\" or \"]\"") }
      position += 1
    }
    position += 1
    return .list(values)
  }

  private static func beginsName(_ scalar: UnicodeScalar) -> Bool {
    scalar == "_" || scalar == "$" || scalar.properties.isAlphabetic
  }

  private mutating func name() throws(Mistake) -> String {
    guard let first = next, Self.beginsName(first) else { throw unexpected("a name") }
    var name = String.UnicodeScalarView()
    while let scalar = next, Self.beginsName(scalar) || ("0"..."9").contains(scalar) {
      name.append(scalar)
      position += 1
    }
    return String(name)
  }

  private mutating func string() throws(Mistake) -> String {
    let start = self
    let quote = next
    position += 1
    var result = String.UnicodeScalarView()
    while let scalar = next, scalar != quote {
      guard scalar != "\n", scalar != "\r" else { throw start.mistake("a text has no end on its line") }
      position += 1
      if scalar != "\\" {
        result.append(scalar)
      } else {
        try escape(into: &result)
      }
    }
    guard next == quote else { throw start.mistake("a text has no end") }
    position += 1
    return String(result)
  }

  private mutating func escape(into result: inout String.UnicodeScalarView) throws(Mistake) {
    guard let scalar = next else { throw mistake("a text has no end") }
    position += 1
    switch scalar {
    case "n": result.append("\n")
    case "r": result.append("\r")
    case "t": result.append("\t")
    case "b": result.append("\u{8}")
    case "f": result.append("\u{C}")
    case "v": result.append("\u{B}")
    case "x": try appendUnit(hexadecimal(2), to: &result)
    case "u":
      let unit = try hexadecimal(4)
      if (0xD800..<0xDC00).contains(unit), next == "\\", position + 1 < text.count, text[position + 1] == "u" {
        position += 2
        let low = try hexadecimal(4)
        guard (0xDC00..<0xE000).contains(low) else { throw mistake("half a character") }
        try appendUnit(0x10000 + (unit - 0xD800) << 10 + (low - 0xDC00), to: &result)
      } else {
        try appendUnit(unit, to: &result)
      }
    case "\r":
      if next == "\n" { position += 1 }
    case "\n", "\u{2028}", "\u{2029}": break
    case "1"..."9", "0": throw mistake("an escape that is not known")
    default: result.append(scalar)
    }
  }

  private func appendUnit(_ value: UInt32, to result: inout String.UnicodeScalarView) throws(Mistake) {
    guard let scalar = UnicodeScalar(value), value != 0 else { throw mistake("an escape that is no character") }
    result.append(scalar)
  }

  private mutating func hexadecimal(_ count: Int) throws(Mistake) -> UInt32 {
    let digits = String(String.UnicodeScalarView(text[position..<min(position + count, text.count)]))
    guard digits.unicodeScalars.count == count, digits.allSatisfy(\.isHexDigit), let value = UInt32(digits, radix: 16)
    else { throw mistake("\(count) hexadecimal digits are expected") }
    position += count
    return value
  }

  private mutating func number() throws(Mistake) -> Decimal {
    let start = self
    var word = ""
    while let scalar = next,
      "+-.".unicodeScalars.contains(scalar) || scalar.properties.numericType != nil
        || scalar.properties.isAlphabetic
    {
      word.unicodeScalars.append(scalar)
      position += 1
    }
    var digits = word[...]
    let isNegative = digits.first == "-"
    if isNegative || digits.first == "+" { digits.removeFirst() }
    if digits.lowercased().hasPrefix("0x") {
      guard let value = UInt64(digits.dropFirst(2), radix: 16) else { throw start.mistake("not a number") }
      return isNegative ? -Decimal(value) : Decimal(value)
    }
    let pattern = /([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?/
    guard digits.wholeMatch(of: pattern) != nil, let value = Decimal(string: String(digits)) else {
      throw start.mistake("not a number")
    }
    return isNegative ? -value : value
  }
}
