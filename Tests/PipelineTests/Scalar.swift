import Foundation
import TestSupport
import Testing

/// A value of a report as JSON has it: numbers with all their digits.
enum Scalar: Decodable, Hashable {
  case none
  case number(Decimal)
  case text(String)
  /// An array or an object, which no figure is.
  case several

  init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if container.decodeNil() {
      self = .none
    } else if let flag = try? container.decode(Bool.self) {
      self = .text(String(flag))
    } else if let number = try? container.decode(Decimal.self) {
      self = .number(number)
    } else if let text = try? container.decode(String.self) {
      self = .text(text)
    } else {
      self = .several
    }
  }

  /// As an argument of the command.
  var word: String {
    switch self {
    case .none: "null"
    case .number(let number): "\(number)"
    case .text(let text): text
    case .several: "…"
    }
  }

  /// The rows that the program prints as JSON.
  static func rows(printedBy words: [String], _ database: TestDatabase) async throws -> [[String: Scalar]] {
    let outcome = try await TestProgram.run(words, environment: ["DATABASE_URL": database.connectionString])
    try #require(outcome.code == 0, "\(words): \(outcome.errors)")
    return try JSONDecoder().decode([[String: Scalar]].self, from: Data(outcome.output.utf8))
  }
}
