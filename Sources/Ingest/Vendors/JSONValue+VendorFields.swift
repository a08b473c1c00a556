import Foundation
import Signatures
import Vocabulary

/// Reading the forms of fields that only vendors use.
extension JSONValue {
  /// A moment as ISO 8601 writes it, also with an offset without its colon: `2026-01-01T00:00:00.000000+0000`.
  func dateTime(_ name: StaticString) throws(Rejection) -> Instant? {
    guard let text = try string(name) else { return nil }
    if let moment = Instant(text) { return moment }
    let colon = text.index(text.endIndex, offsetBy: -2, limitedBy: text.startIndex) ?? text.startIndex
    guard let moment = Instant("\(text[..<colon]):\(text[colon...])") else { throw JSONValue.malformed(name) }
    return moment
  }

  /// A moment that is there.
  func requiredDateTime(_ name: StaticString) throws(Rejection) -> Instant {
    guard let moment = try dateTime(name) else { throw Rejection(.fieldMissing, excerpt: "\(name)") }
    return moment
  }

  /// A decimal number, from its digits.
  func decimal(_ name: StaticString) throws(Rejection) -> Decimal? {
    guard let value = self[name] else { return nil }
    guard value.kind == .number, let digits = value.textOrNumber, let decimal = Decimal(string: digits) else {
      throw JSONValue.malformed(name)
    }
    return decimal
  }

  /// An amount in currency units.
  func units(_ name: StaticString) throws(Rejection) -> Micros? {
    guard let decimal = try decimal(name) else { return nil }
    guard let amount = Micros(units: decimal) else { throw JSONValue.malformed(name) }
    return amount
  }

  /// The code of a currency; what is none is not there.
  func currency(_ name: StaticString) throws(Rejection) -> String? {
    guard let code = try string(name), code.utf8.count == 3, code.utf8.allSatisfy({ (65...90).contains($0) }) else {
      return nil
    }
    return code
  }

  /// A country by the two letters of ISO 3166, as the three of a storefront; what is none is not there.
  func country(_ name: StaticString) throws(Rejection) -> String? {
    try string(name).flatMap { Country.threeLetters($0.uppercased()) }
  }

  /// The texts of an array; none where there is none.
  func texts(_ name: StaticString) throws(Rejection) -> [String] {
    guard let value = self[name] else { return [] }
    guard let elements = value.elements else { throw JSONValue.malformed(name) }
    var texts: [String] = []
    for element in elements where !element.isNull {
      guard let text = element.textOrNumber else { throw JSONValue.malformed(name) }
      if !text.isEmpty { texts.append(text) }
    }
    return texts
  }
}

extension Micros {
  /// The share of this amount, rounded half to even to a micro; nil when it does not fit.
  func share(_ fraction: Decimal) -> Micros? { Micros(units: Decimal(value) * fraction / 1_000_000) }

  /// The difference; nil when it does not fit.
  func less(_ other: Micros) -> Micros? {
    let (difference, overflow) = value.subtractingReportingOverflow(other.value)
    return overflow ? nil : Micros(difference)
  }
}
