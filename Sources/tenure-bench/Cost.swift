import Foundation
import Postgres

/// What a piece of work took, in seconds.
struct Cost: Sendable {
  /// By the clock on the wall; nil where that was not looked at.
  var wall: Double?
  /// Of processors, in this process and on the database's side of the connection; nil where it cannot be known.
  var cpu: Double?

  /// Measures work that this process and the server process of a connection do.
  ///
  /// CPU time that the server spends in other processes, as for checkpoints, is not seen.
  static func measure(
    on connection: Connection, _ work: () async throws -> Void
  ) async throws -> Cost {
    let server = await connection.serverProcess
    let serverStart = serverCPU(server)
    let processStart = cpuTime(CLOCK_PROCESS_CPUTIME_ID)
    let start = ContinuousClock.now
    try await work()
    let wall = (ContinuousClock.now - start) / Duration.seconds(1)
    let process = cpuTime(CLOCK_PROCESS_CPUTIME_ID) - processStart
    let cpu = serverStart.flatMap { start in serverCPU(server).map { process + $0 - start } }
    return Cost(wall: wall, cpu: cpu)
  }

  /// Measures work that the calling thread does, by its CPU time alone.
  static func measureThread(_ work: () throws -> Void) rethrows -> Cost {
    let start = cpuTime(CLOCK_THREAD_CPUTIME_ID)
    try work()
    return Cost(cpu: cpuTime(CLOCK_THREAD_CPUTIME_ID) - start)
  }

  /// The sum of two costs of the same kind.
  static func + (left: Cost, right: Cost) -> Cost {
    func sum(_ part: KeyPath<Cost, Double?>) -> Double? {
      left[keyPath: part].flatMap { value in right[keyPath: part].map { value + $0 } }
    }
    return Cost(wall: sum(\.wall), cpu: sum(\.cpu))
  }

  private static func cpuTime(_ clock: clockid_t) -> Double {
    var time = timespec()
    clock_gettime(clock, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }

  /// The CPU time of a server process; nil where it runs on another machine.
  private static func serverCPU(_ process: Int32) -> Double? {
    guard let text = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8) else { return nil }
    // The name stands in brackets and may hold anything; times are the 14th and 15th field of the line.
    let name = text.drop { $0 != "(" }.dropFirst().prefix { $0 != ")" }
    let fields = text[(text.lastIndex(of: ")") ?? text.startIndex)...].split(separator: " ")
    guard name.hasPrefix("postgres"), fields.count > 13, let user = Double(fields[12]), let system = Double(fields[13])
    else { return nil }
    return (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
  }
}
