public import Foundation

/// An amount of money: millionths of a currency's unit, never a floating-point number.
///
/// Every scale that stores use is exact in micros: App Store milliunits, Google Play units and nanos as charged, minor
/// units by ISO 4217.
public struct Micros: Hashable, Comparable, Sendable {
  /// Millionths of a currency unit; negative for money returned.
  public var value: Int64

  /// Creates an amount from millionths of a currency unit.
  public init(_ value: Int64) { self.value = value }

  /// Whether the left amount is smaller.
  public static func < (left: Micros, right: Micros) -> Bool { left.value < right.value }

  /// Creates an amount from App Store milliunits (`price` 9990 is 9.99); `nil` when it does not fit.
  ///
  /// Source: https://developer.apple.com/documentation/appstoreserverapi/price
  public init?(milliunits: Int64) {
    let (value, overflow) = milliunits.multipliedReportingOverflow(by: 1000)
    guard !overflow else { return nil }
    self.init(value)
  }

  /// Creates an amount from a decimal number of currency units, rounded half to even to a micro; `nil` when it does
  /// not fit.
  public init?(units: Decimal) {
    guard !units.isNaN else { return nil }
    var scaled = units * 1_000_000
    var rounded = Decimal()
    NSDecimalRound(&rounded, &scaled, 0, .bankers)
    guard let value = Int64("\(rounded)") else { return nil }
    self.init(value)
  }

  /// The share `part / whole` of this amount, rounded half to even to a micro. `whole` must be positive.
  public func share(_ part: Int64, of whole: Int64) -> Micros {
    let (high, low) = value.multipliedFullWidth(by: part)
    // Shares of prices never leave 64 bits: a part of at most the whole makes the result no larger than the amount.
    let (quotient, remainder) = whole.dividingFullWidth((high, low))
    let twice = abs(remainder) * 2
    let away = (value < 0) != (part < 0) ? Int64(-1) : 1
    if twice > whole || (twice == whole && quotient % 2 != 0) { return Micros(quotient + away) }
    return Micros(quotient)
  }
}

extension Micros: CustomStringConvertible {
  /// The amount in currency units with all its digits and no more: `9.99`, `3000`, `-0.000001`.
  public var description: String {
    let (units, fraction) = value.magnitude.quotientAndRemainder(dividingBy: 1_000_000)
    let sign = value < 0 ? "-" : ""
    guard fraction != 0 else { return "\(sign)\(units)" }
    var digits = String(fraction)
    digits = String(repeating: "0", count: 6 - digits.count) + digits
    while digits.last == "0" { digits.removeLast() }
    return "\(sign)\(units).\(digits)"
  }
}

/// An amount of money in a currency.
public struct Money: Hashable, Sendable {
  /// The amount.
  public var amount: Micros
  /// The currency's ISO 4217 code, such as `EUR`.
  public var currency: String

  /// Creates an amount of money.
  public init(amount: Micros, currency: String) {
    self.amount = amount
    self.currency = currency
  }

  /// The amount so many times; `nil` when it does not fit.
  public func times(_ count: Int64) -> Money? {
    let (value, overflow) = amount.value.multipliedReportingOverflow(by: count)
    return overflow ? nil : Money(amount: Micros(value), currency: currency)
  }
}
