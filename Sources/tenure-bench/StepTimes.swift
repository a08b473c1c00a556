import Synchronization

/// How long each step of a run took.
final class StepTimes: Sendable {
  private struct State {
    var lines: [String] = []
    var name = "opening the run"
    var start = ContinuousClock.now
  }

  private let state = Mutex(State())

  /// Notes that one step has ended and another begins.
  func begin(_ name: String) {
    state.withLock { state in
      let now = ContinuousClock.now
      state.lines.append("    \(Comparison.text((now - state.start) / Duration.seconds(1))) s \(state.name)")
      state.name = name
      state.start = now
    }
  }

  /// Says all of them, once the run has ended; the commit belongs to the last.
  func say() {
    begin("")
    for line in state.withLock({ $0.lines }) { BenchProgram.say(line) }
  }
}
