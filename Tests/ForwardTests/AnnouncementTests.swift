import Foundation
import Postgres
import SQL
import TestSupport
import Testing
import Vocabulary

@testable import Forward

@Suite("Announcements")
struct AnnouncementTests {
  /// The ids of the events that have a delivery.
  private func announced(_ bench: DeliveryBench, to target: String = "backend") async throws -> [String] {
    try await bench.connection.query(
      "select event_id from forward.delivery where target = $1 order by event_id", [.text(target)]
    ).map { try $0.text("event_id") }
  }

  private func target(_ change: (inout TargetConfiguration) -> Void = { _ in }) -> TargetConfiguration {
    var target = TargetConfiguration.webhook(url: "https://example.com/hooks")
    change(&target)
    return target
  }

  @Test("an event is due to every target, at most max_age after it happened and after the target was added")
  func age() async throws {
    let bench = try await DeliveryBench()
    let now = bench.clock.now
    var old = target { $0.name = "old" }
    old.maximumAge = 3600
    var late = target { $0.name = "late" }
    late.from = now.adding(seconds: -100)
    try await bench.register.register([old, late], at: now.adding(seconds: -86_400))
    try await bench.register.register([old, late, target { $0.name = "new" }], at: now.adding(seconds: -10))
    for seconds: Int64 in [5, 50, 500, 3600, 3601, 86_400, 90_000] {
      try await bench.store(bench.event("\(seconds)", transaction: "t\(seconds)", secondsAgo: seconds))
    }
    #expect(try await announced(bench, to: "old") == ["3600", "5", "50", "500"])
    #expect(try await announced(bench, to: "late") == ["5", "50"])
    #expect(try await announced(bench, to: "new") == ["5"])
  }

  @Test("an event of the second in which its target was added is sent")
  func sameSecond() async throws {
    let bench = try await DeliveryBench()
    try await bench.register.register([target()], at: Instant(microseconds: bench.clock.now.microseconds + 900_000))
    try await bench.store(bench.event("before", transaction: "t1", secondsAgo: 1), bench.event("same", secondsAgo: 0))
    #expect(try await announced(bench) == ["same"])
  }

  @Test("a target that leaves the configuration gets nothing until it is there again, and starts anew then")
  func removedTarget() async throws {
    let bench = try await DeliveryBench([target()])
    try await bench.register.register([], at: bench.clock.now)
    try await bench.store(bench.event("e1"))
    #expect(try await announced(bench) == [])
    #expect(try await bench.register.standings() == [])
    try await bench.register.register([target()], at: bench.clock.now)
    try await bench.store(bench.event("e2", transaction: "t2"))
    #expect(try await announced(bench) == [])
    try await bench.store(bench.event("e3", transaction: "t3", secondsAgo: 0))
    #expect(try await announced(bench) == ["e3"])
  }

  @Test("what nobody wants to hear of is not sent unless it is asked for")
  func defaultKinds() async throws {
    let asked = target {
      $0.name = "asked"
      $0.events = [.ignored, .refunded]
    }
    let bench = try await DeliveryBench([target(), asked])
    for kind in EventKind.allCases {
      try await bench.store(bench.event(kind.rawValue, kind, chain: "\(kind.hashValue & 0xFFFF_FFFF)"))
    }
    let silent: Set<EventKind> = [.ignored, .unrecognised, .invoiceIssued, .entitlementChanged]
    let expected = EventKind.allCases.filter { !silent.contains($0) }.map(\.rawValue)
    #expect(try await Set(announced(bench)) == Set(expected))
    #expect(try await announced(bench, to: "asked") == ["ignored", "refunded"])
  }

  @Test("an event with two kinds is sent once to a target that wants either")
  func twoKinds() async throws {
    let bench = try await DeliveryBench([
      target { $0.events = [.billingIssue, .gracePeriodEntered] },
      target {
        $0.name = "second"
        $0.events = [.billingIssue]
      },
    ])
    var event = bench.event("e1", .gracePeriodEntered)
    event.also = [.billingIssue]
    try await bench.store(event)
    #expect(try await announced(bench) == ["e1"])
    #expect(try await announced(bench, to: "second") == ["e1"])
  }

