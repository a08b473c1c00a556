import Foundation

/// A value of a configuration file as it stands there.
enum ConfigurationValue {
  case null
  case bool(Bool)
  case number(Decimal)
  case text(String)
  case list([ConfigurationValue])
  case section([String: ConfigurationValue])

  /// What kind of value it is, for messages.
  var kind: String {
    switch self {
    case .null: "null"
    case .bool: "true or false"
    case .number: "a number"
    case .text: "text"
    case .list: "a list"
    case .section: "a section"
    }
  }
}
