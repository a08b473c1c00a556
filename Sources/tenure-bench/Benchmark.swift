/// One benchmark.
protocol Benchmark: Sendable {
  /// What it is called by.
  static var name: String { get }
  /// What it measures, against what.
  static var summary: String { get }
  /// How much work it does unless told otherwise.
  static var size: Int { get }
  /// What that is a number of.
  static var unit: String { get }
  /// Measures, and says the ratios.
  static func run(_ plan: Plan) async throws
}

/// What a benchmark is to do.
struct Plan: Sendable {
  /// How much work.
  let size: Int
  /// How often work and limit are measured.
  let repetitions: Int
  /// Whether COPY as a limit loads the binary form rather than text.
  let copiesBinary: Bool
}

/// Why a benchmark gave up: what it measured was not the work it was to measure.
struct BenchError: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}
