import Foundation
import Vocabulary

/// Fields by their names, as vendors write them in JSON or in the columns of an export. One that is empty or says null is
/// not there. One of another form than documented makes its event `malformed`, and the rejection names it.
protocol NamedFields {
  /// A text.
  func string(_ name: StaticString) throws(Rejection) -> String?
  /// A decimal number, from its digits.
  func decimal(_ name: StaticString) throws(Rejection) -> Decimal?
}

extension NamedFields {
  /// A text that is there.
  func required(_ name: StaticString) throws(Rejection) -> String {
    guard let text = try string(name) else { throw Rejection(.fieldMissing, excerpt: "\(name)") }
    return text
  }

  /// A moment as ISO 8601 writes it, also with an offset without its colon (`2026-01-01T00:00:00.000000+0000`), with `UTC`
  /// behind it or with nothing: then it is of UTC.
  func dateTime(_ name: StaticString) throws(Rejection) -> Instant? {
    guard var text = try string(name) else { return nil }
    if text.hasSuffix(" UTC") { text.removeLast(4) }
    let colon = text.index(text.endIndex, offsetBy: -2, limitedBy: text.startIndex) ?? text.startIndex
    guard let moment = Instant(text) ?? Instant(text + "Z") ?? Instant("\(text[..<colon]):\(text[colon...])") else {
      throw Self.malformed(name)
    }
    return moment
  }

  /// An amount in currency units.
  func units(_ name: StaticString) throws(Rejection) -> Micros? {
    guard let decimal = try decimal(name) else { return nil }
    guard let amount = Micros(units: decimal) else { throw Self.malformed(name) }
    return amount
  }

  /// The code of a currency; what is none is not there.
  func currency(_ name: StaticString) throws(Rejection) -> String? {
    try string(name).flatMap { Catalogue.isCode($0) ? $0 : nil }
  }

  /// A country by the two letters of ISO 3166, as the three of a storefront; what is none is not there.
  func country(_ name: StaticString) throws(Rejection) -> String? {
    try string(name).flatMap { Country.threeLetters($0.uppercased()) }
  }

  static func malformed(_ name: StaticString) -> Rejection { Rejection(.malformed, excerpt: "\(name)") }
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
