/// Rows in the format of `COPY … (FORMAT binary)`, built field by field.
///
/// The fields of a row are appended in the order of the statement's columns, and each must be of exactly the column's
/// type: binary COPY converts nothing. `text` also serves `varchar`, `json` and enum columns.
public struct BinaryRows: Sendable {
  /// Rows begun so far.
  public private(set) var count = 0
  private(set) var bytes: [UInt8] = []
  private var fieldsMissing = 0

  /// PostgreSQL counts time from 2000-01-01.
  static let microsecondsFrom1970To2000: Int64 = 946_684_800_000_000
  private static let daysFrom1970To2000: Int32 = 10_957

  /// No rows yet.
  public init() {}

  /// Bytes built so far: what a caller looks at to bound a batch.
  public var byteCount: Int { bytes.count }

  /// Whether there are no rows.
  public var isEmpty: Bool { count == 0 }

  /// Removes all rows and keeps the memory for the next ones.
  public mutating func removeAll() {
    precondition(fieldsMissing == 0, "the last row is not complete")
    count = 0
    bytes.removeAll(keepingCapacity: true)
  }

  /// Begins a row of so many fields.
  public mutating func startRow(columns: Int) {
    precondition(fieldsMissing == 0, "the last row is not complete")
    count += 1
    fieldsMissing = columns
    bytes.appendBigEndian(Int16(columns))
  }

  /// A field of `text`, `varchar`, `json` or an enum.
  public mutating func text(_ value: String?) {
    startField()
    bytes.appendField(value)
  }

  /// A field of `json`.
  public mutating func json(_ value: String?) { text(value) }

  /// A field of `jsonb`, as JSON text.
  public mutating func jsonb(_ value: String?) {
    startField()
    guard let value else { return bytes.appendBigEndian(Int32(-1)) }
    bytes.appendBigEndian(Int32(value.utf8.count + 1))
    bytes.append(1)
    bytes.append(contentsOf: value.utf8)
  }

  /// A field of `smallint`.
  public mutating func int16(_ value: Int16?) { integer(value) }

  /// A field of `integer`.
  public mutating func int32(_ value: Int32?) { integer(value) }

  /// A field of `bigint`.
  public mutating func int64(_ value: Int64?) { integer(value) }

  /// A field of `boolean`.
  public mutating func bool(_ value: Bool?) { integer(value.map { $0 ? UInt8(1) : UInt8(0) }) }

  /// A field of `bytea`.
  public mutating func bytes(_ value: [UInt8]?) {
    startField()
    guard let value else { return bytes.appendBigEndian(Int32(-1)) }
    bytes.appendBigEndian(Int32(value.count))
    bytes.append(contentsOf: value)
  }

  /// A field of `uuid`, as its 16 bytes.
  public mutating func uuid(_ value: [UInt8]?) {
    precondition(value == nil || value?.count == 16, "a uuid has 16 bytes")
    bytes(value)
  }

  /// A field of `timestamptz`, in microseconds since 1970-01-01 00:00 UTC.
  public mutating func timestamp(microseconds value: Int64?) {
    integer(value.map { $0 - Self.microsecondsFrom1970To2000 })
  }

  /// A field of `date`, in days since 1970-01-01.
  public mutating func date(days value: Int32?) { integer(value.map { $0 - Self.daysFrom1970To2000 }) }

  /// A field of `text[]`.
  public mutating func texts(_ value: [String]?) {
    array(value, of: 25) { bytes, element in bytes.appendField(element) }
  }

  /// A field of `bigint[]`.
  public mutating func int64s(_ value: [Int64]?) {
    array(value, of: 20) { bytes, element in
      bytes.appendBigEndian(Int32(8))
      bytes.appendBigEndian(element)
    }
  }

  private mutating func startField() {
    precondition(fieldsMissing > 0, "the row has more fields than were announced")
    fieldsMissing -= 1
  }

  private mutating func integer(_ value: (some FixedWidthInteger)?) {
    startField()
    guard let value else { return bytes.appendBigEndian(Int32(-1)) }
    bytes.appendBigEndian(Int32(value.bitWidth / 8))
    bytes.appendBigEndian(value)
  }

  private mutating func array<Element>(
    _ value: [Element]?, of type: UInt32, _ appendElement: (inout [UInt8], Element) -> Void
  ) {
    startField()
    guard let value else { return bytes.appendBigEndian(Int32(-1)) }
    let start = bytes.count
    bytes.appendBigEndian(Int32(0))
    bytes.appendArray(of: type, value, hasNulls: false, appendElement)
    let length = UInt32(bytes.count - start - 4)
    for index in 0..<4 { bytes[start + index] = UInt8(truncatingIfNeeded: length >> (24 - 8 * UInt32(index))) }
  }
}
