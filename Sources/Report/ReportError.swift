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

  /// What is wrong, and what can be asked instead.
  public var description: String {
    switch self {
    case .unknownReport(let name, let known):
      "there is no report \"\(name)\"; there are \(known.joined(separator: ", "))"
    case .unknownDimension(let name, let report, let known):
      "\(report) cannot be grouped by \"\(name)\"; it can by \(known.joined(separator: ", "))"
    case .notAdditive(let report, let why): "\(report) cannot be summed up: \(why)"
    case .noDays(let report, let option): "\(report) has no days, so \(option) means nothing for it"
    }
  }
}
