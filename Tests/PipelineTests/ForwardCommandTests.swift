import Foundation
import Glibc
import Postgres
import Signatures
import TestSupport
import Testing
import Vocabulary

/// `tenure forward`, `run` and `targets` as people and cron jobs run them, with events that go the whole way.
@Suite("Forward commands")
struct ForwardCommandTests {
  private static let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
  private static let oldSecret = "whsec_b2xkIHNlY3JldCBvZiAyNCBieXRlcyE="
  /// What must never be seen: the target's secrets, and what its address holds beside the host.
  private static let secrets = [secret, oldSecret, "secret-path", "secret-token"].map {
    $0.replacing("whsec_", with: "")
  }

  private let folder: TestFolder
  private let database: TestDatabase
  private let connection: Connection

  init() async throws {
    folder = try TestFolder()
    database = try await TestDatabase.clone()
    connection = try await database.connect()
  }

  /// Writes a configuration with a webhook target, and lets the database know it.
  private func configure(_ receiver: HTTPReceiver, settings: String = "", targets: String = "") async throws {
    try folder.write(
      """
      {
        apps: [{ key: "video", bundle_id: "com.example.video", sources: { tenure: {} } }],
        targets: [{
          name: "backend", type: "webhook", url: "\(receiver.url)", secret: "${SECRET}", previous_secret: "${OLD_SECRET}",
          allow_private_network: true, \(settings)
        }, \(targets)],
      }
      """, to: "tenure.json")
    #expect(try await run(["migrate"]).code == 0)
  }

  private func start(_ words: [String], input: String? = nil) throws -> TestProgram {
    try TestProgram(
      words + ["--config", folder.file("tenure.json")], input: input.map { Data($0.utf8) },
      environment: [
        "DATABASE_URL": database.connectionString, "SECRET": Self.secret, "OLD_SECRET": Self.oldSecret,
      ])
  }

  /// Runs a command to its end; whatever it prints, no secret is in it.
  private func run(_ words: [String], input: String? = nil) async throws -> TestProgram.Outcome {
    try await ended(start(words, input: input), words)
  }

  private func ended(_ program: TestProgram, _ words: [String]) async throws -> TestProgram.Outcome {
    let outcome = await program.ended()
    for secret in Self.secrets {
      #expect(!outcome.output.contains(secret), "\(words)")
      #expect(!outcome.errors.contains(secret), "\(words)")
    }
    return outcome
  }

