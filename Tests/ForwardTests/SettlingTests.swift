import Foundation
import Postgres
import TestSupport
import Testing
import Vocabulary

@testable import Forward

/// What the kind of a charge is settled to, case by case.
@Suite("Settling of charges")
struct SettlingTests {
  /// A transaction of the chain at hand; times in days, 0 being now.
  private struct Period {
    var from: Double
    var to: Double?
    var product = "monthly"
    var length: String? = "P1M"
    var price: Money? = Money(amount: Micros(9_990_000), currency: "USD")
    var reason: PurchaseReason? = .renewal
    var offer: Offer?
    var revokedAt: Double?
    var type: TransactionType = .autoRenewable
    var ownership: Ownership = .purchased

    init(_ from: Double, _ to: Double?, _ change: (inout Period) -> Void = { _ in }) {
      self.from = from
      self.to = to
      change(&self)
    }

    static func first(_ from: Double, _ to: Double?) -> Period { Period(from, to) { $0.reason = .purchase } }

    static func trial(_ from: Double, _ to: Double?) -> Period {
      Period(from, to) {
        $0.reason = .purchase
        $0.price = Money(amount: Micros(0), currency: "USD")
        $0.offer = Offer(type: .introductory, discount: .freeTrial)
      }
    }
  }

  /// A renewal status, said so many days from now.
  private struct Status {
    var at: Double
    var change: (inout RenewalFact) -> Void
  }

  private struct Told: Equatable {
    var kind: String
    var direction: String?
    var effective: String?

    init(_ kind: EventKind, _ direction: String? = nil) {
      self.kind = kind.rawValue
      self.direction = direction
      if direction != nil { effective = "immediate" }
    }
  }

  private let receiver = HTTPReceiver()
  private let target: TargetConfiguration
  private let bench: DeliveryBench

  init() async throws {
    target = TargetConfiguration.webhook(receiver)
    bench = try await DeliveryBench([target])
  }

  private func moment(_ days: Double) -> Instant { bench.clock.now.adding(seconds: Int64(days * 86_400)) }

  private func transaction(_ period: Period, _ id: String) -> TransactionFact {
    var fact = TransactionFact(transactionID: id, signedAt: moment(period.revokedAt ?? period.from))
    fact.type = .value(period.type)
    fact.productID = .value(period.product)
    fact.period = Stated(carriedOver: period.length)
    fact.purchasedAt = .value(moment(period.from))
    fact.expiresAt = Stated(carriedOver: period.to.map(moment))
    fact.price = Stated(carriedOver: period.price)
    fact.reason = Stated(carriedOver: period.reason)
    fact.ownership = .value(period.ownership)
    fact.offer = period.offer.map { .value($0) } ?? .absent
    fact.revokedAt = period.revokedAt.map { .value(moment($0)) } ?? .absent
    return fact
  }

  /// What is sent of an event about the last of some transactions, in a chain of its own.
  ///
  /// - Parameter isToldFirst: whether the event comes before all else that is known.
  private func told(
    _ kind: EventKind, _ periods: [Period], _ statuses: [Status] = [], isToldFirst: Bool = false,
    detail: EventDetail = EventDetail()
  ) async throws -> Told {
    let chain = "\(receiver.requests.count + 1)"
    var event = bench.event("\(chain)-event", kind, chain: chain, transaction: nil)
    event.transaction = transaction(periods[periods.count - 1], "\(chain)-\(periods.count)")
    event.detail = detail
    if isToldFirst { try await bench.store(event) }
    for (number, period) in periods.dropLast().enumerated() {
      var told = bench.event("\(chain)-\(number)", .ignored, chain: chain, transaction: nil)
      told.transaction = transaction(period, "\(chain)-\(number + 1)")
      try await bench.store(told)
    }
    for (number, status) in statuses.enumerated() {
      var told = bench.event("\(chain)-status-\(number)", .ignored, chain: chain, transaction: nil)
      var renewal = RenewalFact(signedAt: moment(status.at))
      renewal.autoRenew = .value(true)
      status.change(&renewal)
      told.renewal = renewal
      try await bench.store(told)
    }
    if !isToldFirst { try await bench.store(event) }
    #expect(try await bench.forward(target) == ForwardSummary(delivered: 1))
    return try lastTold()
  }

