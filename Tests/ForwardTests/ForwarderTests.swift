import Postgres
import TestSupport
import Testing
import Vocabulary

@testable import Forward

@Suite("Forwarder")
struct ForwarderTests {
  @Test("a delivery is sent by the schedule until three days after it first failed, the same bytes each time")
  func schedule() async throws {
    let receiver = HTTPReceiver { _, _ in .status(500) }
    let target = TargetConfiguration.webhook(receiver)
    let bench = try await DeliveryBench([target])
    try await bench.store(bench.event("e1"))
    var waits: [Int64] = []
    while true {
      _ = try await bench.forward(target)
      let row = try #require(try await bench.deliveries().first)
      guard let next = try row.optionalTimestamp("next_attempt_at") else {
        #expect(try row.text("state") == "refused")
        #expect(try row.text("last_error") == "given up after three days: the target answered 500")
        break
      }
      let wait = (next - bench.clock.now.microseconds) / 1_000_000
      bench.clock.advance(seconds: wait - 1)
      #expect(try await bench.forward(target).waiting == 1)
      #expect(receiver.requests.count == waits.count + 1, "sent before its time")
      bench.clock.advance(seconds: 1)
      waits.append(wait)
    }
    #expect(waits.prefix(8) == [5, 30, 300, 1800, 7200, 18_000, 36_000, 36_000])
    #expect(waits.reduce(0, +) <= 3 * 86_400)
    #expect(waits.reduce(0, +) > 2 * 86_400)
    #expect(receiver.requests.count == waits.count + 1)
    #expect(Set(receiver.requests.map(\.body)).count == 1)
    #expect(Set(receiver.requests.map { $0.headers["webhook-id"] }) == ["e1"])
    #expect(Set(receiver.requests.map { $0.headers["webhook-timestamp"] }).count == waits.count + 1)
  }

  @Test("each wait is spread by a fifth to either side")
  func jitter() {
    #expect(RetrySchedule.wait(afterFailures: 2, chance: 0) == 24_000_000)
    #expect(RetrySchedule.wait(afterFailures: 2, chance: 1) == 36_000_000)
    #expect(RetrySchedule.wait(afterFailures: 1000, chance: 0.5) == 36_000_000_000)
  }

  @Test("a 429 holds everything for its target, and nothing for another")
  func throttling() async throws {
    let slow = HTTPReceiver { number, _ in number == 0 ? .status(429, headers: ["retry-after": "60"]) : .status(200) }
    let other = HTTPReceiver()
    let targets = [TargetConfiguration.webhook(slow, name: "slow"), .webhook(other, name: "other")]
    let bench = try await DeliveryBench(targets)
    var one = Forwarder.Settings()
    one.requestsPerTarget = 1
    for number in 1...3 { try await bench.store(bench.event("e\(number)", transaction: "t\(number)")) }
    let forwarder = try bench.forwarder(targets, settings: one)
    #expect(try await forwarder.runOnce() == ForwardSummary(delivered: 3, waiting: 3))
    #expect(slow.requests.count == 1)
    bench.clock.advance(seconds: 59)
    #expect(try await forwarder.runOnce() == ForwardSummary(waiting: 3))
    bench.clock.advance(seconds: 1)
    #expect(try await forwarder.runOnce() == ForwardSummary(delivered: 3))
    #expect(other.requests.count == 3)
    #expect(slow.requests.count == 4)
  }

