public import Foundation
public import Vocabulary

/// A value of a report's cell, as the oracle finds it.
public enum Figure: Equatable, Sendable, CustomStringConvertible {
  case null
  case count(Int)
  case amount(Micros)
  /// A quotient, compared to within the six digits that reports print.
  case share(Decimal)
  case text(String)
  case flag(Bool)
  case moment(Instant)

  /// A part of a whole; null over 0.
  static func share(_ part: Int, of whole: Int) -> Figure {
    whole == 0 ? .null : .share(Decimal(part) / Decimal(whole))
  }

  /// A text, or null.
  public static func word(_ text: String?) -> Figure { text.map(Figure.text) ?? .null }

  /// Its text.
  public var description: String {
    switch self {
    case .null: "null"
    case .count(let value): "\(value)"
    case .amount(let value): "\(value)"
    case .share(let value): "\(value)"
    case .text(let value): value
    case .flag(let value): "\(value)"
    case .moment(let value): "\(value)"
    }
  }

  /// Whether it is nothing: null, 0 or false.
  public var isNothing: Bool {
    switch self {
    case .null, .count(0), .amount(Micros(0)), .flag(false): true
    case .share(let value): value == 0
    default: false
    }
  }
}

/// The rows of one report, as the oracle finds them.
public struct OracleReport: Sendable {
  /// The columns that name a row.
  public let key: [String]
  /// The columns that are compared.
  public let columns: [String]
  /// By the texts of the key's columns; `null` where one is unknown.
  public internal(set) var rows: [[String]: [Figure]] = [:]
  /// The columns that may make a row worth showing; a row in which all of them are nothing may be left out.
  public let figures: Set<String>

  init(_ key: String, _ figures: String, also: String = "") {
    func words(_ text: String) -> [String] { text.split(separator: " ").map(String.init) }
    self.key = words(key)
    columns = words(figures) + words(also)
    self.figures = Set(words(figures))
  }

  /// Adds a row, unless there is nothing in it.
  mutating func add(_ key: [String?], _ values: [Figure]) {
    guard zip(columns, values).contains(where: { figures.contains($0) && !$1.isNothing }) else { return }
    rows[key.map { $0 ?? "null" }] = values
  }
}
