/// A row of a result, its values as the text PostgreSQL prints.
public struct Row: Sendable {
  /// The names of a result's columns, shared by its rows.
  final class Header: Sendable {
    let names: [String]
    let indexes: [String: Int]

    init(_ names: [String]) {
      self.names = names
      // Of columns with the same name the first is found, as with PQfnumber.
      indexes = Dictionary(names.enumerated().map { ($1, $0) }, uniquingKeysWith: { first, _ in first })
    }
  }

  private let header: Header
  /// The values in the order of the columns; nil is SQL's null.
  public let values: [String?]

  init(header: Header, values: [String?]) {
    self.header = header
    self.values = values
  }

  /// The names of the columns, in order.
  public var columns: [String] { header.names }

  /// The value of a column as text; nil when it is null. A name the result does not have is a mistake in the program.
  public subscript(_ column: String) -> String? {
    guard let index = header.indexes[column] else { preconditionFailure("the result has no column \(column)") }
    return values[index]
  }

  /// The value of a column by its position from 0; nil when it is null.
  public subscript(_ index: Int) -> String? { values[index] }

  /// The text of a column that is not null.
  ///
  /// - Throws: ``PostgresError`` when it is null or the result has no such column.
  public func text(_ column: String) throws -> String { try required(column, optionalText(column)) }

  /// The text of a column, or nil when it is null.
  public func optionalText(_ column: String) throws -> String? {
    guard let index = header.indexes[column] else {
      throw PostgresError(
        message: "the result has no column \"\(column)\" (it has \(columns.joined(separator: ", ")))",
        context: "reading a row")
    }
    return values[index]
  }

  /// The integer in a column that is not null.
  public func int(_ column: String) throws -> Int64 { try required(column, optionalInt(column)) }

  /// The integer in a column, or nil when it is null.
  public func optionalInt(_ column: String) throws -> Int64? {
    try converted(column, to: "an integer") { Int64($0) }
  }

  /// The flag in a column that is not null.
  public func bool(_ column: String) throws -> Bool { try required(column, optionalBool(column)) }

  /// The flag in a column, or nil when it is null.
  public func optionalBool(_ column: String) throws -> Bool? {
    try converted(column, to: "a boolean") { $0 == "t" ? true : $0 == "f" ? false : nil }
  }

  /// The moment in a `timestamptz` column that is not null, in microseconds since 1970-01-01 00:00 UTC.
  public func timestamp(_ column: String) throws -> Int64 { try required(column, optionalTimestamp(column)) }

  /// The moment in a `timestamptz` column, in microseconds since 1970-01-01 00:00 UTC, or nil when it is null.
  public func optionalTimestamp(_ column: String) throws -> Int64? {
    try converted(column, to: "a moment") { Self.microseconds($0) }
  }

  /// The bytes of a `bytea` column that is not null.
  public func bytes(_ column: String) throws -> [UInt8] { try required(column, optionalBytes(column)) }

  /// The bytes of a `bytea` column, or nil when it is null.
  public func optionalBytes(_ column: String) throws -> [UInt8]? {
    try converted(column, to: "a byte string") { text in
      let digits = Array(text.utf8)
      guard digits.starts(with: [0x5C, 0x78]), digits.count.isMultiple(of: 2) else { return nil }
      var bytes: [UInt8] = []
      bytes.reserveCapacity(digits.count / 2 - 1)
      for index in stride(from: 2, to: digits.count, by: 2) {
        guard let high = Self.hexDigit(digits[index]), let low = Self.hexDigit(digits[index + 1]) else { return nil }
        bytes.append(high << 4 | low)
      }
      return bytes
    }
  }

  private func required<T>(_ column: String, _ value: T?) throws -> T {
    guard let value else {
      throw PostgresError(message: "column \"\(column)\" is null", context: "reading a row")
    }
    return value
  }

  private func converted<T>(_ column: String, to kind: String, _ convert: (String) -> T?) throws -> T? {
    guard let text = try optionalText(column) else { return nil }
    guard let value = convert(text) else {
      throw PostgresError(message: "column \"\(column)\" is not \(kind)", context: "reading a row")
    }
    return value
  }

  private static func hexDigit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case 0x30...0x39: byte - 0x30
    case 0x61...0x66: byte - 0x61 + 10
    default: nil
    }
  }

  /// Reads PostgreSQL's ISO form in UTC, such as `2026-01-31 12:00:00.25+00`. Sessions run with `TimeZone` UTC and
  /// `DateStyle` ISO; years before 1 and infinities are not read.
  static func microseconds(_ text: String) -> Int64? {
    guard text.hasSuffix("+00") else { return nil }
    let halves = text.dropLast(3).split(separator: " ")
    guard halves.count == 2 else { return nil }
    let date = halves[0].split(separator: "-").map { Int64($0) }
    let clock = halves[1].split(separator: ".")
    let time = clock[0].split(separator: ":").map { Int64($0) }
    guard date.count == 3, time.count == 3, clock.count <= 2 else { return nil }
    guard let year = date[0], let month = date[1], let day = date[2] else { return nil }
    guard let hour = time[0], let minute = time[1], let second = time[2] else { return nil }
    var fraction: Int64 = 0
    if clock.count == 2 {
      let digits = String(clock[1])
      guard digits.count <= 6, let value = Int64(digits + String(repeating: "0", count: 6 - digits.count)) else {
        return nil
      }
      fraction = value
    }
    // Days since 1970-01-01 of the proleptic Gregorian calendar, with years counted from March so that the leap day
    // is a year's last.
    let marchYear = month > 2 ? year : year - 1
    let era = marchYear / 400
    let yearOfEra = marchYear - era * 400
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    let days = era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    return ((days * 24 + hour) * 60 + minute) * 60_000_000 + second * 1_000_000 + fraction
  }
}
