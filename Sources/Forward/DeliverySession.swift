import Postgres
import SQL
import Signatures
import Vocabulary

/// A delivery in a forwarder's hands.
struct HeldDelivery: Sendable {
  let deliveryID: Int64
  let claim: Int64
  let target: String
  let parcel: Parcel
  let subscription: Int64
  let occurredAt: Instant?
  let failures: Int
  let failingSince: Instant?
  /// Why the last attempt was no delivery.
  let lastError: String?

  /// - Parameters:
  ///   - row: what the database keeps of it.
  ///   - claim: the number of the session that has it.
  init(_ row: Row, _ parcel: Parcel, claim: Int64) throws {
    deliveryID = try row.int("delivery_id")
    self.claim = claim
    target = try row.text("target")
    self.parcel = parcel
    subscription = try row.int("subscription_key")
    occurredAt = try row.optionalTimestamp("occurred_at").map { Instant(microseconds: $0) }
    failures = Int(try row.int("failures"))
    failingSince = try row.optionalTimestamp("failing_since").map { Instant(microseconds: $0) }
    lastError = try row.optionalText("last_error")
  }
}

/// What a session took.
struct ClaimedDeliveries: Sendable {
  /// The deliveries of each request that is to be made, a target's in the order in which they are to leave.
  var requests: [[HeldDelivery]]
  /// What was refused instead: its event is gone or cannot be read.
  var lost: [Lost]
  /// Whether anything was settled without being sent: what is due beside it was left for want of room.
  var isMoreLikely: Bool

  struct Lost: Sendable {
    /// What is wrong with it.
    static let reason = "its event is gone or cannot be read"

    let target: String
    let eventID: String
  }
}

/// How an attempt ended, as the database keeps it.
struct EndedDelivery: Sendable {
  enum State: String, Sendable {
    case waiting
    case delivered
    case refused
  }

  let delivery: HeldDelivery
  let verdict: Verdict
  let state: State
  let status: Int?
  /// When it is sent next; `nil` for as it was due.
  var dueAt: Instant?
  let failures: Int
  let failingSince: Instant?
  let endedAt: Instant
  /// What is sent from now on instead; `nil` for what was sent.
  let body: String?
  /// Nothing is sent to the target before: it asked for a wait. `nil` when it did not.
  var holdsUntil: Instant?
  /// Nothing is sent to the target before; `nil` for its pace alone.
  var restsUntil: Instant?
}

/// How much more a target may have in hand.
struct Room: Sendable {
  let target: any Target
  let count: Int
  /// How many deliveries a request may carry at most.
  var limit = Int.max
  /// How many requests may be made of them at most.
  var requests = Int.max
}

/// The forwarder's session with the database.
///
/// A claim is the session's number beside the delivery, and the session holds the lock of that number: when the session
/// ends, however it does, the lock is gone and with it every claim. No transaction is open while requests are under way.
struct DeliverySession: Sendable {
  /// The first half of the lock's key: the letters of "forw". `ended_claims.sql` and the schema's comment repeat it.
  static let lockClass: Int64 = 0x66_6F_72_77

  let connection: Connection
  let number: Int64
  let rules: SettlingRules

  /// Begins a session.
  static func begin(
    _ connectionString: String, rules: SettlingRules = SettlingRules()
  ) async throws -> DeliverySession {
    let connection = try await Connection.open(connectionString, applicationName: "tenure forward")
    // A server that loses its client without a word must find out within seconds, for the sake of what it had claimed.
    try await connection.beNoticedWhenGone()
    let number = try await connection.query("select nextval('forward.claim_number') as number")[0].int("number")
    try await connection.query("select pg_advisory_lock($1::integer, $2::integer)", [.int(lockClass), .int(number)])
    return DeliverySession(connection: connection, number: number, rules: rules)
  }

  /// Ends the session and its claims.
  func end() async { await connection.close() }

  /// The numbers of sessions that had deliveries in hand and have ended.
  func endedClaims() async throws -> [Int64] {
    try await connection.query(SQLFiles.text("forward/ended_claims.sql")).map { try $0.int("claim") }
  }

