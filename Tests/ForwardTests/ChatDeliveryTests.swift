import Postgres
import Synchronization
import TestSupport
import Testing
import Vocabulary

@testable import Forward

/// Deliveries to chats that behave as the real services do: each message arrives, at the service's pace.
@Suite("Deliveries to chats", .serialized)
struct ChatDeliveryTests {
  /// What a service took.
  private final class Posts: Sendable {
    private let posts = Mutex<[ChatPost]>([])

    func take(_ answer: (answer: HTTPReceiver.Answer, post: ChatPost?)) -> HTTPReceiver.Answer {
      if let post = answer.post { posts.withLock { $0.append(post) } }
      return answer.answer
    }

    var all: [ChatPost] { posts.withLock { $0 } }
  }

  private let posts = Posts()
  private let telegram = TelegramService(token: "12345:secret-token", chats: ["-1001234567890", "17"])

  private func telegramReceiver() -> HTTPReceiver {
    HTTPReceiver { [posts, telegram] _, request in posts.take(telegram.answer(request)) }
  }

  private func store(_ bench: DeliveryBench, _ count: Int) async throws {
    for number in 1...count {
      var event = bench.event("e\(number)", transaction: "t\(number)")
      event.subscriberID = "<subscriber> & \(number)"
      event.transaction?.productID = .value("monthly")
      event.transaction?.price = .value(Money(amount: Micros(3_000_000_000), currency: "JPY"))
      try await bench.store(event)
    }
  }

  @Test("a burst arrives message by message at the service's pace, within one pass", arguments: ["slack", "telegram"])
  func pace(type: String) async throws {
    let receiver =
      type == "slack"
      ? HTTPReceiver { [posts] _, request in posts.take(SlackService.answer(request)) } : telegramReceiver()
    let target = type == "slack" ? TargetConfiguration.slack(receiver) : .telegram(receiver)
    let bench = try await DeliveryBench([target])
    try await bench.connection.execute(
      "insert into reference.product (app_id, product_id, name) values (1, 'monthly', 'Gold & Silver')")
    try await store(bench, 3)
    var settings = Forwarder.Settings()
    settings.pause = .milliseconds(5)
    let forwarder = try bench.forwarder([target], settings: settings)
    let pass = Task { try await forwarder.runOnce() }
    let pace: Int64 = type == "slack" ? 1 : 3
    for number in 1...3 {
      try await receiver.received(number)
      // Written down, so the forwarder has looked for more since.
      try await waiting(for: "delivery \(number)") {
        try await bench.deliveries().count(where: { $0["state"] == "delivered" }) >= number
      }
      if number < 3 {
        bench.clock.advance(seconds: pace - 1)
        let next = try await bench.deliveries().compactMap { try $0.optionalTimestamp("next_attempt_at") }.min()
        #expect(next == bench.clock.now.adding(seconds: 1).microseconds)
      }
      #expect(receiver.requests.count == number, "sent before its time")
      bench.clock.advance(seconds: 1)
    }
    #expect(try await pass.value == ForwardSummary(delivered: 3))
    #expect(posts.all.count == 3)
    for (number, post) in posts.all.enumerated() {
      for part in ["Subscription renewed", "Gold & Silver", "¥3,000", "<subscriber> & \(number + 1)"] {
        #expect(post.text.contains(part), "\(part) is not in \(post.text)")
      }
    }
  }

  @Test("of two forwarders one keeps the pace of the other")
  func sharedPace() async throws {
    let receiver = HTTPReceiver { _, _ in .held(200) }
    let target = TargetConfiguration.slack(receiver)
    let bench = try await DeliveryBench([target])
    try await store(bench, 2)
    let targets = [Room(target: try target.makeTarget(), count: 1)]
    let first = try await DeliverySession.begin(bench.database.connectionString)
    let second = try await DeliverySession.begin(bench.database.connectionString)
    let now = bench.clock.now
    func claim(_ session: DeliverySession, at moment: Instant) async throws -> Int {
      try await session.claim(room: targets, at: moment, cutoff: moment, ended: [], inHand: []).requests.joined().count
    }
    #expect(try await claim(first, at: now) == 1)
    #expect(try await claim(second, at: now) == 0)
    #expect(try await second.nextPace(of: ["team"], at: now, cutoff: now, ended: []) == now.adding(seconds: 1))
    #expect(try await claim(second, at: now.adding(seconds: 1)) == 1)
    #expect(try await second.nextPace(of: ["team"], at: now, cutoff: now, ended: []) == nil)
    await first.end()
    await second.end()
  }

