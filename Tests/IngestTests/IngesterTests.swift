import Foundation
import Ingest
import Postgres
import SQL
import Signatures
import TestSupport
import Testing
import Vocabulary

@Suite("Ingester")
struct IngesterTests {
  private let database: TestDatabase
  private let connection: Connection
  private let folder: TemporaryFolder

  init() async throws {
    database = try await TestDatabase.clone()
    connection = try await database.connect()
    folder = try TemporaryFolder()
  }

  private func ingester(
    _ connection: Connection? = nil, limits: Ingester.Limits = .init(), afterStoring: [SQLFile] = [],
    now: Instant = noon
  ) -> Ingester {
    Ingester(
      connection ?? self.connection, source: .tenure,
      apps: [AppConfiguration(key: "video", bundleID: "com.example.video")],
      afterStoring: afterStoring, limits: limits, now: { now })
  }

  /// Ingests lines.
  @discardableResult
  private func ingest(
    _ lines: [String], with ingester: Ingester? = nil, file: String = "events.ndjson"
  ) async throws -> IngestSummary {
    let path = try folder.write(file, lines.joined(separator: "\n"))
    return try await (ingester ?? self.ingester()).ingest([path]) {
      TenureDecoder { AppConfiguration(key: $0, environments: [.production, .sandbox]) }
    }
  }

  private func rows(_ sql: String) async throws -> [String] {
    try await connection.query(sql).map { row in row.values.map { $0 ?? "null" }.joined(separator: "|") }
  }

  private func count(_ table: String) async throws -> Int64 {
    try await connection.query("select count(*) as count from \(table)")[0].int("count")
  }

  private func summary(
    stored: Int = 0, duplicates: Int = 0, rejected: Int = 0, unrecognised: Int = 0
  ) -> IngestSummary {
    var summary = IngestSummary()
    summary.received = stored + duplicates + rejected
    summary.stored = stored
    summary.duplicates = duplicates
    summary.rejected = rejected
    summary.unrecognised = unrecognised
    return summary
  }

  // MARK: - Events