  /// Takes due deliveries and makes the bodies of those that have none.
  ///
  /// - Parameters:
  ///   - room: how many more each target may have in hand.
  ///   - cutoff: what is due later is left, and what goes to a target that is held longer.
  ///   - inHand: deliveries that this process has in hand, maybe under the number of an earlier session.
  func claim(
    room: [Room], at now: Instant, cutoff: Instant, ended: [Int64], inHand: [Int64]
  ) async throws -> ClaimedDeliveries {
    let targets = Dictionary(
      room.map { ($0.target.configuration.name, $0.target) }, uniquingKeysWith: { first, _ in first })
    return try await connection.transaction { [number, rules] connection in
      let metered = room.filter(\.target.isMetered)
      let meters = try Self.read(metered.map(\.target), at: now, on: connection)
      let room = room.compactMap { room -> Room? in
        guard room.target.isMetered else { return room }
        guard let meter = meters[room.target.configuration.name], meter.allowance > 0 else {
          return nil
        }
        let requests = min(room.requests, Int(clamping: meter.allowance))
        let count = min(room.count, requests * room.target.batchSize)
        return Room(target: room.target, count: count, limit: room.limit, requests: requests)
      }
      let names = room.map { Optional($0.target.configuration.name) }
      let counts = room.map { Int64($0.count) }
      let rows = try connection.query(
        SQLFiles.text("forward/claim.sql"),
        [
          .int(number), .texts(names), .ints(counts), .ints(ended), .ints(inHand),
          .timestamp(microseconds: cutoff.microseconds),
        ])
      let unmade = try rows.filter { $0["body"] == nil }.map { try $0.int("delivery_id") }
      let (made, lost) = try Self.makeBodies(of: unmade, targets: targets, rules: rules, on: connection)
      let deliveries: [HeldDelivery] = try rows.compactMap { row in
        let deliveryID = try row.int("delivery_id")
        let target = try row.text("target")
        guard
          var parcel = try made[deliveryID]
            ?? row.optionalText("body").map({ body in
              Parcel(eventID: try row.text("event_id"), body: body)
            })
        else { return nil }
        parcel.destination = try targets[target].flatMap { try Self.destination(of: $0, row) }
        return try HeldDelivery(row, parcel, claim: number)
      }
      let requests = try room.flatMap { room -> [[HeldDelivery]] in
        let name = room.target.configuration.name
        let own = deliveries.filter { $0.target == name }
        let requests = room.target.requests(for: own, limit: room.limit, atMost: room.requests)
        let kept = Set(requests.joined().map(\.deliveryID))
        let left = own.map(\.deliveryID).filter { !kept.contains($0) }
        try Self.release(left.sorted(), claimedBy: number, on: connection)
        try meters[name]?.spend(Int64(requests.count), of: room.target, at: now, on: connection)
        return requests
      }
      return ClaimedDeliveries(requests: requests, lost: lost, isMoreLikely: made.count < unmade.count)
    }
  }

  /// How many requests a target may get now.
  private struct Meter {
    let allowance: Int64
    let next: Instant?
    let used: Int64

    /// Writes down that requests go now.
    func spend(
      _ requests: Int64, of target: any Target, at now: Instant, on connection: isolated Connection
    ) throws {
      guard requests > 0 else { return }
      try connection.query(
        """
        update forward.target
        set paced_until = coalesce($2::timestamptz, paced_until), quota_on = ($3::timestamptz at time zone 'UTC')::date,
          quota_used = $4
        where name = $1
        """,
        [
          .text(target.configuration.name),
          Parameter((target.pace?.next(after: requests, at: now, next: next))?.description),
          .text(now.description), .int(used + requests),
        ])
    }
  }

