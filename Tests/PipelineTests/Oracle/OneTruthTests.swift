import Foundation
import Postgres
import TestSupport
import Testing
import Vocabulary

/// The same generated lives, measured in other ways than at once: what the oracle has judged comes out each time.
@Suite("One truth: the same facts give the same figures, however they come", .fewAtOnce)
struct OneTruthTests {
  private static let seed: UInt64 = 1000
  private static let lives = (0..<60).map { LifeGenerator.life(seed + $0) }
  private static let events = lives.flatMap(\.events).map(\.json)

  /// The moments of so many runs, evenly spread over the lives; the last is theirs.
  private static func moments(_ count: Int) -> [Instant] {
    let first = lives.flatMap(\.arrivals).map(\.receivedAt.microseconds).min()! / 1_000_000
    let last = LifeGenerator.asOf.microseconds / 1_000_000
    return (1...count).map { run in
      Instant(microseconds: (first + (last - first) * Int64(run) / Int64(count)) * 1_000_000)
    }
  }

  private static let reports = OracleTests.reports + ["products", "subscription_history", "events"]

  /// Every row of every report; what goes by arrival left out: the subscription's key, and when an event came.
  private static func figures(_ program: Installation) async throws -> [String: [String]] {
    var figures: [String: [String]] = [:]
    for report in reports {
      figures[report] = try await program.rows(report).map { row in
        row.filter { !["subscription_id", "received_at"].contains($0.key) }.sorted { $0.key < $1.key }.map {
          "\($0.key)=\($0.value)"
        }
        .joined(separator: " ")
      }.sorted()
    }
    return figures
  }

  private static let reference = Task {
    let (program, _) = try await OracleTests.installation()
    try await program.ingest(lines: events)
    try await OracleTests.measure(program, LifeGenerator.asOf)
    return (program, try await figures(program))
  }

  private func expectSame(_ program: Installation, _ what: String) async throws {
    let expected = try await Self.reference.value.1
    let found = try await Self.figures(program)
    for report in Self.reports {
      let (was, is_) = (expected[report, default: []], found[report, default: []])
      #expect(!was.isEmpty, "\(report)")
      #expect(
        was == is_,
        "\(what): \(report) of seed \(Self.seed): \(Set(was).symmetricDifference(is_).sorted().prefix(6))")
    }
  }

  /// Everything derived again posts nothing, and gives the same.
  private func rebuilt(_ program: Installation) async throws {
    try await expect(program.measure(asOf: LifeGenerator.asOf, ["--rebuild"]), is: 0)
    try await expectSame(program, "rebuilt")
  }

  @Test("split over runs in any order")
  func inAnyOrder() async throws {
    var random = SeededGenerator(seed: Self.seed)
    let (program, _) = try await OracleTests.installation()
    let events = Self.events.shuffled(using: &random)
    let runs = 16
    for (run, moment) in Self.moments(runs).enumerated() {
      try await program.ingest(lines: Array(events[(run * events.count / runs)..<((run + 1) * events.count / runs)]))
      try await OracleTests.measure(program, moment)
    }
    try await expectSame(program, "split over runs in any order")
    try await rebuilt(program)
  }

  @Test("many runs of no new facts, each later than the last")
  func asTimePasses() async throws {
    let (program, _) = try await OracleTests.installation()
    try await program.ingest(lines: Self.events)
    for moment in Self.moments(20) { try await OracleTests.measure(program, moment) }
    try await expectSame(program, "as time passes")
    try await rebuilt(program)
  }

  @Test("another reporting time zone and back again")
  func otherBook() async throws {
    let (program, folder) = try await OracleTests.installation()
    try await program.ingest(lines: Self.events)
    let moments = Self.moments(3)
    try await OracleTests.measure(program, moments[0])
    try OracleTests.configure(folder, zone: "America/Los_Angeles")
    try await OracleTests.measure(program, moments[1])
    try OracleTests.configure(folder, zone: "UTC")
    try await OracleTests.measure(program, moments[2])
    try await expectSame(program, "another book")
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
        let place = ["app", "store", "product_id", "country", "offer", "currency"].map { "\(row[$0, default: .null])" }
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
    var random = SeededGenerator(seed: Self.seed + 1)
    let (program, _) = try await OracleTests.installation()
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
    try await OracleTests.measure(program, LifeGenerator.asOf)
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
    let run = try program.start(["measure", "--as-of", LifeGenerator.asOf.description, "--rebuild"])
    var seen: Set<String> = []
    try await waiting(for: "\(steps) steps of a run") {
      let outcomes = try await connection.query(
        "select outcome from measure.run where run_id > $1 order by run_id", [.int(before)])
      if let outcome = try outcomes.first?.text("outcome"), outcome != "running" { return true }
      // What a command does before its run's row is there is no part of the run.
      guard !outcomes.isEmpty else { return false }
      for row in try await connection.query(transactions) { seen.insert(try row.text("query")) }
      return seen.count >= steps
    }
    run.send(SIGKILL)
    _ = await run.ended()
    let outcome = try await connection.query(
      "select outcome from measure.run where run_id > $1 order by run_id", [.int(before)]
    ).first?.text("outcome")
    // Its server process may work on for a moment.
    try await waiting(for: "the killed run's transaction to end") { try await connection.query(transactions).isEmpty }
    return outcome == "running"
  }

  @Test("ingest waits for no lock of a run that is held open, and the next run reads what came meanwhile")
  func heldOpen() async throws {
    let (program, _) = try await OracleTests.installation()
    let holder = try await program.connect()
    let half = Self.events.count / 2
    try await program.ingest(lines: Array(Self.events[..<half]))
    // The last of what only runs write to, but its own row: nearly everything is done and not committed.
    try await holder.execute("begin; lock table ledger.winback in exclusive mode")
    let run = try program.start(["measure", "--as-of", LifeGenerator.asOf.description])
    try await waiting(for: "the run to wait for the table") {
      try await !holder.query("select from pg_locks where relation = 'ledger.winback'::regclass and not granted")
        .isEmpty
    }
    try await program.run(
      ["ingest", "--source", "tenure", "-"], input: Self.events.joined(separator: "\n") + "\n",
      environment: ["PGOPTIONS": "-c lock_timeout=5s"])
    try await holder.execute("rollback")
    #expect(await run.ended().code == 0)
    try await OracleTests.measure(program, LifeGenerator.asOf)
    try await expectSame(program, "held open")
    await holder.close()
  }
}
