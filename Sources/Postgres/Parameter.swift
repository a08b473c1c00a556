/// A value bound to `$1`, `$2`, … of a statement.
///
/// Integers, flags, moments, byte strings and arrays are sent as the type they have here (`bigint`, `boolean`,
/// `timestamptz`, `bytea`, `text[]`, `bigint[]`); text and JSON take the type the statement gives them, so that
/// `$1::date`, an enum column or a `jsonb` column accept them as a literal would be.
public enum Parameter: Sendable, Equatable {
  /// SQL's null.
  case null
  /// A `boolean`.
  case bool(Bool)
  /// A `bigint`.
  case int(Int64)
  /// Text, or anything written as text, such as a date or a `numeric`.
  case text(String)
  /// A JSON document as text, for `json` and `jsonb`.
  case json(String)
  /// A `bytea`.
  case bytes([UInt8])
  /// A `timestamptz`, in microseconds since 1970-01-01 00:00 UTC.
  case timestamp(microseconds: Int64)
  /// A `text[]`, with nulls.
  case texts([String?])
  /// A `bigint[]`.
  case ints([Int64])

  /// A flag, or null.
  public init(_ value: Bool?) { self = value.map { .bool($0) } ?? .null }
  /// An integer, or null.
  public init(_ value: Int64?) { self = value.map { .int($0) } ?? .null }
  /// An integer, or null.
  public init(_ value: Int?) { self = value.map { .int(Int64($0)) } ?? .null }
  /// Text, or null.
  public init(_ value: String?) { self = value.map { .text($0) } ?? .null }
  /// A JSON document as text, or null.
  public init(json value: String?) { self = value.map { .json($0) } ?? .null }
  /// A byte string, or null.
  public init(_ value: [UInt8]?) { self = value.map { .bytes($0) } ?? .null }
  /// A moment in microseconds since 1970-01-01 00:00 UTC, or null.
  public init(microseconds value: Int64?) { self = value.map { .timestamp(microseconds: $0) } ?? .null }
}

extension Parameter: ExpressibleByNilLiteral {
  /// Null.
  public init(nilLiteral: ()) { self = .null }
}

extension Parameter: ExpressibleByStringLiteral {
  /// Text.
  public init(stringLiteral value: String) { self = .text(value) }
}

extension Parameter: ExpressibleByStringInterpolation {}

extension Parameter: ExpressibleByIntegerLiteral {
  /// An integer.
  public init(integerLiteral value: Int64) { self = .int(value) }
}

extension Parameter: ExpressibleByBooleanLiteral {
  /// A flag.
  public init(booleanLiteral value: Bool) { self = .bool(value) }
}
