import Foundation

/// The program: reads its arguments and runs the benchmarks they name, one after another.
enum BenchProgram {
  /// Every benchmark, in the order they run.
  static let benchmarks: [any Benchmark.Type] = [
    VerifyBenchmark.self, StoreBenchmark.self, AcknowledgeBenchmark.self, RebuildBenchmark.self,
    IncrementBenchmark.self, ReportsBenchmark.self, ForwardBenchmark.self,
  ]

  private struct UsageError: Error { let description: String }

  /// Runs the program with the arguments of the process, and ends the process.
  static func main() async -> Never {
    do {
      var words = CommandLine.arguments.dropFirst()
      var chosen: [any Benchmark.Type] = []
      var size: Int?
      var repetitions = 3
      var isBinary = false
      while let word = words.popFirst() {
        switch word {
        case "--help", "-h":
          print(help)
          exit(0)
        case "--size": size = try number(after: word, &words)
        case "--repetitions": repetitions = try number(after: word, &words)
        case "--binary": isBinary = true
        default:
          guard let benchmark = benchmarks.first(where: { $0.name == word }) else {
            throw UsageError(description: "there is no benchmark and no option \(word)")
          }
          chosen.append(benchmark)
        }
      }
      for benchmark in chosen.isEmpty ? benchmarks : chosen {
        let plan = Plan(size: size ?? benchmark.size, repetitions: repetitions, copiesBinary: isBinary)
        say("\(benchmark.name): \(plan.size) \(benchmark.unit), load average \(loadAverage)")
        try await benchmark.run(plan)
      }
      exit(0)
    } catch let error as UsageError {
      FileHandle.standardError.write(Data("tenure-bench: \(error.description); see tenure-bench --help\n".utf8))
      exit(2)
    } catch {
      FileHandle.standardError.write(Data("tenure-bench: \(error)\n".utf8))
      exit(1)
    }
  }

  /// Writes a line at once, also where stdout is no terminal.
  static func say(_ line: String) { FileHandle.standardOutput.write(Data("\(line)\n".utf8)) }

  private static func number(after option: String, _ words: inout ArraySlice<String>) throws(UsageError) -> Int {
    guard let word = words.popFirst(), let number = Int(word), number > 0 else {
      throw UsageError(description: "\(option) needs a number above 0")
    }
    return number
  }

  private static var loadAverage: String {
    var loads = [Double](repeating: 0, count: 3)
    guard getloadavg(&loads, 3) == 3 else { return "unknown" }
    return loads.map { $0.formatted(.number.precision(.fractionLength(2)).locale(Locale(identifier: "en_US_POSIX"))) }
      .joined(separator: " ")
  }

  private static var help: String {
    let width = (benchmarks.map { $0.name.count }.max() ?? 0) + 2
    let list = benchmarks.map { benchmark in
      "  " + benchmark.name.padding(toLength: width, withPad: " ", startingAt: 0) + benchmark.summary
        + " (default size: \(benchmark.size) \(benchmark.unit))"
    }
    return """
      usage: tenure-bench [BENCHMARK]... [--size N] [--repetitions N] [--binary]

      Measures how fast the work of tenure is as a ratio to a limit taken in the same run, turn and turn about, so that
      the ratios of one machine mean something on another. Build it for release: swift run -c release tenure-bench

      \(list.joined(separator: "\n"))

      options:
        --size N         how much work; see above for what is counted and the default
        --repetitions N  how often work and limit are measured (default: 3)
        --binary         COPY as a limit loads the binary form, not text as psql's \\copy does
        --help           this text

      Each ratio is printed with its minimum, median and maximum over the repetitions, and with what it is meant to reach.
      Ratios of wall clock time suffer from whatever else the machine does; those of CPU time, of this process and the
      database's side of its connection, suffer less.

      DATABASE_URL names the database to work in. It must be empty, and is empty again at the end. Without it the program
      starts a private server, which does not wait for the disk (but for acknowledge) and ends with it.
      """
  }
}
