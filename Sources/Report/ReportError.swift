public import Vocabulary

/// Why a report cannot be shown as asked.
public enum ReportError: Error, Sendable, Equatable, CustomStringConvertible {
  /// There is no report of that name.
  case unknownReport(String, known: [String])
  /// The report has no column of that name to group by.
  case unknownDimension(String, report: String, known: [String])
  /// The report cannot be summed over that, and why.
  case notAdditive(report: String, why: String)
  /// The report has no amounts in the reporting currency.
  case notConverted(report: String)
  /// How many things of a kind there are has no newest.
  case noOrder(report: String)
  /// The report has no figures over time.
  case nothingToPlot(report: String)
  /// The report has no figure of that name to draw.
  case noFigure(String, report: String, known: [String])
  /// The report has no days.
  case noDays(report: String, option: String)
  /// The report is not made of daily totals, so that it is not kept as it stood before.
  case notRestorable(report: String)
  /// No run had finished by the moment asked for.
  case nothingKnown(at: Instant)
  /// The report is not made of entries; those that are.
  case notMadeOfEntries(report: String, known: [String])
  /// The report has no figure of that name, or none that is a sum of entries.
  case unknownFigure(String, report: String, known: [String])
  /// The figure is a share of others: its meaning names them.
  case notASum(figure: String, report: String, meaning: String)
  /// The report has no dimension of that name to choose by.
  case unknownFilter(String, report: String, known: [String])
  /// The report has periods of several kinds, and none was chosen.
  case periodNotChosen(report: String)
  /// The report is told day by day, so that no period can be chosen.
  case daysOnly(report: String)
  /// The figures have no corrections to show: they are read off the periods as they are now.
  case withoutReversed(report: String)
  /// The report has no row of that day.
  case noRow(report: String, on: String)
  /// The report has several rows of that day that are not added; their values by the options that choose.
  case severalRows(report: String, on: String, choices: [String: [String]])
  /// What the entries add up to is not what the report says.
  case notAddedUp(figure: String, report: String, on: String, said: String, found: String)

  /// What is wrong, and what can be asked instead.
  public var description: String {
    switch self {
    case .unknownReport(let name, let known):
      "there is no report \"\(name)\"; there are \(known.joined(separator: ", "))"
    case .unknownDimension(let name, let report, let known):
      "\(report) cannot be grouped by \"\(name)\"; it can by \(known.joined(separator: ", "))"
    case .notAdditive(let report, let why): "\(report) cannot be summed up: \(why)"
    case .notConverted(let report): "\(report) has no amounts in the reporting currency that could be added"
    case .noOrder(let report):
      "how many rows \(report) has of a kind has no newest: ask for the last rows without --group-by"
    case .nothingToPlot(let report): "\(report) has no figures over time that could be drawn"
    case .noFigure(let name, let report, let known):
      "\(report) has no figure \"\(name)\" to draw; it has \(known.joined(separator: ", "))"
    case .noDays(let report, let option): "\(report) has no days, so \(option) means nothing for it"
    case .notRestorable(let report):
      """
      \(report) is not made of daily totals, so it cannot be shown as it was known at a moment: what it shows is kept as it \
      is now only
      """
    case .nothingKnown(let moment): "nothing was known at \(moment): no run had finished by then"
    case .notMadeOfEntries(let report, let known):
      """
      \(report) is not made of entries; what happened to one subscription is in subscription_history, and what came in, in \
      events; explained are \(known.joined(separator: ", "))
      """
    case .unknownFigure(let name, let report, let known):
      "\(report) has no figure \"\(name)\" that is a sum of entries; it has \(known.joined(separator: ", "))"
    case .notASum(let figure, let report, let meaning):
      "\(figure) of \(report) is no sum of entries but \(meaning): explain what it is made of"
    case .unknownFilter(let name, let report, let known):
      "\(report) has no \(name) to choose by; it has \(known.joined(separator: ", "))"
    case .periodNotChosen(let report):
      "\(report) is of days, weeks, months, quarters and years: choose with --by, such as --by month"
    case .daysOnly(let report): "\(report) is explained day by day, so --by means nothing for it"
    case .withoutReversed(let report):
      "\(report) is told as it is now, without what was reversed, so --all means nothing for it"
    case .noRow(let report, let day):
      "\(report) has nothing to explain on \(day) with these filters; tenure report \(report) shows what there is"
    case .severalRows(let report, let day, let choices):
      "\(report) has several rows on \(day) that are not added: choose with "
        + choices.sorted { $0.key < $1.key }
        .map { "--\($0.key) (\($0.value.joined(separator: ", ")))" }.joined(separator: " or ")
    case .notAddedUp(let figure, let report, let day, let said, let found):
      """
      the entries behind \(figure) of \(report) on \(day) add up to \(found), but the report says \(said): the totals are not \
      those of the entries, which tenure measure --rebuild sums anew
      """
    }
  }
}
