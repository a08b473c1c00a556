import Foundation
import HTTP
import Postgres
public import Vocabulary

/// Sends what is due to the targets.
///
/// Several may work on one database: each takes what no other has in hand. A delivery is sent at least once, under an id
/// that stays the same; it is sent twice only when its outcome could not be written down.
public struct Forwarder: Sendable {
  /// How it works; the defaults are for every use but tests.
  public struct Settings: Sendable {
    /// How many requests one target may have under way.
    public var requestsPerTarget = 8
    /// How long a request may take.
    public var timeout: Duration = .seconds(20)
    /// How long requests in hand are given when the forwarder is told to stop.
    public var grace: Duration = .seconds(5)
    /// How often ``Forwarder/run()`` looks for what has come due.
    public var pause: Duration = .seconds(1)
    /// What decides what deliveries say, as when measuring.
    public var rules = SettlingRules()

    /// The defaults.
    public init() {}
  }

  /// The system's clock.
  public static let systemClock: @Sendable () -> Instant = {
    Instant(microseconds: Int64((Date().timeIntervalSince1970 * 1_000_000).rounded(.down)))
  }

  private let connectionString: String
  private let targets: [any Target]
  private let settings: Settings
  private let now: @Sendable () -> Instant
  private let chance: @Sendable () -> Double
  private let report: @Sendable (ForwardReport) -> Void

  /// Creates a forwarder.
  ///
  /// - Parameters:
  ///   - connectionString: the database.
  ///   - targets: the targets of the configuration. They must be registered (``TargetRegister``).
  ///   - now: the clock.
  ///   - chance: numbers from 0 to 1 that spread the times of new attempts.
  ///   - report: told what happens.
  public init(
    connectionString: String, targets: [any Target], settings: Settings = Settings(),
    now: @escaping @Sendable () -> Instant = Forwarder.systemClock,
    chance: @escaping @Sendable () -> Double = { .random(in: 0...1) },
    report: @escaping @Sendable (ForwardReport) -> Void = { _ in }
  ) {
    self.connectionString = connectionString
    self.targets = targets
    self.settings = settings
    self.now = now
    self.chance = chance
    self.report = report
  }

  /// Sends what is due now, and ends when nothing of it is left to send: what failed waits for its time.
  ///
  /// A cancelled task ends it early: what is in hand is given a while, and what has no answer then counts as not
  /// delivered.
  public func runOnce() async throws -> ForwardSummary {
    try await work(until: now())
  }

  /// Sends what comes due until the task is cancelled. A database that goes away is waited for.
  public func run() async throws {
    _ = try await work(until: nil)
  }

  /// The requests that ``runOnce()`` makes when all that it sends is taken, with secrets masked. Changes nothing.
  public func preview() async throws -> [(target: String, request: String)] {
    let now = now()
    let connection = try await Connection.open(connectionString)
    let names = targets.map { Optional($0.configuration.name) }
    let (due, used) = try await connection.transaction(.repeatableRead) {
      connection -> ([HeldDelivery], [String: Int]) in
      let rows = try connection.query(
        """
        select delivery.delivery_id, delivery.target, delivery.event_id, delivery.subscription_key, delivery.body,
          delivery.failures, delivery.failing_since, delivery.last_error, delivery.occurred_at, target.moved_from,
          target.moved_to,
          case when target.quota_on = ($2 at time zone 'UTC')::date then target.quota_used else 0 end as quota_used
        from forward.delivery
        inner join forward.target on target.name = delivery.target
        where delivery.target = any($1) and delivery.state = 'waiting' and target.state = 'active'
          and delivery.due_at <= $2 and (target.held_until is null or target.held_until <= $2)
          and not (
            target.is_ordered
            and exists (
              select from forward.delivery as earlier
              where earlier.target = delivery.target and earlier.subscription_key = delivery.subscription_key
                and earlier.state = 'waiting' and earlier.due_at > $2
                and (earlier.occurred_at, earlier.delivery_id) < (delivery.occurred_at, delivery.delivery_id)
            )
          )
        order by delivery.due_at, delivery.delivery_id
        """, [.texts(names), .timestamp(microseconds: now.microseconds)])
      let unmade = try rows.filter { $0["body"] == nil }.map { try $0.int("delivery_id") }
      let settled = Dictionary(
        try SettledDelivery.settle(unmade, settings.rules, on: connection).filter(\.isWanted).map {
          ($0.deliveryID, $0.announcement)
        },
        uniquingKeysWith: { first, _ in first })
      let used = Dictionary(
        try rows.map { try ($0.text("target"), Int($0.int("quota_used"))) }, uniquingKeysWith: { first, _ in first })
      let due = try rows.compactMap { row -> HeldDelivery? in
        let name = try row.text("target")
        guard let target = targets.first(where: { $0.configuration.name == name }) else { return nil }
        let destination = try DeliverySession.destination(of: target, row)
        if let body = try row.optionalText("body") {
          let parcel = Parcel(eventID: try row.text("event_id"), body: body, destination: destination)
          return try HeldDelivery(row, parcel, claim: 0)
        }
        guard let announcement = try settled[row.int("delivery_id")] else { return nil }
        let parcel = Parcel(
          eventID: announcement.event.eventID, body: target.body(for: announcement), destination: destination)
        return try HeldDelivery(row, parcel, claim: 0)
      }
      return (due, used)
    }
    await connection.close()
    return targets.flatMap { target -> [(target: String, request: String)] in
      let name = target.configuration.name
      let left = target.configuration.dailyQuota.map { max(0, Int($0) - used[name, default: 0]) }
      return target.requests(for: due.filter { $0.target == name }, atMost: left ?? .max).map { request in
        (name, target.outgoing(request.map(\.parcel), at: now).masked)
      }
    }
  }

