import Foundation
import HTTP
import Postgres
import Synchronization
import TestSupport
import Testing
import Vocabulary

@testable import Forward

/// What a target may ask for: a pace, a day's limit, an order, other words, a certificate of its own.
@Suite("What targets ask for", .serialized)
struct TargetRuleTests {
  private func store(_ bench: DeliveryBench, _ count: Int, from first: Int = 0) async throws {
    for number in first..<first + count {
      var event = bench.event("e\(number)", chain: "\(1000 + number)", transaction: "t\(1000 + number)")
      event.subscriberID = "u\(number)"
      try await bench.store(event)
    }
  }

  @Test("a bucket of tokens lets a burst go at once, and then one at a time")
  func pace() async throws {
    let receiver = HTTPReceiver()
    var target = TargetConfiguration.webhook(receiver)
    target.pace = Pace(perMinute: 6, burst: 3)
    let bench = try await DeliveryBench([target])
    try await store(bench, 5)
    let session = try await DeliverySession.begin(bench.database.connectionString)
    func claim(at now: Instant) async throws -> Int {
      try await session.claim(
        room: [Room(target: try target.makeTarget(), count: 16)], at: now, cutoff: now, ended: [], inHand: []
      ).requests.joined().count
    }
    let now = bench.clock.now
    #expect(try await claim(at: now) == 3)
    #expect(try await claim(at: now.adding(seconds: 9)) == 0)
    #expect(try await claim(at: now.adding(seconds: 10)) == 1)
    #expect(try await claim(at: now.adding(seconds: 30)) == 1)
    await session.end()
    #expect(try await bench.pass(target) == ForwardSummary(delivered: 5))
  }

  @Test("a day's limit holds the target until the day is over")
  func quota() async throws {
    let receiver = HTTPReceiver()
    var target = TargetConfiguration.webhook(receiver)
    target.dailyQuota = 2
    let bench = try await DeliveryBench([target])
    try await store(bench, 5)
    #expect(try await bench.forward(target) == ForwardSummary(delivered: 2, waiting: 3))
    bench.clock.advance(seconds: 43_199)
    #expect(try await bench.forward(target) == ForwardSummary(waiting: 3))
    let next = try await bench.deliveries().compactMap { try $0.optionalTimestamp("next_attempt_at") }.min()
    #expect(next == Instant("2026-03-02T00:00:00Z")?.microseconds)
    bench.clock.advance(seconds: 1)
    #expect(try await bench.forward(target) == ForwardSummary(delivered: 2, waiting: 1))
    #expect(receiver.requests.count == 4)
  }

  @Test("a day's limit that is raised or taken away holds nothing any more, and until then is told as what holds")
  func changedQuota() async throws {
    let receiver = HTTPReceiver()
    var target = TargetConfiguration.webhook(receiver)
    target.dailyQuota = 2
    let bench = try await DeliveryBench([target])
    try await store(bench, 9)
    #expect(try await bench.forwarder([target]).preview().count == 2)
    #expect(try await bench.forward(target) == ForwardSummary(delivered: 2, waiting: 7))
    #expect(try await bench.register.standings()[0].lastError?.contains("per_day") == true)
    // Lowered or left as it is, it holds.
    for quota in [2, 1] {
      target.dailyQuota = Int64(quota)
      try await bench.register([target])
      #expect(try await bench.forward(target) == ForwardSummary(waiting: 7))
      #expect(try await bench.forwarder([target]).preview().isEmpty)
    }
    target.dailyQuota = 5
    try await bench.register([target])
    #expect(try await bench.register.standings()[0].lastError == nil)
    #expect(try await bench.forwarder([target]).preview().count == 3)
    #expect(try await bench.forward(target) == ForwardSummary(delivered: 3, waiting: 4))
    target.dailyQuota = nil
    try await bench.register([target])
    #expect(try await bench.forward(target) == ForwardSummary(delivered: 4))
  }

  @Test("a wait that a target asked for stays when its day's limit is changed")
  func quotaAndWait() async throws {
    let receiver = HTTPReceiver { number, _ in
      number < 2 ? .status(200) : .status(429, headers: ["Retry-After": "600"])
    }
    var target = TargetConfiguration.webhook(receiver)
    target.dailyQuota = 3
    let bench = try await DeliveryBench([target])
    try await store(bench, 5)
    #expect(try await bench.forward(target) == ForwardSummary(delivered: 2, waiting: 3))
    target.dailyQuota = nil
    try await bench.register([target])
    bench.clock.advance(seconds: 599)
    #expect(try await bench.forward(target) == ForwardSummary(waiting: 3))
    #expect(receiver.requests.count == 3)
  }

