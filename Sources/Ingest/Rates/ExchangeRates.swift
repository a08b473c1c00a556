public import Vocabulary

/// Exchange rates as the European Central Bank publishes them, in its file `eurofxref-hist.csv`.
///
/// The file has a column per currency and a row per day of publication, the newest first; a rate is units of the currency
/// for one euro, `N/A` where none was published. The file of one day, `eurofxref.csv`, is the same with spaces and its day
/// written as `30 December 2022`. Both are also offered in a zip archive.
public struct ExchangeRates: Sendable, Equatable {
  /// A day of publication.
  public struct Day: Sendable, Equatable {
    /// The day, as `2022-12-30`.
    public var date: String
    /// Units of each currency for one euro, in the digits of the file and the order of ``ExchangeRates/currencies``; nil
    /// where none was published.
    public var perEuro: [String?]
  }

  /// The currencies' ISO 4217 codes, in the order of the file.
  public let currencies: [String]
  /// The days, the earliest first.
  public let days: [Day]

  /// What a file may hold: many times what the history since 1999 does, about 2 MB.
  private static let sizeLimit = 16 << 20
  /// After so many problems the rest of a file is not looked at: it is likely to be another file.
  private static let problemLimit = 20

  /// Reads a file: a zip archive with one file in it, or the file itself.
  ///
  /// - Parameter now: Rates of days more than a day later are refused.
  /// - Throws: What is wrong with the file, up to about twenty problems.
  public init(reading bytes: [UInt8], now: Instant) throws(ImportProblems) {
    let text: [UInt8]
    do throws(ImportProblem) {
      text = ZipArchive.isArchive(bytes) ? try ZipArchive(bytes).onlyFile(limit: Self.sizeLimit) : bytes
    } catch {
      throw ImportProblems(problems: [error])
    }
    guard text.count <= Self.sizeLimit else {
      throw ImportProblems(problems: [
        ImportProblem("file", "it holds more than \(Self.sizeLimit >> 20) MiB, which no file of rates does")
      ])
    }
    guard var rows = CSVRows(text[...]) else {
      throw ImportProblems(problems: [
        ImportProblem("file", "it is not UTF-8; give the ECB's eurofxref-hist.csv, or the zip that it comes in")
      ])
    }
    var problems: [ImportProblem] = []
    currencies = Self.currencies(rows.next()?.fields ?? [], &problems)
    if !problems.isEmpty { throw ImportProblems(problems: problems) }
    var days: [Day] = []
    var seen: Set<String> = []
    while let row = rows.next() {
      guard problems.count < Self.problemLimit else {
        problems.append(ImportProblem("line \(row.line)", "from here on the file was not looked at"))
        break
      }
      guard let day = Self.day(row, currencies, now, &problems) else { continue }
      if !seen.insert(day.date).inserted {
        problems.append(ImportProblem("line \(row.line)", "\(day.date) stands in the file twice; keep one of them"))
      }
      days.append(day)
    }
    if problems.isEmpty, days.isEmpty { problems.append(ImportProblem("file", "there is no day in it")) }
    if !problems.isEmpty { throw ImportProblems(problems: problems) }
    self.days = days.sorted { $0.date < $1.date }
  }

  /// The currencies that the first line names; none when it is of another file.
  private static func currencies(_ header: [String], _ problems: inout [ImportProblem]) -> [String] {
    let names = withoutEnd(header.map(trimmed))
    guard names.first == "Date", names.count > 1 else {
      problems.append(
        ImportProblem(
          "line 1",
          "Date and the currencies are needed, such as Date,USD,JPY: give the ECB's eurofxref-hist.csv or its zip"))
      return []
    }
    let currencies = Array(names.dropFirst())
    var seen: Set<String> = []
    for currency in currencies {
      if !Catalogue.isCode(currency) {
        problems.append(
          ImportProblem("line 1", "\"\(currency)\": a currency of three capital letters is needed, such as USD"))
      } else if currency == "EUR" {
        problems.append(
          ImportProblem("line 1", "EUR: rates are for one euro, so that it has none; leave the column out"))
      } else if !seen.insert(currency).inserted {
        problems.append(ImportProblem("line 1", "\(currency) stands there twice; keep one of the columns"))
      }
    }
    return currencies
  }

  private static func day(
    _ row: CSVRows.Row, _ currencies: [String], _ now: Instant, _ problems: inout [ImportProblem]
  ) -> Day? {
    let place = "line \(row.line)"
    var fields = row.fields.map(trimmed)
    if fields.count > currencies.count + 1 { fields = withoutEnd(fields) }
    guard row.isSound, fields.count == currencies.count + 1 else {
      let found = row.isSound ? "\(fields.count)" : "an open quotation mark"
      problems.append(
        ImportProblem(
          place,
          "a day and \(currencies.count) rates are needed, \(currencies.count + 1) fields, and there is \(found); "
            + "a file that was cut off is to be fetched again"))
      return nil
    }
    guard let date = date(fields[0]), let start = Instant("\(date)T00:00:00Z") else {
      problems.append(ImportProblem(place, "\"\(fields[0].prefix(40))\": a day is needed, such as 2022-12-30"))
      return nil
    }
    if date < "1999" {
      problems.append(ImportProblem(place, "\(date): there is no euro before 1999"))
    }
    if start > now.adding(seconds: 86_400) {
      problems.append(
        ImportProblem(place, "\(date) lies in the future; correct the file, or the clock if today is that day"))
    }
    var rates: [String?] = []
    for (currency, text) in zip(currencies, fields.dropFirst()) {
      if text != "N/A", !isRate(text) {
        problems.append(
          ImportProblem(
            place,
            "\(currency), \"\(text.prefix(40))\": units for one euro are needed, a decimal number above 0 such as "
              + "1.0666, or N/A where none was published"))
      }
      rates.append(text == "N/A" ? nil : text)
    }
    return Day(date: date, perEuro: rates)
  }

  /// Without the empty field behind the comma that ends each line.
  private static func withoutEnd(_ fields: [String]) -> [String] {
    fields.last == "" ? fields.dropLast() : fields
  }

  private static func trimmed(_ text: String) -> String {
    guard text.utf8.first == 0x20 || text.utf8.last == 0x20 else { return text }
    let end = text.lastIndex { $0 != " " }.map { text.index(after: $0) } ?? text.startIndex
    return String(text[..<end].drop { $0 == " " })
  }

  private static let months = [
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
  ]

  /// A day as `2022-12-30`; nil when the text is none.
  private static func date(_ text: String) -> String? {
    var date = text
    let words = text.split(separator: " ")
    if words.count == 3, let month = months.firstIndex(where: { $0 == words[1] }), words[0].utf8.count <= 2 {
      let day = words[0].utf8.count == 1 ? "0\(words[0])" : "\(words[0])"
      date = "\(words[2])-\(month < 9 ? "0" : "")\(month + 1)-\(day)"
    }
    return date.utf8.count == 10 && Instant("\(date)T00:00:00Z") != nil ? date : nil
  }

  /// Whether a text is a decimal number above 0, written with digits and at most one dot between them.
  private static func isRate(_ text: String) -> Bool {
    isDecimal(text) && text.utf8.contains { (UInt8(ascii: "1")...UInt8(ascii: "9")).contains($0) }
  }

  /// Whether a text is a decimal number without a sign, of at most 30 characters.
  static func isDecimal(_ text: String) -> Bool {
    let parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    return text.utf8.count <= 30 && parts.count <= 2
      && parts.allSatisfy { !$0.isEmpty && $0.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } }
  }
}