  // MARK: -

  /// The lanes of one run and where their answers come in.
  private struct Exchange: Sendable {
    /// Long enough for an answer that names each of a full batch.
    private static let bodyLimit = 1 << 20

    let mailbox: Mailbox<Lane.Answer>
    let clients: [HTTPClient]
    let lanes: [Lane]

    init(_ targets: [any Target], _ settings: Settings, now: @escaping @Sendable () -> Instant) {
      let mailbox = Mailbox<Lane.Answer>()
      let open = HTTPClient(allowsPrivateNetwork: true, timeout: settings.timeout, bodyLimit: Self.bodyLimit)
      let guarded = HTTPClient(allowsPrivateNetwork: false, timeout: settings.timeout, bodyLimit: Self.bodyLimit)
      self.mailbox = mailbox
      clients = [open, guarded]
      lanes = targets.map { target in
        Lane(
          target, width: settings.requestsPerTarget,
          client: target.configuration.allowsPrivateNetwork ? open : guarded, mailbox: mailbox, now: now)
      }
    }
  }

  /// - Parameter cutoff: the moment up to which what is due is sent, and that ends the work; `nil` for no end.
  private func work(until cutoff: Instant?) async throws -> ForwardSummary {
    let exchange = Exchange(targets, settings, now: now)
    let pause = settings.pause
    let ticker = Task { [mailbox = exchange.mailbox] in
      while !Task.isCancelled {
        try? await Task.sleep(for: pause)
        mailbox.wake()
      }
    }
    defer { ticker.cancel() }
    return try await withTaskCancellationHandler {
      try await work(until: cutoff, exchange)
    } onCancel: { [grace = settings.grace] in
      // The lanes first: what they have not sent must not be started only to fail.
      for lane in exchange.lanes { lane.stop() }
      for client in exchange.clients { client.finish(within: grace) }
      exchange.mailbox.wake()
    }
  }

  /// What one pass keeps in mind.
  private struct Course {
    var session: DeliverySession?
    /// The deliveries in hand, sent or not, and whose they are.
    var inHand: [Int64: String] = [:]
    var ended: [EndedDelivery] = []
    var endedClaims: [Int64] = []
    var nextLook = ContinuousClock.now
    var summary = ForwardSummary()
  }