  /// What targets may get now by their pace and their day's quota. Their rows stay locked until the transaction ends: of
  /// two forwarders only one sends. A target whose quota is used up is held until the day is over.
  private static func read(
    _ targets: [any Target], at now: Instant, on connection: isolated Connection
  ) throws -> [String: Meter] {
    guard !targets.isEmpty else { return [:] }
    let rows = try connection.query(
      """
      select name, paced_until,
        case when quota_on = ($2::timestamptz at time zone 'UTC')::date then quota_used else 0 end as quota_used
      from forward.target
      where name = any($1)
      order by name
      for update skip locked
      """, [.texts(targets.map { Optional($0.configuration.name) }), .text(now.description)])
    var meters: [String: Meter] = [:]
    for row in rows {
      let name = try row.text("name")
      guard let target = targets.first(where: { $0.configuration.name == name }) else { continue }
      let next = try row.optionalTimestamp("paced_until").map { Instant(microseconds: $0) }
      let used = try row.int("quota_used")
      let left = target.configuration.dailyQuota.map { $0 - used }
      if let left, left <= 0 {
        try connection.query(
          """
          update forward.target
          set held_until = \(TargetRegister.endOfQuota), last_error = $2, last_error_at = $3::timestamptz
          where name = $1 and (held_until is null or held_until <= $3::timestamptz)
          """,
          [
            .text(name), .text("the day's limit, per_day of its pace, is used up: the next day of UTC has its own"),
            .text(now.description),
          ])
        continue
      }
      let pace = target.pace?.allowance(at: now, next: next) ?? .max
      meters[name] = Meter(allowance: min(pace, left ?? .max), next: next, used: used)
    }
    return meters
  }

  /// When the first of some targets may be sent to again, for which something is due by `cutoff` and waits for nothing
  /// but its pace; `nil` when there is none.
  func nextPace(of names: [String], at now: Instant, cutoff: Instant, ended: [Int64]) async throws -> Instant? {
    let rows = try await connection.query(
      """
      select min(target.paced_until) as paced_until
      from forward.target as target
      where target.name = any($1) and target.state = 'active' and target.paced_until > $2
        and (target.held_until is null or target.held_until <= $3)
        and exists (
          select from forward.delivery as delivery
          where delivery.target = target.name and delivery.state = 'waiting' and delivery.due_at <= $3
            and (delivery.claim is null or delivery.claim = any($4))
        )
      """,
      [
        .texts(names.map { Optional($0) }), .timestamp(microseconds: now.microseconds),
        .timestamp(microseconds: cutoff.microseconds), .ints(ended),
      ])
    return try rows[0].optionalTimestamp("paced_until").map { Instant(microseconds: $0) }
  }

  /// Where a target has moved; `nil` when it has not, or is configured for another place since.
  static func destination(of target: any Target, _ row: Row) throws -> String? {
    guard let address = target.address, try row.optionalText("moved_from") == address else { return nil }
    return try row.optionalText("moved_to")
  }

  /// Settles what deliveries say, makes their bodies and stores them. Those that turn out to be of a kind that their
  /// target does not want are taken back; those whose event is gone or cannot be read are refused.
  private static func makeBodies(
    of deliveryIDs: [Int64], targets: [String: any Target], rules: SettlingRules,
    on connection: isolated Connection
  ) throws -> (parcels: [Int64: Parcel], lost: [ClaimedDeliveries.Lost]) {
    guard !deliveryIDs.isEmpty else { return ([:], []) }
    let settled = try SettledDelivery.settle(deliveryIDs, rules, on: connection)
    var parcels: [Int64: Parcel] = [:]
    var unwanted: [Int64] = []
    for one in settled {
      guard one.isWanted, let target = targets[one.target] else {
        unwanted.append(one.deliveryID)
        continue
      }
      let event = one.announcement.event
      parcels[one.deliveryID] = Parcel(eventID: event.eventID, body: target.body(for: one.announcement))
    }
    let kept = settled.filter { parcels[$0.deliveryID] != nil }
    try connection.query(
      """
      update forward.delivery
      set source = made.source, event_id = made.event_id, kind = made.kind, direction = made.direction, body = made.body
      from unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[])
        as made (delivery_id, source, event_id, kind, direction, body)
      where delivery.delivery_id = made.delivery_id
      """,
      [
        .ints(kept.map(\.deliveryID)), .texts(kept.map(\.source)), .texts(kept.map(\.announcement.event.eventID)),
        .texts(kept.map(\.announcement.event.kind.rawValue)), .texts(kept.map(\.direction)),
        .texts(kept.map { parcels[$0.deliveryID]?.body }),
      ])
    if !unwanted.isEmpty {
      try connection.query("delete from forward.delivery where delivery_id = any($1)", [.ints(unwanted)])
    }
    let lost = try refuse(Set(deliveryIDs).subtracting(settled.map(\.deliveryID)).sorted(), on: connection)
    return (parcels, lost)
  }

