/// Writes JSON objects with sorted keys and no spaces: one value, one text, so that its digest can stand for it.
struct JSONText {
  private var members: [(key: String, value: String)] = []

  /// Adds a member whose value is JSON text already.
  mutating func add(_ key: String, raw value: String) { members.append((key, value)) }

  /// Adds a text; nothing when it is `nil`.
  mutating func add(_ key: String, _ value: String?) {
    if let value { add(key, raw: JSONText.quoted(value)) }
  }

  /// Adds what a version says of a field: nothing, `null`, or the value as `write` makes it.
  mutating func add<Value>(_ key: String, _ statement: Stated<Value>, _ write: (Value) -> String) {
    switch statement {
    case .unstated: break
    case .absent: add(key, raw: "null")
    case .value(let value): add(key, raw: write(value))
    }
  }

  /// The object's text.
  var text: String {
    let sorted = members.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
    var text = "{"
    for (index, member) in sorted.enumerated() {
      if index > 0 { text += "," }
      text += "\"\(member.key)\":\(member.value)"
    }
    return text + "}"
  }

  /// Whether nothing was added.
  var isEmpty: Bool { members.isEmpty }

  /// A text as a JSON string.
  static func quoted(_ text: String) -> String {
    var out: [UInt8] = [UInt8(ascii: "\"")]
    out.reserveCapacity(text.utf8.count + 2)
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "\""): out += [0x5C, 0x22]
      case 0x5C: out += [0x5C, 0x5C]
      case 0x0A: out += Array("\\n".utf8)
      case 0x0D: out += Array("\\r".utf8)
      case 0x09: out += Array("\\t".utf8)
      case 0..<0x20:
        let digits = String(byte, radix: 16)
        out += Array(("\\u" + String(repeating: "0", count: 4 - digits.count) + digits).utf8)
      default: out.append(byte)
      }
    }
    out.append(UInt8(ascii: "\""))
    return String(decoding: out, as: UTF8.self)
  }
}