  private func work(until cutoff: Instant?, _ exchange: Exchange) async throws -> ForwardSummary {
    var course = Course()
    while true {
      do {
        let isDone = try await step(&course, until: cutoff, exchange)
        if isDone { break }
      } catch let error as PostgresError where error.isConnectionLost && cutoff == nil {
        report(.databaseLost(error.description))
        course.session = nil
        // The claims have ended with the session: what was not sent may be another's by now.
        for lane in exchange.lanes { takeBack(from: lane, &course) }
        if Task.isCancelled { break }
      }
      // Nothing more can be done before something ends or comes due.
      for answer in await exchange.mailbox.next() {
        for delivery in answer.deliveries { course.inHand[delivery.deliveryID] = nil }
        course.ended += ends(of: answer)
      }
    }
    if let session = course.session {
      let left = try await session.connection.query(
        """
        select count(*) filter (where target.state = 'active') as waiting,
          count(*) filter (where target.state = 'paused') as held
        from forward.delivery
        inner join forward.target on target.name = delivery.target
        where delivery.state = 'waiting' and delivery.target = any($1)
        """, [.texts(targets.map { Optional($0.configuration.name) })])
      course.summary.waiting = Int(try left[0].int("waiting"))
      course.summary.held = Int(try left[0].int("held"))
      await session.end()
    }
    return course.summary
  }

  /// Writes down what ended, takes what there is room for and hands it to the lanes.
  ///
  /// - Returns: Whether the work is done.
  private func step(_ course: inout Course, until cutoff: Instant?, _ exchange: Exchange) async throws -> Bool {
    let session: DeliverySession
    if let open = course.session {
      session = open
    } else {
      session = try await DeliverySession.begin(connectionString, rules: settings.rules)
      course.session = session
    }
    if !course.ended.isEmpty {
      let addresses = Dictionary(
        targets.compactMap { target in target.address.map { (target.configuration.name, $0) } },
        uniquingKeysWith: { first, _ in first })
      let recorded = try await session.record(course.ended, addresses: addresses)
      for end in course.ended where recorded.contains(end.delivery.deliveryID) {
        switch end.state {
        case .delivered: course.summary.delivered += 1
        case .refused: course.summary.refused += 1
        case .waiting: break
        }
      }
      course.ended = []
    }
    for lane in exchange.lanes where lane.isStopped {
      let left = takeBack(from: lane, &course)
      if !left.isEmpty { try await session.release(left) }
      // Why it stopped may not be written down yet: its answer is then still to come.
      if !Task.isCancelled, !course.inHand.values.contains(lane.name) { lane.reopen() }
    }
    if Task.isCancelled { return course.inHand.isEmpty }
    if course.nextLook <= .now {
      course.endedClaims = try await session.endedClaims()
      course.nextLook = .now + .seconds(1)
    }
    let counts = course.inHand.values.reduce(into: [String: Int]()) { $0[$1, default: 0] += 1 }
    let room = exchange.lanes.filter { !$0.isStopped }.compactMap { $0.room(beside: counts[$0.name, default: 0]) }
    guard !room.isEmpty else { return cutoff != nil && course.inHand.isEmpty && course.ended.isEmpty }
    let now = now()
    var claimed: [[HeldDelivery]]
    var isMoreLikely: Bool
    repeat {
      let taken = try await session.claim(
        room: room, at: now, cutoff: cutoff ?? now, ended: course.endedClaims, inHand: course.inHand.keys.sorted())
      for lost in taken.lost {
        report(.lost(target: lost.target, eventID: lost.eventID, reason: ClaimedDeliveries.Lost.reason))
      }
      course.summary.refused += taken.lost.count
      (claimed, isMoreLikely) = (taken.requests, taken.isMoreLikely)
      // Nothing that would end and bring the next look: what stands behind it is due all the same.
    } while claimed.isEmpty && isMoreLikely && !Task.isCancelled
    for delivery in claimed.joined() { course.inHand[delivery.deliveryID] = delivery.target }
    for lane in exchange.lanes {
      let requests = claimed.filter { $0.first?.target == lane.name }
      if !requests.isEmpty { lane.send(requests) }
    }
    // What only waits for its target's pace is due, and this pass sends it.
    let paced = targets.filter { $0.pace != nil }.map(\.configuration.name)
    guard !paced.isEmpty,
      let next = try await session.nextPace(
        of: paced, at: now, cutoff: cutoff ?? now, ended: course.endedClaims)
    else {
      return cutoff != nil && course.inHand.isEmpty
    }
    let wait = Duration.microseconds(next.microseconds - now.microseconds)
    // A longer wait is ended by the regular look.
    if wait < settings.pause {
      Task { [mailbox = exchange.mailbox] in
        try? await Task.sleep(for: wait)
        mailbox.wake()
      }
    }
    return false
  }

