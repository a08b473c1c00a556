import Postgres
import TestSupport
import Testing
import Vocabulary

@testable import Ingest

/// History as the App Store gives it, with all the ways in which it fails.
@Suite("Backfill")
struct BackfillTests {
  private static func moment(_ text: String) -> Instant { BackfillBench.moment(text) }

  /// A bench whose service has sent five notifications on the 8th, one on the 9th and one on the 10th.
  private func bench() async throws -> BackfillBench {
    let bench = try await BackfillBench()
    for number in 1...5 {
      bench.service.renew("1", number: number, at: Self.moment("2026-03-08T0\(number):00:00Z"))
    }
    bench.service.renew("1", number: 6, at: Self.moment("2026-03-09T23:59:59.999Z"), attempts: ["TIMED_OUT", "OTHER"])
    bench.service.renew("7", number: 7, at: Self.moment("2026-03-10T00:00:00Z"), attempts: ["TIMED_OUT", "SUCCESS"])
    return bench
  }

  private static let all = (1...7).map { "n\($0)" }

  @Test("every page of every day is read once, and what was delivered already is a duplicate")
  func pages() async throws {
    let bench = try await bench()
    let first = try await bench.fetchNotifications(from: "2026-03-10")
    #expect(first.ingest.stored == 1)
    let summary = try await bench.fetchNotifications(again: true)
    #expect(try await bench.events() == Self.all)
    #expect(summary.ingest.received == 7)
    #expect(summary.ingest.stored == 6, "those that had been missed")
    #expect(summary.ingest.duplicates == 1)
    #expect(summary.undelivered == 1)
    #expect(summary.spans == 3)
    #expect(summary.missed.isEmpty)
    // One page of the first run; three of the 8th, and one of each other day.
    #expect(bench.receiver.requests.count == 1 + 5)
    #expect(bench.service.refusals.isEmpty)
    let day = bench.receiver.requests[1...3]
    #expect(Set(day.map(\.text)).count == 1, "a page's token goes with the same body")
    #expect(day.first?.text == "{\"startDate\":1772928000000,\"endDate\":1773014400000}")
  }

