/// Reads a JSON text into the nodes of a ``JSONDocument``.
struct JSONParser {
  typealias Node = JSONDocument.Node

  private let text: UnsafePointer<UInt8>
  private let count: Int
  private var at = 0
  private(set) var nodes: [Node] = []

  init(text: UnsafePointer<UInt8>, count: Int) {
    self.text = text
    self.count = count
    nodes.reserveCapacity(min(count / 12 + 4, 1 << 16))
  }

  mutating func parse() throws(JSONFault) {
    skipSpace()
    try parseValue(depth: 0)
    skipSpace()
    guard at == count else { throw JSONFault(.syntax, at: at) }
  }

  // MARK: Values

  private mutating func parseValue(depth: Int) throws(JSONFault) {
    guard at < count else { throw JSONFault(.syntax, at: at) }
    switch text[at] {
    case UInt8(ascii: "{"): try parseObject(depth: depth + 1)
    case UInt8(ascii: "["): try parseArray(depth: depth + 1)
    case UInt8(ascii: "\""): try parseString(.string)
    case UInt8(ascii: "t"): try parseWord("true", .bool)
    case UInt8(ascii: "f"): try parseWord("false", .bool)
    case UInt8(ascii: "n"): try parseWord("null", .null)
    default: try parseNumber()
    }
  }

  private mutating func parseObject(depth: Int) throws(JSONFault) {
    guard depth <= JSONDocument.maximumDepth else { throw JSONFault(.tooDeep, at: at) }
    let index = open(.object)
    var names = 0
    if !closes(UInt8(ascii: "}")) {
      repeat {
        skipSpace()
        guard at < count, text[at] == UInt8(ascii: "\"") else { throw JSONFault(.syntax, at: at) }
        try parseString(.name)
        names += 1
        skipSpace()
        guard at < count, text[at] == UInt8(ascii: ":") else { throw JSONFault(.syntax, at: at) }
        at += 1
        skipSpace()
        try parseValue(depth: depth)
      } while try continues(until: UInt8(ascii: "}"))
    }
    close(index)
    if names > 1 { try refuseRepeatedNames(of: index, count: names) }
  }

  private mutating func parseArray(depth: Int) throws(JSONFault) {
    guard depth <= JSONDocument.maximumDepth else { throw JSONFault(.tooDeep, at: at) }
    let index = open(.array)
    if !closes(UInt8(ascii: "]")) {
      repeat {
        skipSpace()
        try parseValue(depth: depth)
      } while try continues(until: UInt8(ascii: "]"))
    }
    close(index)
  }

  private mutating func open(_ kind: Node.Kind) -> Int {
    nodes.append(Node(kind: kind, isEscaped: false, start: Int32(at), end: 0, next: 0))
    at += 1
    return nodes.count - 1
  }

  private mutating func close(_ index: Int) {
    nodes[index].end = Int32(at)
    nodes[index].next = Int32(nodes.count)
  }

  /// Whether the container that was just opened is empty; then it is closed.
  private mutating func closes(_ closing: UInt8) -> Bool {
    skipSpace()
    guard at < count, text[at] == closing else { return false }
    at += 1
    return true
  }

  /// Whether a comma follows a member; otherwise the container is closed.
  private mutating func continues(until closing: UInt8) throws(JSONFault) -> Bool {
    skipSpace()
    guard at < count, text[at] == UInt8(ascii: ",") || text[at] == closing else { throw JSONFault(.syntax, at: at) }
    at += 1
    return text[at - 1] == UInt8(ascii: ",")
  }

  private mutating func append(_ kind: Node.Kind, from start: Int, to end: Int, isEscaped: Bool = false) {
    nodes.append(
      Node(kind: kind, isEscaped: isEscaped, start: Int32(start), end: Int32(end), next: Int32(nodes.count + 1)))
  }

