import Foundation
import TestSupport
import Testing

/// The benchmarks still run. How fast anything is, is no matter of tests.
@Suite struct BenchTests {
  private static let program = URL(filePath: TestProgram.path).deletingLastPathComponent().appending(
    path: "tenure-bench"
  ).path

  @Test("each benchmark finishes and says its ratio", arguments: ["verify", "store", "rebuild", "increment"])
  func finishes(name: String) async throws {
    let outcome = try await TestProgram.run([name, "--size", "200", "--repetitions", "1"], file: Self.program)
    #expect(outcome.code == 0, "\(outcome.errors)")
    #expect(outcome.output.contains(try Regex("\(name), .* ratio of CPU time: minimum [0-9.]+, median [0-9.]+")))
  }

  @Test("what is no benchmark is refused, and the help names all there are")
  func help() async throws {
    let refused = try await TestProgram.run(["fastest"], file: Self.program)
    #expect(refused.code == 2)
    let help = try await TestProgram.run(["--help"], file: Self.program)
    for name in ["verify", "store", "rebuild", "increment"] { #expect(help.output.contains("\n  \(name) ")) }
  }
}
