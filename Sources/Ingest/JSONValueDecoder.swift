import Foundation
import Signatures

/// Reads a `Decodable` from a JSON value that was scanned already.
///
/// Beside Foundation's decoder it has one meaning for every text (``JSONDocument`` refuses the ambiguous ones), keeps all
/// digits of a decimal number, and is several times faster.
struct JSONValueDecoder: Decoder {
  let value: JSONValue
  var codingPath: [any CodingKey] = []
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    guard value.kind == .object else { throw mismatch([String: Any].self, "an object is needed") }
    return KeyedDecodingContainer(Members<Key>(members: value.members, codingPath: codingPath))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    guard let elements = value.elements else { throw mismatch([Any].self, "an array is needed") }
    return Elements(elements: elements, codingPath: codingPath)
  }

  func singleValueContainer() throws -> any SingleValueDecodingContainer { self }

  fileprivate func mismatch(_ type: Any.Type, _ problem: String) -> DecodingError {
    .typeMismatch(type, .init(codingPath: codingPath, debugDescription: problem))
  }

  fileprivate func string() throws -> String {
    guard let text = value.text else { throw mismatch(String.self, "a text is needed") }
    return text
  }

  fileprivate func bool() throws -> Bool {
    guard let bool = value.bool else { throw mismatch(Bool.self, "true or false is needed") }
    return bool
  }

  fileprivate func integer<Integer: FixedWidthInteger>(_ type: Integer.Type) throws -> Integer {
    guard let number = value.int64, let integer = Integer(exactly: number) else {
      throw mismatch(type, "a whole number is needed that fits")
    }
    return integer
  }

  fileprivate func decodable<T: Decodable>(_ type: T.Type) throws -> T {
    if type == Decimal.self {
      let digits = value.kind == .number ? value.textOrNumber : nil
      guard let decimal = digits.flatMap({ Decimal(string: $0) }), let result = decimal as? T else {
        throw mismatch(type, "a number is needed")
      }
      return result
    }
    return try T(from: self)
  }

  // MARK: - Objects

  private struct Members<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let members: [(name: String, value: JSONValue)]
    let codingPath: [any CodingKey]

    var allKeys: [Key] { members.compactMap { Key(stringValue: $0.name) } }

    private func value(_ name: String) -> JSONValue? {
      for member in members where member.name == name { return member.value }
      return nil
    }

    func contains(_ key: Key) -> Bool { value(key.stringValue) != nil }

    func decodeNil(forKey key: Key) throws -> Bool { try decoder(key).value.isNull }

    private func decoder(_ key: Key) throws -> JSONValueDecoder {
      guard let value = value(key.stringValue) else {
        throw DecodingError.keyNotFound(key, .init(codingPath: codingPath, debugDescription: "it is missing"))
      }
      return JSONValueDecoder(value: value, codingPath: codingPath + [key])
    }

    func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool { try decoder(key).bool() }
    func decode(_ type: String.Type, forKey key: Key) throws -> String { try decoder(key).string() }
    func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 { try decoder(key).integer(type) }
    func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T { try decoder(key).decodable(type) }

    func nestedContainer<NestedKey: CodingKey>(
      keyedBy type: NestedKey.Type, forKey key: Key
    ) throws -> KeyedDecodingContainer<NestedKey> {
      try decoder(key).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
      try decoder(key).unkeyedContainer()
    }

    func superDecoder() throws -> any Decoder {
      throw DecodingError.dataCorrupted(.init(codingPath: codingPath, debugDescription: "nothing inherits here"))
    }

    func superDecoder(forKey key: Key) throws -> any Decoder { try decoder(key) }
  }

  // MARK: - Arrays

  private struct Elements: UnkeyedDecodingContainer {
    let elements: [JSONValue]
    let codingPath: [any CodingKey]
    private(set) var currentIndex = 0

    init(elements: [JSONValue], codingPath: [any CodingKey]) {
      self.elements = elements
      self.codingPath = codingPath
    }

    var count: Int? { elements.count }
    var isAtEnd: Bool { currentIndex == elements.count }

    private mutating func next() throws -> JSONValueDecoder {
      guard !isAtEnd else {
        throw DecodingError.valueNotFound(
          JSONValue.self, .init(codingPath: codingPath, debugDescription: "the array has no further element"))
      }
      currentIndex += 1
      return JSONValueDecoder(value: elements[currentIndex - 1], codingPath: codingPath)
    }

    mutating func decodeNil() throws -> Bool {
      guard !isAtEnd, elements[currentIndex].isNull else { return false }
      currentIndex += 1
      return true
    }

    mutating func decode<T: Decodable>(_ type: T.Type) throws -> T { try next().decodable(type) }

    mutating func nestedContainer<NestedKey: CodingKey>(
      keyedBy type: NestedKey.Type
    ) throws -> KeyedDecodingContainer<NestedKey> {
      try next().container(keyedBy: type)
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer { try next().unkeyedContainer() }

    mutating func superDecoder() throws -> any Decoder { try next() }
  }
}

extension JSONValueDecoder: SingleValueDecodingContainer {
  func decodeNil() -> Bool { value.isNull }
  func decode(_ type: Bool.Type) throws -> Bool { try bool() }
  func decode(_ type: String.Type) throws -> String { try string() }
  func decode(_ type: Double.Type) throws -> Double { throw mismatch(type, "a decimal number is read as Decimal") }
  func decode(_ type: Float.Type) throws -> Float { throw mismatch(type, "a decimal number is read as Decimal") }
  func decode(_ type: Int.Type) throws -> Int { try integer(type) }
  func decode(_ type: Int8.Type) throws -> Int8 { try integer(type) }
  func decode(_ type: Int16.Type) throws -> Int16 { try integer(type) }
  func decode(_ type: Int32.Type) throws -> Int32 { try integer(type) }
  func decode(_ type: Int64.Type) throws -> Int64 { try integer(type) }
  func decode(_ type: UInt.Type) throws -> UInt { try integer(type) }
  func decode(_ type: UInt8.Type) throws -> UInt8 { try integer(type) }
  func decode(_ type: UInt16.Type) throws -> UInt16 { try integer(type) }
  func decode(_ type: UInt32.Type) throws -> UInt32 { try integer(type) }
  func decode(_ type: UInt64.Type) throws -> UInt64 { try integer(type) }
  func decode<T: Decodable>(_ type: T.Type) throws -> T { try decodable(type) }
}

extension DecodingError {
  /// The path of the field that is wrong, such as `transaction.period`, and what is wrong with it.
  var field: (path: String, isMissing: Bool, problem: String) {
    func path(_ keys: [any CodingKey]) -> String { keys.map(\.stringValue).joined(separator: ".") }
    switch self {
    case .keyNotFound(let key, let context):
      return (path(context.codingPath + [key]), true, "it is missing")
    case .typeMismatch(_, let context), .dataCorrupted(let context):
      return (path(context.codingPath), false, context.debugDescription)
    case .valueNotFound(_, let context):
      return (path(context.codingPath), true, "it is null")
    @unknown default:
      return ("", false, "it cannot be read")
    }
  }
}
