import Foundation
import Vocabulary

/// A row of a vendor's export, its fields by the names of their columns. Fields that are empty or say null are not there.
struct ExportRow {
  private let fields: [String: String]

  init(columns: [String], fields: [String]) {
    self.fields = Dictionary(
      zip(columns, fields).filter { !["", "null", "NULL", "\\N"].contains($0.1) },
      uniquingKeysWith: { first, _ in first })
  }

  func text(_ name: String) -> String? { fields[name] }

  func required(_ name: String) throws(Rejection) -> String {
    guard let text = fields[name] else { throw Rejection(.fieldMissing, excerpt: name) }
    return text
  }

  /// `true` or `false`; older exports have `t` or `f`.
  func flag(_ name: String) throws(Rejection) -> Bool? {
    switch fields[name]?.lowercased() {
    case nil: return nil
    case "true"?, "t"?, "1"?: return true
    case "false"?, "f"?, "0"?: return false
    default: throw Rejection(.malformed, excerpt: name)
    }
  }

  /// A moment, in UTC where it names no offset: `2023-01-01 08:27:06`, perhaps with a fraction or `UTC` behind it.
  func moment(_ name: String) throws(Rejection) -> Instant? {
    guard var text = fields[name] else { return nil }
    if text.hasSuffix(" UTC") { text.removeLast(4) }
    guard let moment = Instant(text) ?? Instant(text + "Z") else { throw Rejection(.malformed, excerpt: name) }
    return moment
  }

  /// A decimal number, from its digits.
  func decimal(_ name: String) throws(Rejection) -> Decimal? {
    guard let text = fields[name] else { return nil }
    guard text.utf8.allSatisfy({ "+-0123456789.eE".utf8.contains($0) }), let decimal = Decimal(string: text) else {
      throw Rejection(.malformed, excerpt: name)
    }
    return decimal
  }

  /// An amount in currency units.
  func units(_ name: String) throws(Rejection) -> Micros? {
    guard let decimal = try decimal(name) else { return nil }
    guard let amount = Micros(units: decimal) else { throw Rejection(.malformed, excerpt: name) }
    return amount
  }

  /// The code of a currency; what is none is not there.
  func currency(_ name: String) -> String? {
    fields[name].flatMap { Catalogue.isCode($0) ? $0 : nil }
  }

  /// A country by the two letters of ISO 3166, as the three of a storefront; what is none is not there.
  func country(_ name: String) -> String? { fields[name].flatMap { Country.threeLetters($0.uppercased()) } }

  // MARK: - The text of a row

  /// The fields of a row; nil when a quotation mark is not closed: the row goes on in the next line.
  ///
  /// Beside RFC 4180, in which a quotation mark in a field is written twice, exports write one behind a backslash, and a
  /// mark that neither a comma nor the end follows ends nothing.
  static func fields(of text: String) -> [String]? {
    var fields: [String] = []
    var field = String.UnicodeScalarView()
    let scalars = Array(text.unicodeScalars)
    var at = 0
    while true {
      if at < scalars.count, scalars[at] == "\"" {
        at += 1
        var isClosed = false
        while at < scalars.count, !isClosed {
          let next = at + 1 < scalars.count ? scalars[at + 1] : nil
          switch scalars[at] {
          case "\\" where next == "\"", "\"" where next == "\"":
            field.append("\"")
            at += 1
          case "\"" where next == nil || next == "," || next == "\r": isClosed = true
          case let scalar: field.append(scalar)
          }
          at += 1
        }
        guard isClosed else { return nil }
        while at < scalars.count, scalars[at] == "\r" { at += 1 }
      } else {
        while at < scalars.count, scalars[at] != "," {
          if scalars[at] != "\r" { field.append(scalars[at]) }
          at += 1
        }
      }
      fields.append(String(field))
      field = String.UnicodeScalarView()
      guard at < scalars.count, scalars[at] == "," else { return fields }
      at += 1
    }
  }
}

extension Decimal {
  /// This share of an amount, rounded half to even to a micro; nil when it does not fit.
  func share(of amount: Micros) -> Micros? { Micros(units: Decimal(amount.value) * self / 1_000_000) }
}