  private func json<Value>(_ outcome: TestProgram.Outcome, as type: Value.Type = Value.self) throws -> Value {
    #expect(outcome.code == 0, "\(outcome.errors)")
    return try #require(
      try JSONSerialization.jsonObject(with: Data(outcome.output.utf8)) as? Value, "\(outcome.output)")
  }

  /// One pass over what is due: the counts it prints.
  private func forward() async throws -> [String: Int] { try json(await run(["forward", "--once", "--json"])) }

  private func counts(delivered: Int = 0, refused: Int = 0, waiting: Int = 0, held: Int = 0) -> [String: Int] {
    ["delivered": delivered, "refused": refused, "waiting": waiting, "held": held]
  }

  private func deliveries() async throws -> [[String: Any]] {
    try json(await run(["report", "deliveries", "--format", "json"]))
  }

  private func ingest(_ events: String...) async throws {
    let outcome = try await run(["ingest", "--source", "tenure", "-"], input: events.joined(separator: "\n"))
    #expect(outcome.code == 0, "\(outcome.errors)")
  }

  /// An event of a chain with one period that begins when it happens.
  private func event(
    _ id: String, _ kind: String = "subscription_started", transaction: String = "t1", at moment: Instant = .current
  ) -> String {
    """
    {"event_id": "\(id)", "kind": "\(kind)", "occurred_at": "\(moment)", "app": "video", "store": "app_store", \
    "environment": "Production", "original_transaction_id": "1000", "transaction": {"transaction_id": "\(transaction)", \
    "type": "auto_renewable", "product_id": "monthly", "period": "P1M", "purchased_at": "\(moment)", \
    "expires_at": "\(moment.adding(seconds: 30 * 86_400))", "price": 9.99, "currency": "USD", "country": "USA", \
    "reason": "purchase"}}
    """
  }

  // MARK: -

  @Test("an event that cannot be read is refused in the summary and in the log")
  func unreadable() async throws {
    let receiver = HTTPReceiver()
    try await configure(receiver)
    try await ingest(event("e1"), event("e2", transaction: "t2"))
    try await connection.execute("update ingest.event set body = '{}' where event_id = 'e1'")
    let outcome = try await run(["forward", "--once", "--json"])
    #expect(try json(outcome) == counts(delivered: 1, refused: 1))
    #expect(outcome.errors.contains("\"event_id\":\"e1\"") && outcome.errors.contains("cannot be read"))
    #expect(!outcome.errors.contains("\"event_id\":\"e2\""))
  }

  @Test("an event that comes in is measured and sent once, signed with both secrets, and the report shows it")
  func wholeWay() async throws {
    let receiver = HTTPReceiver()
    try await configure(receiver)
    try await ingest(event("e1"))
    let result: [String: Any] = try json(await run(["run", "--json"]))
    #expect(result["settled"] as? Int == 1)
    #expect(result["forwarded"] as? [String: Int] == counts(delivered: 1))
    #expect(try await run(["run"]).output.hasSuffix("delivered 0, refused 0, waiting 0, held 0\n"))
    let request = try #require(receiver.requests.first)
    #expect(receiver.requests.count == 1)
    #expect(request.headers["webhook-id"] == "e1")
    #expect(request.headers["content-type"] == "application/json")
    let timestamp = try #require(request.headers["webhook-timestamp"].flatMap { Int64($0) })
    let signatures = try #require(request.headers["webhook-signature"])
    for secret in [Self.secret, Self.oldSecret] {
      let key = try #require(StandardWebhookSecret(secret))
      let now = Instant.current.microseconds / 1_000_000
      #expect(key.accepts(signatures, id: "e1", timestamp: timestamp, body: request.body, now: now))
      #expect(!key.accepts(signatures, id: "e1", timestamp: timestamp, body: request.body + [32], now: now))
    }
    let body = try #require(try JSONSerialization.jsonObject(with: Data(request.body)) as? [String: Any])
    #expect(body["type"] as? String == "subscription_started")
    #expect((body["data"] as? [String: Any])?["event_id"] as? String == "e1")
    let delivery = try #require(try await deliveries().first)
    #expect(delivery["state"] as? String == "delivered")
    #expect(delivery["event_id"] as? String == "e1")
    #expect(delivery["attempts"] as? Int == 1)
    #expect(delivery["last_status"] as? Int == 200)
    #expect(delivery["next_attempt_at"] is NSNull)
  }

  @Test("importing history sends nothing; on request it is sent")
  func history() async throws {
    let receiver = HTTPReceiver()
    try await configure(receiver)
    let old = Instant.current.adding(seconds: -10 * 86_400)
    try await ingest(event("old", at: old), event("live", transaction: "t2"))
    #expect(try await forward() == counts(delivered: 1))
    #expect(receiver.requests.map { $0.headers["webhook-id"] } == ["live"])
    let replay: [String: Any] = try json(
      await run(["targets", "replay", "backend", "--from", "\(old.adding(seconds: -60))", "--json"]))
    #expect(replay["replayed"] as? Int == 1)
    #expect(replay["delivered"] as? Int == 1)
    #expect(receiver.requests.map { $0.headers["webhook-id"] } == ["live", "old"])
  }

  @Test("one charge told twice in different words is one delivery")
  func announcedOnce() async throws {
    let receiver = HTTPReceiver()
    try await configure(receiver)
    try await ingest(event("theirs", "subscription_renewed"))
    try await ingest(event("ours", "subscription_started"))
    #expect(try await forward() == counts(delivered: 1))
    try await ingest(event("late", "billing_recovered"))
    #expect(try await forward() == counts())
    #expect(receiver.requests.count == 1)
    #expect(try await deliveries().count == 1)
  }

  @Test("what fails waits for its time and is then sent again, the same bytes under the same id")
  func retry() async throws {
    let receiver = HTTPReceiver { number, _ in .status(number == 0 ? 500 : 200) }
    try await configure(receiver)
    try await ingest(event("e1"))
    let before = Instant.current
    #expect(try await forward() == counts(waiting: 1))
    let after = Instant.current
    let delivery = try #require(try await deliveries().first)
    #expect(delivery["state"] as? String == "waiting")
    #expect(delivery["last_status"] as? Int == 500)
    #expect(delivery["last_error"] as? String == "the target answered 500")
    let next = try #require((delivery["next_attempt_at"] as? String).flatMap { Instant($0) })
    // The moments on either side are cut to whole seconds.
    #expect(next >= before.adding(seconds: 4) && next <= after.adding(seconds: 7))
    try await connection.execute("update forward.delivery set due_at = now() + interval '1 hour'")
    #expect(try await forward() == counts(waiting: 1))
    #expect(receiver.requests.count == 1)
    try await connection.execute("update forward.delivery set due_at = now()")
    #expect(try await forward() == counts(delivered: 1))
    #expect(receiver.requests.count == 2)
    #expect(receiver.requests[0].body == receiver.requests[1].body)
    #expect(receiver.requests[0].headers["webhook-id"] == receiver.requests[1].headers["webhook-id"])
    #expect(try await deliveries().first?["attempts"] as? Int == 2)
  }

  @Test("a target that answers 410 is paused: what is due is held until someone resumes it")
  func pausedTarget() async throws {
    let receiver = HTTPReceiver { number, _ in .status(number == 0 ? 410 : 200) }
    try await configure(receiver)
    try await ingest(event("e1"))
    let outcome = try await run(["forward", "--once", "--json"])
    #expect(try json(outcome) == counts(held: 1))
    #expect(outcome.errors.contains("tenure targets resume"))
    try await ingest(event("e2", transaction: "t2"))
    #expect(try await forward() == counts(held: 2))
    #expect(receiver.requests.count == 1)
    let line = try #require(try json(await run(["targets", "--json"]), as: [[String: Any]].self).first)
    #expect(
      Set(line.keys) == [
        "name", "type", "state", "waiting", "oldest_due", "delivered", "refused", "last_success", "last_error",
      ])
    #expect(line["state"] as? String == "paused")
    #expect(line["waiting"] as? Int == 2)
    #expect(line["last_error"] as? String == "the target answered 410")
    #expect(try await deliveries().map { $0["state"] as? String } == ["held", "held"])
    #expect(try await deliveries().allSatisfy { $0["next_attempt_at"] is NSNull })
    #expect(try await run(["targets", "resume", "backend"]).output == "backend is active\n")
    #expect(try await forward() == counts(delivered: 2))
    #expect(try await run(["targets"]).output.contains("active"))
    let unknown = try await run(["targets", "resume", "backemd"])
    #expect(unknown.code == 1)
    #expect(unknown.errors.contains("did you mean"))
  }

  @Test("what a killed forwarder had in hand is sent again, the same bytes under the same id")
  func killed() async throws {
    let receiver = HTTPReceiver { number, _ in number == 0 ? .held(200) : .status(200) }
    try await configure(receiver)
    try await ingest(event("e1"))
    let program = try start(["forward"])
    try await receiver.received(1)
    program.send(SIGKILL)
    #expect(try await ended(program, ["forward"]).code == 128 + SIGKILL)
    try await waiting(for: "the killed forwarder's connections to end") {
      try await connection.query(
        "select from pg_stat_activity where application_name = 'tenure forward' and datname = current_database()"
      ).isEmpty
    }
    #expect(try await forward() == counts(delivered: 1))
    #expect(receiver.requests.count == 2)
    #expect(receiver.requests[0].body == receiver.requests[1].body)
    #expect(receiver.requests.map { $0.headers["webhook-id"] } == ["e1", "e1"])
    receiver.release()
  }

  @Test(
    "killed again and again while ten thousand events are delivered, each arrives under its id, and no more are repeated than were in hand"
  )
  func killedAgainAndAgain() async throws {
    let receiver = HTTPReceiver()
    try await configure(receiver)
    let now = Instant.current
    let lines = (0..<10_000).map { number in
      """
      {"event_id": "e\(number)", "kind": "subscription_renewed", "occurred_at": "\(now)", "app": "video", \
      "store": "app_store", "environment": "Production", "original_transaction_id": "\(number)"}
      """
    }
    let stored = try await run(["ingest", "--source", "tenure", "-"], input: lines.joined(separator: "\n"))
    try #require(stored.code == 0, "\(stored.errors)")
    var kills = 0
    while receiver.requests.count < 9000 {
      let goal = receiver.requests.count + 800
      let program = try start(["forward"])
      try await receiver.received(goal)
      program.send(SIGKILL)
      #expect(await program.ended().code == 128 + SIGKILL)
      kills += 1
    }
    try await waiting(for: "the killed forwarder's connections to end") {
      try await connection.query(
        "select from pg_stat_activity where application_name = 'tenure forward' and datname = current_database()"
      ).isEmpty
    }
    #expect(try await forward()["waiting"] == 0)
    let ids = receiver.requests.compactMap { $0.headers["webhook-id"] }
    #expect(Set(ids) == Set((0..<10_000).map { "e\($0)" }))
    #expect(kills > 5)
    // Eight requests under way, and what is claimed with them: sixteen times as many.
    #expect(ids.count - 10_000 <= kills * 128)
    let left = try await connection.query("select from report.deliveries where state <> 'delivered'")
    #expect(left.isEmpty)
  }

  @Test("told to end, a forwarder waits for the answer it is about to get, and ends with 0")
  func terminated() async throws {
    let receiver = HTTPReceiver { _, _ in .held(200) }
    try await configure(receiver)
    try await ingest(event("e1"))
    let program = try start(["forward"])
    try await receiver.received(1)
    program.send(SIGTERM)
    receiver.release()
    #expect(try await ended(program, ["forward"]).code == 0)
    #expect(try await deliveries().first?["state"] as? String == "delivered")
    #expect(receiver.requests.count == 1)
  }

  @Test("run --every works until it is told to end; a second run beside it ends at once and says why")
  func scheduledJob() async throws {
    let receiver = HTTPReceiver()
    try await configure(receiver)
    try await ingest(event("e1"))
    let first = try start(["run", "--every", "1s"])
    try await receiver.received(1)
    for words in [["run"], ["run", "--every", "1h"]] {
      let second = try await run(words)
      #expect(second.code == 1)
      #expect(second.output.isEmpty)
      #expect(second.errors.contains("another tenure run is at work on this database"))
    }
    // It comes back for what has come in since.
    try await ingest(event("e2", transaction: "t2"))
    try await receiver.received(2)
    first.send(SIGTERM)
    let outcome = try await ended(first, ["run"])
    #expect(outcome.code == 0, "\(outcome.errors)")
    #expect(outcome.output.contains("delivered 1, refused 0"))
    #expect(try await run(["run"]).code == 0)
    #expect(receiver.requests.count == 2)
  }

  @Test("a target is tried on the spot, and what came back is said without its secrets")
  func trial() async throws {
    let receiver = HTTPReceiver { number, _ in number == 0 ? .status(200) : .status(500, body: "secret-token") }
    try await configure(receiver)
    #expect(
      try json(await run(["targets", "test", "backend", "--json"]), as: [String: Any].self)["delivered"] as? Bool
        == true)
    #expect(receiver.requests.first?.headers["webhook-id"]?.hasPrefix("test_") == true)
    let failed = try await run(["targets", "test", "backend"])
    #expect(failed.code == 1)
    #expect((failed.output + failed.errors).contains("500"))
    receiver.close()
    #expect(try await run(["targets", "test", "backend"]).code == 1)
    #expect(try await deliveries().isEmpty)
  }

  @Test("an address that is not allowed and one where nobody answers are told without secrets")
  func unreachable() async throws {
    let receiver = HTTPReceiver()
    try await configure(receiver)
    let text = try String(contentsOfFile: folder.file("tenure.json"), encoding: .utf8)
    try folder.write(text.replacing("allow_private_network: true,", with: ""), to: "tenure.json")
    try await ingest(event("e1"))
    #expect(try await forward() == counts(refused: 1))
    try folder.write(text, to: "tenure.json")
    receiver.close()
    try await ingest(event("e2", transaction: "t2"))
    #expect(try await forward() == counts(waiting: 1))
    let errors = try await deliveries().compactMap { $0["last_error"] as? String }
    #expect(errors.count == 2)
    for error in errors {
      for secret in Self.secrets { #expect(!error.contains(secret)) }
    }
    let preview = try await run(["forward", "--dry-run"])
    #expect(preview.code == 0)
  }

  // MARK: - Agreement with the ledger

  /// Numbers that look random and are the same each time.
  private struct Dice: RandomNumberGenerator {
    var state: UInt64
    mutating func next() -> UInt64 {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      let mixed = (state ^ (state >> 31)) &* 0x9E37_79B9_7F4A_7C15
      return mixed ^ (mixed >> 29)
    }
  }

  /// The events of a chain to which many things happen.
  private func course(of chain: Int, _ dice: inout Dice) -> [String] {
    var lines: [String] = []
    let start = Instant("2025-01-01T00:00:00Z")?.adding(seconds: Int64(chain) * 3600) ?? .current
    func add(_ kind: String, at moment: Instant, _ fact: String) {
      lines.append(
        """
        {"event_id": "c\(chain)-\(lines.count)", "kind": "\(kind)", "occurred_at": "\(moment)", "app": "video", \
        "store": "app_store", "environment": "Production", "original_transaction_id": "c\(chain)", \(fact)}
        """)
    }
    func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &dice) < percent }
    let kinds = [
      "subscription_started", "trial_converted", "subscription_renewed", "billing_recovered", "win_back",
      "subscription_reactivated",
    ]
    let hour: Int64 = 3600
    let day = 24 * hour
    var from = start
    for number in 1...Int.random(in: 2...6, using: &dice) {
      let isFree = chance(number == 1 ? 50 : 12)
      let length = isFree ? 7 * day : 30 * day
      let to = from.adding(seconds: length)
      let offer =
        isFree
        ? #"{"type": "introductory", "discount": "free_trial"}"#
        : chance(20) ? #"{"type": "win_back", "id": "w", "discount": "pay_as_you_go"}"# : "null"
      let head = "\"transaction_id\": \"c\(chain)-t\(number)\""
      add(
        kinds.randomElement(using: &dice) ?? "", at: from,
        """
        "transaction": {\(head), "type": "auto_renewable", "product_id": "\(chance(80) ? "monthly" : "gold")", \
        "period": "P1M", "purchased_at": "\(from)", "expires_at": "\(to)", "price": \(isFree ? 0 : 10), \
        "currency": "USD", "country": "USA", "reason": "\(chance(60) ? "renewal" : "purchase")", "offer": \(offer)}
        """)
      if chance(12) {
        let revoked = from.adding(seconds: Int64.random(in: 1...40, using: &dice) * day)
        add("ignored", at: revoked, "\"transaction\": {\(head), \"revoked_at\": \"\(revoked)\"}")
        if chance(50) {
          let restored = revoked.adding(seconds: Int64.random(in: 1...20, using: &dice) * day)
          add("ignored", at: restored, "\"transaction\": {\(head), \"revoked_at\": null}")
        }
      }
      func say(_ moment: Instant, _ fact: String) { add("ignored", at: moment, "\"renewal\": {\(fact)}") }
      switch Int.random(in: 0..<7, using: &dice) {
      case 0: say(to.adding(seconds: -2 * day), #""auto_renew": false"#)
      case 1: say(to, #""auto_renew": true, "in_billing_retry": true"#)
      case 2:
        let grace = to.adding(seconds: 6 * day)
        say(
          to.adding(seconds: -hour), #""auto_renew": true, "in_billing_retry": true, "grace_expires_at": "\#(grace)""#)
      case 3:
        say(to, #""auto_renew": true, "in_billing_retry": true"#)
        say(
          to.adding(seconds: 2 * day),
          #""auto_renew": false, "in_billing_retry": false, "expiration_reason": "billing""#)
      case 4: say(from.adding(seconds: day), #""auto_renew": true, "paused_at": "\#(to)""#)
      default: break
      }
      let gaps = [0, 0, 0, -3 * day, 10 * hour, 3 * day, 8 * day, 80 * day]
      from = to.adding(seconds: gaps.randomElement(using: &dice) ?? 0)
    }
    return lines
  }

  @Test("every charge is announced as the ledger books it, whatever happened before and however it was called")
  func agreesWithLedger() async throws {
    let receiver = HTTPReceiver()
    try await configure(receiver, settings: #"max_age: "4000d", from: "2020-01-01T00:00:00Z","#)
    var dice = Dice(state: 7)
    let lines = (1...250).flatMap { course(of: $0, &dice) }
    try await ingest(lines.shuffled(using: &dice).joined(separator: "\n"))
    // Sent before anything is measured: nothing of the ledger is there to be read.
    #expect(try await forward()["delivered"] == receiver.requests.count)
    #expect(try await run(["measure"]).code == 0)
    struct Body: Decodable {
      struct Data: Decodable {
        struct Transaction: Decodable {
          let id: String
          enum CodingKeys: String, CodingKey { case id = "transaction_id" }
        }
        let transaction: Transaction
      }
      let type: String
      let data: Data
    }
    var announced: [String: String] = [:]
    for request in receiver.requests {
      let body = try JSONDecoder().decode(Body.self, from: Data(request.body))
      #expect(announced.updateValue(body.type, forKey: body.data.transaction.id) == nil)
    }
    let words = [
      "trial_conversion": "trial_converted", "billing_recovery": "billing_recovered", "win_back": "win_back",
      "reactivation": "subscription_reactivated", "product_change": "product_changed",
      "renewal": "subscription_renewed",
      "initial": "subscription_started",
    ]
    // Of the first of a chain the source knows more than the facts.
    let charges = try await connection.query(
      """
      select transaction_id, charge from (
        select transaction_id, charge, rank() over (partition by subscription_key order by purchased_at) as nth
        from ledger.period
      ) as period
      where charge is not null and nth > 1
      """)
    var seen: Set<String> = []
    for row in charges {
      let charge = try row.text("charge")
      let transaction = try row.text("transaction_id")
      seen.insert(charge)
      #expect(announced[transaction] == words[charge], "\(transaction)")
    }
    #expect(seen == Set(words.keys))
    #expect(charges.count > 400)
  }
}

extension Instant {
  /// This moment, in whole seconds as sources give it.
  fileprivate static var current: Instant {
    Instant(microseconds: Int64(Date().timeIntervalSince1970) * 1_000_000)
  }
}