  @Test("a pace is kept when requests leave: nothing gathers behind a slow answer")
  func slowAnswer() async throws {
    let slow = HTTPReceiver { number, _ in number == 0 ? .held(200) : .status(200) }
    let quick = HTTPReceiver()
    var paced = TargetConfiguration.webhook(slow, name: "paced")
    paced.pace = Pace(perMinute: 60)
    paced.events = [.subscriptionRenewed]
    var witness = TargetConfiguration.webhook(quick, name: "witness")
    witness.events = [.refunded]
    let bench = try await DeliveryBench([paced, witness])
    try await store(bench, 8)
    var settings = Forwarder.Settings()
    settings.pause = .milliseconds(5)
    let forwarder = try bench.forwarder([paced, witness], settings: settings)
    let work = Task { try await forwarder.run() }
    try await slow.received(1)
    /// Lets time go by, and returns when the forwarder has looked for what is due.
    func look(_ number: Int, after seconds: Int64) async throws {
      bench.clock.advance(seconds: seconds)
      try await bench.store(bench.event("r\(number)", .refunded, chain: "\(5000 + number)", transaction: "r\(number)"))
      try await quick.received(number)
    }
    for number in 1...4 { try await look(number, after: 10) }
    slow.release()
    // One may go, and by a clock that stands no other.
    try await slow.received(2)
    for number in 5...6 { try await look(number, after: 0) }
    #expect(slow.requests.count == 2)
    bench.clock.advance(seconds: 1)
    try await slow.received(3)
    work.cancel()
    try await work.value
  }

  @Test(
    "a preview shows the requests that are then made, whatever a request carries and in whatever order it came",
    arguments: ["webhook", "slack", "telegram", "discord", "amplitude", "mixpanel"], [false, true])
  func previewIsSent(type: String, isOrdered: Bool) async throws {
    let bench = try await DeliveryBench()
    let service = TargetService(type, clock: bench.clock)
    let receiver = HTTPReceiver { _, request in service.answer(request) }
    var target = service.configuration(receiver)
    target.isOrdered = isOrdered
    try await bench.register([target])
    // In no order, of different lengths, and of few subscriptions.
    for number in 0..<40 {
      let age = Int64(number * 17 % 40)
      var event = bench.event(
        "e\(number)", number.isMultiple(of: 3) ? .refunded : .subscriptionRenewed, chain: "\(1000 + number % 23)",
        transaction: "t\(1000 + number)", secondsAgo: 100 + age)
      event.subscriberID = "u\(number)" + String(repeating: "x", count: number * 7)
      try await bench.store(event)
    }
    var settings = Forwarder.Settings()
    settings.pause = .milliseconds(5)
    settings.requestsPerTarget = 1
    func forwarder() throws -> Forwarder {
      Forwarder(
        connectionString: bench.database.connectionString, targets: [try target.makeTarget()], settings: settings,
        now: { [clock = bench.clock] in
          clock.advance(seconds: 1)
          return clock.now
        }, chance: { 0.5 })
    }
    var shown = try await forwarder().preview().compactMap { preview in
      preview.request.firstRange(of: "\n\n").map { String(preview.request[$0.upperBound...]) }
    }
    #expect(try await forwarder().runOnce() == ForwardSummary(delivered: 40))
    var made = receiver.requests.map { $0.text.replacing("secret-token", with: "…") }
    if type == "webhook" {
      // Each goes by itself, and several at once.
      shown.sort()
      made.sort()
    }
    #expect(shown == made)
  }

  @Test("Discord's own word on its bucket is kept")
  func discordHeaders() async throws {
    let service = TargetService("discord")
    let receiver = HTTPReceiver { number, request in
      guard case .status(let status, _, let body) = service.answer(request), number == 0 else {
        return service.answer(request)
      }
      return .status(
        status, headers: ["X-RateLimit-Remaining": "0", "X-RateLimit-Reset-After": "41.5"], body: body)
    }
    let target = service.configuration(receiver)
    let bench = try await DeliveryBench([target])
    try await store(bench, 1)
    #expect(try await bench.forward(target) == ForwardSummary(delivered: 1))
    let row = try await bench.connection.query("select paced_until from forward.target")[0]
    #expect(try row.optionalTimestamp("paced_until") == bench.clock.now.microseconds + 41_500_000)
  }