  private func lastTold() throws -> Told {
    struct Body: Decodable {
      struct Data: Decodable {
        struct Detail: Decodable {
          let direction: String?
          let effective: String?
        }
        let kind: EventKind
        let detail: Detail?
      }
      let type: EventKind
      let data: Data
    }
    let body = try JSONDecoder().decode(Body.self, from: Data(try #require(receiver.requests.last).body))
    #expect(body.type == body.data.kind)
    var told = Told(body.type, body.data.detail?.direction)
    told.effective = body.data.detail?.effective
    return told
  }

  private func failing(_ days: Double) -> Status { Status(at: days) { $0.inBillingRetry = .value(true) } }

  private func switchedOff(_ days: Double) -> Status { Status(at: days) { $0.autoRenew = .value(false) } }

  private func expired(_ days: Double, _ reason: ExpirationReason) -> Status {
    Status(at: days) {
      $0.autoRenew = .value(false)
      $0.inBillingRetry = .value(false)
      $0.expirationReason = .value(reason)
    }
  }

  // MARK: -

  @Test("the first period of a chain begins a subscription, unless it says that it renews one")
  func first() async throws {
    #expect(try await told(.subscriptionRenewed, [.first(0, 30)]) == Told(.subscriptionStarted))
    #expect(try await told(.subscriptionStarted, [.first(0, 30)]) == Told(.subscriptionStarted))
    #expect(try await told(.subscriptionStarted, [Period(0, 30)]) == Told(.subscriptionRenewed))
  }

  @Test("where nothing is known of what came before, the source's word stands")
  func unknownHistory() async throws {
    #expect(try await told(.billingRecovered, [Period(0, 30)]) == Told(.billingRecovered))
    #expect(try await told(.trialConverted, [Period(0, 30)]) == Told(.trialConverted))
    #expect(try await told(.winBack, [.first(0, 30)]) == Told(.winBack))
    #expect(try await told(.subscriptionReactivated, [.first(0, 30)]) == Told(.subscriptionReactivated))
    let upgrade = EventDetail(direction: "upgrade", effective: "immediate")
    #expect(
      try await told(.productChanged, [.first(0, 30)], detail: upgrade) == Told(.productChanged, "upgrade"))
    // The end of the period before is not known, so neither is whether access was lost.
    #expect(
      try await told(.subscriptionReactivated, [.first(-30, nil), .first(0, 30)]) == Told(.subscriptionReactivated))
    #expect(try await told(.subscriptionRenewed, [.trial(-7, nil), Period(0, 30)]) == Told(.trialConverted))
  }

