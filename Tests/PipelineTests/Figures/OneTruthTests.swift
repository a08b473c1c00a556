import Foundation
import Postgres
import TestSupport
import Testing

/// The same numbers every time, for the same seed (SplitMix64).
private struct SeededGenerator: RandomNumberGenerator {
  var state: UInt64
  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}

@Suite("One truth: the same facts give the same figures, however they come", .fewAtOnce)
struct OneTruthTests {
  private static let seed: UInt64 = 2025
  private static let end = "2025-09-01"
  private static let rules = """
    [{"offer_id": "back", "app": "video", "min_paid_months": 1, "max_months_since": 24, "wait_months": 2},
     {"offer_id": "gift", "app": "video", "product_ids": ["yearly"], "priority": "high"}]
    """
  private static let catalogue =
    "product_id,group_id,level,period\nmonthly,g,2,P1M\npremium,g,1,P1M\nweekly,g,3,P1W\nyearly,g,1,P1Y\n"

  /// Days since 1 January 2025 and a time of day as a moment that `Life` reads.
  private static func moment(_ day: Double) -> String {
    let date = Date(timeIntervalSince1970: 1_735_689_600 + (day * 1440).rounded() * 60)
    let text = date.formatted(.iso8601)
    return "\(text.prefix(10)) \(text.dropFirst(11).prefix(5))"
  }

  /// A life in which at the end of every period something happens, by chance.
  private static func life(_ number: Int, _ random: inout SeededGenerator) -> Life {
    let lengths = ["weekly": 7.0, "monthly": 30, "premium": 30, "yearly": 365]
    func pick<T>(_ choices: [T]) -> T { choices[Int.random(in: 0..<choices.count, using: &random)] }
    var product = pick(["weekly", "monthly", "monthly", "premium", "yearly"])
    let price = ["weekly": 2.99, "monthly": 9.99, "premium": 19.99, "yearly": 79.5]
    let (country, currency) = pick([("USA", "USD"), ("DEU", "EUR"), ("JPN", "JPY")])
    // Some people have several subscriptions.
    var life = Life("c\(number)", subscriber: number % 3 == 0 ? nil : "u\(number / 2)")
    var now = Double.random(in: 0..<150, using: &random)
    func buy(
      reason: String, offer: [String: any Sendable]? = nil, price fixed: Double? = nil, isUnpriced: Bool = false
    ) {
      let ends = now + lengths[product, default: 30]
      life = life.buys(
        moment(now), until: moment(ends), product, price: isUnpriced ? nil : fixed ?? price[product], currency,
        country: country, reason: reason, offer: offer, said: moment(now - (reason == "renewal" ? 0.01 : 0)),
        with: number % 11 == 0 ? ["ownership": "family_shared"] : [:])
      now = ends
    }
    if Int.random(in: 0..<3, using: &random) == 0 {
      let ends = now + 7
      life = life.tries(moment(now), until: moment(ends))
      now = ends
      buy(reason: "renewal")
    } else {
      buy(reason: "purchase", isUnpriced: number % 13 == 0)
    }
    while now < 245 {
      switch Int.random(in: 0..<16, using: &random) {
      case 0:
        life = life.says(moment(now - 2), autoRenew: false).says(
          moment(now + 0.01), autoRenew: false, reason: "voluntary")
        now += Double.random(in: 1..<90, using: &random)
        buy(reason: "purchase")
      case 1:
        life = life.says(moment(now - 3), autoRenew: false)
        return life
      case 2:
        life = life.says(moment(now + 0.01), retry: true, grace: moment(now + 6))
        now += Double.random(in: 0.5..<12, using: &random)
        buy(reason: "renewal")
      case 3:
        life = life.says(moment(now + 0.01), retry: true)
        now += Double.random(in: 1..<70, using: &random)
        buy(reason: "renewal")
      case 4:
        life = life.says(moment(now + 0.01), retry: true).says(moment(now + 20), retry: false, reason: "billing")
        return life
      case 5:
        life = life.isRefunded(moment(now - 2), pick(["full", "family", nil]), said: moment(now - 1.9))
        now += 5
        if Bool.random(using: &random) {
          life = life.isRestored(moment(now - 6.5))
          buy(reason: "renewal")
        } else {
          buy(reason: "purchase")
        }
      case 6:
        life = life.isRefunded(moment(now + 4), "prorated", amount: 1.5, said: moment(now + 4.5))
        buy(reason: "renewal")
      case 7:
        product = pick(["weekly", "monthly", "premium", "yearly"])
        now -= 3
        buy(reason: "purchase")
      case 8:
        product = pick(["weekly", "monthly", "premium"])
        buy(reason: "renewal")
      case 9:
        life = life.says(
          moment(now - 1),
          with: ["paused_at": Life.moment(moment(now)), "resumes_at": Life.moment(moment(now + 30))])
        now += 30
        buy(reason: "renewal")
      case 10:
        life = life.says(moment(now - 2), autoRenew: false, offers: pick([["back"], ["gift", "back"], []]))
        now += 40
        buy(reason: "purchase", offer: ["type": "win_back", "id": "back", "discount": "pay_as_you_go"], price: 1)
      case 11:
        buy(reason: "renewal", offer: ["type": "promotional", "id": "p", "discount": "free_trial"], price: 0)
      case 12:
        // A gap without word.
        now += Double.random(in: 0.2..<9, using: &random)
        buy(reason: "renewal")
      case 13:
        life = life.belongs(to: "u\(Int.random(in: 0..<30, using: &random))", from: moment(now - 1))
        buy(reason: "renewal")
      default: buy(reason: "renewal")
      }
    }
    return life
  }