  /// Refuses deliveries that nothing can be said of.
  private static func refuse(
    _ deliveryIDs: [Int64], on connection: isolated Connection
  ) throws -> [ClaimedDeliveries.Lost] {
    guard !deliveryIDs.isEmpty else { return [] }
    let rows = try connection.query(
      """
      with gone as (
        update forward.delivery set state = 'refused', claim = null, last_error = $2
        where delivery_id = any($1)
        returning delivery_id, target, event_id
      ),
      counted as (
        update forward.target set refused = refused + more.count
        from (select target, count(*) as count from gone group by target) as more
        where target.name = more.target
      )
      select target, event_id from gone order by delivery_id
      """, [.ints(deliveryIDs), .text(ClaimedDeliveries.Lost.reason)])
    return try rows.map { .init(target: try $0.text("target"), eventID: try $0.text("event_id")) }
  }

  /// Writes down how attempts ended, and what they mean for their targets.
  ///
  /// - Parameter addresses: the address of each target that has one, as it is configured.
  /// - Returns: The deliveries that were still in this process's hands.
  func record(_ ended: [EndedDelivery], addresses: [String: String]) async throws -> Set<Int64> {
    try await connection.transaction { connection in
      let rows = try connection.query(
        SQLFiles.text("forward/record.sql"),
        [
          .ints(ended.map(\.delivery.deliveryID)), .ints(ended.map(\.delivery.claim)),
          .texts(ended.map(\.state.rawValue)), .texts(ended.map { $0.status.map(String.init) }),
          .texts(ended.map(\.verdict.reason)), .texts(ended.map { $0.dueAt?.description }),
          .ints(ended.map { Int64($0.failures) }), .texts(ended.map { $0.failingSince?.description }),
          .texts(ended.map(\.endedAt.description)), .texts(ended.map(\.body)),
        ])
      let recorded = Set(try rows.map { try $0.int("delivery_id") })
      // In the order of names: two forwarders must not wait for each other.
      for (target, ends) in Dictionary(grouping: ended, by: \.delivery.target).sorted(by: { $0.key < $1.key }) {
        let ours = ends.filter { recorded.contains($0.delivery.deliveryID) }
        func count(_ state: EndedDelivery.State?) -> Int64 {
          Int64(ours.count { state == nil || $0.state == state })
        }
        let success = ends.filter { $0.state == .delivered }.map(\.endedAt).max()
        let failure = ends.last { $0.state != .delivered }
        let hold = ends.compactMap(\.holdsUntil).max()
        let isPaused = ends.contains { if case .paused = $0.verdict { true } else { false } }
        let rest = ends.compactMap(\.restsUntil).max()
        let moved = ends.compactMap {
          if case .moved(let destination, _) = $0.verdict { destination } else { nil }
        }
        .last
        try connection.query(
          """
          update forward.target
          set last_success_at = greatest(last_success_at, $2::timestamptz),
            last_error = coalesce($3, last_error), last_error_at = coalesce($4::timestamptz, last_error_at),
            held_until = greatest(held_until, $5::timestamptz), state = case when $6 then 'paused' else state end,
            moved_from = case when $7::text is null then moved_from else $8 end, moved_to = coalesce($7, moved_to),
            paced_until = greatest(paced_until, $9::timestamptz), attempts = attempts + $10,
            delivered = delivered + $11, refused = refused + $12
          where name = $1
          """,
          [
            .text(target), Parameter(success?.description), Parameter(failure?.verdict.reason),
            Parameter(failure?.endedAt.description), Parameter(hold?.description), .bool(isPaused),
            Parameter(moved),
            Parameter(addresses[target]), Parameter(rest?.description), .int(count(nil)),
            .int(count(.delivered)),
            .int(count(.refused)),
          ])
      }
      return recorded
    }
  }

  /// Gives up the claims on deliveries that were not sent.
  func release(_ deliveryIDs: [Int64]) async throws {
    try await connection.transaction { [number] connection in
      try Self.release(deliveryIDs, claimedBy: number, on: connection)
    }
  }

  private static func release(
    _ deliveryIDs: [Int64], claimedBy number: Int64, on connection: isolated Connection
  ) throws {
    guard !deliveryIDs.isEmpty else { return }
    try connection.query(
      "update forward.delivery set claim = null where delivery_id = any($1) and claim = $2",
      [.ints(deliveryIDs), .int(number)])
  }
}
