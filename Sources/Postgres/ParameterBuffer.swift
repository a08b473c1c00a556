/// Parameters in the form libpq takes them: one run of bytes, with where each value lies, its type and its format.
struct ParameterBuffer {
  private var bytes: [UInt8] = []
  private var places: [(offset: Int, length: Int)?] = []
  private var types: [UInt32] = []
  private var formats: [Int32] = []

  /// PostgreSQL's numbers of the types used here (`pg_type.oid`); 0 lets the statement decide.
  private enum TypeNumber {
    static let unspecified: UInt32 = 0
    static let bool: UInt32 = 16
    static let bytea: UInt32 = 17
    static let int8: UInt32 = 20
    static let text: UInt32 = 25
    static let textArray: UInt32 = 1009
    static let int8Array: UInt32 = 1016
    static let timestamptz: UInt32 = 1184
  }

  /// - Throws: ``PostgresError`` when a text holds a NUL character, which PostgreSQL cannot store.
  init(_ parameters: [Parameter], context: @autoclosure () -> String) throws(PostgresError) {
    for (index, parameter) in parameters.enumerated() {
      let start = bytes.count
      switch parameter {
      case .null:
        add(type: TypeNumber.unspecified, binary: false, place: nil)
        continue
      case .bool(let value):
        bytes.append(value ? 1 : 0)
        add(type: TypeNumber.bool, binary: true, place: (start, 1))
      case .int(let value):
        bytes.appendBigEndian(value)
        add(type: TypeNumber.int8, binary: true, place: (start, 8))
      case .text(let value), .json(let value):
        bytes.append(contentsOf: value.utf8)
        if bytes[start...].contains(0) {
          throw PostgresError(
            sqlState: "22021", message: "parameter $\(index + 1) holds a NUL character, which PostgreSQL cannot store",
            context: context())
        }
        // Text format: libpq takes the length from the terminating zero.
        bytes.append(0)
        add(type: TypeNumber.unspecified, binary: false, place: (start, 0))
      case .bytes(let value):
        bytes.append(contentsOf: value)
        add(type: TypeNumber.bytea, binary: true, place: (start, value.count))
      case .timestamp(let microseconds):
        bytes.appendBigEndian(microseconds - BinaryRows.microsecondsFrom1970To2000)
        add(type: TypeNumber.timestamptz, binary: true, place: (start, 8))
      case .texts(let values):
        bytes.appendArray(of: TypeNumber.text, values, hasNulls: values.contains { $0 == nil }) { bytes, value in
          bytes.appendField(value)
        }
        add(type: TypeNumber.textArray, binary: true, place: (start, bytes.count - start))
      case .ints(let values):
        bytes.appendArray(of: TypeNumber.int8, values, hasNulls: false) { bytes, value in
          bytes.appendBigEndian(Int32(8))
          bytes.appendBigEndian(value)
        }
        add(type: TypeNumber.int8Array, binary: true, place: (start, bytes.count - start))
      }
    }
  }

  private mutating func add(type: UInt32, binary: Bool, place: (Int, Int)?) {
    types.append(type)
    formats.append(binary ? 1 : 0)
    places.append(place.map { (offset: $0.0, length: $0.1) })
  }

  /// The number of parameters.
  var count: Int32 { Int32(places.count) }

  /// Calls `body` with the arrays that `PQexecParams` and `PQsendQueryParams` take: types, values, lengths, formats.
  func withPointers<T>(
    _ body: ([UInt32], [UnsafePointer<CChar>?], [Int32], [Int32]) throws -> T
  ) rethrows -> T {
    // An empty run of bytes may have no address; a value of no bytes still needs one, since null means SQL's null.
    try (bytes + [0]).withUnsafeBytes { raw in
      let values = places.map { place in
        place.flatMap { raw.baseAddress?.advanced(by: $0.offset).assumingMemoryBound(to: CChar.self) }
      }
      let lengths = places.map { Int32($0?.length ?? 0) }
      return try body(types, values, lengths, formats)
    }
  }
}

extension [UInt8] {
  /// Appends an integer in network byte order.
  mutating func appendBigEndian(_ value: some FixedWidthInteger) {
    Swift.withUnsafeBytes(of: value.bigEndian) { append(contentsOf: $0) }
  }

  /// Appends a length and the text, or the length -1 that means null.
  mutating func appendField(_ text: String?) {
    guard var text else { return appendBigEndian(Int32(-1)) }
    text.withUTF8 { utf8 in
      appendBigEndian(Int32(utf8.count))
      append(contentsOf: utf8)
    }
  }

  /// Appends a one-dimensional array in PostgreSQL's binary format.
  mutating func appendArray<Value>(
    of type: UInt32, _ elements: [Value], hasNulls: Bool, _ appendElement: (inout [UInt8], Value) -> Void
  ) {
    appendBigEndian(Int32(elements.isEmpty ? 0 : 1))
    appendBigEndian(Int32(hasNulls ? 1 : 0))
    appendBigEndian(type)
    if elements.isEmpty { return }
    appendBigEndian(Int32(elements.count))
    appendBigEndian(Int32(1))
    for element in elements { appendElement(&self, element) }
  }
}