  @Test("an event is stored with its columns, its canonical text and its facts")
  func event() async throws {
    let line = canonicalEvent(
      "e1", transaction: "2000", isRenewal: true, extra: ", \"subscriber_id\": \"u-1\", \"app_transaction_id\": \"77\"")
    #expect(try await ingest([line]) == summary(stored: 1))
    #expect(
      try await rows(
        """
        select event_id, kind, also, occurred_at, signed_at, received_at, store, environment, original_transaction_id,
          transaction_id, product_id, country, amount, currency, subscriber_id, app_transaction_id,
          body::jsonb #>> '{transaction,price}' as price
        from ingest.event
        """) == [
          "e1|subscription_renewed|{}|2026-03-01 09:30:00+00|2026-03-01 09:30:00+00|2026-03-02 12:00:00+00|app_store|"
            + "Production|1000|2000|premium.monthly|USA|9990000|USD|u-1|77|9.99"
        ])
    #expect(
      try await rows(
        """
        select transaction_id, source, signed_at, source_rank, stated, event_id, type, product_id, period, purchased_at,
          expires_at, price, currency, country, reason, ownership, refund
        from fact.transaction
        """) == [
          "2000|tenure|2026-03-01 09:30:00+00|1|1019|e1|auto_renewable|premium.monthly|P1M|2026-03-01 09:30:00+00|"
            + "2026-04-01 09:30:00+00|9990000|USD|USA|renewal|purchased|null"
        ])
    #expect(
      try await rows(
        """
        select source, stated, auto_renew, auto_renew_product_id, expiration_reason, eligible_win_back_offers
        from fact.renewal
        """) == ["tenure|1043|t|premium.monthly|null|{b,a}"])
    #expect(try await rows("select subscriber_id, source, event_id from fact.subscriber") == ["u-1|tenure|e1"])
    #expect(
      try await rows("select store, environment, original_transaction_id, app_transaction_id from fact.chain")
        == ["app_store|Production|1000|77"])
    #expect(try await rows("select app_key, bundle_id from ingest.app") == ["video|com.example.video"])
    #expect(try await count("ingest.payload") == 0)
  }

  @Test("keys are the first eight bytes of the SHA-256 of what they stand for")
  func keys() async throws {
    try await ingest([
      canonicalEvent("e1"), canonicalEvent("e2").replacing(", \"original_transaction_id\": \"1000\"", with: ""),
    ])
    // PostgreSQL computes them on its own.
    let key = { (text: String) in
      "('x' || substr(encode(sha256(convert_to(\(text), 'UTF8')), 'hex'), 1, 16))::bit(64)::bigint"
    }
    #expect(
      try await rows("select app_id = \(key("'video'")) as is_right from ingest.app") == ["t"])
    #expect(
      try await rows(
        """
        select subscription_key = case event_id
          when 'e1' then \(key("app_id::text || e'\\x1fapp_store\\x1fProduction\\x1f1000'"))
          else \(key("app_id::text || e'\\x1ftenure\\x1fe2'")) end as is_right
        from ingest.event order by event_id
        """) == ["t", "t"])
    #expect(try await count("fact.chain") == 1)
  }

  @Test("the digest is that of the version's canonical text")
  func digest() async throws {
    try await ingest([canonicalEvent("e1", transaction: "2000")])
    #expect(
      try await rows(
        """
        select replace(digest::text, '-', '') = substr(encode(sha256(convert_to(
          '{"country":"USA","currency":"USD","expires_at":"2026-04-01T09:30:00.000Z","ownership":"purchased",'
          '"period":"P1M","price":9.99,"product_id":"premium.monthly","purchased_at":"2026-03-01T09:30:00.000Z",'
          '"reason":"renewal","transaction_id":"2000","type":"auto_renewable"}', 'UTF8')), 'hex'), 1, 32) as is_right
        from fact.transaction
        """.replacing(",'\n  '", with: ",")) == ["t"])
  }

  @Test("a renamed app keeps its number, and a new app of the old key gets another")
  func renamedApp() async throws {
    try await ingest([canonicalEvent("e1")])
    try await connection.execute("update ingest.app set app_key = 'film', bundle_id = null")
    try await ingest([canonicalEvent("e2"), canonicalEvent("e3", app: "film")])
    let ids = try await rows("select app_id from ingest.app order by app_key = 'film'")
    #expect(Set(ids).count == 2)
    #expect(
      try await rows(
        "select event_id, app_key from ingest.event join ingest.app using (app_id) order by event_id")
        == ["e1|film", "e2|video", "e3|film"])
    #expect(
      try await rows(
        """
        select app_id = ('x' || substr(encode(sha256(convert_to(e'video\\x1f2', 'UTF8')), 'hex'), 1, 16))::bit(64)::bigint
          as is_right
        from ingest.app where app_key = 'video'
        """) == ["t"])
  }

  @Test("a bundle id that another app has already is an error, and nothing is stored")
  func bundleTaken() async throws {
    try await connection.execute("insert into ingest.app values (1, 'old', 'com.example.video', now())")
    let error = await #expect(throws: IngestError.self) { try await ingest([canonicalEvent("e1")]) }
    #expect(error?.description.contains("apps rename") == true)
    #expect(try await count("ingest.event") == 0)
    #expect(try await count("ingest.app") == 1)
  }

  // MARK: - Duplicates and versions

  @Test("a second pass stores nothing")
  func secondPass() async throws {
    let lines = (0..<50).map {
      canonicalEvent(
        "e\($0)", chain: "\($0 / 5)", transaction: "t\($0)", isRenewal: true, extra: ", \"subscriber_id\": \"u\"")
    }
    #expect(try await ingest(lines) == summary(stored: 50))
    let before = try await rows("select * from ledger.unsettled order by 1, 2, 3, 4")
    #expect(try await ingest(lines) == summary(duplicates: 50))
    #expect(try await ingest(lines.reversed() + lines) == summary(duplicates: 100))
    #expect(try await count("ingest.event") == 50)
    #expect(try await count("fact.transaction") == 50)
    // One status per chain: all its events say the same of the same moment.
    #expect(try await count("fact.renewal") == 10)
    #expect(try await rows("select * from ledger.unsettled order by 1, 2, 3, 4") == before)
  }

  @Test("an event is one by its id alone, whatever chain it names; its facts are read all the same")
  func duplicateOfAnotherChain() async throws {
    let first = canonicalEvent("e1", chain: "1000", transaction: "t1")
    let second = canonicalEvent("e1", chain: "2000", transaction: "t2", kind: "refunded")
    // Within a batch, and against what is stored.
    #expect(try await ingest([first, second]) == summary(stored: 1, duplicates: 1))
    #expect(try await ingest([canonicalEvent("e1", chain: "3000", transaction: "t3")]) == summary(duplicates: 1))
    #expect(try await rows("select kind, original_transaction_id from ingest.event") == ["subscription_renewed|1000"])
    #expect(try await rows("select transaction_id from fact.transaction order by 1") == ["t1", "t2", "t3"])
    #expect(try await rows("select original_transaction_id from fact.chain order by 1") == ["1000", "2000", "3000"])
  }

  @Test("versions that differ are kept, the same version of several events once, under the least event id")
  func versions() async throws {
    try await ingest([
      canonicalEvent("e5", transaction: "t"), canonicalEvent("e4", transaction: "t"),
      canonicalEvent("e3", transaction: "t", price: "4.99"),
    ])
    #expect(
      try await rows("select price, event_id from fact.transaction order by price") == ["4990000|e3", "9990000|e4"])
    let unsettled = try await count("ledger.unsettled")
    // The same version again, by an event with a lesser and one with a greater id.
    try await ingest([canonicalEvent("e2", transaction: "t"), canonicalEvent("e9", transaction: "t")])
    #expect(
      try await rows("select price, event_id from fact.transaction order by price") == ["4990000|e3", "9990000|e2"])
    #expect(try await count("ledger.unsettled") == unsettled)
  }

  @Test(
    "of the app transaction ids the least is kept, in whatever order they come",
    arguments: [["3", "1", "2"], ["1", "2", "3"]])
  func appTransactionIDs(ids: [String]) async throws {
    for id in ids { try await ingest([canonicalEvent("e\(id)", extra: ", \"app_transaction_id\": \"\(id)\"")]) }
    try await ingest([canonicalEvent("e9")])
    #expect(try await rows("select app_transaction_id from fact.chain") == ["1"])
  }

  @Test("links join chains once, and never a chain to itself")
  func links() async throws {
    let link = ", \"previous_original_transaction_id\": \"900\""
    try await ingest([canonicalEvent("e2", extra: link), canonicalEvent("e3", extra: link)])
    try await ingest([canonicalEvent("e1", extra: link)])
    try await ingest([canonicalEvent("e0", extra: ", \"previous_original_transaction_id\": \"1000\"")])
    #expect(try await rows("select event_id from fact.link") == ["e1"])
    #expect(
      try await rows("select transaction_id, at, due_at from ledger.unsettled")
        == ["null|0001-01-01 00:00:00+00|0001-01-01 00:00:00+00"])
    // The previous chain's key is the one it has when it comes itself.
    try await ingest([canonicalEvent("f", chain: "900")])
    #expect(
      try await rows(
        """
        select original_transaction_id from fact.link
        join fact.chain on chain.subscription_key = link.previous_subscription_key
        """) == ["900"])
  }

  @Test("shown store messages are kept once each, of chains alone, whether a batch is all new or not")
  func storeMessages() async throws {
    func shown(_ id: String, _ detail: String, at: String = "2026-03-01T09:30:00Z") -> String {
      canonicalEvent(id, occurredAt: at, kind: "store_message", extra: ", \"detail\": \(detail)")
    }
    let first = shown("e1", "{\"message\": \"billing_issue\"}")
    let chainless = shown("e2", "{\"message\": \"generic\"}").replacing(
      ", \"original_transaction_id\": \"1000\"", with: "")
    try await ingest([first, first, chainless, shown("e3", "{}"), shown("e4", "{\"message\": \"\"}")])
    #expect(
      try await rows("select message, shown_at, source, event_id from fact.store_message")
        == ["billing_issue|2026-03-01 09:30:00+00|tenure|e1"])
    let again = try await ingest([
      first, shown("e5", "{\"message\": 9}", at: "2026-03-01T10:30:00Z"), canonicalEvent("e6", transaction: "t"),
    ])
    #expect(again == summary(stored: 2, duplicates: 1))
    #expect(
      try await rows("select message, event_id from fact.store_message order by 2") == [
        "billing_issue|e1", "storekit_9|e5",
      ])
    // No figure is made of them.
    #expect(try await rows("select transaction_id from ledger.unsettled") == ["t"])
  }

  @Test("the days on which something happened are put down, per app, source and environment, whenever it came")
  func heardDays() async throws {
    try await ingest([
      canonicalEvent("e1", occurredAt: "2026-02-27T23:59:59Z"),
      canonicalEvent("e2", occurredAt: "2026-02-28T00:00:00Z"),
      canonicalEvent("e3", occurredAt: "2026-02-28T10:00:00Z"),
      canonicalEvent("e4", occurredAt: "2026-02-28T10:00:00Z", environment: "Sandbox"),
    ])
    try await ingest([canonicalEvent("e1", occurredAt: "2026-02-27T23:59:59Z"), canonicalEvent("e5")])
    #expect(
      try await rows("select source, environment, day from ingest.heard_day order by environment, day") == [
        "tenure|Production|2026-02-27", "tenure|Production|2026-02-28", "tenure|Production|2026-03-01",
        "tenure|Sandbox|2026-02-28",
      ])
  }

  @Test("a version signed more than a day after its receipt is versioned at its receipt, also when it comes again")
  func clockAhead() async throws {
    let ahead = canonicalEvent("e1", transaction: "t1", signedAt: "2026-03-03T12:00:01Z", isRenewal: true)
    let withinADay = canonicalEvent("e2", transaction: "t2", signedAt: "2026-03-03T12:00:00Z")
    try await ingest([ahead, withinADay])
    let expected = ["t1|2026-03-02 12:00:00+00", "t2|2026-03-03 12:00:00+00"]
    #expect(try await rows("select transaction_id, signed_at from fact.transaction order by 1") == expected)
    let again = try await ingest([ahead, withinADay], with: ingester(now: noon.adding(seconds: 3600)))
    #expect(again == summary(duplicates: 2))
    #expect(try await rows("select transaction_id, signed_at from fact.transaction order by 1") == expected)
    #expect(try await rows("select signed_at from fact.renewal") == ["2026-03-02 12:00:00+00"])
    #expect(try await rows("select source, event_id from fact.clock_ahead") == ["tenure|e1"])
    #expect(try await rows("select signed_at from ingest.event where event_id = 'e1'") == ["2026-03-03 12:00:01+00"])
  }

  @Test("what is new is put down to be settled, from the moment at which it may show")
  func unsettled() async throws {
    try await ingest([
      canonicalEvent("e1", transaction: "t1", signedAt: "2026-03-01T10:00:00Z", isRenewal: true),
      canonicalEvent("e2", chain: "2000", occurredAt: "2026-03-01T08:00:00Z", extra: ", \"subscriber_id\": \"u\""),
      canonicalEvent("e3", chain: "3000").replacing(
        "\"3000\"}", with: "\"3000\", \"transaction\": {\"transaction_id\": \"t3\", \"purchased_at\": null}}"),
      canonicalEvent("e4", chain: "4000"),
    ])
    #expect(
      try await rows(
        """
        select original_transaction_id, transaction_id, at, due_at
        from ledger.unsettled join fact.chain using (subscription_key) order by 1, 2
        """) == [
          "1000|t1|2026-03-01 09:30:00+00|2026-03-01 09:30:00+00",
          "1000|null|2026-03-01 10:00:00+00|2026-03-01 10:00:00+00",
          "2000|null|2026-03-01 08:00:00+00|2026-03-01 08:00:00+00",
          "3000|t3|2026-03-01 09:30:00+00|2026-03-01 09:30:00+00",
        ])
  }

  // MARK: - Batches

  @Test("the size of batches changes nothing but their number")
  func batchBoundaries() async throws {
    let lines = (0..<25).map { canonicalEvent("e\($0 % 20)", chain: "\($0 % 7)", transaction: "t\($0)") }
    for size in [1, 2, 24, 25, 26] {
      try await connection.execute("truncate ingest.event, fact.transaction, fact.chain, ledger.unsettled")
      var limits = Ingester.Limits()
      limits.batchItems = size
      #expect(try await ingest(lines, with: ingester(limits: limits)) == summary(stored: 20, duplicates: 5))
      #expect(try await count("fact.transaction") == 25)
      #expect(try await count("ledger.unsettled") == 25)
    }
  }

  @Test("two ingesters at once store everything once between them and never wait in a circle")
  func concurrent() async throws {
    let lines = (0..<600).map { number in
      canonicalEvent(
        "e\(number * 7919 % 600)", chain: "\(number % 13)", transaction: "t\(number % 50)",
        isRenewal: number % 3 == 0,
        extra: ", \"subscriber_id\": \"u\(number % 5)\", \"app_transaction_id\": \"\(number)\"")
    }
    var limits = Ingester.Limits()
    limits.batchItems = 40
    let others = try await [database.connect(), database.connect(), database.connect()]
    let ingesters = others.map { ingester($0, limits: limits) }
    let files = try [lines, lines.reversed(), lines.sorted()].enumerated().map {
      try folder.write("\($0.offset).ndjson", $0.element.joined(separator: "\n"))
    }
    let summaries = try await withThrowingTaskGroup(of: IngestSummary.self) { group in
      for (ingester, file) in zip(ingesters, files) {
        group.addTask {
          try await ingester.ingest([file]) { TenureDecoder { AppConfiguration(key: $0) } }
        }
      }
      return try await group.reduce(into: IngestSummary()) { $0 = $0 + $1 }
    }
    #expect(summaries == summary(stored: 600, duplicates: 1200))
    #expect(try await count("ingest.event") == 600)
    #expect(try await count("ingest.app") == 1)
    // Whoever came first, the facts are those of one ingester alone.
    let facts = try await rows("select transaction_id, event_id, digest from fact.transaction order by 1, 2, 3")
    let chains = try await rows("select original_transaction_id, app_transaction_id from fact.chain order by 1")
    #expect(
      try await count("ledger.unsettled") == Int64(facts.count) + count("fact.renewal") + count("fact.subscriber"))
    try await connection.execute("truncate ingest.event, fact.transaction, fact.renewal, fact.chain")
    try await ingest(lines)
    #expect(try await rows("select transaction_id, event_id, digest from fact.transaction order by 1, 2, 3") == facts)
    #expect(try await rows("select original_transaction_id, app_transaction_id from fact.chain order by 1") == chains)
  }

  @Test("a row that the database refuses becomes a rejection and costs no other")
  func dataError() async throws {
    let items = (0..<9).map { number in
      // No decoder lets U+0000 through; the database must not lose a batch should one do so.
      BatchItem(
        .event(
          Event(
            eventID: number == 5 ? "bad\u{0}" : "e\(number)", kind: .ignored, occurredAt: noon, app: "video",
            store: .appStore, environment: .production), payload: StoredPayload(plain: [])), place: "f:\(number)")
    }
    #expect(try await ingester().store(items) == summary(stored: 8, rejected: 1))
    #expect(try await rows("select reason, place from ingest.rejection") == ["malformed|f:5"])
    #expect(try await count("ingest.event") == 8)
  }

  @Test("rejections are stored with their reason and place, and other input goes on")
  func rejections() async throws {
    let result = try await ingest([
      canonicalEvent("e1"), "{\"event_id\": ", canonicalEvent("e2"), canonicalEvent("e3", environment: "Xcode"), "junk",
      canonicalEvent("e4", kind: "brand_new"),
    ])
    #expect(result == summary(stored: 3, rejected: 3, unrecognised: 1))
    #expect(
      try await rows(
        "select reason, replace(place, '\(folder.path)/', ''), source, app_id is null from ingest.rejection order by rejection_id"
      )
        == [
          "not_json|events.ndjson:2|tenure|t", "environment_not_listed|events.ndjson:4|tenure|f",
          "not_json|events.ndjson:5|tenure|t",
        ])
  }

  @Test("a rejection alone makes no app, unless it is configured: then it is listed under it from the first one on")
  func rejectionMakesNoApp() async throws {
    try await ingest([canonicalEvent("e3", environment: "Xcode", app: "unheard")])
    #expect(try await count("ingest.app") == 0)
    #expect(try await rows("select app_id from ingest.rejection") == ["null"])
    let refused = Decoded.rejection(Rejection(.secret, app: "video"))
    #expect(try await ingester().storeEach([BatchItem(refused, place: "http")]).count == 1)
    try await ingest([canonicalEvent("e3", environment: "Xcode")])
    #expect(
      try await rows("select app, reason from report.rejections order by rejection_id") == [
        "null|environment_not_listed", "video|secret", "video|environment_not_listed",
      ])
    #expect(try await rows("select app_key, bundle_id from ingest.app") == ["video|com.example.video"])
    // Its events come under the same number.
    #expect(try await ingest([canonicalEvent("e4")]) == summary(stored: 1))
    #expect(try await rows("select distinct app_key from ingest.event join ingest.app using (app_id)") == ["video"])
  }

  @Test("a file that cannot be read ends the ingest with its name, after what came before it")
  func unreadable() async throws {
    let first = try folder.write("1.ndjson", canonicalEvent("e1"))
    let second = try folder.write("2.ndjson", "")
    try FileManager.default.removeItem(atPath: second)
    try FileManager.default.createSymbolicLink(atPath: second, withDestinationPath: "/proc/self/mem")
    let error = await #expect(throws: InputError.self) {
      try await ingester().ingest([first, second]) { TenureDecoder { AppConfiguration(key: $0) } }
    }
    #expect(error?.description.contains("2.ndjson") == true)
    #expect(try await count("ingest.event") == 1)
  }

  // MARK: - Payloads and announcements

  @Test("a text that says more than the canonical one is kept, of new events only")
  func payload() async throws {
    let line = canonicalEvent("e1", extra: ", \"more\": \"kept\"")
    try await ingest([line, canonicalEvent("e1", extra: ", \"more\": \"of a duplicate\"")])
    try await ingest([canonicalEvent("e1", extra: ", \"more\": \"later\"")])
    #expect(try await rows("select event_id, body, header_ids from ingest.payload") == ["e1|\(line)|{}"])
  }

  /// Ingests signed data.
  private func ingestSigned(_ texts: [String], roots: TrustedRoots) async throws -> IngestSummary {
    let path = try folder.write("signed", texts.joined(separator: "\n"))
    let ingester = Ingester(connection, source: .appStore, now: { noon })
    return try await ingester.ingest([path]) {
      AppStoreDecoder { bundleID in
        bundleID.map {
          AppConfiguration(key: $0, bundleID: $0, environments: [.production, .sandbox], roots: roots)
        }
      }
    }
  }

  /// The stored payloads as they came, read back from the database.
  private func restoredPayloads() async throws -> Set<String> {
    let rows = try await connection.query(
      """
      select payload.body, (
        select array_to_json(array_agg(header.header order by place.ordinality))
        from unnest(payload.header_ids) with ordinality as place (header_id, ordinality)
        join ingest.protected_header as header using (header_id)) as headers
      from ingest.payload
      """)
    return try Set(
      rows.map { row in
        let headers = try JSONDecoder().decode([String].self, from: Data(row.text("headers").utf8))
        let original = try StoredPayload.original(
          body: Array(row.text("body").utf8), headers: headers.map { Array($0.utf8) })
        return String(decoding: try #require(original), as: UTF8.self)
      })
  }

  @Test("signed data is stored with references to its headers, and restored byte for byte")
  func signedPayload() async throws {
    let authority = TestCertificateAuthority.shared
    let texts = (1...3).map { number in
      let transaction = authority.sign(
        """
        {"transactionId":"\(number)","originalTransactionId":"1","bundleId":"com.example.video",\
        "productId":"p","type":"Auto-Renewable Subscription","environment":"Production",\
        "purchaseDate":1772366967000,"signedDate":1772366967482}
        """)
      return authority.sign(
        """
        {"notificationType":"DID_RENEW","notificationUUID":"n\(number)","signedDate":1772366967482,\
        "data":{"bundleId":"com.example.video","environment":"Production","note":"\"#x",\
        "signedTransactionInfo":"\(transaction)"}}
        """.replacing("\"\"#x\"", with: "\"\\\"#x\""))
    }
    #expect(try await ingestSigned(texts, roots: authority.roots) == summary(stored: 3))
    #expect(try await ingestSigned(texts, roots: authority.roots) == summary(duplicates: 3))
    #expect(try await restoredPayloads() == Set(texts))
    #expect(try await count("ingest.protected_header") == 1)
    #expect(try await rows("select app_key from ingest.app") == ["com.example.video"])
    let length = try await connection.query("select max(length(body)) as length from ingest.payload")[0].int("length")
    #expect(length < Int64(texts[0].count) / 2)
  }

  @Test("a refused notification leaves no signed data behind")
  func refusedSignedPayload() async throws {
    let stranger = TestCertificateAuthority()
    let text = stranger.sign(
      "{\"notificationType\":\"TEST\",\"notificationUUID\":\"n1\",\"data\":{\"bundleId\":\"b\",\"environment\":\"Production\"}}"
    )
    let roots = TestCertificateAuthority.shared.roots
    #expect(
      try await ingestSigned([text, "{\"signedPayload\":\"\(text)", text.dropLast(300) + ""], roots: roots)
        == summary(rejected: 3))
    for row in try await connection.query("select excerpt from ingest.rejection") {
      #expect(row["excerpt"]?.contains("eyJ") != true)
    }
  }

  @Test(
    "genuine payloads are restored byte for byte",
    .enabled(if: !GenuinePayload.all.isEmpty, "\(GenuinePayload.absence)"))
  func genuinePayloads() async throws {
    let texts = GenuinePayload.all.map(\.compact)
    let path = try folder.write("signed", texts.joined(separator: "\n"))
    let ingester = Ingester(connection, source: .appStore, now: { noon })
    let result = try await ingester.ingest([path]) {
      AppStoreDecoder { _ in AppConfiguration(key: "genuine", environments: [.production, .sandbox]) }
    }
    #expect(result.stored == texts.count)
    #expect(try await restoredPayloads() == Set(texts.map { $0.trimmingCharacters(in: .whitespacesAndNewlines) }))
  }

  @Test("statements that follow find the new events of the batch, in its transaction")
  func afterStoring() async throws {
    try await connection.execute(
      "create table announced (like ingest.event); alter table announced drop body, alter signed_at drop not null, alter store drop not null"
    )
    let file = SQLFile(
      path: "test.sql",
      text: """
        insert into announced (subscription_key, app_id, source, event_id, kind, also, occurred_at, received_at,
          environment, transaction_id, country, amount, currency)
        select subscription_key, app_id, source, event_id, kind, also, occurred_at, received_at, environment,
          transaction_id, country, amount, currency
        from stored_event
        """)
    let ingester = ingester(afterStoring: [file])
    try await ingest([canonicalEvent("e1", transaction: "t"), canonicalEvent("e1")], with: ingester)
    try await ingest([canonicalEvent("e1"), canonicalEvent("e2")], with: ingester)
    #expect(
      try await rows("select event_id, kind, transaction_id, country, amount, currency from announced order by 1")
        == ["e1|subscription_renewed|t|USA|9990000|USD", "e2|subscription_renewed|null|null|null|null"])
    // What fails there takes the batch with it.
    let failing = self.ingester(afterStoring: [SQLFile(path: "test.sql", text: "select nothing_like_it()")])
    await #expect(throws: PostgresError.self) { try await ingest([canonicalEvent("e3")], with: failing) }
    #expect(try await count("ingest.event") == 2)
  }
}