  @Test("app, environment, country and amount are what a target filters by")
  func filters() async throws {
    let bench = try await DeliveryBench([
      target {
        $0.name = "app"
        $0.apps = ["music"]
      },
      target {
        $0.name = "environment"
        $0.environments = [.sandbox]
      },
      target {
        $0.name = "country"
        $0.countries = ["DEU", "FRA"]
      },
      target {
        $0.name = "amount"
        $0.minimumAmount = Micros(5_000_000)
      },
      target { $0.name = "all" },
    ])
    try await bench.store(bench.event("music", chain: "1"), appID: 2)
    var sandbox = bench.event("sandbox", chain: "2")
    sandbox.environment = .sandbox
    var german = bench.event("german", chain: "3")
    german.transaction?.country = .value("DEU")
    var cheap = bench.event("cheap", chain: "4")
    cheap.transaction?.price = .value(Money(amount: Micros(4_990_000), currency: "USD"))
    var dear = bench.event("dear", chain: "5")
    dear.transaction?.price = .value(Money(amount: Micros(5_000_000), currency: "USD"))
    var refund = bench.event("refund", .refunded, chain: "6")
    refund.transaction?.price = .value(Money(amount: Micros(9_990_000), currency: "USD"))
    try await bench.store(sandbox, german, cheap, dear, refund)
    #expect(try await announced(bench, to: "app") == ["music"])
    #expect(try await announced(bench, to: "environment") == ["sandbox"])
    #expect(try await announced(bench, to: "country") == ["german"])
    #expect(try await announced(bench, to: "amount") == ["dear", "refund"])
    #expect(try await announced(bench, to: "all") == ["cheap", "dear", "german", "music", "refund"])
  }

  @Test("one charge told in different words by several sources is announced once, by the best of them")
  func chargeOnce() async throws {
    let receiver = HTTPReceiver()
    let target = TargetConfiguration.webhook(receiver)
    let bench = try await DeliveryBench([target])
    try await bench.store(bench.event("vendor", .subscriptionRenewed), source: .revenueCat)
    try await bench.store(bench.event("store", .billingRecovered), source: .appStore)
    try await bench.store(bench.event("own", .subscriptionStarted), source: .tenure)
    #expect(try await announced(bench) == ["vendor"])
    #expect(try await bench.forward(target) == ForwardSummary(delivered: 1))
    #expect(receiver.requests.map { $0.headers["webhook-id"] } == ["store"])
    #expect(receiver.requests[0].text.hasPrefix(#"{"type":"billing_recovered","#))
    try await bench.store(bench.event("late", .subscriptionRenewed), source: .adapty)
    #expect(try await announced(bench) == ["store"])
  }

  @Test("the schema's charges are the vocabulary's")
  func charges() async throws {
    let bench = try await DeliveryBench()
    for kind in EventKind.allCases {
      let row = try await bench.connection.query(
        "select forward.announces(7, $1, '{}', 'immediate', 't', 'e', now()) as announces", [.text(kind.rawValue)])[0]
      #expect(try (row.text("announces") == "7:charge:t") == EventKind.charges.contains(kind), "\(kind)")
    }
  }

  @Test("a change of product is a charge when it is immediate, and else something of its own")
  func productChange() async throws {
    let bench = try await DeliveryBench([target()])
    var planned = bench.event("planned", .productChanged)
    planned.detail.effective = "next_period"
    var immediate = bench.event("immediate", .productChanged)
    immediate.detail.effective = "immediate"
    try await bench.store(bench.event("renewal"), planned, immediate)
    #expect(try await announced(bench).count == 2)
    #expect(try await announced(bench).contains("planned"))
  }

