import Foundation
import Vocabulary

/// The reporting days of a time zone, and calendar months of UTC.
struct OracleCalendar {
  /// One reporting day: its date and its first moment.
  struct Day {
    var date: String
    var starts: Instant
    /// Days since 1970-01-01, of the date.
    var number: Int
    var year: Int
    var month: Int
  }

  /// From the day that holds the first moment to the day that holds the last moment before as-of, and one more that
  /// only tells when the last one ends.
  let days: [Day]

  init(timeZone: String, from first: Instant, asOf: Instant) {
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = TimeZone(identifier: timeZone)!
    var days: [Day] = []
    var noon = calendar.startOfDay(for: first.date).addingTimeInterval(12 * 60 * 60)
    while true {
      let start = calendar.startOfDay(for: noon)
      let parts = calendar.dateComponents([.year, .month, .day], from: noon)
      let (year, month, day) = (parts.year!, parts.month!, parts.day!)
      func padded(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
      let date = "\(year)-\(padded(month))-\(padded(day))"
      let utc = Instant("\(date)T00:00:00Z")!
      days.append(
        Day(
          date: date, starts: Instant(start), number: Int(utc.microseconds / 86_400_000_000), year: year, month: month))
      if Instant(start) >= asOf { break }
      noon = calendar.date(byAdding: .day, value: 1, to: noon)!
    }
    self.days = days
  }

  /// The place of the day that holds a moment before as-of.
  func day(of moment: Instant) -> Int { days.lastIndex { $0.starts <= moment } ?? 0 }

  /// How many days there are to report on.
  var count: Int { days.count - 1 }

  /// The first date of the period of a kind that holds a reporting day.
  func start(_ kind: String, of day: Int) -> String {
    let day = days[day]
    func number(_ year: Int, _ month: Int) -> Int {
      let text = "\(year)-\(month < 10 ? "0" : "")\(month)-01T00:00:00Z"
      return Int(Instant(text)!.microseconds / 86_400_000_000)
    }
    let start =
      switch kind {
      case "day": day.number
      // 1970-01-01 was a Thursday.
      case "week": day.number - (day.number + 3) % 7
      case "month": number(day.year, day.month)
      case "quarter": number(day.year, (day.month - 1) / 3 * 3 + 1)
      default: number(day.year, 1)
      }
    return String("\(Instant(microseconds: Int64(start) * 86_400_000_000))".prefix(10))
  }

  /// The periods of a kind that hold a reporting day: the first day's date, and the places of its days.
  func periods(_ kind: String) -> [(startsOn: String, days: Range<Int>, endsAfter: Bool)] {
    let starts = days.indices.map { start(kind, of: $0) }
    var periods: [(startsOn: String, days: Range<Int>, endsAfter: Bool)] = []
    var from = 0
    for index in 1...count where index == count || starts[index] != starts[from] {
      // Whether the period goes on after the last day.
      let goesOn = index == count && starts[index] == starts[from]
      periods.append((starts[from], from..<index, goesOn))
      from = index
    }
    return periods
  }

  private static let utc: Calendar = {
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = TimeZone(identifier: "UTC")!
    return calendar
  }()

  /// So many calendar months later in UTC, month ends clamped.
  static func adding(months: Int, to moment: Instant) -> Instant {
    Instant(utc.date(byAdding: .month, value: months, to: moment.date)!)
  }

  /// So many lengths such as `P1M` later, in UTC, month ends clamped.
  static func adding(_ number: Int, of length: String, to moment: Instant) -> Instant {
    let count = number * (Int(length.dropFirst().dropLast()) ?? 1)
    switch length.last {
    case "Y": return adding(months: 12 * count, to: moment)
    case "M": return adding(months: count, to: moment)
    case "W": return moment.adding(seconds: Int64(count) * 7 * 86_400)
    default: return moment.adding(seconds: Int64(count) * 86_400)
    }
  }

  /// The whole calendar months from one moment to another.
  static func wholeMonths(from: Instant, to: Instant) -> Int {
    var months = 0
    while adding(months: months + 1, to: from) <= to { months += 1 }
    return months
  }
}

extension Instant {
  /// Exact for whole seconds, which is all that generated lives have.
  var date: Date { Date(timeIntervalSince1970: Double(microseconds / 1_000_000)) }

  init(_ date: Date) { self.init(microseconds: Int64(date.timeIntervalSince1970.rounded()) * 1_000_000) }
}
