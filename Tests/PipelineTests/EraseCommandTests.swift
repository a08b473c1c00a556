import Foundation
import Postgres
import TestSupport
import Testing

/// `tenure erase`: a person goes, the figures stay.
@Suite("Erase command", .fewAtOnce)
struct EraseCommandTests {
  /// Whatever of a database's tables holds one of the texts: table and column, in the order of their names.
  private func places(_ program: Installation, holding texts: [String]) async throws -> [String] {
    let connection = try await program.connect()
    let columns = try await connection.query(
      """
      select format('%I.%I', c.table_schema, c.table_name) as relation, c.column_name
      from information_schema.columns as c
      inner join information_schema.tables as t using (table_schema, table_name)
      where t.table_type = 'BASE TABLE' and c.data_type in ('text', 'json', 'jsonb', 'ARRAY')
        and c.table_schema in ('ingest', 'fact', 'ledger', 'measure', 'forward', 'reference')
      order by 1, 2
      """)
    var found: [String] = []
    for column in columns {
      let (relation, name) = (try column.text("relation"), try column.text("column_name"))
      for text in texts {
        let rows = try await connection.query(
          "select 1 as one from \(relation) where position($1 in \"\(name)\"::text) > 0 limit 1", [.text(text)])
        if !rows.isEmpty { found.append("\(relation).\(name)") }
      }
    }
    await connection.close()
    return Array(Set(found)).sorted()
  }

  private struct Erasure: Decodable, Equatable {
    var apps = ["video"]
    var subscriptions = 0
    var events = 0
    var payloads = 0
    var deliveries = 0
    var excerpts = 0
  }

  private func erase(_ program: Installation, _ id: String, _ options: [String] = []) async throws -> Erasure {
    try JSONDecoder().decode(
      Erasure.self, from: Data(try await program.run(["erase", "--subscriber", id, "--json"] + options).utf8))
  }

  private func installation(_ configuration: String) async throws -> Installation {
    let folder = try TestFolder()
    try folder.write(configuration, to: "tenure.json")
    return Installation(database: try await TestDatabase.clone(), folder: folder)
  }

  /// Two chains of the person, one of another customer; one of the person's has an app transaction id.
  private func lives() -> [Life] {
    [
      Life("1", subscriber: "u-17").buys("2025-01-01", until: "2025-02-01").renews(until: "2025-03-01"),
      Life("2", subscriber: "u-17").buys("2025-01-10", until: "2025-02-10"),
      Life("3", subscriber: "u-171").buys("2025-01-05", until: "2025-02-05"),
    ]
  }

  private func reports(_ program: Installation) async throws -> [String] {
    var lines: [String] = []
    for report in ["movements", "active_subscriptions", "active_subscribers", "revenue", "customers", "mrr"] {
      lines += try await program.rows(report).map { row in
        report + " " + row.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(separator: " ")
      }
    }
    return lines
  }