  private static let events: [String] = {
    var random = SeededGenerator(state: seed)
    return (1...60).flatMap { life($0, &random).events }
  }()

  /// The events in the order in which they would have come.
  private static func inOrder(_ events: [String]) -> [String] {
    func came(_ event: String) -> String {
      func value(_ key: String) -> String? {
        guard let range = event.range(of: "\"\(key)\":\"") else { return nil }
        return String(event[range.upperBound...].prefix { $0 != "\"" })
      }
      return value("signed_at") ?? value("occurred_at") ?? ""
    }
    return events.map { (came($0), $0) }.sorted { $0 < $1 }.map(\.1)
  }

  private static let reports = [
    "active_subscriptions", "active_subscribers", "movements", "churn", "revenue", "renewal_revenue", "subscriptions",
    "winback_eligibility", "products", "mrr", "mrr_movement", "trials", "subscription_history",
  ]

  /// Every row of every report; the subscription's key, which goes by arrival, left out.
  private static func figures(_ program: Installation) async throws -> [String: [String]] {
    var figures: [String: [String]] = [:]
    for report in reports {
      figures[report] = try await program.rows(report).map { row in
        row.filter { $0.key != "subscription_id" }.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
          .joined(separator: " ")
      }.sorted()
    }
    return figures
  }

  private static func installation() async throws -> Installation {
    let program = try await Installation()
    try await program.import("catalogue", catalogue, ["--app", "video"])
    try await program.import("winback", rules)
    return program
  }

  private static let reference = Task {
    let program = try await installation()
    try await program.ingest(lines: inOrder(events))
    try await program.measure(asOf: end)
    return (program, try await figures(program))
  }

