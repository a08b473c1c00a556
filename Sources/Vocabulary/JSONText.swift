/// Writes a JSON object with sorted keys and no spaces: one value, one text, so that its digest can stand for it.
///
/// Members are added in the order of their keys' bytes. Every event is written at least once, so the text is built in one
/// buffer.
struct JSONText {
  private var bytes: [UInt8] = [UInt8(ascii: "{")]
  private var lastKey: StaticString = ""

  init() { bytes.reserveCapacity(512) }

  /// Begins a member; its value follows.
  private mutating func begin(_ key: StaticString) {
    assert("\(lastKey)".utf8.lexicographicallyPrecedes("\(key)".utf8), "\(key) comes after \(lastKey)")
    lastKey = key
    if bytes.count > 1 { bytes.append(UInt8(ascii: ",")) }
    bytes.append(UInt8(ascii: "\""))
    bytes.append(contentsOf: UnsafeBufferPointer(start: key.utf8Start, count: key.utf8CodeUnitCount))
    bytes.append(UInt8(ascii: "\""))
    bytes.append(UInt8(ascii: ":"))
  }

  /// Adds a member whose value is JSON text already.
  mutating func add(_ key: StaticString, raw value: String) {
    begin(key)
    append(value)
  }

  /// Adds a text; nothing when it is `nil`.
  mutating func add(_ key: StaticString, _ value: String?) {
    guard let value else { return }
    begin(key)
    appendQuoted(value)
  }

  /// Adds a moment.
  mutating func add(_ key: StaticString, _ value: Instant) {
    begin(key)
    appendQuoted(value.description)
  }

  /// Adds a list of texts.
  mutating func add(_ key: StaticString, _ values: [String]) {
    begin(key)
    appendList(values)
  }

  /// Adds what a version says of a field: nothing, `null`, or the value as `write` makes it.
  private mutating func add<Value>(
    _ key: StaticString, _ statement: Stated<Value>, _ write: (inout JSONText, Value) -> Void
  ) {
    switch statement {
    case .unstated: break
    case .absent: add(key, raw: "null")
    case .value(let value):
      begin(key)
      write(&self, value)
    }
  }

  /// Adds what a version says of a text.
  mutating func add(_ key: StaticString, _ statement: Stated<String>) {
    add(key, statement) { $0.appendQuoted($1) }
  }

  /// Adds what a version says of a word.
  mutating func add(_ key: StaticString, _ statement: Stated<some Word>) {
    add(key, statement) { $0.appendQuoted($1.rawValue) }
  }

  /// Adds what a version says of a moment.
  mutating func add(_ key: StaticString, _ statement: Stated<Instant>) {
    add(key, statement) { $0.appendQuoted($1.description) }
  }

  /// Adds what a version says of an amount.
  mutating func add(_ key: StaticString, _ statement: Stated<Micros>) {
    add(key, statement) { $0.append($1.description) }
  }

  /// Adds what a version says of a flag.
  mutating func add(_ key: StaticString, _ statement: Stated<Bool>) {
    add(key, statement) { $0.append($1 ? "true" : "false") }
  }

  /// Adds what a version says of a number.
  mutating func add(_ key: StaticString, _ statement: Stated<Int64>) {
    add(key, statement) { $0.append(String($1)) }
  }

  /// Adds what a version says of a list of texts.
  mutating func add(_ key: StaticString, _ statement: Stated<[String]>) {
    add(key, statement) { $0.appendList($1) }
  }

  /// Adds what a version says of an offer.
  mutating func add(_ key: StaticString, _ statement: Stated<Offer>) {
    add(key, statement) { $0.append($1.json) }
  }

  /// The object's text.
  var text: String { String(decoding: bytes + [UInt8(ascii: "}")], as: UTF8.self) }

  /// Whether nothing was added.
  var isEmpty: Bool { bytes.count == 1 }

  private mutating func append(_ text: String) { bytes.append(contentsOf: text.utf8) }

  private mutating func appendList(_ texts: [String]) {
    bytes.append(UInt8(ascii: "["))
    for (index, text) in texts.enumerated() {
      if index > 0 { bytes.append(UInt8(ascii: ",")) }
      appendQuoted(text)
    }
    bytes.append(UInt8(ascii: "]"))
  }

  private mutating func appendQuoted(_ text: String) {
    bytes.append(UInt8(ascii: "\""))
    var text = text
    text.withUTF8 { utf8 in
      if utf8.allSatisfy({ $0 >= 0x20 && $0 != UInt8(ascii: "\"") && $0 != 0x5C }) {
        bytes.append(contentsOf: utf8)
      } else {
        for byte in utf8 { appendEscaped(byte) }
      }
    }
    bytes.append(UInt8(ascii: "\""))
  }

  private mutating func appendEscaped(_ byte: UInt8) {
    switch byte {
    case UInt8(ascii: "\""): bytes += [0x5C, 0x22]
    case 0x5C: bytes += [0x5C, 0x5C]
    case 0x0A: bytes += Array("\\n".utf8)
    case 0x0D: bytes += Array("\\r".utf8)
    case 0x09: bytes += Array("\\t".utf8)
    case 0..<0x20:
      let digits = String(byte, radix: 16)
      bytes += Array(("\\u" + String(repeating: "0", count: 4 - digits.count) + digits).utf8)
    default: bytes.append(byte)
    }
  }
}