  @Test("what was read whole is not asked for again but for the last hour, and what came since is")
  func later() async throws {
    let bench = try await bench()
    _ = try await bench.fetchNotifications()
    let before = bench.receiver.requests.count
    bench.pass(seconds: 2 * 86_400)
    // Signed before the first run, and in the history only after it.
    bench.service.renew("1", number: 8, at: Self.moment("2026-03-10T11:30:00Z"))
    bench.service.renew("1", number: 9, at: Self.moment("2026-03-11T05:00:00Z"))
    let summary = try await bench.fetchNotifications()
    #expect(try await bench.events() == Self.all + ["n8", "n9"])
    #expect(summary.ingest.received == 2)
    #expect(
      bench.receiver.requests[before...].map(\.text) == [
        "{\"startDate\":1773140400000,\"endDate\":1773187200000}",
        "{\"startDate\":1773187200000,\"endDate\":1773273600000}",
        "{\"startDate\":1773273600000,\"endDate\":1773316800000}",
      ])
  }

  @Test("one that was ended goes on with the page where it stopped")
  func resumes() async throws {
    let bench = try await bench()
    // Twice, since libcurl asks once more by itself when a connection that was used before is closed.
    bench.service.plan(nil, nil, .close, .close)
    let ended = try await bench.backfiller(attempts: 1)
    await #expect(throws: AppStoreServerError.self) {
      try await ended.fetchNotifications(from: Self.moment("2026-03-08T00:00:00Z"), until: nil)
    }
    #expect(await ended.fetched.ingest.stored == 4)
    let summary = try await bench.fetchNotifications()
    #expect(summary.ingest.received == 3)
    #expect(summary.ingest.duplicates == 0)
    #expect(try await bench.events() == Self.all)
    let requests = bench.receiver.requests
    #expect(requests[4].path == requests[2].path, "the page that had no answer is asked for")
    #expect(requests[4].path.hasSuffix("?paginationToken=page%2B0%2F1772928000000%2F1773014400000%2F4"))
  }

  @Test("a day whose pages have expired is read from its beginning")
  func expired() async throws {
    let bench = try await bench()
    bench.service.plan(nil, .close, .close)
    let ended = try await bench.backfiller(attempts: 1)
    await #expect(throws: AppStoreServerError.self) {
      try await ended.fetchNotifications(from: Self.moment("2026-03-08T00:00:00Z"), until: nil)
    }
    bench.service.expireTokens()
    let summary = try await bench.fetchNotifications()
    #expect(bench.restarts == 1)
    #expect(summary.ingest.received == 7)
    #expect(summary.ingest.duplicates == 2)
    #expect(try await bench.events() == Self.all)
  }

  @Test(
    "asked too often, it asks for nothing before the moment that the App Store names",
    arguments: [
      ("1773144005000", 5), ("1773144005", 5), ("7", 7), ("Tue, 10 Mar 2026 12:00:30 GMT", 30), (nil, 60),
      ("later", 60),
      ("0", 1), ("1773143000000", 1), ("99999999999999", 3600),
    ])
  func rateLimit(text: String?, seconds: Int) async throws {
    let bench = try await bench()
    let headers = text.map { ["Retry-After": $0] } ?? [:]
    let answer = HTTPReceiver.Answer.status(
      429, headers: headers, body: "{\"errorCode\":4290000,\"errorMessage\":\"Rate limit exceeded.\"}")
    bench.service.plan(nil, answer)
    let summary = try await bench.fetchNotifications()
    #expect(summary.ingest.stored == 7)
    #expect(bench.pauses == [.seconds(seconds)])
  }

  @Test("however often it is told to wait, it goes on in the end")
  func manyWaits() async throws {
    let bench = try await bench()
    let answer = HTTPReceiver.Answer.status(429, headers: ["Retry-After": "3600"])
    for _ in 0..<20 { bench.service.plan(answer) }
    #expect(try await bench.fetchNotifications().ingest.stored == 7)
    #expect(bench.pauses.count == 20)
  }

  @Test("what fails for the moment is asked for again, longer and longer apart")
  func momentary() async throws {
    let failures: [HTTPReceiver.Answer] = [
      .status(500, body: "{\"errorCode\":5000001,\"errorMessage\":\"An unknown error occurred.\"}"),
      .status(503), .status(200, body: "<html>"), .status(404, body: "{\"errorCode\":4040004,\"errorMessage\":\"x\"}"),
    ]
    // libcurl itself asks once more when a connection that was used before is closed.
    for planned in failures.map({ [$0, $0] }) + [[.close, .close, .close]] {
      let bench = try await bench()
      bench.service.plan(nil)
      for failure in planned { bench.service.plan(failure) }
      #expect(try await bench.fetchNotifications().ingest.stored == 7)
      #expect(bench.pauses == [.seconds(1), .seconds(2)])
    }
  }

  @Test("no answer in time is asked for again as well, and given up in the end with what was read kept")
  func slow() async throws {
    let bench = try await bench()
    bench.service.plan(nil, .silence, .silence)
    let backfiller = try await bench.backfiller(attempts: 2, timeout: .milliseconds(200))
    let error = await #expect(throws: AppStoreServerError.self) {
      try await backfiller.fetchNotifications(from: Self.moment("2026-03-08T00:00:00Z"), until: nil)
    }
    #expect(error?.description.contains("no answer in time") == true)
    #expect(error?.description.contains("goes on from here") == true)
    #expect(try await bench.events() == ["n1", "n2"])
  }

  @Test("a key that is refused is tried with one new token, and then the error says what to look at")
  func unauthorized() async throws {
    let bench = try await bench()
    bench.service.plan(.status(401))
    #expect(try await bench.fetchNotifications().ingest.stored == 7, "the token may have grown old under way")
    let backfiller = try await bench.backfiller(issuerID: "someone-else")
    let before = bench.receiver.requests.count
    let error = await #expect(throws: AppStoreServerError.self) {
      try await backfiller.fetchNotifications(from: nil, until: nil, again: true)
    }
    #expect(error == .unauthorized)
    #expect(error?.description.contains("issuer_id") == true)
    #expect(bench.receiver.requests.count == before + 2)
    #expect(bench.service.refusals == ["claims", "claims"])
  }

  @Test("what is older than the App Store keeps is told, and the rest fetched", arguments: [(180, false), (30, true)])
  func retention(days: Int64, isSandbox: Bool) async throws {
    let bench = try await BackfillBench(environment: isSandbox ? .sandbox : .production)
    let now = Self.moment(BackfillBench.start)
    bench.service.renew("1", number: 1, at: now.adding(seconds: -days * 86_400 + 7200))
    let summary = try await bench.fetchNotifications(from: "2025-01-01")
    #expect(summary.ingest.stored == 1)
    #expect(summary.missed.map(\.reason) == ["the App Store keeps them for \(days) days"])
    let first = try #require(bench.receiver.requests.first)
    #expect(first.text.hasPrefix("{\"startDate\":\(now.adding(seconds: 3600 - days * 86_400).microseconds / 1000),"))
  }

  @Test("an app that the App Store does not know is told, and no longer asked about")
  func refused() async throws {
    let bench = try await bench()
    bench.service.plan(.status(404, body: "{\"errorCode\":4040003,\"errorMessage\":\"App not found.\"}"))
    let summary = try await bench.fetchNotifications()
    #expect(summary.missed.map(\.what) == ["3 of 3 spans of notification history"])
    #expect(summary.missed.map(\.reason) == ["App not found. (4040003)"])
    #expect(bench.receiver.requests.count == 1)
  }

  @Test("a span that is refused costs no other, and is asked for again the next time")
  func refusedSpan() async throws {
    for answer in [HTTPReceiver.Answer.status(403, body: "<html>"), .status(400, body: "{\"errorCode\":4000006}")] {
      let bench = try await bench()
      bench.service.plan(answer)
      let summary = try await bench.fetchNotifications()
      #expect(summary.missed.map(\.what) == ["1 of 3 spans of notification history"])
      #expect(summary.refusedSpans == 1 && summary.spans == 2)
      let next = try await bench.fetchNotifications()
      #expect(next.refusedSpans == 0 && next.missed.isEmpty)
      #expect(summary.ingest.stored + next.ingest.stored == 7)
    }
  }

  @Test("an answer without an end is not followed for ever")
  func endless() async throws {
    let bench = try await bench()
    bench.service.plan(.status(200, body: "{\"hasMore\":true,\"notificationHistory\":[]}"))
    await #expect(throws: AppStoreServerError.self) { try await bench.fetchNotifications() }
  }

  // MARK: - Transactions

  @Test("the transactions of every chain are read, and later only what has changed since")
  func transactions() async throws {
    let bench = try await bench()
    _ = try await bench.fetchNotifications()
    // Old ones, of which no notification is kept; in the history of one customer there is another chain.
    for number in 10...12 {
      bench.service.renew("1", number: number, at: Self.moment("2024-03-0\(number - 9)T00:00:00Z"), isKept: false)
    }
    bench.service.renew(
      "13", number: 13, at: Self.moment("2024-03-04T00:00:00Z"), isKept: false, inHistoryOf: ["7"])
    let summary = try await bench.fetchTransactions()
    #expect(summary.chains == 3, "the chain that another one's history brought is read, too")
    #expect(try await bench.transactions() == ["1", "10", "11", "12", "13", "2", "3", "4", "5", "6", "7"])
    let before = bench.receiver.requests.count
    bench.pass(seconds: 60)
    bench.service.renew("1", number: 14, at: Self.moment("2026-03-10T12:00:30Z"), isKept: false)
    let later = try await bench.fetchTransactions()
    #expect(later.ingest.received == 1)
    #expect(later.ingest.stored == 1)
    #expect(bench.receiver.requests.count == before + 3)
    bench.service.expireTokens()
    bench.pass(seconds: 60)
    #expect(try await bench.fetchTransactions().ingest.stored == 0, "a revision that is none is done without")
    #expect(try await bench.transactions().count == 12)
  }

  @Test("a chain that the App Store does not know is told, and the others are read")
  func unknownChain() async throws {
    let bench = try await bench()
    _ = try await bench.fetchNotifications()
    let connection = try await bench.database.connect()
    try await connection.execute(
      """
      insert into fact.chain (subscription_key, app_id, store, environment, original_transaction_id)
      select number, app_id, 'app_store', 'Production', number::text from ingest.app, generate_series(101, 103) as number
      """)
    let summary = try await bench.fetchTransactions()
    #expect(summary.chains == 2)
    #expect(summary.missed.map(\.reason) == ["Transaction id not found. (4040010)"])
    #expect(summary.missed.first?.chains == 3)
    #expect(summary.missed.first?.what == "transactions of 101")
  }

  @Test("a chain of which only a vendor has told, as of a Mac, is asked for like any other")
  func chainOnAMac() async throws {
    let bench = try await BackfillBench()
    bench.service.renew("1", number: 1, at: Self.moment("2026-03-08T01:00:00Z"), isKept: false)
    let connection = try await bench.database.connect()
    try await connection.execute("insert into ingest.app (app_id, app_key, created_at) values (7, 'video', now())")
    try await connection.execute(
      """
      insert into fact.chain (subscription_key, app_id, store, environment, original_transaction_id)
      values (1, 7, 'mac_app_store', 'Production', '1'), (2, 7, 'play_store', 'Production', 'GPA.1')
      """)
    await connection.close()
    let summary = try await bench.fetchTransactions()
    #expect(summary.chains == 2 && summary.ingest.stored == 1 && summary.missed.isEmpty)
    #expect(try await bench.transactions() == ["1"])
  }

  @Test("one that was ended among the chains goes on with those that are left, in the middle of one")
  func resumesChains() async throws {
    let bench = try await bench()
    _ = try await bench.fetchNotifications()
    // The chain of seven transactions has three pages and the other one: whichever comes first, the second is not the last.
    bench.service.plan(nil, nil, .close, .close)
    let ended = try await bench.backfiller(attempts: 1)
    await #expect(throws: AppStoreServerError.self) { try await ended.fetchTransactions() }
    let before = bench.receiver.requests.count
    _ = try await bench.fetchTransactions()
    let asked = bench.receiver.requests[before...].map(\.path)
    #expect(asked.first == bench.receiver.requests[before - 1].path)
    #expect(bench.receiver.requests.count == before + 2, "four pages in all, two of them before")
  }

  // MARK: - Planning

  @Test("what is planned is what is left: nothing twice, nothing left out, no span over midnight")
  func planning() {
    let hour: Int64 = 3_600_000_000
    var generator = SeededGenerator(seed: 7)
    func at(_ hours: Int) -> Instant { Instant(microseconds: Int64(hours) * hour) }
    for _ in 0..<300 {
      var known: [BackfillJournal.Span] = []
      var edge = Int.random(in: 0..<20, using: &generator)
      while edge < 180 {
        let end = edge + Int.random(in: 1...30, using: &generator)
        let isRead = Bool.random(using: &generator)
        known.append(
          .init(
            from: at(edge), until: at(end), page: isRead ? nil : "p",
            readAt: isRead ? at(end + Int.random(in: 0...3, using: &generator)) : nil))
        edge = end + Int.random(in: 0...12, using: &generator)
      }
      let (from, until) = (Int.random(in: 0..<100, using: &generator), Int.random(in: 100..<200, using: &generator))
      let touching = known.filter { $0.from < at(until) && $0.until > at(from) }
      let plan = Backfiller.plan(from: at(from), until: at(until), known: touching, earliest: at(0))
      for hours in from..<until {
        let moment = at(hours)
        let isRead = touching.contains {
          $0.readAt.map { $0.microseconds - hour > moment.microseconds } == true && $0.from <= moment
            && moment < $0.until
        }
        let planned = plan.count { $0.from <= moment && moment < $0.until }
        #expect(planned == (isRead ? 0 : 1), "hour \(hours)")
      }
      for span in plan where span.page == nil {
        #expect(span.from.microseconds / (24 * hour) == (span.until.microseconds - 1) / (24 * hour))
      }
    }
  }
}
