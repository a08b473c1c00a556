/// What a transaction sees of others that commit while it runs.
public enum Isolation: Sendable {
  /// Each statement sees what was committed before it began.
  case readCommitted
  /// Every statement sees what was committed before the first one began.
  case repeatableRead

  /// The statement that begins such a transaction.
  var begin: String {
    switch self {
    case .readCommitted: "begin isolation level read committed"
    case .repeatableRead: "begin isolation level repeatable read"
    }
  }
}