  private mutating func parseWord(_ word: StaticString, _ kind: Node.Kind) throws(JSONFault) {
    let length = word.utf8CodeUnitCount
    guard count - at >= length else { throw JSONFault(.syntax, at: at) }
    for offset in 0..<length where text[at + offset] != word.utf8Start[offset] {
      throw JSONFault(.syntax, at: at + offset)
    }
    append(kind, from: at, to: at + length)
    at += length
  }

  private mutating func skipSpace() {
    while at < count, [0x20, 0x0A, 0x0D, 0x09].contains(text[at]) { at += 1 }
  }

  // MARK: Numbers

  private mutating func parseNumber() throws(JSONFault) {
    let start = at
    if text[at] == UInt8(ascii: "-") { at += 1 }
    let firstDigit = at
    try parseDigits()
    if text[firstDigit] == UInt8(ascii: "0"), at > firstDigit + 1 { throw JSONFault(.syntax, at: firstDigit) }
    if at < count, text[at] == UInt8(ascii: ".") {
      at += 1
      try parseDigits()
    }
    if at < count, text[at] | 0x20 == UInt8(ascii: "e") {
      at += 1
      if at < count, text[at] == UInt8(ascii: "+") || text[at] == UInt8(ascii: "-") { at += 1 }
      let exponent = at
      try parseDigits()
      // What `numeric` of PostgreSQL can hold is far; no amount or time comes near.
      if at - exponent > 3 { throw JSONFault(.number, at: start) }
    }
    if at - start > 1000 { throw JSONFault(.number, at: start) }
    append(.number, from: start, to: at)
  }

  private mutating func parseDigits() throws(JSONFault) {
    let start = at
    while at < count, text[at] &- UInt8(ascii: "0") < 10 { at += 1 }
    if at == start { throw JSONFault(.syntax, at: at) }
  }

  // MARK: Strings

  private mutating func parseString(_ kind: Node.Kind) throws(JSONFault) {
    at += 1
    let start = at
    var isEscaped = false
    while true {
      skipPlain()
      guard at < count else { throw JSONFault(.syntax, at: at) }
      let byte = text[at]
      if byte == UInt8(ascii: "\"") { break }
      if byte == UInt8(ascii: "\\") {
        isEscaped = true
        try parseEscape()
      } else if byte < 0x20 {
        throw JSONFault(.syntax, at: at)
      } else if byte < 0x80 {
        at += 1
      } else {
        try parseMultibyte()
      }
    }
    append(kind, from: start, to: at, isEscaped: isEscaped)
    if kind == .name { nodes[nodes.count - 1].next = Int32(bitPattern: hash(start, at)) }
    at += 1
  }

  /// Passes over sixteen bytes at a time while none of them is a control, a quotation mark, a backslash or above ASCII:
  /// signed texts are thousands of such bytes.
  private mutating func skipPlain() {
    let highs: UInt64 = 0x8080_8080_8080_8080
    let raw = UnsafeRawPointer(text)
    while at &+ 16 <= count {
      let first = raw.loadUnaligned(fromByteOffset: at, as: UInt64.self)
      let second = raw.loadUnaligned(fromByteOffset: at &+ 8, as: UInt64.self)
      if (Self.marked(first) | Self.marked(second)) & highs != 0 { break }
      at &+= 16
    }
    // The marks are a little too many, never too few: the bytes are looked at singly now.
    let end = min(at &+ 16, count)
    while at < end {
      let byte = text[at]
      if byte < 0x20 || byte == 0x22 || byte == 0x5C || byte >= 0x80 { return }
      at &+= 1
    }
  }

  /// Eight bytes, with the highest bit set where one is no plain character of a string.
  private static func marked(_ word: UInt64) -> UInt64 {
    let ones: UInt64 = 0x0101_0101_0101_0101
    let quotes = word ^ (ones &* 0x22)
    let slashes = word ^ (ones &* 0x5C)
    return word | (word &- ones &* 0x20) | ((quotes &- ones) & ~quotes) | ((slashes &- ones) & ~slashes)
  }

