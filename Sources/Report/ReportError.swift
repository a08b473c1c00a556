public import Vocabulary

/// Why a report cannot be shown as asked.
public enum ReportError: Error, Sendable, Equatable, CustomStringConvertible {
  /// There is no report of that name.
  case unknownReport(String, known: [String])
  /// The report has no column of that name to group by.
  case unknownDimension(String, report: String, known: [String])
  /// The report cannot be summed over that, and why.
  case notAdditive(report: String, why: String)
  /// The report has no days.
  case noDays(report: String, option: String)
  /// The report is not made of daily totals, so that it is not kept as it stood before.
  case notRestorable(report: String)
  /// No run had finished by the moment asked for.
  case nothingKnown(at: Instant)

  /// What is wrong, and what can be asked instead.
  public var description: String {
    switch self {
    case .unknownReport(let name, let known):
      "there is no report \"\(name)\"; there are \(known.joined(separator: ", "))"
    case .unknownDimension(let name, let report, let known):
      "\(report) cannot be grouped by \"\(name)\"; it can by \(known.joined(separator: ", "))"
    case .notAdditive(let report, let why): "\(report) cannot be summed up: \(why)"
    case .noDays(let report, let option): "\(report) has no days, so \(option) means nothing for it"
    case .notRestorable(let report):
      """
      \(report) is not made of daily totals, so it cannot be shown as it was known at a moment: what it shows is kept as it \
      is now only
      """
    case .nothingKnown(let moment): "nothing was known at \(moment): no run had finished by then"
    }
  }
}
