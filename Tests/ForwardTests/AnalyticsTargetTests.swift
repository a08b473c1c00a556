import Foundation
import HTTP
import Postgres
import Synchronization
import TestSupport
import Testing
import Vocabulary

@testable import Forward

/// What analytics services are sent, and how much at once.
@Suite("Analytics targets", .serialized)
struct AnalyticsTargetTests {
  private static let types = ["amplitude", "mixpanel"]

  private static func target(_ type: String, _ change: (inout TargetConfiguration) -> Void = { _ in }) throws
    -> any Target
  {
    var target = TargetConfiguration(name: "product", type: type)
    target.projectKey = "secret-token"
    change(&target)
    return try target.makeTarget()
  }

  private static func event(_ kind: EventKind = .subscriptionRenewed) throws -> Event {
    var event = Event(
      eventID: "2000000900000002-renewed", kind: kind, occurredAt: try #require(Instant("2026-01-01T00:00:00.250Z")),
      app: "video", store: .appStore, environment: .production, originalTransactionID: "1000")
    event.subscriberID = "user_1001"
    event.transaction = TransactionFact(transactionID: "t1", signedAt: event.signedAt)
    event.transaction?.productID = .value("com.example.pro.monthly")
    event.transaction?.period = .value("P1M")
    event.transaction?.reason = .value(.renewal)
    event.transaction?.price = .value(Money(amount: Micros(980_000_000), currency: "JPY"))
    event.transaction?.country = .value("JPN")
    return event
  }

  private static func announcement(_ kind: EventKind = .subscriptionRenewed, converted: Int64? = 6_400_000) throws
    -> Announcement
  {
    var announcement = Announcement(try event(kind))
    announcement.product?.name = "Pro monthly"
    announcement.converted = converted.map { Money(amount: Micros($0), currency: "USD") }
    return announcement
  }