  private mutating func parseEscape() throws(JSONFault) {
    guard at + 1 < count else { throw JSONFault(.syntax, at: at) }
    switch text[at + 1] {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
      UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
      at += 2
    case UInt8(ascii: "u"):
      let unit = try hexadecimal(at + 2)
      if unit == 0 { throw JSONFault(.nul, at: at) }
      if unit & 0xFC00 == 0xD800 {
        guard at + 7 < count, text[at + 6] == UInt8(ascii: "\\"), text[at + 7] == UInt8(ascii: "u"),
          try hexadecimal(at + 8) & 0xFC00 == 0xDC00
        else { throw JSONFault(.encoding, at: at) }
        at += 12
      } else if unit & 0xFC00 == 0xDC00 {
        throw JSONFault(.encoding, at: at)
      } else {
        at += 6
      }
    default:
      throw JSONFault(.syntax, at: at)
    }
  }

  private func hexadecimal(_ start: Int) throws(JSONFault) -> UInt16 {
    guard start + 4 <= count, let unit = JSONValue.hexadecimal(text + start) else {
      throw JSONFault(.syntax, at: start)
    }
    return unit
  }

  /// Passes over one character of two to four bytes, in its shortest form and no surrogate (RFC 3629).
  private mutating func parseMultibyte() throws(JSONFault) {
    let first = text[at]
    let length: Int
    var lowest: UInt8 = 0x80
    var highest: UInt8 = 0xBF
    switch first {
    case 0xC2...0xDF: length = 2
    case 0xE0...0xEF:
      length = 3
      if first == 0xE0 { lowest = 0xA0 }
      if first == 0xED { highest = 0x9F }
    case 0xF0...0xF4:
      length = 4
      if first == 0xF0 { lowest = 0x90 }
      if first == 0xF4 { highest = 0x8F }
    default: throw JSONFault(.encoding, at: at)
    }
    guard at + length <= count, text[at + 1] >= lowest, text[at + 1] <= highest else {
      throw JSONFault(.encoding, at: at)
    }
    for offset in 2..<max(length, 2) where text[at + offset] & 0xC0 != 0x80 { throw JSONFault(.encoding, at: at) }
    at += length
  }

  // MARK: Repeated names

  /// FNV-1a. Only a filter: names of the same hash are compared.
  private func hash(_ start: Int, _ end: Int) -> UInt32 {
    var hash: UInt32 = 2_166_136_261
    for index in start..<end { hash = (hash ^ UInt32(text[index])) &* 16_777_619 }
    return hash
  }

  private func refuseRepeatedNames(of object: Int, count names: Int) throws(JSONFault) {
    var indices: [Int] = []
    indices.reserveCapacity(names)
    var index = object + 1
    var hasEscapes = false
    while index < Int(nodes[object].next) {
      indices.append(index)
      hasEscapes = hasEscapes || nodes[index].isEscaped
      index = Int(nodes[index + 1].next)
    }
    guard names <= 32, !hasEscapes else {
      // Hashing with a secret seed, so that nobody can choose names that collide.
      var seen = Set<[UInt8]>(minimumCapacity: names)
      for index in indices where !seen.insert(plainName(index)).inserted {
        throw JSONFault(.repeatedName, at: Int(nodes[index].start))
      }
      return
    }
    for (place, later) in indices.enumerated() {
      for earlier in indices[..<place]
      where nodes[earlier].next == nodes[later].next && plainName(earlier) == plainName(later) {
        throw JSONFault(.repeatedName, at: Int(nodes[later].start))
      }
    }
  }

  private func plainName(_ index: Int) -> [UInt8] {
    let node = nodes[index]
    let raw = UnsafeBufferPointer(start: text + Int(node.start), count: Int(node.end - node.start))
    return node.isEscaped ? JSONValue.unescaped(raw) : Array(raw)
  }
}