  @Test("a wait that a chat asks for holds everything for it, and then each message arrives once")
  func throttled() async throws {
    let receiver = HTTPReceiver { [posts, telegram] number, request in
      number == 0
        ? .status(
          429, body: #"{"ok":false,"error_code":429,"description":"Too Many","parameters":{"retry_after":34}}"#)
        : posts.take(telegram.answer(request))
    }
    let target = TargetConfiguration.telegram(receiver)
    let bench = try await DeliveryBench([target])
    try await store(bench, 3)
    let before = bench.clock.now
    #expect(try await bench.forward(target) == ForwardSummary(waiting: 3))
    bench.clock.advance(seconds: 33)
    #expect(try await bench.forward(target) == ForwardSummary(waiting: 3))
    #expect(receiver.requests.count == 1)
    bench.clock.advance(seconds: 1)
    #expect(try await bench.pass(target) == ForwardSummary(delivered: 3))
    #expect(posts.all.count == 3)
    #expect(Set(posts.all.map(\.text)).count == 3)
    #expect(before < bench.clock.now)
  }

  @Test("a message whose markup is refused arrives as plain text in the same pass")
  func markupRefused() async throws {
    telegram.refuseMarkup()
    let receiver = telegramReceiver()
    let target = TargetConfiguration.telegram(receiver)
    let bench = try await DeliveryBench([target])
    try await store(bench, 1)
    #expect(try await bench.pass(target) == ForwardSummary(delivered: 1))
    #expect(receiver.requests.count == 2)
    #expect(posts.all.first?.text.contains("Subscriber: <subscriber> & 1") == true)
    #expect(try await bench.deliveries().first?.int("attempts") == 2)
  }

  @Test("a group that became a supergroup is followed and remembered, until the configuration names another chat")
  func movedChat() async throws {
    telegram.move("-1001234567890", to: "-1009999999999")
    let receiver = telegramReceiver()
    var target = TargetConfiguration.telegram(receiver)
    let bench = try await DeliveryBench([target])
    try await store(bench, 2)
    #expect(try await bench.pass(target) == ForwardSummary(delivered: 2))
    // One request went to the old number, and no more.
    #expect(receiver.requests.count == 3)
    try await bench.store(bench.event("later", transaction: "t9"))
    bench.clock.advance(seconds: 60)
    let shown = try #require(try await bench.forwarder([target]).preview().first?.request)
    #expect(shown.contains(#""chat_id":-1009999999999"#))
    #expect(try await bench.pass(target) == ForwardSummary(delivered: 1))
    #expect(posts.all.map(\.chat) == ["-1009999999999", "-1009999999999", "-1009999999999"])
    target.chatID = "17"
    try await bench.store(bench.event("elsewhere", transaction: "t10"))
    bench.clock.advance(seconds: 60)
    #expect(try await bench.pass(target) == ForwardSummary(delivered: 1))
    #expect(posts.all.last?.chat == "17")
  }

  @Test("a chat that sends its messages round in circles is tried by the schedule")
  func circle() async throws {
    let receiver = HTTPReceiver { number, _ in
      let other = number % 2 == 0 ? "-2" : "-1"
      return .status(400, body: #"{"ok":false,"description":"moved","parameters":{"migrate_to_chat_id":\#(other)}}"#)
    }
    let target = TargetConfiguration.telegram(receiver, chatID: "-1")
    let bench = try await DeliveryBench([target])
    try await store(bench, 1)
    #expect(try await bench.pass(target) == ForwardSummary(waiting: 1))
    #expect(receiver.requests.count == 4)
  }

  @Test("a chat that is gone pauses its target: nothing is lost, and what waited arrives once someone resumes it")
  func goneChat() async throws {
    let isGone = Mutex(true)
    let channel = HTTPReceiver { [posts] _, request in
      isGone.withLock { $0 }
        ? .status(410, body: "channel_is_archived") : posts.take(SlackService.answer(request))
    }
    let team = TargetConfiguration.slack(channel)
    let receiver = telegramReceiver()
    let group = TargetConfiguration.telegram(receiver, chatID: "-404")
    let bench = try await DeliveryBench([team, group])
    try await store(bench, 2)
    #expect(try await bench.pass(team, group) == ForwardSummary(held: 4))
    #expect(channel.requests.count == 1)
    #expect(receiver.requests.count == 1)
    let standings = try await bench.register.standings()
    #expect(standings.map(\.isPaused) == [true, true])
    #expect(
      standings.map(\.lastError) == [
        "Telegram answered 400: Bad Request: chat not found", "Slack answered 410: channel_is_archived",
      ])
    isGone.withLock { $0 = false }
    for target in [team, group] { _ = try await bench.register.resume(target.name) }
    bench.clock.advance(seconds: 10)
    #expect(try await bench.pass(team) == ForwardSummary(delivered: 2))
    #expect(posts.all.count == 2)
  }

  @Test("Slack's no_service is tried again, and pauses the target when it is the answer again")
  func noService() async throws {
    let receiver = HTTPReceiver { number, _ in
      number == 1 ? .status(500, body: "rollup_error") : .status(404, body: "no_service")
    }
    let target = TargetConfiguration.slack(receiver)
    let bench = try await DeliveryBench([target])
    try await store(bench, 1)
    #expect(try await bench.forward(target) == ForwardSummary(waiting: 1))
    bench.clock.advance(seconds: 5)
    // Another answer between the two.
    #expect(try await bench.forward(target) == ForwardSummary(waiting: 1))
    bench.clock.advance(seconds: 30)
    #expect(try await bench.forward(target) == ForwardSummary(waiting: 1))
    bench.clock.advance(seconds: 300)
    #expect(try await bench.forward(target) == ForwardSummary(held: 1))
    #expect(receiver.requests.count == 4)
  }

  @Test("a chat is tried on the spot, wherever it has moved and whatever it says of markup")
  func trial() async throws {
    telegram.move("-1001234567890", to: "-1009999999999")
    telegram.refuseMarkup()
    let receiver = telegramReceiver()
    let trial = await Trial.run(try TargetConfiguration.telegram(receiver).makeTarget(), at: TestClock().now)
    #expect(receiver.requests.count == 3)
    #expect(trial == Trial(verdict: .delivered, status: 200))
    #expect(posts.all.first?.text.contains("Environment: Sandbox") == true)
  }
}
