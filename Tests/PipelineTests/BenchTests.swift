import Foundation
import TestSupport
import Testing

/// The benchmarks still run. How fast anything is, is no matter of tests.
@Suite struct BenchTests {
  private static let program = URL(filePath: TestProgram.path).deletingLastPathComponent().appending(
    path: "tenure-bench"
  ).path

  /// What each benchmark tells a ratio of.
  private static let measures = [
    "verify": "CPU time", "store": "CPU time", "acknowledge": "wall clock", "rebuild": "CPU time",
    "increment": "CPU time", "forward": "wall clock",
  ]

  @Test("each benchmark finishes and says its ratio", arguments: measures.keys)
  func finishes(name: String) async throws {
    let outcome = try await TestProgram.run([name, "--size", "200", "--repetitions", "1"], file: Self.program)
    #expect(outcome.code == 0, "\(outcome.errors)")
    let measure = try #require(Self.measures[name])
    #expect(outcome.output.contains(try Regex("\(name), .* ratio of \(measure): minimum [0-9.]+, median [0-9.]+")))
  }

  @Test("the benchmark of reports finishes and says the slowest")
  func reports() async throws {
    let outcome = try await TestProgram.run(["reports", "--size", "200", "--repetitions", "1"], file: Self.program)
    #expect(outcome.code == 0, "\(outcome.errors)")
    #expect(outcome.output.contains(/reports, slowest of [1-9][0-9]+: [0-9.]+ s \([a-z_]+/))
  }

  @Test("what is no benchmark is refused, and the help names all there are")
  func help() async throws {
    let refused = try await TestProgram.run(["fastest"], file: Self.program)
    #expect(refused.code == 2)
    let help = try await TestProgram.run(["--help"], file: Self.program)
    for name in Self.measures.keys + ["reports"] { #expect(help.output.contains("\n  \(name) ")) }
  }
}