  @Test("ids, raw payloads, excerpts and what waits to be sent are gone, and every figure stays")
  func erases() async throws {
    let program = try await Installation()
    try await program.ingest(lives())
    // Events that keep their text, of the person and of another; one only names the person in it.
    let kept = [
      ("k1", "u-17", "\"u-17\""), ("k2", "u-171", "\"u-171\""), ("k3", "u-171", "[\"u-9\",\"u-17\"]"),
    ].map { id, subscriber, aliases in
      """
      {"event_id":"\(id)","kind":"entitlement_changed","occurred_at":"2025-01-15T00:00:00Z","app":"video",\
      "store":"app_store","environment":"Production","subscriber_id":"\(subscriber)","aliases":\(aliases)}
      """
    }
    try await program.ingest(lines: kept)
    try await program.ingest(
      lines: [#"{"event_id":"bad","subscriber_id":"u-17"}"#, #"{"event_id":"bad","subscriber_id":"u-171"}"#], ends: 3)
    let notification = Notification(
      "SUBSCRIBED.INITIAL_BUY", signed: "2025-01-20", id: "4", from: "2025-01-20", until: "2025-02-20", chain: "4",
      transaction: ["appAccountToken": "u-17", "appTransactionId": "704897"])
    try await program.ingest([notification])
    try await program.measure(asOf: "2025-02-15")
    let before = try await reports(program)
    #expect(
      try await places(program, holding: ["\"u-17\"", "704897"]).contains("ingest.event.body"))

    try await expect(
      erase(program, "u-17"), is: Erasure(subscriptions: 3, events: 5, payloads: 3, excerpts: 1))

    // The other's id begins with the person's.
    try await expect(places(program, holding: ["704897"]), is: [])
    let connection = try await program.connect()
    for column in [
      "subscriber_id from ingest.event", "subscriber_id from fact.subscriber", "subscriber_id from ledger.identity",
    ] {
      let ids = try await connection.query("select distinct \(column) order by 1").compactMap { $0["subscriber_id"] }
      #expect(ids.filter { !$0.hasPrefix("erased-") } == ["u-171"], "\(column)")
      #expect(ids.count == 2, "\(column)")
    }
    #expect(
      try await connection.query("select event_id from ingest.payload order by event_id").map { $0["event_id"] } == [
        "k2"
      ])
    #expect(
      try await connection.query("select excerpt from ingest.rejection where excerpt is not null").map {
        try $0.text("excerpt").contains("u-171")
      } == [true])
    await connection.close()
    try await expect(reports(program), is: before)
    // The next run gives the chains to the new name, and so does one that derives everything again.
    try await program.measure(asOf: "2025-02-15")
    try await expect(reports(program), is: before)
    try await program.measure(asOf: "2025-02-15", ["--rebuild"])
    try await expect(reports(program), is: before)
    try await expect(
      program.lines(
        "active_subscribers", "active_subscribers active_subscriptions", ["--from", "2025-01-31", "--to", "2025-01-31"]),
      is: ["2 4"])
  }

  @Test("what comes with an erased id is stored without it, from files and from senders that were there before")
  func dropsAtTheDoor() async throws {
    let database = try await TestDatabase.clone()
    let serving = try await Serving(environment: ["DATABASE_URL": database.connectionString])
    let program = Installation(database: database, folder: serving.folder)
    func notification(_ chain: String, app transaction: String = "704897") -> Notification {
      Notification(
        "SUBSCRIBED.INITIAL_BUY", signed: "2025-01-20", id: chain, from: "2025-01-20", until: "2025-02-20",
        chain: chain,
        transaction: ["appAccountToken": "u-17", "appTransactionId": transaction])
    }
    #expect(try await serving.post(notification("1").body).status == 200)
    try await expect(erase(program, "u-17"), is: Erasure(subscriptions: 1, events: 1, payloads: 1))
    // The server has its connection and its list from before.
    #expect(try await serving.post(notification("2").body).status == 200)
    // Known already: the id is dropped from its facts as well.
    #expect(try await serving.post(notification("1").body).json["duplicates"] as? Int == 1)
    try await program.ingest([Life("3", subscriber: "u-17").buys("2025-01-01", until: "2025-02-01")])
    // Another of the person's identifiers was not known before.
    #expect(try await serving.post(notification("4", app: "99").body).status == 200)
    try await program.measure(asOf: "2025-02-01")
    let connection = try await database.connect()
    #expect(
      try await connection.query(
        """
        select original_transaction_id || ' ' || coalesce(left(subscriber_id, 7), '-') || ' '
          || coalesce(left(app_transaction_id, 7), '-') as line
        from ingest.event order by 1
        """
      ).map { $0["line"] } == ["1 erased- erased-", "2 - -", "3 - -", "4 - 99"])
    #expect(try await connection.query("select 1 as one from ingest.payload").isEmpty)
    #expect(
      try await connection.query("select 1 as one from fact.subscriber where subscriber_id not like 'erased-%'").isEmpty
    )
    await connection.close()
    // Again: nothing is left to erase.
    try await expect(erase(program, "u-17"), is: Erasure())
    await serving.end()
  }

  /// Refused input that names somebody, of every source, in every place that an excerpt is cut from.
  private func refused(naming id: String) -> [(source: String, line: String)] {
    let quoted = id.unicodeScalars.map { $0.isASCII ? "\($0)" : "\\u00\(String($0.value, radix: 16))" }.joined()
    let event = """
      "kind":"ignored","occurred_at":"2025-01-15T00:00:00Z","store":"app_store","app":"video","environment":"Xcode"
      """
    return [
      ("tenure", #"{"event_id":"bad","subscriber_id":"\#(id)"}"#), ("tenure", "{\"event_id\":\"\(id)\",\(event)}"),
      ("tenure", #"{"event_id":"bad","subscriber_id":"\#(quoted)"}"#),
      ("tenure", #"{"event_id":"bad","subscriber_id":"\#(id)"#), ("tenure", "no JSON of \(id)"),
      ("revenuecat", #"{"event":{"app_user_id":"\#(id)","type":"TEST"}}"#),
      ("revenuecat", #"{"event":{"id":"1","app_user_id":"\#(quoted)"}}"#),
      ("revenuecat", #"["\#(id)"]"#), ("adapty", #"{"customer_user_id":"\#(id)","event_properties":{}}"#),
      ("apphud", #"{"event":{},"user":{"user_id":"\#(id)"}}"#),
      ("app_store", #"{"notificationType":"\#(id)","notificationUUID":"\#(id)"}"#),
    ]
      + (100..<220).map { length in
        let padding = String(String(repeating: "a, bc ", count: 40).prefix(length))
        return ("tenure", #"{"event_id":"bad","x":"\#(padding)","subscriber_id":"\#(id)"}"#)
      }
  }

  @Test("refused input that names an erased person is counted and listed, but not shown, whatever it came by")
  func refusedInput() async throws {
    let program = try await installation(
      """
      { apps: [{ key: "video", bundle_id: "com.example.video",
        sources: { app_store: {}, tenure: {}, revenuecat: {}, adapty: {}, apphud: {} } }] }
      """)
    try await program.ingest([Life("1", subscriber: "u-18").buys("2025-01-01", until: "2025-02-01")])
    let gone = ["victim-77@example.com", "Zoë (77)"]
    for id in gone { try await expect(erase(program, id), is: Erasure()) }
    let known = gone + ["victim-778@example.com"]
    var count = 0
    for source in ["tenure", "revenuecat", "adapty", "apphud", "app_store"] {
      let lines = known.flatMap { refused(naming: $0) }.filter { $0.source == source }.map(\.line)
      let summary = try await program.ingest(
        lines: lines, source: source, app: source == "tenure" ? nil : "video", ends: 3)
      #expect(summary.rejected == lines.count, "\(source)")
      count += lines.count
    }
    try await expect(places(program, holding: ["victim-77@", "victim-77…", "Zoë", "Zo\\u00"]), is: [])
    let connection = try await program.connect()
    let rows = try await connection.query("select excerpt, source from ingest.rejection")
    #expect(rows.count == count)
    // Another, whose id begins with the erased one, is shown.
    for source in ["tenure", "revenuecat", "adapty", "apphud"] {
      #expect(rows.contains { $0["source"] == source && $0["excerpt"]?.contains("victim-778@example.com") == true })
    }
    await connection.close()
  }

  @Test("what a receiver refuses is not shown either, though it was there before the erasure")
  func refusedRequests() async throws {
    let database = try await TestDatabase.clone()
    let serving = try await Serving(
      sources: Vendor.sources, environment: ["DATABASE_URL": database.connectionString])
    let program = Installation(database: database, folder: serving.folder)
    func post() async throws {
      for vendor in Vendor.all {
        for line in refused(naming: "victim-77@example.com") where line.source == vendor.name {
          let answer = try await serving.post(line.line, to: "\(vendor.name)/video", headers: vendor.headers)
          #expect(answer.status >= 400, "\(answer.text)")
        }
      }
    }
    try await post()
    #expect(try await places(program, holding: ["victim-77"]) == ["ingest.rejection.excerpt"])
    try await expect(erase(program, "victim-77@example.com").excerpts, is: 5)
    try await post()
    try await expect(places(program, holding: ["victim-77"]), is: [])
    // The app had nothing stored when the first was refused.
    let apps = try await program.lines("rejections", "app", ["--app", "video"])
    #expect(apps.count == 10 && Set(apps) == ["video"], "\(apps)")
    await serving.end()
  }

  @Test("other ids of the same customer go with the id, and are dropped when they come again")
  func aliases() async throws {
    let program = try await installation(
      """
      { apps: [{ key: "video", bundle_id: "com.example.video", sources: { revenuecat: {} } }] }
      """)
    func purchase(_ number: Int, user: String = "u-17", aliases: [String] = ["$RCAnonymousID:8f3a"]) -> String {
      let all = aliases.map { "\"\($0)\"" }.joined(separator: ",")
      return """
        {"api_version":"1.0","event":{"id":"e\(number)","type":"INITIAL_PURCHASE","event_timestamp_ms":1735689700000,\
        "app_user_id":"\(user)","original_app_user_id":"\(aliases[0])","aliases":[\(all)],"product_id":"monthly",\
        "period_type":"NORMAL","purchased_at_ms":1735689600000,"expiration_at_ms":1738368000000,\
        "environment":"PRODUCTION","store":"APP_STORE","transaction_id":"\(number)",\
        "original_transaction_id":"\(number)","price_in_purchased_currency":9.99,"currency":"USD"}}
        """
    }
    let lines = [purchase(1), purchase(2, user: "$RCAnonymousID:8f3a"), purchase(3, user: "u-18", aliases: ["u-18"])]
    try await program.ingest(lines: lines, source: "revenuecat", app: "video")
    try await program.measure(asOf: "2025-01-15")
    let before = try await reports(program)
    try await expect(erase(program, "u-17"), is: Erasure(subscriptions: 2, events: 2, payloads: 2))
    try await expect(places(program, holding: ["u-17", "8f3a"]), is: [])
    try await program.measure(asOf: "2025-01-15")
    try await expect(reports(program), is: before)
    try await program.ingest(lines: [purchase(4), purchase(1)], source: "revenuecat", app: "video")
    try await expect(places(program, holding: ["u-17", "8f3a"]), is: [])
  }

  @Test("of those whom a vendor has moved to another id both are erased one by one, what moved stays where it is")
  func transfers() async throws {
    let program = try await Installation()
    try await program.ingest([
      RevenueCatMessage("INITIAL_PURCHASE", at: "2025-02-01", until: "2026-01-01", user: "u-giver"),
      RevenueCatMessage(
        "INITIAL_PURCHASE", at: "2025-02-01", id: "2", until: "2026-01-01", chain: "2", user: "u-taker"),
      RevenueCatMessage(
        "INITIAL_PURCHASE", at: "2025-02-01", id: "3", until: "2026-01-01", chain: "3", user: "u-other"),
      RevenueCatMessage(transfer: ["u-giver"], to: ["u-taker"], at: "2025-02-10", event: "t1"),
    ])
    try await program.measure(asOf: "2025-03-01")
    let before = try await reports(program)
    #expect(
      try await places(program, holding: ["u-giver"]).filter { $0.hasPrefix("fact.") }
        == ["fact.subscriber.subscriber_id", "fact.transfer.from_id"])
    // The purchase, and the transfer by what it says.
    try await expect(erase(program, "u-giver"), is: Erasure(subscriptions: 1, events: 1, payloads: 2))
    try await expect(places(program, holding: ["u-giver"]), is: [])
    try await program.measure(asOf: "2025-03-01")
    try await expect(reports(program), is: before)
    try await expect(erase(program, "u-taker").subscriptions, is: 1)
    try await expect(places(program, holding: ["u-giver", "u-taker"]), is: [])
    for options in [[], ["--rebuild"]] {
      try await program.measure(asOf: "2025-03-01", options)
      try await expect(reports(program), is: before)
    }
    try await expect(
      program.lines("active_subscribers", "day active_subscribers").filter {
        $0.hasPrefix("2025-02-09") || $0.hasPrefix("2025-02-10")
      },
      is: ["2025-02-09 3", "2025-02-10 2"])
    // The same told again, and of others: neither id comes back.
    try await program.ingest([
      RevenueCatMessage(transfer: ["u-giver"], to: ["u-taker"], at: "2025-02-10", event: "t1"),
      RevenueCatMessage(transfer: ["u-taker"], to: ["u-other"], at: "2025-02-11", event: "t2"),
      RevenueCatMessage(transfer: ["u-other"], to: ["u-giver"], at: "2025-02-12", event: "t3"),
    ])
    try await expect(places(program, holding: ["u-giver", "u-taker"]), is: [])
    try await program.measure(asOf: "2025-03-01")
    try await expect(reports(program), is: before)
  }

  @Test("what waits to be sent about the person is not sent")
  func deliveries() async throws {
    let receiver = HTTPReceiver { _, _ in .status(500) }
    let program = try await installation(
      """
      { apps: [{ key: "video", bundle_id: "com.example.video", sources: { tenure: {} } }],
        targets: [{ name: "backend", type: "webhook", url: "\(receiver.url)", allow_private_network: true,
          secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw" }] }
      """)
    try await program.run(["migrate"])
    let now = Date()
    func event(_ id: String, _ subscriber: String) -> String {
      """
      {"event_id":"\(id)","kind":"subscription_started","occurred_at":"\(now.formatted(.iso8601))","app":"video",\
      "store":"app_store","environment":"Production","original_transaction_id":"\(id)","subscriber_id":"\(subscriber)"}
      """
    }
    try await program.ingest(lines: [event("1", "u-17"), event("2", "u-18")])
    try await program.run(["forward", "--once"])
    let connection = try await program.connect()
    #expect(try await connection.query("select 1 as one from forward.delivery where body like '%u-17%'").count == 1)
    try await expect(erase(program, "u-17"), is: Erasure(subscriptions: 1, events: 1, deliveries: 1))
    #expect(try await connection.query("select event_id from forward.delivery").map { $0["event_id"] } == ["2"])
    await connection.close()
  }

  @Test("an id that several apps know is erased in the one that is named")
  func severalApps() async throws {
    let program = try await installation(
      """
      { apps: [{ key: "video", bundle_id: "com.example.video", sources: { tenure: {} } },
        { key: "audio", bundle_id: "com.example.audio", sources: { tenure: {} } }] }
      """)
    try await program.ingest(lines: Life("1", subscriber: "7").buys("2025-01-01", until: "2025-02-01").events)
    try await program.ingest(
      lines: Life("1", subscriber: "7", app: "audio").buys("2025-01-01", until: "2025-02-01").events)
    try await program.run(["erase", "--subscriber", "7"], ends: 1)
    try await program.run(["erase", "--subscriber", "7", "--app", "music"], ends: 1)
    try await expect(
      erase(program, "7", ["--app", "audio"]), is: Erasure(apps: ["audio"], subscriptions: 1, events: 1))
    let connection = try await program.connect()
    #expect(
      try await connection.query("select distinct subscriber_id from fact.subscriber where subscriber_id = '7'").count
        == 1)
    await connection.close()
  }

  @Test("a person of whom nothing is known is kept out from then on")
  func unknownPerson() async throws {
    let program = try await Installation()
    try await program.run(["erase", "--subscriber", "u-17"], ends: 1)
    try await program.ingest([Life("1", subscriber: "u-18").buys("2025-01-01", until: "2025-02-01")])
    try await expect(erase(program, "u-17"), is: Erasure())
    try await program.ingest([Life("2", subscriber: "u-17").buys("2025-01-01", until: "2025-02-01")])
    try await expect(places(program, holding: ["u-17"]), is: [])
    try await program.run(["erase"], ends: 2)
  }
}