  private func expectSame(_ program: Installation, _ what: String) async throws {
    let expected = try await Self.reference.value.1
    let found = try await Self.figures(program)
    for report in Self.reports {
      let (was, is_) = (expected[report, default: []], found[report, default: []])
      #expect(
        was == is_, "\(what): \(report) of seed \(Self.seed): \(Set(was).symmetricDifference(is_).sorted().prefix(6))")
    }
  }

  @Test("the lives are varied: every kind of movement and of charge occurs")
  func varied() async throws {
    let (program, figures) = try await Self.reference.value
    for report in Self.reports { #expect(!figures[report, default: []].isEmpty, "\(report)") }
    let movements = try await program.movements().joined(separator: " ")
    for kind in [
      "new", "trial_converted", "reactivated", "won_back", "recovered", "refund_reversed", "resumed", "moved_in",
      "churned_voluntary", "churned_billing", "churned_refunded", "churned_unconfirmed", "suspended", "paused",
      "renewed", "upgraded", "downgraded",
    ] { #expect(movements.contains(kind), "\(kind)") }
    let kinds = Set(try await program.lines("revenue", "kind"))
    #expect(
      kinds.isSuperset(of: [
        "initial", "trial_conversion", "renewal", "billing_recovery", "win_back", "reactivation", "upgrade",
        "downgrade",
      ]))
  }

  @Test("shuffled")
  func shuffled() async throws {
    var random = SeededGenerator(state: Self.seed + 1)
    let program = try await Self.installation()
    try await program.ingest(lines: Self.events.shuffled(using: &random))
    try await program.measure(asOf: Self.end)
    try await expectSame(program, "shuffled")
  }

  @Test("doubled")
  func doubled() async throws {
    let program = try await Self.installation()
    let summary = try await program.ingest(lines: Self.events + Self.events)
    #expect(summary.stored == Self.events.count && summary.duplicates == Self.events.count)
    try await program.measure(asOf: Self.end)
    try await expectSame(program, "doubled")
  }

  @Test("split over runs as the events came")
  func asTheyCame() async throws {
    let program = try await Self.installation()
    let events = Self.inOrder(Self.events)
    let runs = 24
    for run in 0..<runs {
      try await program.ingest(lines: Array(events[(run * events.count / runs)..<((run + 1) * events.count / runs)]))
      try await program.measure(asOf: Self.moment(Double(run + 1) * 243 / Double(runs)))
    }
    try await expectSame(program, "split over runs")
    try await rebuilt(program)
  }

  @Test("split over runs in any order")
  func inAnyOrder() async throws {
    var random = SeededGenerator(state: Self.seed + 2)
    let program = try await Self.installation()
    let events = Self.events.shuffled(using: &random)
    let runs = 21
    for run in 0..<runs {
      try await program.ingest(lines: Array(events[(run * events.count / runs)..<((run + 1) * events.count / runs)]))
      try await program.measure(asOf: Self.moment(Double(run + 1) * 243 / Double(runs)))
    }
    try await expectSame(program, "split over runs in any order")
    try await rebuilt(program)
  }

  @Test("many runs of no new facts, each later than the last")
  func asTimePasses() async throws {
    let program = try await Self.installation()
    try await program.ingest(lines: Self.events)
    for run in 1...27 { try await program.measure(asOf: Self.moment(Double(run) * 9)) }
    try await expectSame(program, "as time passes")
    try await rebuilt(program)
  }

  @Test("another reporting time zone and back again")
  func otherBook() async throws {
    let program = try await Self.installation()
    try await program.ingest(lines: Self.events)
    try await program.measure(asOf: "2025-06-01")
    try program.configure(reporting: "timezone: \"America/Los_Angeles\"")
    try await program.measure(asOf: "2025-07-01")
    let inbetween = try await program.lines("churn", "starts_on churned", ["--by", "month"])
    #expect(!inbetween.isEmpty)
    try program.configure()
    try await program.measure(asOf: Self.end)
    try await expectSame(program, "another book")
  }

  /// Everything derived again posts nothing, and gives the same.
  private func rebuilt(_ program: Installation) async throws {
    try await expect(program.measure(asOf: Self.end, ["--rebuild"]), is: 0)
    try await expectSame(program, "rebuilt")
  }

  @Test(
    "opening + in - out = closing, every day, in every row, in counts and in MRR; and each day opens as the last closed"
  )
  func openingsAndClosings() async throws {
    let (program, _) = try await Self.reference.value
    let flows: [String: [(column: String, sign: Decimal)]] = [
      "movements": Installation.inflows.map { ($0, 1) } + Installation.outflows.map { ($0, -1) },
      "mrr_movement": Installation.mrrFlows.map { ($0, 1) },
    ]
    for (report, columns) in flows {
      var closings: [String: Cell] = [:]
      for row in try await program.rows(report) {
        func number(_ column: String) throws -> Decimal {
          guard case .number(let number) = row[column] else { throw NotANumber(report: report, column: column) }
          return number
        }
        let place = ["store", "product_id", "country", "offer", "currency"].map { "\(row[$0, default: .null])" }
          .joined()
        let moved = try columns.reduce(Decimal(0)) { try $0 + number($1.column) * $1.sign }
        #expect(try number("opening") + moved == number("closing"), "\(report): \(row)")
        if let before = closings[place] { #expect(row["opening"] == before, "\(report): \(row)") }
        closings[place] = row["closing"]
      }
      #expect(!closings.isEmpty)
    }
  }

  private struct NotANumber: Error {
    let report: String
    let column: String
  }

  @Test("killed twenty times in the middle of a run, the next run gives the same")
  func killed() async throws {
    var random = SeededGenerator(state: Self.seed + 3)
    let program = try await Self.installation()
    let connection = try await program.connect()
    let parts = 5
    var kills = 0
    for attempt in 0... where kills < 20 {
      if attempt % 4 == 0, attempt / 4 < parts {
        let events = Self.events
        let part = attempt / 4
        try await program.ingest(
          lines: Array(events[(part * events.count / parts)..<((part + 1) * events.count / parts)]))
      }
      if try await isKilled(program, afterSteps: Int.random(in: 1...18, using: &random), connection) { kills += 1 }
      if kills == 20 { break }
      try #require(attempt < 200, "runs end before they can be killed")
    }
    try await program.measure(asOf: Self.end)
    try await expectSame(program, "killed")
    try await rebuilt(program)
    await connection.close()
  }

  /// Starts a rebuild and kills it when its transaction has gone through so many steps; false when it ended before.
  private func isKilled(_ program: Installation, afterSteps steps: Int, _ connection: Connection) async throws -> Bool {
    let transactions =
      """
      select query from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid() and xact_start is not null and state <> 'idle'
        and backend_type = 'client backend' and query not like '%insert into measure.run%' and query not like '%advisory%'
      """
    let before =
      try await connection.query("select max(run_id) as run_id from measure.run")[0].optionalInt("run_id") ?? 0
    let run = try program.start(["measure", "--as-of", Life.moment(Self.end), "--rebuild"])
    var seen: Set<String> = []
    while seen.count < steps {
      let outcomes = try await connection.query(
        "select outcome from measure.run where run_id > $1 order by run_id", [.int(before)])
      if try outcomes.first?.text("outcome") == "done" { break }
      // What a command does before its run's row is there is no part of the run.
      guard !outcomes.isEmpty else { continue }
      for row in try await connection.query(transactions) { seen.insert(try row.text("query")) }
    }
    run.send(SIGKILL)
    _ = await run.ended()
    let outcome = try await connection.query(
      "select outcome from measure.run where run_id > $1 order by run_id", [.int(before)]
    ).first?.text("outcome")
    // Its server process may work on for a moment.
    while try await !connection.query(transactions).isEmpty {}
    return outcome == "running"
  }

  @Test("ingest waits for no lock of a run that is held open, and the next run reads what came meanwhile")
  func heldOpen() async throws {
    let program = try await Self.installation()
    let holder = try await program.connect()
    let half = Self.events.count / 2
    try await program.ingest(lines: Array(Self.events[..<half]))
    // The last thing a run writes to but its own row: everything else is done and not committed.
    try await holder.execute("begin; lock table measure.daily_trial in exclusive mode")
    let run = try program.start(["measure", "--as-of", Life.moment(Self.end)])
    while try await holder.query(
      "select from pg_locks where relation = 'measure.daily_trial'::regclass and not granted"
    ).isEmpty {}
    try await program.run(
      ["ingest", "--source", "tenure", "-"], input: Self.events.joined(separator: "\n") + "\n",
      environment: ["PGOPTIONS": "-c lock_timeout=5s"])
    try await holder.execute("rollback")
    #expect(await run.ended().code == 0)
    try await program.measure(asOf: Self.end)
    try await expectSame(program, "held open")
    await holder.close()
  }
}