  @Test("a first charge after trials that were lost unpaid begins a subscription")
  func afterLostTrial() async throws {
    #expect(
      try await told(.subscriptionReactivated, [.trial(-60, -53), .first(0, 30)], [switchedOff(-55)])
        == Told(.subscriptionStarted))
  }

  @Test("the charge after a trial converts it, also one recovered in retry")
  func conversion() async throws {
    #expect(try await told(.subscriptionRenewed, [.trial(-7, 0), Period(0, 30)]) == Told(.trialConverted))
    #expect(
      try await told(.billingRecovered, [.trial(-17, -10), Period(0, 30)], [failing(-10)]) == Told(.trialConverted))
    // Another product is a conversion all the same.
    let yearly = Period(0, 365) { $0.product = "yearly" }
    let upgrade = EventDetail(direction: "upgrade", effective: "immediate")
    #expect(try await told(.productChanged, [.trial(-7, 0), yearly], detail: upgrade) == Told(.trialConverted))
    // Free weeks that follow each other are one trial.
    let second = Period(-7, 0) {
      $0.price = Money(amount: Micros(0), currency: "USD")
      $0.offer = Offer(type: .promotional, discount: .freeTrial)
    }
    #expect(try await told(.subscriptionRenewed, [.trial(-14, -7), second, Period(0, 30)]) == Told(.trialConverted))
  }

  @Test("a free period amid paid time is no trial: the charge after it is a renewal")
  func freePeriodAmidPaidTime() async throws {
    let free = Period(-30, 0) {
      $0.price = Money(amount: Micros(0), currency: "USD")
      $0.offer = Offer(type: .promotional, discount: .freeTrial)
    }
    #expect(
      try await told(.trialConverted, [.first(-60, -30), free, Period(0, 30)]) == Told(.subscriptionRenewed))
    // After a loss of access it is one.
    #expect(
      try await told(.subscriptionRenewed, [.first(-100, -70), free, Period(0, 30)], [switchedOff(-80)])
        == Told(.trialConverted))
  }

  @Test("a purchase after access was lost is a return: by a win-back offer, or without")
  func returning() async throws {
    let paid = Period.first(-90, -60)
    let offered = Period(0, 30) {
      $0.reason = .purchase
      $0.offer = Offer(type: .winBack, id: "back", discount: .payAsYouGo)
    }
    #expect(
      try await told(.subscriptionStarted, [paid, .first(0, 30)], [switchedOff(-70)]) == Told(.subscriptionReactivated))
    #expect(try await told(.subscriptionRenewed, [paid, offered], [switchedOff(-70)]) == Told(.winBack))
    #expect(
      try await told(.subscriptionStarted, [paid, offered], [failing(-60), expired(-1, .billing)]) == Told(.winBack))
    // Retry has closed by itself after 60 days.
    #expect(
      try await told(.subscriptionStarted, [.first(-120, -90), .first(0, 30)], [failing(-90)])
        == Told(.subscriptionReactivated))
    // Another product makes no difference, and neither does a purchase within the time that word is waited for.
    let yearly = Period(0, 365) {
      $0.product = "yearly"
      $0.reason = .purchase
    }
    #expect(
      try await told(.productChanged, [paid, yearly], detail: EventDetail(effective: "immediate"))
        == Told(.subscriptionReactivated))
    #expect(
      try await told(.subscriptionRenewed, [.first(-30, -0.5), .first(0, 30)]) == Told(.subscriptionReactivated))
  }

  @Test("access that a refund ended was lost, and what comes after it is a return whatever the store calls it")
  func afterRefund() async throws {
    let refunded = Period(-20, 10) {
      $0.reason = .purchase
      $0.revokedAt = -5
    }
    #expect(try await told(.subscriptionStarted, [refunded, .first(0, 30)]) == Told(.subscriptionReactivated))
    #expect(try await told(.billingRecovered, [refunded, Period(0, 30)]) == Told(.subscriptionReactivated))
  }

  @Test("a refund of a period that was over, or one taken back in time, ended no access")
  func harmlessRefund() async throws {
    let late = Period(-30, 0) {
      $0.reason = .purchase
      $0.revokedAt = 0
    }
    #expect(try await told(.subscriptionRenewed, [late, Period(0, 30)]) == Told(.subscriptionRenewed))
    // A later version of the same transaction has no revocation any more.
    let refunded = Period(-30, 0) {
      $0.reason = .purchase
      $0.revokedAt = -20
    }
    let chain = "\(receiver.requests.count + 1)"
    for (number, revoked) in [refunded, Period.first(-30, 0)].enumerated() {
      var version = bench.event("version-\(number)", .ignored, chain: chain, transaction: nil)
      version.transaction = transaction(revoked, "first")
      version.transaction?.signedAt = moment(-20 + Double(number))
      try await bench.store(version)
    }
    var renewal = bench.event("renewal", chain: chain, transaction: nil)
    renewal.transaction = transaction(Period(0, 30), "second")
    try await bench.store(renewal)
    #expect(try await bench.forward(target).delivered == 1)
    #expect(try lastTold() == Told(.subscriptionRenewed))
  }

  @Test("a charge after a loss of access is a recovery when retry was open or the store says renewal")
  func recovery() async throws {
    #expect(
      try await told(.subscriptionRenewed, [.first(-50, -20), Period(0, 30)], [failing(-20)]) == Told(.billingRecovered)
    )
    #expect(
      try await told(.subscriptionStarted, [.first(-50, -20), .first(0, 30)], [failing(-20)]) == Told(.billingRecovered)
    )
    // Without word, a renewal after a gap shows that a charge had failed.
    #expect(try await told(.subscriptionRenewed, [.first(-50, -20), Period(0, 30)]) == Told(.billingRecovered))
    // After grace, in retry.
    let grace = Status(at: -20) {
      $0.inBillingRetry = .value(true)
      $0.graceExpiresAt = .value(moment(-4))
    }
    #expect(
      try await told(.subscriptionRenewed, [.first(-50, -20), .first(0, 30)], [grace]) == Told(.billingRecovered))
  }

  @Test("a charge in grace after one that failed is a recovery, unless it is for another product")
  func recoveryInGrace() async throws {
    let grace = Status(at: -2) {
      $0.inBillingRetry = .value(true)
      $0.graceExpiresAt = .value(moment(14))
    }
    #expect(
      try await told(.subscriptionRenewed, [.first(-32, -2), Period(0, 30)], [grace]) == Told(.billingRecovered))
    let yearly = Period(0, 365) {
      $0.product = "yearly"
      $0.length = "P1Y"
      $0.price = Money(amount: Micros(199_990_000), currency: "USD")
    }
    #expect(
      try await told(.billingRecovered, [.first(-32, -2), yearly], [grace]) == Told(.productChanged, "upgrade"))
  }

  @Test("the same product without a loss of access renews, whatever the source calls it")
  func renewal() async throws {
    let periods = [Period.first(-60, -30), Period(-30, 0), Period(0, 30)]
    for kind: EventKind in [
      .subscriptionRenewed, .trialConverted, .billingRecovered, .subscriptionStarted, .subscriptionReactivated,
      .winBack,
    ] {
      #expect(try await told(kind, periods) == Told(.subscriptionRenewed), "\(kind)")
    }
    #expect(try await told(.offerConverted, periods) == Told(.offerConverted))
    // A renewal within a day after the end, without word, was only late.
    #expect(try await told(.subscriptionRenewed, [.first(-30.5, -0.5), Period(0, 30)]) == Told(.subscriptionRenewed))
    // A pause is no loss of access.
    let paused = Status(at: -50) { $0.pausedAt = .value(moment(-30)) }
    #expect(
      try await told(.subscriptionRenewed, [.first(-60, -30), Period(0, 30)], [paused]) == Told(.subscriptionRenewed))
  }

  @Test("how long word is waited for is the setting of the figures")
  func waitForWord() async throws {
    var event = bench.event("late", chain: "1", transaction: nil)
    event.transaction = transaction(Period(0, 30), "second")
    var first = bench.event("first", .ignored, chain: "1", transaction: nil)
    first.transaction = transaction(.first(-30, -0.5), "first")
    try await bench.store(first, event)
    var settings = Forwarder.Settings()
    settings.rules.waitForWord = 3600
    #expect(try await bench.forwarder([target], settings: settings).runOnce().delivered == 1)
    #expect(try lastTold() == Told(.billingRecovered))
  }

  @Test("another product without a loss of access is a change, upwards by level in the catalogue before price")
  func direction() async throws {
    try await bench.connection.execute(
      """
      insert into reference.product (app_id, product_id, level) values
        (1, 'gold', 1), (1, 'silver', 2), (1, 'white', 2), (1, 'unranked', null)
      """)
    func change(_ product: String, _ price: Int64?, _ change: (inout Period) -> Void = { _ in }) -> Period {
      Period(0, 30) {
        $0.product = product
        $0.price = price.map { Money(amount: Micros($0), currency: "USD") }
        change(&$0)
      }
    }
    let silver = Period(-30, 0) {
      $0.product = "silver"
      $0.reason = .purchase
    }
    func direction(
      _ period: Period, from: Period? = nil, _ kind: EventKind = .subscriptionRenewed, word: EventDetail = EventDetail()
    ) async throws -> String? {
      let told = try await told(kind, [from ?? silver, period], detail: word)
      #expect(told == Told(.productChanged, told.direction))
      return told.direction
    }
    #expect(try await direction(change("gold", 1_000_000)) == "upgrade")
    #expect(try await direction(change("white", 99_000_000)) == "crossgrade")
    let gold = Period(-30, 0) { $0.product = "gold" }
    #expect(try await direction(change("silver", 99_000_000), from: gold) == "downgrade")
    // The price of a month decides where the catalogue does not rank both.
    #expect(try await direction(change("unranked", 10_000_000)) == "upgrade")
    #expect(try await direction(change("unranked", 9_000_000)) == "downgrade")
    #expect(try await direction(change("unranked", 9_990_000)) == "crossgrade")
    #expect(try await direction(change("other", 99_000_000) { $0.length = "P1Y" }) == "downgrade")
    // Paid up front for a year.
    #expect(
      try await direction(
        change("other", 60_000_000) {
          $0.offer = Offer(type: .promotional, discount: .payUpFront, period: "P1Y")
        }) == "downgrade")
    // Where no length is given it is the nearest usual one.
    #expect(try await direction(change("other", 10_000_000) { $0.length = nil }) == "upgrade")
    // Another currency, and a price that is not known, tell nothing; then the store may have told.
    let euros = change("other", nil) { $0.price = Money(amount: Micros(99_000_000), currency: "EUR") }
    #expect(try await direction(euros) == "crossgrade")
    #expect(try await direction(change("other", nil)) == "crossgrade")
    let upgrade = EventDetail(direction: "upgrade", effective: "immediate")
    #expect(try await direction(change("other", nil), .productChanged, word: upgrade) == "upgrade")
    #expect(try await direction(change("other", 1_000_000), .productChanged, word: upgrade) == "downgrade")
  }

  @Test("a change that is planned for the next period is told as its source has it")
  func plannedChange() async throws {
    let planned = EventDetail(direction: "downgrade", effective: "next_period")
    let told = try await told(.productChanged, [.first(-60, -30), Period(-30, 0)], detail: planned)
    #expect(told.kind == "product_changed")
    #expect(told.direction == "downgrade")
    #expect(told.effective == "next_period")
  }

  @Test("free periods, one-time purchases and those of a family are not charges that are settled")
  func notSettled() async throws {
    let paid = Period.first(-30, 0)
    var free = Period.trial(0, 30)
    free.offer = Offer(type: .winBack, discount: .freeTrial)
    #expect(try await told(.winBack, [paid, free]) == Told(.winBack))
    let coins = Period(0, nil) { $0.type = .consumable }
    #expect(try await told(.consumablePurchase, [paid, coins]) == Told(.consumablePurchase))
    let family = Period(0, 30) { $0.ownership = .familyShared }
    #expect(try await told(.subscriptionStarted, [paid, family]) == Told(.subscriptionStarted))
    // Nor do they come before a charge.
    let coinsBefore = Period(-1, nil) { $0.type = .consumable }
    #expect(try await told(.subscriptionReactivated, [paid, coinsBefore, Period(0, 30)]) == Told(.subscriptionRenewed))
  }

  @Test("a transaction that gives no access is a charge of its kind, and comes before none")
  func emptyPeriod() async throws {
    let empty = Period(0, 0) { $0.product = "yearly" }
    #expect(try await told(.subscriptionStarted, [.first(-15, 15), empty]).kind == "product_changed")
    let before = Period(-5, -5) { $0.product = "yearly" }
    #expect(
      try await told(.subscriptionReactivated, [.first(-30, 0), before, Period(0, 30)]) == Told(.subscriptionRenewed))
  }

  @Test("what becomes known between the announcement and the sending counts")
  func lateFacts() async throws {
    #expect(
      try await told(.subscriptionRenewed, [.trial(-7, 0), Period(0, 30)], isToldFirst: true) == Told(.trialConverted))
    #expect(
      try await told(
        .subscriptionStarted, [.first(-50, -20), .first(0, 30)], [failing(-20)], isToldFirst: true)
        == Told(.billingRecovered))
  }

  @Test("after the first attempt nothing changes what is said: neither kind nor direction nor bytes")
  func settledOnce() async throws {
    try await bench.connection.execute(
      "insert into reference.product (app_id, product_id, level) values (1, 'gold', 1), (1, 'monthly', 2)")
    let gold = Period(0, 30) { $0.product = "gold" }
    #expect(try await told(.subscriptionRenewed, [.first(-30, 0), gold]) == Told(.productChanged, "upgrade"))
    try await bench.connection.execute("update reference.product set level = 3 where product_id = 'gold'")
    var earlier = bench.event("earlier", .ignored, chain: "1", transaction: nil)
    earlier.transaction = transaction(.trial(-2, 0), "1-earlier")
    try await bench.store(earlier)
    #expect(try await bench.register.replay("backend", .event("1-event"), at: bench.clock.now) == 1)
    #expect(try await bench.forward(target) == ForwardSummary(delivered: 1))
    #expect(receiver.requests.count == 2)
    #expect(receiver.requests[0].body == receiver.requests[1].body)
  }

  @Test("a target that wants a kind gets it whatever the source called it, and not what only the source called so")
  func settledFilter() async throws {
    let filtered = HTTPReceiver()
    let kinds: [EventKind] = [.subscriptionReactivated, .productChanged, .subscriptionStarted]
    let targets = kinds.map { kind in
      var target = TargetConfiguration.webhook(filtered, name: kind.rawValue)
      target.events = [kind]
      return target
    }
    try await bench.register(targets)
    func store(_ chain: String, _ kind: EventKind, _ periods: [Period]) async throws {
      for (number, period) in periods.enumerated() {
        let isLast = number == periods.count - 1
        var event = bench.event("\(chain)-\(number)", isLast ? kind : .ignored, chain: chain, transaction: nil)
        if event.kind == .productChanged { event.detail.effective = "immediate" }
        event.transaction = transaction(period, "\(chain)-\(number)")
        try await bench.store(event)
      }
    }
    let gold = Period(0, 30) { $0.product = "gold" }
    try await store("1", .subscriptionStarted, [.first(-90, -60), .first(0, 30)])
    try await store("2", .subscriptionReactivated, [.first(-30, 0), gold])
    try await store("3", .productChanged, [.first(-30, 0), Period(0, 30)])
    #expect(try await bench.forwarder(targets).runOnce() == ForwardSummary(delivered: 2))
    let sent = try await bench.deliveries().map { "\(try $0.text("target")) \(try $0.text("event_id"))" }
    #expect(sent.sorted() == ["product_changed 2-1", "subscription_reactivated 1-1"])
  }
}
