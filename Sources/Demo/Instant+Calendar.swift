import Vocabulary

/// The calendar, in UTC.
extension Instant {
  static let day: Int64 = 86_400

  /// Days of the year before each month begins, without a leap day.
  private static let daysBefore = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365]

  /// Days from 1970-01-01 to the first day of a month, which is counted from January of the year 0.
  private static func days(toMonth index: Int) -> Int {
    let (year, month) = index.quotientAndRemainder(dividingBy: 12)
    let past = year - 1
    let leapDays = past / 4 - past / 100 + past / 400 - 477
    let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
    return (year - 1970) * 365 + leapDays + daysBefore[month] + (isLeap && month > 1 ? 1 : 0)
  }

  /// The month, counted from January of the year 0, and the days and seconds since it began.
  private var calendar: (month: Int, day: Int, second: Int64) {
    let seconds = microseconds / 1_000_000
    let days = Int(seconds / Self.day)
    // No month is longer than 31 days, so the guess is never too late.
    var month = 1970 * 12 + days / 31
    while Self.days(toMonth: month + 1) <= days { month += 1 }
    return (month, days - Self.days(toMonth: month), seconds % Self.day)
  }

  /// Seconds from one moment to another.
  static func - (left: Instant, right: Instant) -> Int64 { (left.microseconds - right.microseconds) / 1_000_000 }

  /// The same time of day so many months later; months that are too short end early.
  func adding(months: Int) -> Instant {
    let (month, day, second) = calendar
    let first = Self.days(toMonth: month + months)
    let last = Self.days(toMonth: month + months + 1) - 1
    return Instant(microseconds: (Int64(min(first + day, last)) * Self.day + second) * 1_000_000)
  }

  /// The end of a period that begins at this moment.
  func adding(_ length: Length) -> Instant {
    switch length {
    case .weeks(let count): adding(seconds: count * 7 * Self.day)
    case .months(let count): adding(months: count)
    }
  }

  /// How many whole calendar months lie between this moment and a later one.
  func wholeMonths(to end: Instant) -> Int {
    var months = 0
    while adding(months: months + 1) <= end { months += 1 }
    return months
  }

  /// The first moment of its day.
  var startOfDay: Instant {
    Instant(microseconds: microseconds - microseconds % (Self.day * 1_000_000))
  }

  /// The first day of its month, as `2025-03-01`.
  var month: String { description.prefix(7) + "-01" }

  /// Milliseconds since 1970, as the App Store writes moments.
  var milliseconds: Int64 { microseconds / 1000 }
}
