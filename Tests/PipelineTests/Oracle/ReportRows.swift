import Foundation
import TestSupport
import Vocabulary

/// The rows of a report as `tenure report NAME --format json` prints them: an array of objects whose values are texts,
/// numbers, booleans and nulls. Numbers keep their digits. Made for reports of a few hundred thousand rows.
struct ReportRows {
  enum Value: Equatable {
    case null
    /// A number or a boolean, as it is written.
    case literal(String)
    case text(String)

    var description: String {
      switch self {
      case .null: "null"
      case .literal(let text): text
      case .text(let text): text
      }
    }

    /// Whether it is what the oracle finds.
    func matches(_ figure: Figure) -> Bool {
      switch (figure, self) {
      case (.null, .null): true
      case (.text(let expected), .text(let found)): expected == found
      case (.flag(let expected), .literal(let found)): found == "\(expected)"
      case (.count(let expected), .literal(let found)):
        found == "\(expected)" || Decimal(string: found) == Decimal(expected)
      case (.amount(let expected), .literal(let found)):
        found == expected.description || Decimal(string: found) == Decimal(string: expected.description)
      case (.share(let expected), .literal(let found)):
        Decimal(string: found).map { abs($0 - expected) < Decimal(sign: .plus, exponent: -7, significand: 6) } ?? false
      case (.moment(let expected), .text(let found)): Instant(found) == expected
      default: false
      }
    }

    /// Whether it is nothing: null, 0 or false.
    var isNothing: Bool {
      switch self {
      case .null, .literal("0"), .literal("false"): true
      case .literal(let text): Decimal(string: text) == 0
      case .text: false
      }
    }
  }

  private(set) var columns: [String] = []
  private(set) var rows: [[Value]] = []

  /// Reads the rows, but for those in which the given columns are all nothing: a report may show such rows or not.
  init(json: String, figures: Set<String>) throws {
    var json = json
    self = try json.withUTF8 { bytes in
      var scanner = Scanner(bytes: bytes, figures: figures)
      try scanner.scan()
      return ReportRows(columns: scanner.columns, rows: scanner.rows)
    }
  }

  private init(columns: [String], rows: [[Value]]) {
    self.columns = columns
    self.rows = rows
  }

  /// Works on bytes and makes texts only of what is kept, so that a test without optimisation can afford it.
  private struct Scanner {
    let bytes: UnsafeBufferPointer<UInt8>
    let figures: Set<String>
    var columns: [String] = []
    var rows: [[Value]] = []
    private var at = 0
    private var isFigure: [Bool] = []

    init(bytes: UnsafeBufferPointer<UInt8>, figures: Set<String>) {
      self.bytes = bytes
      self.figures = figures
    }

    private mutating func skipSpace() {
      while at < bytes.count, bytes[at] <= 0x20 { at += 1 }
    }

    /// The bytes of the value here, quotation marks included.
    private mutating func value() -> Range<Int> {
      let start = at
      if bytes[at] == 0x22 {
        at += 1
        while bytes[at] != 0x22 { at += bytes[at] == 0x5C ? 2 : 1 }
        at += 1
      } else {
        while bytes[at] != 0x2C, bytes[at] != 0x7D, bytes[at] > 0x20 { at += 1 }
      }
      return start..<at
    }

    private func text(_ range: Range<Int>) throws -> Value {
      let raw = bytes[range]
      if bytes[range.lowerBound] == 0x22 {
        if raw.contains(0x5C) {
          return .text(try JSONDecoder().decode([String].self, from: Data(Array("[".utf8) + raw + Array("]".utf8)))[0])
        }
        return .text(String(decoding: raw.dropFirst().dropLast(), as: UTF8.self))
      }
      let literal = String(decoding: raw, as: UTF8.self)
      return literal == "null" ? .null : .literal(literal)
    }

    /// Whether a value is 0, null or false.
    private func isNothing(_ range: Range<Int>) -> Bool {
      switch bytes[range.lowerBound] {
      case UInt8(ascii: "n"), UInt8(ascii: "f"): true
      case UInt8(ascii: "0"): !bytes[range].contains { $0 > 0x30 && $0 <= 0x39 }
      default: false
      }
    }

    mutating func scan() throws {
      skipSpace()
      at += 1
      skipSpace()
      var values: [Range<Int>] = []
      while at < bytes.count, bytes[at] == UInt8(ascii: "{") {
        at += 1
        values.removeAll(keepingCapacity: true)
        repeat {
          skipSpace()
          let name = value()
          if !isComplete {
            guard case .text(let column) = try text(name) else { continue }
            columns.append(column)
            isFigure.append(figures.contains(column))
          }
          skipSpace()
          at += 1
          skipSpace()
          values.append(value())
          skipSpace()
          at += 1
        } while bytes[at - 1] != 0x7D
        isComplete = true
        var index = 0
        var isKept = false
        while index < values.count, !isKept {
          isKept = isFigure[index] && !isNothing(values[index])
          index += 1
        }
        if isKept { rows.append(try values.map(text)) }
        skipSpace()
        if bytes[at] == 0x2C { at += 1 }
        skipSpace()
      }
    }

    /// Whether the names of the columns are known.
    private var isComplete = false
  }

  /// The rows as texts, in an order of their own, without the columns that tell of the arriving itself.
  func texts(without omitted: Set<String> = ["subscription_id"]) -> [String] {
    rows.map { row in
      zip(columns, row).filter { !omitted.contains($0.0) }.map { "\($0.0)=\($0.1.description)" }
        .joined(separator: " ")
    }.sorted()
  }

  /// Where the report and the oracle differ: the row, the column, what is expected and what was found.
  func differences(from expected: OracleReport) -> [String] {
    if rows.isEmpty { return expected.rows.isEmpty ? [] : ["no rows; \(expected.rows.count) expected"] }
    let missing = (expected.key + expected.columns).filter { !columns.contains($0) }
    guard missing.isEmpty else { return ["no column \(missing.joined(separator: ", "))"] }
    let keys = expected.key.map { columns.firstIndex(of: $0)! }
    let compared = expected.columns.map { columns.firstIndex(of: $0)! }
    var differences: [String] = []
    var seen: Set<[String]> = []
    for row in rows {
      let key = keys.map { row[$0].description }
      func name() -> String { zip(expected.key, key).map { "\($0)=\($1)" }.joined(separator: " ") }
      guard let figures = expected.rows[key] else {
        let something = zip(expected.columns, compared).filter {
          expected.figures.contains($0.0) && !row[$0.1].isNothing
        }
        if !something.isEmpty {
          let values = something.map { "\($0.0) \(row[$0.1].description)" }.joined(separator: ", ")
          differences.append("\(name()): a row not expected, with \(values)")
        }
        continue
      }
      if !seen.insert(key).inserted { differences.append("\(name()): twice") }
      for (index, figure) in figures.enumerated() where !row[compared[index]].matches(figure) {
        differences.append(
          "\(name()): \(expected.columns[index]): expected \(figure), found \(row[compared[index]].description)")
      }
    }
    for (key, figures) in expected.rows where !seen.contains(key) {
      let values = zip(expected.columns, figures).filter { !$0.1.isNothing }.map { "\($0.0) \($0.1)" }
      let name = zip(expected.key, key).map { "\($0)=\($1)" }.joined(separator: " ")
      differences.append("\(name): the row is missing, with \(values.joined(separator: ", "))")
    }
    return differences.sorted()
  }
}
