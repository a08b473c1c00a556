import Foundation

/// Costs of some work beside those of its limit, and what their ratio is meant to reach.
struct Comparison: Sendable {
  /// What the ratio says.
  enum Ratio: Sendable {
    /// The limit's time to the work's: how much of the possible speed is reached; more is better.
    case share
    /// The work's time to the limit's: less is better.
    case times
  }

  private let title: String
  private let ratio: Ratio
  private let reach: Double
  private var pairs: [(work: Cost, limit: Cost)] = []

  /// A comparison of which nothing has been measured.
  init(_ title: String, _ ratio: Ratio, reach: Double) {
    self.title = title
    self.ratio = ratio
    self.reach = reach
  }

  /// Adds what one repetition measured, and says it.
  mutating func add(work: Cost, limit: Cost) {
    pairs.append((work, limit))
    let parts = [("wall clock", \Cost.wall), ("CPU", \Cost.cpu)].compactMap { kind, part -> String? in
      guard let work = work[keyPath: part], let limit = limit[keyPath: part] else { return nil }
      return "\(kind) \(Self.text(work)) s, limit \(Self.text(limit)) s"
    }
    BenchProgram.say("  \(title), repetition \(pairs.count): \(parts.joined(separator: "; "))")
  }

  /// Says the ratios of all repetitions.
  func conclude() {
    for (kind, part) in [("wall clock", \Cost.wall), ("CPU time", \Cost.cpu)] {
      let ratios = pairs.compactMap { pair -> Double? in
        guard let work = pair.work[keyPath: part], let limit = pair.limit[keyPath: part], work > 0, limit > 0 else {
          return nil
        }
        return ratio == .share ? limit / work : work / limit
      }.sorted()
      guard let least = ratios.first, let greatest = ratios.last else { continue }
      let middle = ratios.count / 2
      let median = ratios.count % 2 == 1 ? ratios[middle] : (ratios[middle - 1] + ratios[middle]) / 2
      BenchProgram.say(
        """
        \(title), ratio of \(kind): minimum \(Self.text(least)), median \(Self.text(median)), maximum \
        \(Self.text(greatest)) of \(ratios.count); to reach: \(ratio == .share ? "at least" : "at most") \
        \(Self.text(reach))
        """)
    }
  }

  static func text(_ value: Double) -> String { String(format: "%.3f", value) }
}
