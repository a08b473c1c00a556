import Testing
import Vocabulary

@testable import Forward

@Suite("Pace")
struct PaceTests {
  private let start = Instant(microseconds: 1_000_000_000)

  private func later(_ seconds: Int64) -> Instant { start.adding(seconds: seconds) }

  @Test("without a burst one request goes at a time")
  func even() {
    let pace = Pace(perMinute: 20)
    #expect(pace.interval == 3_000_000)
    #expect(pace.allowance(at: start, next: nil) == 1)
    let next = pace.next(after: 1, at: start, next: nil)
    #expect(next == later(3))
    #expect(pace.allowance(at: later(2), next: next) == 0)
    #expect(pace.allowance(at: later(3), next: next) == 1)
    #expect(pace.allowance(at: later(300), next: next) == 1)
  }

  @Test("a bucket holds so many requests, and fills evenly")
  func burst() {
    let pace = Pace(perMinute: 60, burst: 5)
    #expect(pace.allowance(at: start, next: nil) == 5)
    let next = pace.next(after: 5, at: start, next: nil)
    #expect(next == later(1))
    for seconds in 0...9 as ClosedRange<Int64> {
      #expect(pace.allowance(at: later(seconds), next: next) == min(seconds, 5))
    }
    let third = pace.next(after: 2, at: later(3), next: next)
    #expect(pace.allowance(at: later(3), next: third) == 1)
    #expect(pace.allowance(at: later(7), next: third) == 5)
  }

  @Test("whatever the bursts, in a long time no more goes than the pace says")
  func longRun() {
    let pace = Pace(interval: 700_000, burst: 4)
    var next: Instant?
    var sent: Int64 = 0
    for tick in 0..<10_000 as Range<Int64> {
      let now = Instant(microseconds: start.microseconds + tick * 130_000)
      let allowed = tick % 7 == 0 ? pace.allowance(at: now, next: next) : 0
      if allowed > 0 { next = pace.next(after: allowed, at: now, next: next) }
      sent += allowed
    }
    let most = 10_000 * 130_000 / pace.interval + pace.burst
    #expect(sent <= most)
    #expect(sent > most - 8)
  }
}