  /// Takes what a lane has not sent out of its hands.
  @discardableResult
  private func takeBack(from lane: Lane, _ course: inout Course) -> [Int64] {
    let left = lane.takeBack().map(\.deliveryID)
    for deliveryID in left { course.inHand[deliveryID] = nil }
    return left
  }

  /// What an answer means for each delivery of its request.
  private func ends(of answer: Lane.Answer) -> [EndedDelivery] {
    // One for all: what was sent together is tried again together.
    let chance = chance()
    return zip(answer.deliveries, answer.verdicts).map { delivery, verdict in
      var end = end(of: delivery, verdict, status: answer.status, at: answer.at, chance: chance)
      report(
        .attempted(
          target: delivery.target, eventID: delivery.parcel.eventID, status: answer.status,
          verdict: end.verdict))
      end.restsUntil = answer.rest.map { Instant(microseconds: answer.at.microseconds + $0) }
      return end
    }
  }

  private func end(
    of delivery: HeldDelivery, _ verdict: Verdict, status: Int?, at now: Instant, chance: Double
  ) -> EndedDelivery {
    func ended(
      _ state: EndedDelivery.State, _ verdict: Verdict, dueAt: Instant? = nil, failures: Int? = nil,
      failingSince: Instant? = nil, body: String? = nil
    ) -> EndedDelivery {
      EndedDelivery(
        delivery: delivery, verdict: verdict, state: state, status: status, dueAt: dueAt,
        failures: failures ?? delivery.failures, failingSince: failingSince ?? delivery.failingSince, endedAt: now,
        body: body)
    }
    let failures = delivery.failures + 1
    let since = delivery.failingSince ?? now
    func later(_ microseconds: Int64, _ reason: String) -> EndedDelivery {
      let due = Instant(microseconds: now.microseconds + microseconds)
      if due > since.adding(seconds: RetrySchedule.limit) {
        return ended(
          .refused, .refused(reason: "given up after three days: \(reason)"), failures: failures, failingSince: since)
      }
      return ended(.waiting, verdict, dueAt: due, failures: failures, failingSince: since)
    }
    let scheduled = RetrySchedule.wait(afterFailures: failures, chance: chance)
    switch verdict {
    case .delivered: return ended(.delivered, verdict)
    case .refused: return ended(.refused, verdict, failures: failures)
    // What paused its target waits with the rest, and is sent at once when the target is resumed.
    case .paused: return ended(.waiting, verdict, dueAt: now, failures: failures, failingSince: since)
    case .retry(let reason): return later(scheduled, reason)
    case .doubtful(let reason):
      guard delivery.failures > 0, delivery.lastError == reason else { return later(scheduled, reason) }
      return ended(.waiting, .paused(reason: reason), dueAt: now, failures: failures, failingSince: since)
    // At once, as it was due: but not without end.
    case .moved(_, let reason) where delivery.failures > 2: return later(scheduled, reason)
    case .moved: return ended(.waiting, verdict, failures: failures, failingSince: since)
    // As it was due. Each time fewer are in the request.
    case .again, .divided: return ended(.waiting, verdict, failures: delivery.failures)
    case .delayed(let seconds, let reason): return later(seconds * 1_000_000, reason)
    case .reworded(let body, _):
      return ended(.waiting, verdict, failures: failures, failingSince: since, body: body)
    case .throttled(let seconds, let reason):
      // Never at once: a target that asks for no wait would be asked without end. A wait that the schedule chose holds
      // the whole target too, and like one that was asked for no longer than an hour.
      let longest = RetrySchedule.longestAskedWait
      let wait = seconds.map { min(max($0, 1), longest) * 1_000_000 } ?? min(scheduled, longest * 1_000_000)
      var end = later(wait, reason)
      guard end.state == .waiting else { return end }
      end.holdsUntil = end.dueAt
      // As it was due, before what came after it: but a target that says so of this one alone must get to the others.
      if delivery.failures < 3 { end.dueAt = nil }
      return end
    }
  }
}