  @Test("other kinds are announced once for each transaction, or moment where there is none")
  func othersOnce() async throws {
    let bench = try await DeliveryBench([target()])
    try await bench.store(
      bench.event("issue", .billingIssue), bench.event("again", .billingIssue, secondsAgo: 30),
      bench.event("next", .billingIssue, transaction: "t2"), bench.event("refund", .refunded),
      bench.event("message", .storeMessage, transaction: nil),
      bench.event("same moment", .storeMessage, transaction: nil),
      bench.event("later message", .storeMessage, transaction: nil, secondsAgo: 30))
    let announced = Set(try await announced(bench))
    #expect(announced.count == 5)
    #expect(announced.isSuperset(of: ["next", "refund", "later message"]))
  }

  // MARK: - Kinds that depend on what came before

  private func period(
    _ bench: DeliveryBench, _ id: String, _ kind: EventKind, transaction: String, daysAgo: Int64, free: Bool,
    price: Int64? = nil
  ) -> Event {
    var event = bench.event(id, kind, transaction: transaction)
    event.transaction?.purchasedAt = .value(bench.clock.now.adding(seconds: -daysAgo * 86_400))
    event.transaction?.price = .value(
      Money(amount: Micros(price ?? (free ? 0 : 9_990_000)), currency: "USD"))
    event.transaction?.offer =
      free ? .value(Offer(type: .introductory, id: nil, discount: .freeTrial, period: nil)) : .absent
    return event
  }

  private func kinds(_ receiver: HTTPReceiver) throws -> [String: String] {
    struct Body: Decodable {
      struct Data: Decodable {
        let eventID: String
        let kind: String
        enum CodingKeys: String, CodingKey {
          case eventID = "event_id"
          case kind
        }
      }
      let type: String
      let data: Data
    }
    return try receiver.requests.reduce(into: [:]) { kinds, request in
      let body = try JSONDecoder().decode(Body.self, from: Data(request.body))
      #expect(body.type == body.data.kind)
      kinds[body.data.eventID] = body.type
    }
  }

