/// What one version of a fact says of one field.
///
/// A store's own version says everything; a vendor's event speaks only for the fields that it states. `null` in such an
/// event says that there is none; a field left out says nothing.
public enum Stated<Value: Sendable & Equatable>: Sendable, Equatable {
  /// The version says nothing of the field.
  case unstated
  /// The version says that there is none.
  case absent
  /// The version says what it is.
  case value(Value)

  /// What a snapshot says by an optional value: the value, or that there is none.
  @inlinable
  public init(snapshot value: Value?) {
    self = value.map { .value($0) } ?? .absent
  }

  /// What a version says of a field that is carried over from older versions when it is missing.
  @inlinable
  public init(carriedOver value: Value?) {
    self = value.map { .value($0) } ?? .unstated
  }

  /// The value; `nil` when there is none or when nothing is said.
  public var value: Value? {
    if case .value(let value) = self { value } else { nil }
  }

  /// Whether anything is said of the field.
  public var isStated: Bool { self != .unstated }

  /// The same statement about a value derived from this one.
  public func map<Other: Sendable & Equatable>(_ transform: (Value) -> Other) -> Stated<Other> {
    switch self {
    case .unstated: .unstated
    case .absent: .absent
    case .value(let value): .value(transform(value))
    }
  }
}