  @Test("an ordered target gets what happened to one subscription in its order, and a failure holds only that one")
  func ordered() async throws {
    let isBroken = Mutex(true)
    let receiver = HTTPReceiver { _, request in
      .status(request.text.contains("\"a2\"") && isBroken.withLock { $0 } ? 500 : 200)
    }
    var target = TargetConfiguration.webhook(receiver)
    target.isOrdered = true
    let bench = try await DeliveryBench([target])
    // They come in another order than they happened in.
    for (id, chain, ago) in [
      ("a3", "1", 30), ("a1", "1", 300), ("b2", "2", 20), ("a2", "1", 200), ("b1", "2", 250), ("a4", "1", 10),
    ] as [(String, String, Int64)] {
      try await bench.store(bench.event(id, chain: chain, transaction: id, secondsAgo: ago))
    }
    func sent() -> [String] { receiver.requests.compactMap { $0.headers["webhook-id"] } }
    #expect(try await bench.forward(target) == ForwardSummary(delivered: 3, waiting: 3))
    #expect(sent().filter { $0.hasPrefix("a") } == ["a1", "a2"])
    #expect(sent().filter { $0.hasPrefix("b") } == ["b1", "b2"])
    isBroken.withLock { $0 = false }
    bench.clock.advance(seconds: 5)
    #expect(try await bench.forward(target) == ForwardSummary(delivered: 3))
    #expect(sent().filter { $0.hasPrefix("a") } == ["a1", "a2", "a2", "a3", "a4"])
  }

  @Test("several forwarders at once keep the order of an ordered target")
  func orderedTogether() async throws {
    let receiver = HTTPReceiver()
    var target = TargetConfiguration.webhook(receiver)
    target.isOrdered = true
    let bench = try await DeliveryBench([target])
    for number in 0..<40 {
      try await bench.store(
        bench.event(
          "e\(100 + number)", chain: "\(number % 4)", transaction: "t\(number)", secondsAgo: Int64(1000 - number)))
    }
    var delivered = 0
    while delivered < 40 {
      let summaries = try await withThrowingTaskGroup(of: ForwardSummary.self) { group in
        for _ in 1...3 { group.addTask { [target] in try await bench.forward(target) } }
        return try await group.reduce(into: []) { $0.append($1) }
      }
      let more = summaries.map(\.delivered).reduce(0, +)
      try #require(more > 0)
      delivered += more
    }
    let ids = receiver.requests.compactMap { $0.headers["webhook-id"] }
    #expect(ids.count == 40)
    for chain in 0..<4 {
      let own = ids.filter { (Int($0.dropFirst()) ?? 0) % 4 == chain }
      #expect(own == own.sorted())
    }
  }

  @Test("a range of events is sent on request, and of it only what was never delivered")
  func replayRange() async throws {
    let receiver = HTTPReceiver()
    let target = TargetConfiguration.webhook(receiver)
    let bench = try await DeliveryBench([target])
    for (id, days) in [("ten", 10), ("twenty", 20), ("thirty", 30), ("now", 0)] as [(String, Int64)] {
      try await bench.store(bench.event(id, transaction: id, secondsAgo: days * 86_400 + 60))
    }
    #expect(try await bench.forward(target) == ForwardSummary(delivered: 1))
    let from = bench.clock.now.adding(seconds: -25 * 86_400)
    let until = bench.clock.now.adding(seconds: -15 * 86_400)
    #expect(try await bench.register.replay("backend", .since(from, until: until), at: bench.clock.now) == 1)
    #expect(try await bench.forward(target) == ForwardSummary(delivered: 1))
    #expect(receiver.requests.compactMap { $0.headers["webhook-id"] } == ["now", "twenty"])
  }

  @Test("what became of deliveries is counted, and no count goes back")
  func counters() async throws {
    let receiver = HTTPReceiver { number, _ in .status([500, 400, 200][min(number, 2)]) }
    let target = TargetConfiguration.webhook(receiver)
    let bench = try await DeliveryBench([target])
    var one = Forwarder.Settings()
    one.requestsPerTarget = 1
    let forwarder = try bench.forwarder([target], settings: one)
    try await store(bench, 3)
    #expect(try await forwarder.runOnce() == ForwardSummary(delivered: 1, refused: 1, waiting: 1))
    bench.clock.advance(seconds: 5)
    _ = try await forwarder.runOnce()
    _ = try await bench.register.replay("backend", .refused, at: bench.clock.now)
    _ = try await forwarder.runOnce()
    let row = try await bench.connection.query("select attempts, delivered, refused from forward.target")[0]
    #expect(try row.int("attempts") == 5)
    #expect(try row.int("delivered") == 3)
    #expect(try row.int("refused") == 1)
    #expect(try await bench.register.standings()[0].successRate == 0.6)
  }