  /// A request's body as an object, and as text.
  private static func sent(_ target: any Target, _ announcement: Announcement) throws -> (NSDictionary, HTTPRequest) {
    let parcel = Parcel(eventID: announcement.event.eventID, body: target.body(for: announcement))
    let request = target.request(carrying: [parcel], at: announcement.event.occurredAt)
    let body = try JSONSerialization.jsonObject(with: Data(request.body))
    if let list = body as? [NSDictionary] { return (try #require(list.first), request) }
    let object = try #require(body as? [String: Any])
    return (try #require((object["events"] as? [NSDictionary])?.first), request)
  }

  @Test("Amplitude gets an event with its revenue in the reporting currency, and beside it what was charged")
  func amplitude() throws {
    let (event, request) = try Self.sent(Self.target("amplitude"), Self.announcement())
    #expect(
      event == [
        "user_id": "user_1001", "event_type": "subscription_renewed", "time": 1_767_225_600_250,
        "insert_id": "2000000900000002-renewed", "platform": "iOS", "country": "JPN",
        "price": Decimal(string: "6.4") ?? 0, "quantity": 1, "revenue": Decimal(string: "6.4") ?? 0, "currency": "USD",
        "productId": "com.example.pro.monthly", "revenueType": "renewal",
        "event_properties": [
          "app": "video", "store": "app_store", "environment": "Production", "original_transaction_id": "1000",
          "transaction_id": "t1", "product_id": "com.example.pro.monthly", "product_name": "Pro monthly",
          "period": "P1M", "local_price": 980, "local_currency": "JPY",
        ],
      ])
    #expect(request.url == "https://api2.amplitude.com/2/httpapi")
    let text = String(decoding: request.body, as: UTF8.self)
    #expect(text.hasPrefix(#"{"api_key":"secret-token","events":["#))
    #expect(text.hasSuffix(#"],"options":{"min_id_length":1}}"#))
    #expect(!request.masked.contains("secret-token"))
  }

  @Test("Mixpanel gets an event with its revenue in the reporting currency, and beside it what was charged")
  func mixpanel() throws {
    let (event, request) = try Self.sent(Self.target("mixpanel"), Self.announcement())
    #expect(
      event == [
        "event": "subscription_renewed",
        "properties": [
          "time": 1_767_225_600, "distinct_id": "user_1001", "$insert_id": "2000000900000002-renewed", "ip": "0",
          "app": "video", "store": "app_store", "environment": "Production", "original_transaction_id": "1000",
          "transaction_id": "t1", "product_id": "com.example.pro.monthly", "product_name": "Pro monthly",
          "period": "P1M", "local_price": 980, "local_currency": "JPY", "country": "JPN",
          "revenue": Decimal(string: "6.4") ?? 0, "currency": "USD", "revenue_type": "renewal",
        ],
      ])
    #expect(request.url == "https://api.mixpanel.com/import?strict=1")
    #expect(request.headers.contains(.init("authorization", "Basic c2VjcmV0LXRva2VuOg==")))
    #expect(!request.masked.contains("secret-token"))
    #expect(!request.masked.contains("c2VjcmV0LXRva2VuOg=="))
  }

  @Test(
    "what is shown of a request has no key in it, however its body must write it", arguments: ["amplitude", "mixpanel"])
  func masked(type: String) throws {
    for key in [#"pre"post"#, #"pre\post"#, "pre/post", #"pre\"/post"#] {
      let (_, request) = try Self.sent(Self.target(type) { $0.projectKey = key }, Self.announcement())
      #expect(!request.masked.contains("post"), "\(request.masked)")
    }
  }

  @Test("every region and endpoint has its address, and a gateway's replaces the host alone")
  func addresses() throws {
    let rows: [(String, String?, String?, String?, String)] = [
      ("amplitude", nil, nil, nil, "https://api2.amplitude.com/2/httpapi"),
      ("amplitude", "us", "batch", nil, "https://api2.amplitude.com/batch"),
      ("amplitude", "eu", nil, nil, "https://api.eu.amplitude.com/2/httpapi"),
      ("amplitude", "eu", "batch", nil, "https://api.eu.amplitude.com/batch"),
      ("amplitude", "eu", "batch", "http://127.0.0.1:9/", "http://127.0.0.1:9/batch"),
      ("mixpanel", "us", nil, nil, "https://api.mixpanel.com/import?strict=1"),
      ("mixpanel", "eu", nil, nil, "https://api-eu.mixpanel.com/import?strict=1"),
      ("mixpanel", "in", nil, nil, "https://api-in.mixpanel.com/import?strict=1"),
      ("mixpanel", "in", nil, "http://127.0.0.1:9", "http://127.0.0.1:9/import?strict=1"),
    ]
    for (type, region, endpoint, base, url) in rows {
      let target = try Self.target(type) {
        $0.region = region
        $0.endpoint = endpoint
        $0.baseURL = base
      }
      #expect(target.request(carrying: [Parcel(eventID: "e", body: "{}")], at: TestClock().now).url == url)
    }
    for (setting, change) in [
      ("region", { $0.region = "mars" }), ("api_key", { $0.projectKey = nil }), ("endpoint", { $0.endpoint = "v1" }),
      ("base_url", { $0.baseURL = "nowhere" }),
    ] as [(String, (inout TargetConfiguration) -> Void)] {
      let problem = #expect(throws: TargetProblem.self) { try Self.target("amplitude", change) }
      #expect(problem?.setting == setting)
    }
    for change in [{ $0.region = "mars" }, { $0.projectKey = "" }] as [(inout TargetConfiguration) -> Void] {
      #expect(throws: TargetProblem.self) { try Self.target("mixpanel", change) }
    }
  }

  @Test("a refund is negative revenue, and an event that moved no money has none", arguments: types)
  func revenue(type: String) throws {
    let target = try Self.target(type)
    let (refund, _) = try Self.sent(target, Self.announcement(.refunded, converted: -6_400_000))
    let (none, _) = try Self.sent(target, Self.announcement(.autoRenewDisabled, converted: nil))
    func value(_ event: NSDictionary, _ name: String) -> Any? {
      event[name] ?? (event["properties"] as? NSDictionary)?[name]
        ?? (event["event_properties"] as? NSDictionary)?[name]
    }
    #expect((value(refund, "revenue") as? NSNumber)?.decimalValue == Decimal(string: "-6.4"))
    #expect((value(refund, "local_price") as? NSNumber)?.decimalValue == -980)
    #expect(value(refund, type == "amplitude" ? "revenueType" : "revenue_type") as? String == "refund")
    for name in ["revenue", "local_price", "currency", "price", "quantity"] { #expect(value(none, name) == nil) }
  }

  @Test("without a rate there is no converted revenue: Amplitude is told the currency, Mixpanel only the local amount")
  func noRate() throws {
    let (amplitude, _) = try Self.sent(Self.target("amplitude"), Self.announcement(converted: nil))
    #expect((amplitude["revenue"] as? NSNumber)?.decimalValue == 980)
    #expect(amplitude["currency"] as? String == "JPY")
    let (mixpanel, _) = try Self.sent(Self.target("mixpanel"), Self.announcement(converted: nil))
    let properties = try #require(mixpanel["properties"] as? NSDictionary)
    #expect(properties["revenue"] == nil)
    #expect((properties["local_price"] as? NSNumber)?.decimalValue == 980)
  }

  @Test("an id that services take for a mistake is no user's: the chain's is sent", arguments: types)
  func users(type: String) throws {
    let target = try Self.target(type)
    func user(_ subscriber: String?, chain: String? = "1000") throws -> String? {
      var announcement = try Self.announcement()
      announcement.event.subscriberID = subscriber
      announcement.event.originalTransactionID = chain
      let (event, _) = try Self.sent(target, announcement)
      return event["user_id"] as? String ?? (event["properties"] as? NSDictionary)?["distinct_id"] as? String
    }
    #expect(try user("u") == "u")
    for id in [nil, "", "0", "-1", "Anonymous", "null", "NULL", "none", "N/A", "true", "[]", "{}", " unknown "] {
      #expect(try user(id) == "1000", "\(id ?? "nil")")
    }
    #expect(try user("00000000-0000-0000-0000-000000000000") == "1000")
    // Of nobody: Amplitude wants an id, and gets the event's; Mixpanel wants an empty one.
    #expect(try user(nil, chain: nil) == (type == "amplitude" ? "2000000900000002-renewed" : ""))
    let long = try #require(try user(String(repeating: "x", count: 3000)))
    #expect(long.utf16.count == 1024)
  }

  @Test("Mixpanel's id of an event is the event's where it may be, else one made of it")
  func insertIDs() {
    for id in ["a", "5e09dcfc-205e-4ea1-9883-96676f394992", String(repeating: "a", count: 36)] {
      #expect(MixpanelTarget.insertID(of: id) == id)
    }
    for id in ["", "a_b", "a.b", "null", "é", String(repeating: "a", count: 37)] {
      let made = MixpanelTarget.insertID(of: id)
      #expect(made.wholeMatch(of: /[0-9a-f]{36}/) != nil)
      #expect(made == MixpanelTarget.insertID(of: id))
    }
    #expect(MixpanelTarget.insertID(of: "a_b") != MixpanelTarget.insertID(of: "a.b"))
  }

  @Test("hostile values stay values", arguments: types)
  func hostileValues(type: String) throws {
    var announcement = try Self.announcement()
    announcement.event.subscriberID = #""}],"events":[{"user_id":"x"}"#
    announcement.event.detail.reason = "\u{0}\n\u{2028}\\"
    let (event, _) = try Self.sent(Self.target(type), announcement)
    let user = event["user_id"] as? String ?? (event["properties"] as? NSDictionary)?["distinct_id"] as? String
    #expect(user == announcement.event.subscriberID)
  }

  // MARK: - Batches

  @Test("a request is filled up to the service's limits and no further", arguments: types)
  func fill(type: String) throws {
    for endpoint in type == "amplitude" ? ["httpapi", "batch"] : [nil] {
      let target = try Self.target(type) { $0.endpoint = endpoint }
      let small = Array(repeating: Parcel(eventID: "e", body: "{}"), count: 3000)
      #expect(target.batch(of: small[...]) == 2000)
      #expect(target.batch(of: small[2990...]) == 10)
      let limit = type == "mixpanel" ? 2_000_000 : endpoint == "batch" ? 20_000_000 : 1_000_000
      let large = Array(
        repeating: Parcel(eventID: "e", body: #"{"a":"\#(String(repeating: "x", count: 15_000))"}"#), count: 2000)
      let count = target.batch(of: large[...])
      func size(_ count: Int) -> Int {
        target.request(carrying: Array(large.prefix(count)), at: TestClock().now).body.count
      }
      #expect(size(count) <= limit)
      #expect(size(count + 1) > limit - 2000)
      // One that is too large by itself is sent alone, for the service to refuse.
      let huge = [Parcel(eventID: "e", body: String(repeating: "x", count: 30_000_000)), small[0]]
      #expect(target.batch(of: huge[...]) == 1)
    }
  }

  private func store(_ bench: DeliveryBench, _ count: Int, _ change: (Int, inout Event) -> Void = { _, _ in })
    async throws
  {
    for number in 0..<count {
      var event = bench.event("e\(number)", chain: "\(1000 + number)", transaction: "t\(1000 + number)")
      change(number, &event)
      try await bench.store(event)
    }
  }

  @Test("what comes together goes in one request, each event once", arguments: types)
  func oneRequest(type: String) async throws {
    let bench = try await DeliveryBench()
    let service = TargetService(type, clock: bench.clock)
    let receiver = HTTPReceiver { _, request in service.answer(request) }
    let target = service.configuration(receiver)
    try await bench.register([target])
    try await store(bench, 30)
    #expect(try await bench.forward(target) == ForwardSummary(delivered: 30))
    #expect(receiver.requests.count == 1)
    #expect(Set(service.posts.map(\.insertID)) == Set((0..<30).map { "e\($0)" }))
  }

  @Test("a service that takes less at once than it says gets each event once, in smaller requests", arguments: types)
  func divided(type: String) async throws {
    let bench = try await DeliveryBench()
    let service = TargetService(type, clock: bench.clock)
    let receiver = HTTPReceiver { _, request in
      request.text.components(separatedBy: "insert_id").count - 1 > 5 ? .status(413) : service.answer(request)
    }
    let target = service.configuration(receiver)
    try await bench.register([target])
    try await store(bench, 30)
    #expect(try await bench.forward(target) == ForwardSummary(delivered: 30))
    #expect(service.posts.count == 30)
    #expect(receiver.requests.count < 30)
  }

  @Test("one event that is too large by itself is refused, and the others arrive", arguments: types)
  func tooLarge(type: String) async throws {
    let bench = try await DeliveryBench()
    let service = TargetService(type, clock: bench.clock)
    let receiver = HTTPReceiver { _, request in
      request.text.contains("\"e3\"") ? .status(413) : service.answer(request)
    }
    let target = service.configuration(receiver)
    try await bench.register([target])
    try await store(bench, 8)
    #expect(try await bench.forward(target) == ForwardSummary(delivered: 7, refused: 1))
    let refused = try await bench.deliveries().filter { try $0.text("state") == "refused" }
    #expect(try refused.map { try $0.text("event_id") } == ["e3"])
  }

  @Test("an answer that refuses a request and names no event costs only the event that is at fault", arguments: types)
  func nobodyNamed(type: String) async throws {
    let bench = try await DeliveryBench()
    let service = TargetService(type, clock: bench.clock)
    let receiver = HTTPReceiver { _, request in
      request.text.contains("\"e3\"")
        ? .status(400, body: #"{"code":400,"error":"some data points in the request failed validation"}"#)
        : service.answer(request)
    }
    let target = service.configuration(receiver)
    try await bench.register([target])
    try await store(bench, 10)
    #expect(try await bench.forward(target) == ForwardSummary(delivered: 9, refused: 1))
    let refused = try await bench.deliveries().filter { try $0.text("state") == "refused" }
    #expect(try refused.map { try $0.text("event_id") } == ["e3"])
  }

  @Test("an answer about the project pauses the target, and nothing of its queue is lost", arguments: types)
  func wrongProject(type: String) async throws {
    let bench = try await DeliveryBench()
    let receiver = HTTPReceiver { _, _ in .status(400, body: #"{"code":400,"error":"no such project"}"#) }
    let target = TargetService(type, clock: bench.clock).configuration(receiver)
    try await bench.register([target])
    try await store(bench, 10)
    #expect(try await bench.forward(target) == ForwardSummary(held: 10))
    #expect(try await bench.register.standings()[0].lastError?.contains("no such project") == true)
    #expect(receiver.requests.count == 1)
  }

  @Test("a value of blanks is none, nor is it a user", arguments: types)
  func blankValues(type: String) throws {
    for blank in ChatTargetTests.blanks {
      var announcement = try Self.announcement()
      announcement.event.subscriberID = blank
      announcement.event.detail.message = blank
      announcement.product?.name = blank
      let (event, request) = try Self.sent(Self.target(type), announcement)
      let user = event["user_id"] as? String ?? (event["properties"] as? NSDictionary)?["distinct_id"] as? String
      #expect(user == "1000")
      for name in ["message", "product_name"] {
        #expect(!String(decoding: request.body, as: UTF8.self).contains("\"\(name)\""))
      }
    }
  }

  @Test("the real service's own refusals are by event: the others arrive, and none is sent twice")
  func refusedByName() async throws {
    let bench = try await DeliveryBench()
    let service = TargetService("mixpanel", clock: bench.clock)
    let receiver = HTTPReceiver { _, request in service.answer(request) }
    let target = service.configuration(receiver)
    try await bench.register([target])
    try await store(bench, 5) { number, event in
      if number == 2 { event.occurredAt = Instant(microseconds: bench.clock.now.microseconds + 7_200_000_000) }
    }
    #expect(try await bench.forward(target) == ForwardSummary(delivered: 4, refused: 1))
    #expect(receiver.requests.count == 1)
    let refused = try #require(try await bench.deliveries().first { try $0.text("state") == "refused" })
    #expect(try refused.text("event_id") == "e2")
    #expect(
      try refused.text("last_error")
        == "Mixpanel answered 400: 'properties.time' is invalid: must be specified as seconds since epoch")
  }

  @Test("those that Amplitude throttles wait 30 s, those beyond a quota a day, and the others do not wait")
  func throttled() async throws {
    let bench = try await DeliveryBench()
    let service = TargetService("amplitude", clock: bench.clock)
    let receiver = HTTPReceiver { number, request in
      number > 0
        ? service.answer(request)
        : .status(
          429,
          body: """
            {"code":429,"error":"Too many requests for some devices and users","throttled_events":[0,1,2],
            "throttled_users":{"u1":12},"exceeded_daily_quota_users":{"u0":500200}}
            """)
    }
    let target = service.configuration(receiver)
    try await bench.register([target])
    try await store(bench, 5) { number, event in event.subscriberID = "u\(number)" }
    #expect(try await bench.forward(target) == ForwardSummary(delivered: 2, waiting: 3))
    let waits = try await bench.deliveries().map { row in
      try row.optionalTimestamp("next_attempt_at").map { ($0 - bench.clock.now.microseconds) / 1_000_000 }
    }
    #expect(waits == [86_400, 30, 30, nil, nil])
    bench.clock.advance(seconds: 30)
    #expect(try await bench.forward(target) == ForwardSummary(delivered: 2, waiting: 1))
    bench.clock.advance(seconds: 86_370)
    #expect(try await bench.forward(target) == ForwardSummary(delivered: 1))
    #expect(service.posts.count == 5)
  }

  @Test("money is converted at the last rate published up to the day of the purchase")
  func converted() async throws {
    let bench = try await DeliveryBench()
    let service = TargetService("mixpanel", clock: bench.clock)
    let receiver = HTTPReceiver { _, request in service.answer(request) }
    let target = service.configuration(receiver)
    try await bench.register([target])
    try await bench.connection.execute(
      """
      insert into reference.rate (currency, day, per_euro) values
        ('JPY', '2026-02-27', 160), ('USD', '2026-02-27', 1.2), ('JPY', '2026-03-02', 100), ('USD', '2026-03-01', 2),
        ('CHF', '2026-02-27', 0.9), ('CHF', '2026-02-28', null)
      """)
    let prices = [("JPY", 1600), ("USD", 5), ("EUR", 10), ("CHF", 9)]
    try await store(bench, 4) { number, event in
      event.transaction?.purchasedAt = .value(Instant("2026-02-28T23:59:59Z") ?? event.occurredAt)
      event.transaction?.price = .value(
        Money(amount: Micros(Int64(prices[number].1) * 1_000_000), currency: prices[number].0))
    }
    #expect(try await bench.forward(target) == ForwardSummary(delivered: 4))
    let revenues = service.posts.sorted { $0.insertID < $1.insertID }.map { post in
      post.json.firstMatch(of: /"revenue":([0-9.]+)/).map { String($0.output.1) }
    }
    #expect(revenues == ["12", "5", "12", nil])
  }
}
