import Foundation

/// A value of a configuration file as it stands there.
enum ConfigurationValue: Decodable {
  case null
  case bool(Bool)
  case number(Decimal)
  case text(String)
  case list([ConfigurationValue])
  case section([String: ConfigurationValue])

  init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if container.decodeNil() {
      self = .null
    } else if let value = try? container.decode(Bool.self) {
      self = .bool(value)
    } else if let value = try? container.decode(String.self) {
      self = .text(value)
    } else if let value = try? container.decode([ConfigurationValue].self) {
      self = .list(value)
    } else if let value = try? container.decode([String: ConfigurationValue].self) {
      self = .section(value)
    } else {
      self = .number(try container.decode(Decimal.self))
    }
  }

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
