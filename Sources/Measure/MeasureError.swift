public import Vocabulary

/// Why a run of `measure` did not take place or was rolled back.
public enum MeasureError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The as-of moment lies before the last run's: posted entries would have to be unposted.
  case asOfGoesBack(asked: Instant, last: Instant)
  /// The reporting time zone is not one that PostgreSQL knows.
  case unknownTimeZone(String)
  /// Checks found rows that must not be. The run was rolled back.
  case checksFailed([FailedCheck])

  /// A check that found rows.
  public struct FailedCheck: Sendable, Equatable {
    /// The check's name: its file in `sql/checks`.
    public let name: String
    /// The first rows that it found, as JSON.
    public let rows: [String]
  }

  /// What happened, and what to do about it.
  public var description: String {
    switch self {
    case .asOfGoesBack(let asked, let last):
      "the as-of moment \(asked) lies before the last run's, \(last); give that or a later one"
    case .unknownTimeZone(let name):
      "\"\(name)\" is not a time zone; give an IANA name such as Europe/Berlin as reporting.timezone"
    case .checksFailed(let checks):
      checks.map { "the check \($0.name) found \($0.rows.joined(separator: "; "))" }.joined(separator: "; ")
        + ". The run was rolled back, and reports stand as before"
    }
  }
}