  @Test(
    "a target that answers slowly, never, with 429 or not at all delays none of four others",
    arguments: ["slowly", "never", "429", "broken"])
  func brokenTarget(kind: String) async throws {
    let broken = HTTPReceiver { _, _ in
      switch kind {
      case "slowly": .held(200)
      case "never": .silence
      case "429": .status(429, headers: ["retry-after": "3600"])
      default: .close
      }
    }
    let receivers = (0..<4).map { _ in HTTPReceiver() }
    let targets =
      [TargetConfiguration.webhook(broken, name: "broken")]
      + receivers.enumerated().map { .webhook($1, name: "good-\($0)") }
    let bench = try await DeliveryBench(targets)
    for number in 1...40 { try await bench.store(bench.event("e\(number)", transaction: "t\(number)")) }
    var settings = Forwarder.Settings()
    settings.grace = .milliseconds(20)
    settings.pause = .milliseconds(10)
    let forwarder = try bench.forwarder(targets, settings: settings)
    let task = Task { try await forwarder.run() }
    // The broken one never comes to an end: that the others do does not wait for it.
    for receiver in receivers { try await receiver.received(40) }
    try await broken.received(1)
    try await waiting(for: "the good ones' deliveries") {
      try await bench.deliveries().count { $0["state"] == "delivered" } == 160
    }
    task.cancel()
    try await task.value
    #expect(try await bench.deliveries().filter { $0["state"] == "delivered" }.allSatisfy { $0["target"] != "broken" })
    for receiver in receivers { #expect(receiver.requests.count == 40) }
    broken.release()
  }

  @Test("one delivery that always fails does not stop those behind it")
  func failingDelivery() async throws {
    let receiver = HTTPReceiver { _, request in .status(request.text.contains("\"e1\"") ? 500 : 200) }
    let target = TargetConfiguration.webhook(receiver)
    let bench = try await DeliveryBench([target])
    for number in 1...20 { try await bench.store(bench.event("e\(number)", transaction: "t\(number)")) }
    #expect(try await bench.forward(target) == ForwardSummary(delivered: 19, waiting: 1))
  }

  @Test("what a session had in hand is due again when the session ends, and not before")
  func lostSession() async throws {
    let receiver = HTTPReceiver()
    let target = TargetConfiguration.webhook(receiver)
    let bench = try await DeliveryBench([target])
    try await bench.store(bench.event("e1"))
    let session = try await DeliverySession.begin(bench.database.connectionString)
    let claimed = try await session.claim(
      room: [Room(target: try target.makeTarget(), count: 8)], at: bench.clock.now,
      cutoff: bench.clock.now, ended: [], inHand: []
    ).requests
    #expect(claimed.count == 1)
    #expect(try await bench.forward(target) == ForwardSummary(waiting: 1))
    #expect(receiver.requests.isEmpty)
    let process = await session.connection.serverProcess
    let ended = try await bench.connection.query(
      "select pg_terminate_backend($1::integer, 10000) as ended", [.int(Int64(process))])
    #expect(try ended[0].bool("ended"))
    #expect(try await bench.forward(target) == ForwardSummary(delivered: 1))
    #expect(receiver.requests.first?.text == claimed.first?.first?.parcel.body)
  }

  @Test("an outcome that comes after another session took the delivery is left out")
  func lateOutcome() async throws {
    let receiver = HTTPReceiver()
    let target = TargetConfiguration.webhook(receiver)
    let bench = try await DeliveryBench([target])
    try await bench.store(bench.event("e1"))
    let session = try await DeliverySession.begin(bench.database.connectionString)
    let claimed = try await session.claim(
      room: [Room(target: try target.makeTarget(), count: 8)], at: bench.clock.now,
      cutoff: bench.clock.now, ended: [], inHand: []
    ).requests
    try await bench.connection.execute("update forward.delivery set claim = null")
    #expect(try await bench.forward(target).delivered == 1)
    let late = EndedDelivery(
      delivery: claimed[0][0], verdict: .refused(reason: "late"), state: .refused, status: 400, dueAt: nil, failures: 1,
      failingSince: nil, endedAt: bench.clock.now, body: nil)
    #expect(try await session.record([late], addresses: [:]).isEmpty)
    #expect(try await bench.deliveries()[0].text("state") == "delivered")
  }

  @Test("several forwarders at once send every delivery once")
  func together() async throws {
    let receiver = HTTPReceiver()
    let target = TargetConfiguration.webhook(receiver)
    let bench = try await DeliveryBench([target])
    for number in 1...200 { try await bench.store(bench.event("e\(number)", transaction: "t\(number)")) }
    let summaries = try await withThrowingTaskGroup(of: ForwardSummary.self) { group in
      for _ in 1...4 { group.addTask { try await bench.forward(target) } }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(summaries.map(\.delivered).reduce(0, +) == 200)
    #expect(receiver.requests.count == 200)
    #expect(Set(receiver.requests.map { $0.headers["webhook-id"] }).count == 200)
  }

  @Test("told to stop, a forwarder waits for what is in hand for a while and then counts it as not delivered")
  func stopping() async throws {
    let receiver = HTTPReceiver { number, _ in number == 0 ? .status(200) : .silence }
    let target = TargetConfiguration.webhook(receiver)
    let bench = try await DeliveryBench([target])
    for number in 1...3 { try await bench.store(bench.event("e\(number)", transaction: "t\(number)")) }
    var settings = Forwarder.Settings()
    settings.requestsPerTarget = 1
    settings.grace = .milliseconds(20)
    let forwarder = try bench.forwarder([target], settings: settings)
    let task = Task { try await forwarder.run() }
    try await receiver.received(2)
    task.cancel()
    try await task.value
    #expect(receiver.requests.count == 2)
    let rows = try await bench.deliveries()
    #expect(try rows.map { try $0.text("state") } == ["delivered", "waiting", "waiting"])
    #expect(try rows.map { try $0.int("attempts") } == [1, 1, 0])
    #expect(try rows[1].text("last_error") == "no answer before the program was stopped")
    let claims = try await bench.connection.query("select from forward.delivery where claim is not null")
    #expect(claims.isEmpty)
  }

  @Test("told to stop, a forwarder takes an answer that comes in time")
  func stoppingInTime() async throws {
    let receiver = HTTPReceiver { _, _ in .held(200) }
    let target = TargetConfiguration.webhook(receiver)
    let bench = try await DeliveryBench([target])
    try await bench.store(bench.event("e1"))
    let forwarder = try bench.forwarder([target])
    let task = Task { try await forwarder.run() }
    try await receiver.received(1)
    task.cancel()
    receiver.release()
    try await task.value
    #expect(try await bench.deliveries()[0].text("state") == "delivered")
  }

  @Test("a running forwarder goes on with a new session when its own is lost")
  func reconnecting() async throws {
    let receiver = HTTPReceiver { number, _ in number == 0 ? .held(200) : .status(200) }
    let target = TargetConfiguration.webhook(receiver)
    let bench = try await DeliveryBench([target])
    try await bench.store(bench.event("e1"))
    var settings = Forwarder.Settings()
    settings.pause = .milliseconds(10)
    let forwarder = try bench.forwarder([target], settings: settings)
    let task = Task { try await forwarder.run() }
    try await receiver.received(1)
    try await bench.connection.query(
      """
      select pg_terminate_backend(pid, 10000) from pg_stat_activity
      where application_name = 'tenure forward' and datname = current_database()
      """)
    try await bench.store(bench.event("e2", transaction: "t2"))
    receiver.release()
    try await receiver.received(2)
    task.cancel()
    try await task.value
    #expect(receiver.requests.count == 2, "what was in hand was sent again although its answer came")
    #expect(try await bench.deliveries().map { try $0.text("state") } == ["delivered", "delivered"])
  }

  @Test("a target that is paused gets nothing until it is resumed, and then everything")
  func pausing() async throws {
    let receiver = HTTPReceiver { number, _ in .status(number == 0 ? 410 : 200) }
    let target = TargetConfiguration.webhook(receiver)
    let bench = try await DeliveryBench([target])
    try await bench.store(bench.event("e1"))
    #expect(try await bench.forward(target) == ForwardSummary(held: 1))
    try await bench.store(bench.event("e2", transaction: "t2"))
    #expect(try await bench.forward(target) == ForwardSummary(held: 2))
    #expect(receiver.requests.count == 1)
    #expect(try await bench.register.standings()[0].lastError == "the target answered 410")
    #expect(try await bench.register.resume("backend"))
    #expect(try await bench.forward(target) == ForwardSummary(delivered: 2))
    #expect(try await bench.register.pause("backend"))
    try await bench.store(bench.event("e3", transaction: "t3"))
    #expect(try await bench.forward(target) == ForwardSummary(held: 1))
    #expect(try await !bench.register.pause("nobody"))
    #expect(try await !bench.register.resume("nobody"))
  }

  @Test("what was refused is sent again on request, with the same id and bytes")
  func replayingRefused() async throws {
    let receiver = HTTPReceiver { number, _ in .status(number == 0 ? 400 : 200) }
    let target = TargetConfiguration.webhook(receiver)
    let bench = try await DeliveryBench([target])
    try await bench.store(bench.event("e1"))
    try await bench.store(bench.event("e2", transaction: "t2"))
    #expect(try await bench.forward(target) == ForwardSummary(delivered: 1, refused: 1))
    #expect(try await bench.register.replay("backend", .refused, at: bench.clock.now) == 1)
    #expect(try await bench.forward(target) == ForwardSummary(delivered: 1))
    #expect(receiver.requests.count == 3)
    // Which of the two came first is open: they are about different subscriptions.
    #expect(receiver.requests[2].body == receiver.requests[0].body)
    #expect(try await bench.deliveries().map { try $0.int("attempts") }.sorted() == [1, 2])
  }

  @Test("older events are sent on request, those already delivered are not")
  func replayingOlder() async throws {
    let receiver = HTTPReceiver()
    let target = TargetConfiguration.webhook(receiver)
    let bench = try await DeliveryBench([target])
    try await bench.store(
      bench.event("old", transaction: "t1", secondsAgo: 10 * 86_400),
      bench.event("older", transaction: "t2", secondsAgo: 20 * 86_400), bench.event("new", transaction: "t3"))
    #expect(try await bench.forward(target) == ForwardSummary(delivered: 1))
    let from = bench.clock.now.adding(seconds: -11 * 86_400)
    #expect(try await bench.register.replay("backend", .since(from), at: bench.clock.now) == 1)
    #expect(try await bench.forward(target) == ForwardSummary(delivered: 1))
    #expect(receiver.requests.map { $0.headers["webhook-id"] } == ["new", "old"])
    #expect(try await bench.register.replay("backend", .since(from), at: bench.clock.now) == 0)
  }

  @Test("one event is sent again on request although it was delivered, with the same id and bytes")
  func replayingOne() async throws {
    let receiver = HTTPReceiver()
    let target = TargetConfiguration.webhook(receiver)
    let bench = try await DeliveryBench([target])
    try await bench.store(bench.event("e1"))
    #expect(try await bench.forward(target) == ForwardSummary(delivered: 1))
    #expect(try await bench.register.replay("backend", .event("e1"), at: bench.clock.now) == 1)
    #expect(try await bench.register.replay("backend", .event("other"), at: bench.clock.now) == 0)
    #expect(try await bench.forward(target) == ForwardSummary(delivered: 1))
    #expect(receiver.requests.count == 2)
    #expect(receiver.requests[0].body == receiver.requests[1].body)
    #expect(receiver.requests[1].headers["webhook-id"] == "e1")
  }

  @Test("a preview shows the requests and changes nothing")
  func preview() async throws {
    let receiver = HTTPReceiver()
    let target = TargetConfiguration.webhook(receiver)
    let bench = try await DeliveryBench([target])
    try await bench.store(bench.event("e1"))
    let before = try await bench.connection.query("select delivery::text from forward.delivery")[0][0]
    let preview = try await bench.forwarder([target]).preview()
    #expect(preview.count == 1)
    #expect(preview[0].request.contains(#""event_id":"e1""#))
    #expect(!preview[0].request.contains("secret"))
    #expect(try await bench.connection.query("select delivery::text from forward.delivery")[0][0] == before)
    #expect(try await bench.forward(target) == ForwardSummary(delivered: 1))
    #expect(preview[0].request.hasSuffix(receiver.requests[0].text))
  }

  @Test("without targets a pass ends at once")
  func noTargets() async throws {
    #expect(try await DeliveryBench().forward() == ForwardSummary())
  }
}
