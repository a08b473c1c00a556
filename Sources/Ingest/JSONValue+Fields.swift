import Foundation
import Signatures
import Vocabulary

/// Reading the fields of what stores and vendors send. A field that is missing, `null` or an empty text is not there: absent
/// stays absent. One of another form than documented makes the payload `malformed`, and the rejection names it.
extension JSONValue: NamedFields {
  /// A text. Identifiers that some write as numbers (`appAppleId`) are read either way.
  func string(_ name: StaticString) throws(Rejection) -> String? {
    guard let value = self[name] else { return nil }
    guard let text = value.textOrNumber else { throw JSONValue.malformed(name) }
    return text.isEmpty ? nil : text
  }

  /// A decimal number, from its digits.
  func decimal(_ name: StaticString) throws(Rejection) -> Decimal? {
    guard let value = self[name] else { return nil }
    guard value.kind == .number, let digits = value.textOrNumber, let decimal = Decimal(string: digits) else {
      throw JSONValue.malformed(name)
    }
    return decimal
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

  /// A whole number.
  func integer(_ name: StaticString) throws(Rejection) -> Int64? {
    guard let value = self[name] else { return nil }
    guard let number = value.int64 else { throw JSONValue.malformed(name) }
    return number
  }

  /// `true` or `false`.
  func flag(_ name: StaticString) throws(Rejection) -> Bool? {
    guard let value = self[name] else { return nil }
    guard let flag = value.bool else { throw JSONValue.malformed(name) }
    return flag
  }

  /// Milliseconds since 1970, with a fraction when Xcode wrote them. A moment outside of years 1 to 9999 is none that
  /// happened: the store writes the year 1 and the days before it for "unknown".
  func moment(_ name: StaticString) throws(Rejection) -> Instant? {
    guard let value = self[name] else { return nil }
    guard let microseconds = value.integer(scaledBy: 3, rounding: .down) else { throw JSONValue.malformed(name) }
    return Instant(milliseconds: microseconds / 1000) == nil ? nil : Instant(microseconds: microseconds)
  }

  /// An amount in milliunits (thousandths of a currency unit, for every currency).
  func milliunits(_ name: StaticString) throws(Rejection) -> Micros? {
    guard let units = try integer(name) else { return nil }
    guard let amount = Micros(milliunits: units) else { throw JSONValue.malformed(name) }
    return amount
  }
}