  @Test("a renewal after a free period is a conversion, one after a paid period is not, whatever the source called it")
  func conversion() async throws {
    let receiver = HTTPReceiver()
    let target = TargetConfiguration.webhook(receiver)
    let bench = try await DeliveryBench([target])
    try await bench.store(
      period(bench, "first", .subscriptionRenewed, transaction: "t2", daysAgo: 23, free: false),
      period(bench, "second", .trialConverted, transaction: "t3", daysAgo: 0, free: false))
    // Told last, although it came first: the order of arrival does not matter.
    try await bench.store(period(bench, "trial", .trialStarted, transaction: "t1", daysAgo: 30, free: true))
    #expect(try await bench.forward(target).delivered == 3)
    #expect(
      try kinds(receiver) == [
        "trial": "trial_started", "first": "trial_converted", "second": "subscription_renewed",
      ])
  }

  @Test("a free period that another source knows the price of is still free")
  func freeByBestSource() async throws {
    let receiver = HTTPReceiver()
    let target = TargetConfiguration.webhook(receiver)
    let bench = try await DeliveryBench([target])
    var guess = period(bench, "guess", .ignored, transaction: "t1", daysAgo: 30, free: false)
    guess.transaction?.signedAt = bench.clock.now
    try await bench.store(guess, source: .revenueCat)
    try await bench.store(
      period(bench, "trial", .ignored, transaction: "t1", daysAgo: 30, free: true),
      period(bench, "renewal", .subscriptionRenewed, transaction: "t2", daysAgo: 0, free: false))
    #expect(try await bench.forward(target).delivered == 1)
    #expect(try kinds(receiver) == ["renewal": "trial_converted"])
  }

  @Test("a transaction that the store has in another chain tells nothing of what came before in this one")
  func oneHome() async throws {
    let receiver = HTTPReceiver()
    let target = TargetConfiguration.webhook(receiver)
    let bench = try await DeliveryBench([target])
    try await bench.store(
      period(bench, "guess", .ignored, transaction: "t1", daysAgo: 30, free: true), source: .revenueCat)
    try await bench.store(period(bench, "renewal", .subscriptionRenewed, transaction: "t2", daysAgo: 0, free: false))
    var home = period(bench, "home", .ignored, transaction: "t1", daysAgo: 30, free: true)
    home.originalTransactionID = "2000"
    try await bench.store(home)
    #expect(try await bench.forward(target).delivered == 1)
    #expect(try kinds(receiver) == ["renewal": "subscription_renewed"])
  }

  @Test("the end of a free period, and switching renewal off in one, are a trial's")
  func trialEnds() async throws {
    let receiver = HTTPReceiver()
    let target = TargetConfiguration.webhook(receiver)
    let bench = try await DeliveryBench([target])
    let trial = period(bench, "trial", .ignored, transaction: "t1", daysAgo: 7, free: true)
    try await bench.store(trial)
    var off = bench.event("off", .autoRenewDisabled)
    var ended = bench.event("ended", .subscriptionExpired)
    off.transaction = nil
    ended.transaction = trial.transaction
    ended.transaction?.signedAt = bench.clock.now
    try await bench.store(off, ended)
    #expect(try await bench.forward(target).delivered == 2)
    #expect(try kinds(receiver) == ["off": "trial_cancelled", "ended": "trial_expired"])
  }

  @Test("a target gets the kinds it wants as they were settled")
  func settledFilter() async throws {
    let receiver = HTTPReceiver()
    let conversions = TargetConfiguration.webhook(receiver, name: "conversions")
    let renewals = TargetConfiguration.webhook(receiver, name: "renewals")
    var targets = [conversions, renewals]
    targets[0].events = [.trialConverted]
    targets[1].events = [.subscriptionRenewed]
    let bench = try await DeliveryBench(targets)
    try await bench.store(
      period(bench, "trial", .ignored, transaction: "t1", daysAgo: 60, free: true),
      period(bench, "first", .subscriptionRenewed, transaction: "t2", daysAgo: 30, free: false),
      period(bench, "second", .subscriptionRenewed, transaction: "t3", daysAgo: 0, free: false))
    #expect(try await bench.forwarder(targets).runOnce() == ForwardSummary(delivered: 2))
    #expect(try kinds(receiver) == ["first": "trial_converted", "second": "subscription_renewed"])
    let rows = try await bench.deliveries()
    #expect(
      try rows.map { "\(try $0.text("target")) \(try $0.text("event_id"))" }.sorted() == [
        "conversions first", "renewals second",
      ])
  }

  @Test("a kind is settled once: later facts do not change what a further attempt or a replay says")
  func settledOnce() async throws {
    let receiver = HTTPReceiver { number, _ in .status(number == 0 ? 500 : 200) }
    let target = TargetConfiguration.webhook(receiver)
    let bench = try await DeliveryBench([target])
    try await bench.store(period(bench, "first", .subscriptionRenewed, transaction: "t2", daysAgo: 0, free: false))
    #expect(try await bench.forward(target).waiting == 1)
    try await bench.store(period(bench, "trial", .ignored, transaction: "t1", daysAgo: 7, free: true))
    bench.clock.advance(seconds: 5)
    #expect(try await bench.forward(target).delivered == 1)
    #expect(try await bench.register.replay("backend", .event("first"), at: bench.clock.now) == 1)
    #expect(try await bench.forward(target).delivered == 1)
    #expect(Set(receiver.requests.map(\.body)).count == 1)
    #expect(try kinds(receiver) == ["first": "subscription_renewed"])
  }

  @Test("storing events does not wait for a forwarder at work")
  func noWaiting() async throws {
    let receiver = HTTPReceiver()
    let target = TargetConfiguration.webhook(receiver)
    let bench = try await DeliveryBench([target])
    try await bench.store(bench.event("e1"))
    let other = try await bench.database.connect()
    try await other.execute("begin; update forward.delivery set claim = 1; update forward.target set state = 'paused'")
    try await bench.connection.execute("set lock_timeout = '5s'")
    try await bench.store(bench.event("e1 again"), bench.event("e2", transaction: "t2"))
    try await other.execute("rollback")
    #expect(try await announced(bench) == ["e1", "e2"])
  }
}