  // MARK: - Messages

  private static let chats = ["slack", "telegram", "discord"]

  @Test("many events at once go in few messages, and none is missing", arguments: chats)
  func merged(type: String) async throws {
    let bench = try await DeliveryBench()
    let texts = Mutex("")
    let service = TargetService(type, clock: bench.clock)
    let receiver = HTTPReceiver { _, request in
      texts.withLock { $0 += request.text }
      return service.answer(request)
    }
    let target = service.configuration(receiver)
    try await bench.register([target])
    try await store(bench, 30)
    #expect(try await bench.pass(target) == ForwardSummary(delivered: 30))
    #expect(receiver.requests.count < 15)
    #expect(service.count == receiver.requests.count)
    for number in 0..<30 {
      #expect(
        texts.withLock { $0.contains("u\(number)\\n") || $0.contains("u\(number)\"") || $0.contains("u\(number)<") })
    }
  }

  @Test("a message of many that is refused goes again in parts, so that one bad event stays alone", arguments: chats)
  func mergedRefused(type: String) async throws {
    let bench = try await DeliveryBench()
    let service = TargetService(type, clock: bench.clock)
    let receiver = HTTPReceiver { _, request in
      request.text.contains("u3") ? .status(400, body: "invalid_blocks") : service.answer(request)
    }
    let target = service.configuration(receiver)
    try await bench.register([target])
    try await store(bench, 8)
    #expect(try await bench.pass(target) == ForwardSummary(delivered: 7, refused: 1))
    let refused = try await bench.deliveries().filter { try $0.text("state") == "refused" }
    #expect(try refused.map { try $0.text("event_id") } == ["e3"])
  }

  /// The events in the text that one of the receiver's requests carried, in their order.
  private static func events(_ request: HTTPReceiver.Request) -> [Int] {
    request.text.matches(of: /(?:\bu|\\nu)(\d+)/).compactMap { Int($0.output.1) }.reduce(into: []) { found, number in
      if found.last != number { found.append(number) }
    }
  }

  @Test(
    "a message of many that is not taken for the moment is sent again, all of it, once, and in its order",
    arguments: chats, ["429", "429 without a wait", "500", "502", "no answer"])
  func mergedLater(type: String, trouble: String) async throws {
    let bench = try await DeliveryBench()
    let service = TargetService(type, clock: bench.clock)
    let taken = Mutex<[Int]>([])
    let receiver = HTTPReceiver { number, request in
      guard number == 0 else {
        taken.withLock { $0 += Self.events(request) }
        return service.answer(request)
      }
      return switch trouble {
      case "429": .status(429, headers: ["Retry-After": "30"])
      case "no answer": .close
      default: .status(Int(trouble.prefix(3)) ?? 500)
      }
    }
    let target = service.configuration(receiver)
    try await bench.register([target])
    // More than one message can hold, so that some are not in the one that fails.
    for number in 0..<30 {
      var event = bench.event(
        "e\(number)", chain: "\(1000 + number)", transaction: "t\(1000 + number)", secondsAgo: Int64(600 - number))
      event.subscriberID = "u\(number)"
      try await bench.store(event)
    }
    // Each attempt is spread by another chance, as it is in life.
    let chances = Mutex(0.0)
    var settings = Forwarder.Settings()
    settings.pause = .milliseconds(5)
    let forwarder = Forwarder(
      connectionString: bench.database.connectionString, targets: [try target.makeTarget()], settings: settings,
      now: { [clock = bench.clock] in
        clock.advance(seconds: 1)
        return clock.now
      },
      chance: {
        chances.withLock { chance in
          chance = (chance + 0.3).truncatingRemainder(dividingBy: 1)
          return chance
        }
      })
    let first = try await forwarder.runOnce()
    let failed = Self.events(try #require(receiver.requests.first))
    #expect(failed.count > 1)
    #expect(first.refused == 0)
    #expect(first.waiting >= failed.count)
    let due = try await bench.connection.query(
      "select distinct due_at::text from forward.delivery where failures > 0")
    #expect(trouble.hasPrefix("429") || due.count == 1, "not together")
    for _ in 0..<4 {
      bench.clock.advance(seconds: 60)
      _ = try await forwarder.runOnce()
    }
    let order = taken.withLock { $0 }
    #expect(order.sorted() == Array(0..<30))
    #expect(order.filter(failed.contains) == failed)
    // A wait that the service asked for is everyone's: nobody goes before.
    if trouble.hasPrefix("429") { #expect(order == Array(0..<30)) }
    #expect(try await bench.deliveries().allSatisfy { try $0.text("state") == "delivered" })
  }

  @Test("an event that a target always answers with a wait keeps those behind it waiting, and no longer than that")
  func alwaysThrottled() async throws {
    let receiver = HTTPReceiver { _, request in
      request.text.contains("\"e0\"") ? .status(429, headers: ["Retry-After": "10"]) : .status(200)
    }
    var target = TargetConfiguration.webhook(receiver)
    target.pace = Pace(perMinute: 60_000)
    let bench = try await DeliveryBench([target])
    try await store(bench, 4)
    for _ in 0..<8 {
      _ = try await bench.pass(target)
      bench.clock.advance(seconds: 10)
    }
    #expect(
      try await bench.deliveries().map { try $0.text("state") } == ["waiting", "delivered", "delivered", "delivered"])
  }

  @Test("several forwarders together keep to a day's limit")
  func sharedQuota() async throws {
    let receiver = HTTPReceiver()
    var target = TargetConfiguration.webhook(receiver)
    target.dailyQuota = 5
    let bench = try await DeliveryBench([target])
    try await store(bench, 20)
    for _ in 0..<3 {
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 1...3 { group.addTask { [target] in _ = try await bench.forward(target) } }
        try await group.waitForAll()
      }
    }
    #expect(receiver.requests.count == 5)
  }

  @Test("what a forwarder has in its hands is not sent a second time by a replay beside it")
  func replayInHand() async throws {
    let receiver = HTTPReceiver { number, _ in number == 0 ? .held(200) : .status(200) }
    let target = TargetConfiguration.webhook(receiver)
    let bench = try await DeliveryBench([target])
    try await store(bench, 1)
    let forwarder = try bench.forwarder([target])
    let pass = Task { try await forwarder.runOnce() }
    try await receiver.received(1)
    #expect(try await bench.register.replay("backend", .event("e0"), at: bench.clock.now) == 1)
    #expect(try await bench.forward(target) == ForwardSummary(waiting: 1))
    receiver.release()
    #expect(try await pass.value == ForwardSummary(delivered: 1))
    #expect(receiver.requests.count == 1)
  }

  @Test("an event that cannot be read is refused and counted, stops nobody, and is sent once it can be read again")
  func unreadable() async throws {
    let receiver = HTTPReceiver()
    let target = TargetConfiguration.webhook(receiver)
    let bench = try await DeliveryBench([target])
    try await store(bench, 3)
    try await bench.connection.execute(
      "create temporary table kept as select body from ingest.event where event_id = 'e1'; "
        + "update ingest.event set body = '{}' where event_id = 'e1'")
    #expect(try await bench.forward(target) == ForwardSummary(delivered: 2, refused: 1))
    let row = try #require(try await bench.deliveries().first { try $0.text("event_id") == "e1" })
    #expect(try row.text("state") == "refused")
    #expect(try row.text("last_error").contains("cannot be read"))
    #expect(try await bench.register.standings()[0].refused == 1)
    let counted = try await bench.connection.query("select refused from forward.target")[0]
    #expect(try counted.int("refused") == 1)
    try await bench.connection.execute(
      "update ingest.event set body = kept.body from kept where event_id = 'e1'")
    #expect(try await bench.register.replay("backend", .refused, at: bench.clock.now) == 1)
    #expect(try await bench.forward(target) == ForwardSummary(delivered: 1))
    #expect(receiver.requests.last?.headers["webhook-id"] == "e1")
  }

  @Test("however many events cannot be read, what stands behind them is sent in the same pass")
  func manyUnreadable() async throws {
    let receiver = HTTPReceiver()
    let target = TargetConfiguration.webhook(receiver)
    let bench = try await DeliveryBench([target])
    // More than a target has in hand at once.
    try await store(bench, 300)
    try await bench.connection.execute("update ingest.event set body = '{}' where event_id <> 'e299'")
    #expect(try await bench.forward(target) == ForwardSummary(delivered: 1, refused: 299))
    #expect(receiver.requests.map { $0.headers["webhook-id"] } == ["e299"])
  }

  @Test("what waits for a target that becomes one of another type is said anew, in the words of that type")
  func otherType() async throws {
    let slack = HTTPReceiver { _, _ in .status(500) }
    let service = TargetService("telegram")
    let telegram = HTTPReceiver { _, request in service.answer(request) }
    let before = TargetConfiguration.slack(slack, name: "team")
    var after = TargetConfiguration.telegram(telegram, chatID: "17")
    after.name = "team"
    let bench = try await DeliveryBench([before])
    try await store(bench, 1)
    #expect(try await bench.forward(before) == ForwardSummary(waiting: 1))
    try await bench.register([after])
    bench.clock.advance(seconds: 5)
    #expect(try await bench.forward(after) == ForwardSummary(delivered: 1))
    #expect(service.count == 1)
    #expect(telegram.requests.first?.text.contains("\"parse_mode\":\"HTML\"") == true)
    #expect(telegram.requests.first?.text.contains("blocks") == false)
  }

  private static func announcement() throws -> Announcement {
    var event = Event(
      eventID: "e", kind: .productChanged, occurredAt: try #require(Instant("2026-03-01T09:30:00Z")), app: "video",
      store: .appStore, environment: .sandbox, originalTransactionID: "1000")
    event.subscriberID = "a b/<@everyone>"
    event.detail = EventDetail(reason: "price_increase", direction: "upgrade", effective: "immediate")
    event.transaction = TransactionFact(transactionID: "t1", signedAt: event.signedAt)
    event.transaction?.productID = .value("yearly")
    event.transaction?.price = .value(Money(amount: Micros(980_000_000), currency: "JPY"))
    var announcement = Announcement(event)
    announcement.plan = .init(price: Money(amount: Micros(9_800_000_000), currency: "JPY"), period: "P1Y")
    announcement.converted = Money(amount: Micros(6_400_000), currency: "USD")
    return announcement
  }

  private static func shown(_ type: String, _ template: String? = nil) throws -> String {
    let receiver = HTTPReceiver()
    var configuration = TargetService(type).configuration(receiver)
    configuration.template = template
    configuration.subscriberURLs = ["video": "https://admin.example.com/users/{subscriber_id}?a=1&b=2"]
    let target = try configuration.makeTarget()
    let request = target.request(
      carrying: [Parcel(eventID: "e", body: target.body(for: try announcement()))], at: TestClock().now)
    let path = type == "telegram" ? "/bot12345:secret-token/sendMessage" : "/?wait=true"
    let received = HTTPReceiver.Request(
      path: path, headers: ["content-type": "application/json"], body: request.body)
    let telegram = TelegramService(token: "12345:secret-token", chats: ["17"])
    let post =
      switch type {
      case "slack": SlackService.answer(received).post
      case "discord": DiscordService.answer(received).post
      default: telegram.answer(received).post
      }
    #expect(
      request.body.firstRange(of: Array("https://admin.example.com/users/a%20b%2F%3C%40everyone%3E?a=1&".utf8)) != nil)
    return try #require(post?.text, "\(String(decoding: request.body, as: UTF8.self))")
  }

  @Test(
    "a message says the plan, both amounts, the direction, the reason, and leads to the subscriber", arguments: chats)
  func content(type: String) throws {
    let text = try Self.shown(type)
    for part in [
      "Product changed", "¥9,800 a year", "¥980 (≈ $6.40)", "upgrade", "price increase", "a b/<@everyone>", "Sandbox",
    ] { #expect(text.contains(part), "\(part) is not in \(text)") }
  }

  @Test(
    "a template's own words stand as they are, values are escaped, and a line of nothing is left out", arguments: chats)
  func template(type: String) throws {
    let text = try Self.shown(type, "{event}: {product}\nfor {amount} or {converted}\n{message}\nof {subscriber}")
    #expect(text == "Product changed: yearly\nfor ¥980 or $6.40\nof a b/<@everyone>")
  }

  /// What a value could be to become a link, a mention, a command or markup of the service, or to break the message.
  private static let hostileValues = [
    "<!channel>", "<@U1>", "&lt;!channel&gt;", "<https://evil.example|free>", "<b>x</b>", "a&b;", "@everyone",
    "https://evil.example/a", "evil.example", "президент.рф", "192.0.2.1", "[free](https://evil.example)", "/start@bot",
    "#general", "$EVIL", "+4915112345678", "*x* _y_ ~z~ `c` ||s|| > q", "{subscriber}", "\\[a\\](b)",
    // What follows joins the character before it for the eye, and leaves it markup.
    "<\u{301}!channel>\u{301}", "&\u{FE0F}lt;", "*\u{FE0F}x*\u{FE0F}", "@\u{200D}everyone <\u{200D}b>",
    "[\u{301}a]\u{301}(b)",
    // What is left when only a part is taken out.
    "<>[free<>]<>(https<>://evil.example<>)", String(repeating: "<", count: 280) + "!channel>",
  ]

  /// What people read of an event with hostile values; nil when the service did not take it.
  private static func read(_ type: String, _ value: String, template: String?, refusesMarkup: Bool = false) throws
    -> String?
  {
    let receiver = HTTPReceiver()
    var configuration = TargetService(type).configuration(receiver)
    configuration.template = template
    var announcement = try Self.announcement()
    announcement.event.subscriberID = value
    announcement.event.app = value
    announcement.event.detail.reason = value
    announcement.product?.name = value
    let target = try configuration.makeTarget()
    let telegram = TelegramService(token: "12345:secret-token", chats: ["17"])
    if refusesMarkup { telegram.refuseMarkup() }
    var parcel = Parcel(eventID: "e", body: target.body(for: announcement))
    for _ in 0..<2 {
      let request = HTTPReceiver.Request(
        path: type == "telegram" ? "/bot12345:secret-token/sendMessage" : "/?wait=true",
        headers: ["content-type": "application/json"],
        body: target.request(carrying: [parcel], at: TestClock().now).body)
      let said =
        switch type {
        case "slack": SlackService.answer(request)
        case "discord": DiscordService.answer(request)
        default: telegram.answer(request)
        }
      if let post = said.post { return post.text }
      guard case .status(let status, _, let body) = said.answer else { return nil }
      let verdicts = target.verdicts(
        on: HTTPResponse(status: status, headers: [:], body: Array(body.utf8)), carrying: [parcel], at: TestClock().now)
      guard case .reworded(let body, _)? = verdicts.first, refusesMarkup else { return nil }
      parcel.body = body
    }
    return nil
  }

  @Test(
    "no value becomes a mention, a link or markup, whatever the template and however long the message", arguments: chats
  )
  func hostileValues(type: String) throws {
    let many = String(repeating: "{subscriber}{reason}{product}", count: 60)
    for value in Self.hostileValues {
      for template in [nil, "{subscriber} of {app}", "{product} - {reason}", many] {
        let text = try Self.read(type, value, template: template)
        #expect(text != nil, "\(value) in \(template?.prefix(20) ?? "the usual lines")")
        // Those that are cut are not there whole.
        if template != many, value.utf8.count < 60 {
          #expect(text?.contains(value) == true, "\(value) is not in \(text ?? "")")
        }
      }
    }
  }

  @Test("a value in a template's own link is a part of its address or of its words, and nothing else", arguments: chats)
  func templateLinks(type: String) throws {
    let address = "https://admin.example.com/u/{product}?of={subscriber}"
    let link =
      switch type {
      case "slack": "<\(address)|see {product} of {subscriber}>, {reason}"
      case "telegram": "<a href=\"\(address)\">see {product} of {subscriber}</a>, {reason}"
      default: "[see {product} of {subscriber}](\(address)), {reason}"
      }
    let values = Self.hostileValues + ["x\" href=\"https://evil.example/", "x> y", "x)(y", "pro.monthly", "a|b"]
    for value in values where value.utf8.count < 60 {
      let receiver = HTTPReceiver()
      var configuration = TargetService(type).configuration(receiver)
      configuration.template = link
      configuration.subscriberURLs = ["video": "https://admin.example.com/users/{subscriber_id}"]
      var announcement = try Self.announcement()
      announcement.event.subscriberID = value
      announcement.product?.name = value
      let body = try configuration.makeTarget().body(for: announcement)
      let encoded = value.utf8.map { byte in
        let scalar = Unicode.Scalar(byte)
        let isPlain =
          scalar.isASCII && (scalar.properties.isAlphabetic || "0123456789-._~".unicodeScalars.contains(scalar))
        return isPlain ? String(scalar) : "%" + String(format: "%02X", byte)
      }.joined()
      #expect(body.contains("https://admin.example.com/u/\(encoded)?of=\(encoded)"), "\(body)")
      // No address but the template's own, and no link or code in its words.
      #expect(body.ranges(of: "://admin.example.com").count == 1, "\(body)")
      #expect(!body.contains("<code>") && body.ranges(of: "<a href=").count <= 1, "\(body)")
      let text = try Self.read(type, value, template: link)
      #expect(
        text?.contains("see \(value.replacing("|", with: type == "slack" ? "¦" : "|")) of ") == true,
        "\(text ?? "nothing")")
    }
  }

  @Test("no value becomes a mention or a link in the plain text that stands in for refused markup")
  func hostilePlainText() throws {
    for value in Self.hostileValues where value.utf8.count < 60 {
      for template in [nil, "<b>{subscriber}</b> of {app}"] {
        let text = try Self.read("telegram", value, template: template, refusesMarkup: true)
        #expect(
          text?.replacing("\u{2060}", with: "").contains(value) == true, "\(value) is not in \(text ?? "nothing")")
      }
    }
  }

  @Test(
    "a template that is too long with its values is cut in them, and one that is too long by itself is a problem",
    arguments: chats)
  func longTemplate(type: String) throws {
    let words = String(repeating: "w", count: 1000)
    let text = try Self.read(
      type, String(repeating: "v", count: 400),
      template: "\(words){subscriber}" + String(repeating: "{reason}", count: 20))
    #expect(text?.hasPrefix(words + "v") == true)
    #expect(text?.components(separatedBy: "…").count == 22)
    let receiver = HTTPReceiver()
    var configuration = TargetService(type).configuration(receiver)
    configuration.template = String(repeating: "w", count: 4097)
    let problem = #expect(throws: TargetProblem.self) { try configuration.makeTarget() }
    #expect(problem?.setting == "template")
    #expect(problem?.message.contains("characters") == true)
  }

  @Test("an event of which a template says nothing is told in the usual lines", arguments: chats)
  func silentTemplate(type: String) throws {
    #expect(try Self.read(type, "u", template: "{message}\n{offer}")?.contains("Product changed") == true)
  }

  @Test("a digest is told as a message of the day's figures, whatever the template", arguments: chats)
  func digest(type: String) throws {
    let json = """
      {"event_id":"digest-1","kind":"daily_digest","occurred_at":"2026-03-02T08:00:00Z","store":"other",
      "environment":"Production","detail":{"digest":{"day":"2026-03-01","timezone":"UTC","apps":["video"],"new":3,
      "trial_converted":2,"reactivated":1,"recovered":4,"churned":5,"suspended":6,"trials_started":7,
      "active_subscriptions":120,"active_subscriptions_change":-2,
      "renewal_revenue":{"charges":9,"unpriced_charges":0,"net":[{"currency":"EUR","amount":80.5}],"converted":90,
      "converted_to":"USD","unconverted_charges":0},
      "mrr":{"by_currency":[],"converted":1000,"change":12.5,"converted_to":"USD","unpriced_subscriptions":0},
      "movers":[{"app":"video","product_id":"p","name":"<b>Pro</b>","active_subscriptions_change":3,"mrr_change":-1}]}}}
      """
    let event = try JSONDecoder().decode(Event.self, from: Data(json.utf8))
    let receiver = HTTPReceiver()
    var configuration = TargetService(type).configuration(receiver)
    configuration.template = "{event}"
    let text = try configuration.makeTarget().body(for: Announcement(event)).replacing("\\", with: "")
    for part in ["2026-03-01", "120 (", "+$12.50", "€80.50", "≈ $90.00", "$1,000.00", "from trials 2", "suspended 6"] {
      let escaped = type == "discord" ? DiscordTarget.escaped(part).replacing("\\", with: "") : part
      #expect(text.contains(escaped), "\(part) is not in \(text)")
    }
    #expect(type == "discord" || !text.contains("<b>Pro"))
  }

  @Test("when a digest is wanted is put down, and taken back")
  func digestSettings() async throws {
    let receiver = HTTPReceiver()
    var target = TargetConfiguration.slack(receiver)
    target.digest = .init(at: "09:30", timezone: "Europe/Berlin")
    let bench = try await DeliveryBench([target])
    func stored() async throws -> [String?] {
      let row = try await bench.connection.query("select digest_at::text, digest_zone from forward.target")[0]
      return [try row.optionalText("digest_at"), try row.optionalText("digest_zone")]
    }
    #expect(try await stored() == ["09:30:00", "Europe/Berlin"])
    target.digest = nil
    try await bench.register([target])
    #expect(try await stored() == [nil, nil])
  }

  @Test("a name that no template has is a problem of the configuration", arguments: chats)
  func unknownName(type: String) throws {
    let receiver = HTTPReceiver()
    var configuration = TargetService(type).configuration(receiver)
    configuration.template = "{prodct}"
    let problem = #expect(throws: TargetProblem.self) { try configuration.makeTarget() }
    #expect(problem?.setting == "template")
    #expect(problem?.message.hasPrefix("there is no {prodct}; there is event, product") == true)
  }

  @Test("periods are said as people say them")
  func plans() {
    let price = Money(amount: Micros(9_990_000), currency: "USD")
    for (period, text) in [
      ("P1M", "$9.99 a month"), ("P1W", "$9.99 a week"), ("P1Y", "$9.99 a year"), ("P3M", "$9.99 for 3 months"),
      ("P7D", "$9.99 for 7 days"), ("P1M2D", "$9.99 for P1M2D"),
    ] { #expect(Announcement.Plan(price: price, period: period).description == text) }
  }
}
