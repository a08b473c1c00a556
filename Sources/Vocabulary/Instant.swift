/// A moment in time, exact to the microsecond, in UTC.
///
/// Kept as whole microseconds since 1970-01-01T00:00:00Z, the precision of PostgreSQL's `timestamptz`, so that a moment
/// is the same value in Swift, in the database and in every report.
public struct Instant: Hashable, Comparable, Sendable {
  /// Microseconds since 1970-01-01T00:00:00Z; negative before.
  public var microseconds: Int64

  /// Creates a moment from microseconds since 1970-01-01T00:00:00Z.
  public init(microseconds: Int64) { self.microseconds = microseconds }

  /// Creates a moment from milliseconds since 1970-01-01T00:00:00Z; `nil` when it lies outside of years 1 to 9999.
  public init?(milliseconds: Int64) {
    let (value, overflow) = milliseconds.multipliedReportingOverflow(by: 1000)
    guard !overflow, Instant.range.contains(value) else { return nil }
    microseconds = value
  }

  /// The years 1 to 9999, all that RFC 3339 can write.
  static let range: ClosedRange<Int64> = -62_135_596_800_000_000...253_402_300_799_999_999

  /// Whether the left moment is earlier.
  public static func < (left: Instant, right: Instant) -> Bool { left.microseconds < right.microseconds }

  /// The moment so many seconds later, or earlier when negative.
  public func adding(seconds: Int64) -> Instant { Instant(microseconds: microseconds + seconds * 1_000_000) }
}

extension Instant: LosslessStringConvertible {
  /// Reads an RFC 3339 date and time (`2026-03-01T09:30:00.25+01:00`); `nil` when the text is anything else.
  ///
  /// More than six digits of a fraction are cut off. A leap second is read as the second after it, as POSIX time does.
  public init?(_ text: String) {
    let bytes = Array(text.utf8)
    var position = 0
    func number(_ digits: Int) -> Int64? {
      guard position + digits <= bytes.count else { return nil }
      var value: Int64 = 0
      for byte in bytes[position..<position + digits] {
        guard (48...57).contains(byte) else { return nil }
        value = value * 10 + Int64(byte - 48)
      }
      position += digits
      return value
    }
    func skip(_ allowed: String) -> UInt8? {
      guard position < bytes.count, allowed.utf8.contains(bytes[position]) else { return nil }
      position += 1
      return bytes[position - 1]
    }
    guard let year = number(4), skip("-") != nil, let month = number(2), skip("-") != nil, let day = number(2),
      skip("Tt ") != nil, let hour = number(2), skip(":") != nil, let minute = number(2), skip(":") != nil,
      let second = number(2), year >= 1, (1...12).contains(month), day >= 1,
      day <= Instant.days(inMonth: month, of: year), hour < 24, minute < 60, second <= 60
    else { return nil }
    var fraction: Int64 = 0
    if skip(".") != nil {
      var scale: Int64 = 100_000
      let start = position
      while let digit = number(1) {
        fraction += digit * scale
        scale /= 10
      }
      guard position > start else { return nil }
    }
    var offset: Int64 = 0
    if skip("Zz") == nil {
      guard let sign = skip("+-"), let hours = number(2), skip(":") != nil, let minutes = number(2), hours < 24,
        minutes < 60
      else { return nil }
      offset = (hours * 3600 + minutes * 60) * (sign == UInt8(ascii: "-") ? -1 : 1)
    }
    guard position == bytes.count else { return nil }
    let seconds =
      Instant.days(year: year, month: month, day: day) * 86_400 + hour * 3600 + minute * 60 + second - offset
    self.init(microseconds: seconds * 1_000_000 + fraction)
    guard Instant.range.contains(microseconds) else { return nil }
  }

  /// RFC 3339 in UTC with milliseconds, or microseconds where there are any: `2026-03-01T09:30:00.000Z`.
  public var description: String {
    var (seconds, fraction) = microseconds.quotientAndRemainder(dividingBy: 1_000_000)
    if fraction < 0 {
      seconds -= 1
      fraction += 1_000_000
    }
    var (days, second) = seconds.quotientAndRemainder(dividingBy: 86_400)
    if second < 0 {
      days -= 1
      second += 86_400
    }
    let (year, month, day) = Instant.civil(days: days)
    // Every event is written with several moments: digits go straight into one buffer.
    let hasMicroseconds = fraction % 1000 != 0
    return String(unsafeUninitializedCapacity: 27) { buffer in
      var end = 0
      func put(_ value: Int64, _ width: Int, then mark: Unicode.Scalar) {
        var value = value
        for place in stride(from: end + width - 1, through: end, by: -1) {
          buffer[place] = UInt8(ascii: "0") + UInt8(value % 10)
          value /= 10
        }
        buffer[end + width] = UInt8(ascii: mark)
        end += width + 1
      }
      put(year, 4, then: "-")
      put(month, 2, then: "-")
      put(day, 2, then: "T")
      put(second / 3600, 2, then: ":")
      put(second / 60 % 60, 2, then: ":")
      put(second % 60, 2, then: ".")
      put(hasMicroseconds ? fraction : fraction / 1000, hasMicroseconds ? 6 : 3, then: "Z")
      return end
    }
  }

  /// Days from 1970-01-01 to a date of the Gregorian calendar.
  ///
  /// Years are counted from March, so that the leap day comes last and months have regular lengths.
  static func days(year: Int64, month: Int64, day: Int64) -> Int64 {
    let shifted = month <= 2 ? year - 1 : year
    let era = (shifted >= 0 ? shifted : shifted - 399) / 400
    let yearOfEra = shifted - era * 400
    let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
    return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
  }

  /// The date of the Gregorian calendar so many days after 1970-01-01.
  static func civil(days: Int64) -> (year: Int64, month: Int64, day: Int64) {
    let shifted = days + 719_468
    let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
    let dayOfEra = shifted - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shiftedMonth = (5 * dayOfYear + 2) / 153
    let month = shiftedMonth + (shiftedMonth < 10 ? 3 : -9)
    let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    return (year, month, dayOfYear - (153 * shiftedMonth + 2) / 5 + 1)
  }

  private static func days(inMonth month: Int64, of year: Int64) -> Int64 {
    switch month {
    case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }
}

extension Instant: Codable {
  /// Reads an RFC 3339 text.
  ///
  /// - Throws: `DecodingError.dataCorrupted` when the text is no such moment.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    let text = try container.decode(String.self)
    guard let instant = Instant(text) else {
      throw DecodingError.dataCorruptedError(
        in: container, debugDescription: "not a date and time like 2026-03-01T09:30:00Z")
    }
    self = instant
  }

  /// Writes RFC 3339 text.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(description)
  }
}
