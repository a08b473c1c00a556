import Foundation
import Glibc
import Postgres
import Signatures
import Synchronization
import TestSupport
import Testing

/// `tenure serve` as the App Store, browsers and monitoring meet it.
@Suite("Serve command", .fewAtOnce)
struct ServeCommandTests {
  private let database: TestDatabase

  init() async throws { database = try await TestDatabase.clone() }

  private func serve(server: String? = nil) async throws -> Serving {
    let environment = ["DATABASE_URL": database.connectionString]
    guard let server else { return try await Serving(environment: environment) }
    return try await Serving(server: server, environment: environment)
  }

  private func notification(
    _ number: Int = 1, _ type: String = "SUBSCRIBED.INITIAL_BUY", environment: String = "Production"
  ) -> Notification {
    Notification(type, signed: "2025-02-01", id: "\(number)", chain: "\(number)", environment: environment)
  }

  private func counts(_ answer: HTTPConnection.Answer) -> [String: Int] { answer.json as? [String: Int] ?? [:] }

  private func expectProblem(
    _ answer: HTTPConnection.Answer, _ status: Int, at location: SourceLocation = #_sourceLocation
  ) {
    #expect(answer.status == status, "\(answer.text)", sourceLocation: location)
    #expect(answer.headers["content-type"] == "application/problem+json", sourceLocation: location)
    #expect(answer.json["status"] as? Int == status, sourceLocation: location)
  }

  private func gzip(_ text: String) async throws -> [UInt8] {
    let folder = try TestFolder()
    let file = try folder.write(text, to: "body")
    _ = try await TestProgram.run(["-k", file], file: "/bin/gzip")
    return Array(try Data(contentsOf: URL(filePath: file + ".gz")))
  }

  // MARK: - Receiving

  @Test("a notification is stored when it is acknowledged, and its answer says what became of it")
  func stores() async throws {
    let serving = try await serve()
    let connection = try await database.connect()
    let first = try await serving.post(notification().body)
    #expect(first.status == 200, "\(first.text)")
    #expect(first.headers["content-type"] == "application/json")
    #expect(counts(first) == ["received": 1, "stored": 1, "duplicates": 0, "rejected": 0, "unrecognised": 0])
    #expect(try await connection.query("select 1 as one from ingest.event").count == 1)
    let again = try await serving.post(notification().body)
    #expect(again.status == 200)
    #expect(counts(again)["stored"] == 0)
    #expect(counts(again)["duplicates"] == 1)
    let unknown = try await serving.post(notification(2, "SOMETHING_NEW").body)
    #expect(unknown.status == 200)
    #expect(counts(unknown)["unrecognised"] == 1)
    let packed = try await serving.post(try await gzip(notification(3).body), headers: ["Content-Encoding": "gzip"])
    #expect(packed.status == 200, "\(packed.text)")
    #expect(counts(packed)["stored"] == 1)
    #expect(try await connection.query("select 1 as one from ingest.event").count == 3)
    #expect(try await connection.query("select 1 as one from fact.transaction").count == 3)
    await serving.end()
  }

  @Test("what is refused gets the status that says why, and is listed with its reason")
  func refuses() async throws {
    let serving = try await serve()
    let good = notification()
    // A letter of the signature changed to another one.
    let signed = good.signed
    let spoilt = String(signed.dropLast(8)) + (signed.suffix(8).hasPrefix("A") ? "B" : "A") + signed.suffix(7)
    expectProblem(try await serving.post("{\"signedPayload\":\"\(spoilt)\"}"), 401)
    expectProblem(try await serving.post(good.body, to: "app_store/audio"), 401)
    let other = Notification.sign([
      "notificationType": "TEST", "notificationUUID": "t", "version": "2.0", "signedDate": 1_738_368_000_000,
      "data": ["bundleId": "com.example.other", "environment": "Production"] as Notification.Claims,
    ])
    expectProblem(try await serving.post("{\"signedPayload\":\"\(other)\"}"), 422)
    expectProblem(try await serving.post(notification(2, environment: "Sandbox").body), 422)
    expectProblem(try await serving.post("{\"signedPayload\":"), 400)
    expectProblem(try await serving.post(""), 400)
    expectProblem(try await serving.post([0x7B, 0x22, 0xFF, 0x22, 0x3A, 0x31, 0x7D]), 400)
    expectProblem(try await serving.post("[\(good.body)]"), 400)
    expectProblem(try await serving.post(signed), 400)
    expectProblem(try await serving.post("{\"notificationType\":\"TEST\"}"), 401)
    expectProblem(try await serving.post("not gzip", headers: ["Content-Encoding": "gzip"]), 400)
    // Before anything is read.
    expectProblem(try await serving.post(good.body, headers: ["Content-Encoding": "br"]), 415)
    expectProblem(try await serving.post(good.body, to: "app_store/vidio"), 404)
    expectProblem(try await serving.post(good.body, to: "app_stor/video"), 404)
    expectProblem(try await serving.post("{}", to: "revenuecat/video"), 404)
    expectProblem(try await serving.post("{}", to: "app_store_receipt/video"), 404)
    expectProblem(try await serving.post("{}", to: "tenure/audio"), 404)
    let wrong = try #require(
      try await HTTPConnection.request("GET", "/v1/ingest/app_store/video", port: serving.ingestPort))
    expectProblem(wrong, 405)
    #expect(wrong.headers["allow"] == "POST")

    let connection = try await database.connect()
    let rows = try await connection.query("select source, reason, place from report.rejections order by rejection_id")
    #expect(
      rows.map { $0["reason"] } == [
        "signature", "untrusted_root", "other_app", "environment_not_listed", "not_json", "not_json", "not_json",
        "malformed", "not_json", "unsigned", "malformed",
      ])
    #expect(rows.allSatisfy { $0["place"] == "http" && $0["source"] == "app_store" })
    #expect(try await connection.query("select 1 as one from ingest.event").isEmpty)
    await serving.end()
  }

  @Test("canonical events need the webhook signature of the app's secret, and come alone, in lines or in an envelope")
  func canonicalEvents() async throws {
    let serving = try await serve()
    func event(_ id: String, app: String = "video") -> String {
      """
      {"event_id": "\(id)", "kind": "subscription_started", "occurred_at": "2026-03-01T09:30:00Z", "app": "\(app)", \
      "store": "app_store", "environment": "Production", "original_transaction_id": "1"}
      """
    }
    func post(_ body: String, secret: String = Serving.secret, age: Int64 = 0) async throws -> HTTPConnection.Answer {
      let timestamp = Int64(Date().timeIntervalSince1970) - age
      let signature = try #require(StandardWebhookSecret(secret)).signature(
        id: "m1", timestamp: timestamp, body: Array(body.utf8))
      return try await serving.post(
        body, to: "tenure/video",
        headers: ["webhook-id": "m1", "webhook-timestamp": "\(timestamp)", "webhook-signature": signature])
    }
    #expect(try await post(event("e1")).status == 200)
    let lines = try await post(event("e1") + "\n" + event("e2") + "\nnonsense\n")
    #expect(lines.status == 200)
    #expect(counts(lines) == ["received": 3, "stored": 1, "duplicates": 1, "rejected": 1, "unrecognised": 0])
    let envelope = try await post(
      "{\"type\": \"subscription_started\", \"timestamp\": \"2026-03-01T09:30:00Z\", \"data\": \(event("e3"))}")
    #expect(counts(envelope)["stored"] == 1, "\(envelope.text)")
    expectProblem(try await post(event("e4"), secret: "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"), 401)
    expectProblem(try await post(event("e4"), age: 400), 401)
    expectProblem(try await serving.post(event("e4"), to: "tenure/video"), 401)
    expectProblem(try await post(event("e4", app: "audio")), 422)
    let connection = try await database.connect()
    #expect(
      try await connection.query("select event_id from ingest.event order by event_id").map { $0["event_id"] }
        == ["e1", "e2", "e3"])
    #expect(
      try await connection.query("select reason from report.rejections order by rejection_id").map { $0["reason"] }
        == ["not_json", "secret", "secret", "secret", "other_app"])
    await serving.end()
  }

  @Test("a body that is too large is refused by its declared length, while it is sent, and while it is inflated")
  func tooLarge() async throws {
    let serving = try await serve(server: "token: \"t\", max_body: \"64KiB\"")
    let head = "POST /v1/ingest/app_store/video HTTP/1.1\r\nHost: x\r\n"
    // Declared: before a byte of it was sent, with and without asking.
    for expect in ["", "Expect: 100-continue\r\n"] {
      let declared = try HTTPConnection(port: serving.ingestPort)
      await declared.send(head + expect + "Content-Length: 65537\r\n\r\n")
      expectProblem(try #require(await declared.answer()), 413)
    }
    // However long it is said to be.
    for length in ["268435457", "99999999999"] {
      let declared = try HTTPConnection(port: serving.ingestPort)
      await declared.send(head + "Content-Length: \(length)\r\n\r\n")
      expectProblem(try #require(await declared.answer()), 413)
    }
    // Declared, and sent all the same.
    expectProblem(try await serving.post([UInt8](repeating: 0x20, count: 4 << 20)), 413)
    // Streamed: before its end.
    let streamed = try HTTPConnection(port: serving.ingestPort)
    await streamed.send(head + "Transfer-Encoding: chunked\r\n\r\n")
    let piece = String(repeating: " ", count: 4096)
    for _ in 0..<17 { await streamed.send("1000\r\n\(piece)\r\n") }
    expectProblem(try #require(await streamed.answer()), 413)
    // Inflated.
    let packed = try await gzip(String(repeating: " ", count: 65_537))
    #expect(packed.count < 1000)
    expectProblem(try await serving.post(packed, headers: ["Content-Encoding": "gzip"]), 413)
    // As large as may be is read.
    expectProblem(try await serving.post([UInt8](repeating: 0x20, count: 65_536)), 400)
    let rows = try await database.connect().query("select reason from report.rejections order by rejection_id")
    #expect(rows.map { $0["reason"] } == Array(repeating: "too_large", count: 7) + ["not_json"])
    await serving.end()
  }

  @Test("500 idle and half-sent connections do not keep others from being answered")
  func idleConnections() async throws {
    var limit = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    limit.rlim_cur = limit.rlim_max
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    let serving = try await serve()
    var idle: [HTTPConnection] = []
    for number in 0..<500 {
      let connection = try HTTPConnection(port: serving.ingestPort)
      if number.isMultiple(of: 2) {
        await connection.send("POST /v1/ingest/app_store/video HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n{")
      }
      idle.append(connection)
    }
    for number in 1...3 {
      let answer = try await serving.post(notification(number).body)
      #expect(answer.status == 200)
    }
    idle.removeAll()
    await serving.end()
  }

  @Test("two lengths of one body are refused, since a proxy may have read the other")
  func ambiguous() async throws {
    let serving = try await serve()
    for lines in [
      "Content-Length: 2\r\nContent-Length: 3\r\n", "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n",
    ] {
      let connection = try HTTPConnection(port: serving.ingestPort)
      await connection.send("POST /v1/ingest/app_store/video HTTP/1.1\r\nHost: x\r\n\(lines)\r\n{}")
      let answer = try #require(await connection.answer())
      expectProblem(answer, 400)
      #expect(await connection.answer() == nil)
    }
    await serving.end()
  }

  // MARK: - Failing and ending

  @Test("while the database is away the sender is told to come again, and when it is back all goes on by itself")
  func databaseAway() async throws {
    let server = try await StoppableServer()
    let serving = try await Serving(environment: ["DATABASE_URL": server.connectionString])
    func ready() async throws -> Int? {
      try await HTTPConnection.request("GET", "/readyz", port: serving.ingestPort)?.status
    }
    #expect(try await ready() == 200)
    #expect(try await serving.post(notification(1).body).status == 200)
    try await server.stop()
    let away = try await serving.post(notification(2).body)
    expectProblem(away, 503)
    #expect(away.headers["retry-after"].flatMap { Int($0) } != nil)
    #expect(try await ready() == 503)
    #expect(try await HTTPConnection.request("GET", "/healthz", port: serving.ingestPort)?.status == 200)
    expectProblem(try await serving.get("/v1/reports/events"), 503)
    try await server.start()
    let back = try await serving.post(notification(2).body)
    #expect(back.status == 200, "\(back.text)")
    #expect(counts(back)["stored"] == 1)
    #expect(try await ready() == 200)
    // Stopped and started between two requests: nobody notices.
    try await server.stop()
    try await server.start()
    #expect(try await serving.post(notification(3).body).status == 200)
    let events = try await serving.get("/v1/reports/events?format=csv")
    #expect(events.text.split(separator: "\n").count == 4)
    await serving.end()
    let errors = await serving.program.ended().errors
    #expect(errors.contains("events cannot be stored"))
    #expect(errors.contains("events are stored again"))
  }

  /// Posts notifications from several clients at once until the server is gone; calls `onStored` with each that was
  /// acknowledged.
  private func postUntilGone(_ serving: Serving, _ onStored: @escaping @Sendable (Int) -> Void) async {
    await withTaskGroup(of: Void.self) { group in
      for client in 0..<8 {
        group.addTask {
          var number = client * 100_000
          while true {
            number += 1
            let answer = try? await HTTPConnection.request(
              "POST", "/v1/ingest/app_store/video", port: serving.ingestPort,
              body: Array(self.notification(number).body.utf8))
            guard let answer else { return }
            if answer.status == 200 { onStored(number) }
          }
        }
      }
    }
  }

  @Test("killed under load, every event that was acknowledged is there", arguments: [SIGKILL, SIGTERM])
  func killed(signal: Int32) async throws {
    let serving = try await serve()
    let stored = Mutex<Set<String>>([])
    await postUntilGone(serving) { number in
      let count = stored.withLock { stored in
        stored.insert("SUBSCRIBED.INITIAL_BUY-\(number)-\(number)-1738368000000")
        return stored.count
      }
      if count == 60 { serving.program.send(signal) }
    }
    let outcome = await serving.program.ended()
    #expect(outcome.code == (signal == SIGTERM ? 0 : 128 + signal), "\(outcome.errors)")
    let rows = try await database.connect().query("select event_id from ingest.event")
    let acknowledged = stored.withLock { $0 }
    #expect(acknowledged.count >= 60)
    #expect(acknowledged.subtracting(rows.compactMap { $0["event_id"] }).isEmpty)
  }

  @Test("a request that is half sent when the end is asked for is still answered before the program ends")
  func drains() async throws {
    let serving = try await serve()
    let body = notification().body
    let connection = try HTTPConnection(port: serving.ingestPort)
    await connection.send(
      "POST /v1/ingest/app_store/video HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n"
        + "Content-Length: \(body.utf8.count)\r\n\r\n")
    // Its head has been read then.
    #expect(await connection.answer()?.status == 100)
    await connection.send(String(body.prefix(100)))
    serving.program.send(SIGTERM)
    _ = await serving.program.errorLine(containing: "ending, as a signal asked")
    await connection.send(String(body.dropFirst(100)))
    let answer = try #require(await connection.answer())
    #expect(answer.status == 200, "\(answer.text)")
    let outcome = await serving.program.ended()
    #expect(outcome.code == 0, "\(outcome.errors)")
    #expect(try await database.connect().query("select 1 as one from ingest.event").count == 1)
  }

  // MARK: - Reports

  @Test("the reports listener asks for the token on everything but health")
  func token() async throws {
    let serving = try await serve(server: "token: \"\(Serving.token)\", hosts: [\"reports.example.com\"]")
    for path in ["/", "/metrics", "/v1/reports", "/v1/reports/events", "/page.js", "/nothing"] {
      let without = try await serving.get(path, headers: [:])
      expectProblem(without, 401)
      #expect(without.headers["www-authenticate"] == "Bearer")
      expectProblem(try await serving.get(path, headers: ["Authorization": "Bearer \(Serving.token)x"]), 401)
      expectProblem(try await serving.get(path, headers: ["Cookie": "tenure=\(Serving.token)"]), 401)
    }
    for path in ["/healthz", "/readyz"] { #expect(try await serving.get(path, headers: [:]).status == 200) }
    expectProblem(try await serving.get("/nothing"), 404)
    expectProblem(try await serving.get("/?token=wrong", headers: [:]), 401)
    // A token in the address opens the page and nothing else.
    expectProblem(try await serving.get("/metrics?token=\(Serving.token)", headers: [:]), 401)

    let exchange = try await serving.get("/?token=\(Serving.token)", headers: [:])
    #expect(exchange.status == 303)
    #expect(exchange.headers["location"] == "/")
    let cookie = try #require(exchange.headers["set-cookie"])
    #expect(cookie.contains("; HttpOnly"))
    #expect(cookie.contains("; SameSite=Strict"))
    #expect(!cookie.contains(Serving.token))
    let session = try #require(cookie.split(separator: ";").first.map(String.init))
    let page = try await serving.get("/", headers: ["Cookie": "other=1; \(session)"])
    #expect(page.status == 200)
    #expect(page.headers["content-type"] == "text/html; charset=utf-8")
    #expect(page.headers["content-security-policy"]?.contains("default-src 'none'") == true)
    #expect(!page.text.contains("://"), "the page asks another host for something")
    for part in ["/page.js", "/page.css", "/chart.js", "/currencies.js", "/icon.svg", "/v1/reports", "/metrics"] {
      #expect(try await serving.get(part, headers: ["Cookie": session]).status == 200)
    }

    // Whoever has led a browser here under another name gets nothing, whatever it knows.
    for host in ["evil.example", "127.0.0.1.evil.example", "reports.example.com.evil.example:80"] {
      for path in ["/healthz", "/metrics"] {
        expectProblem(
          try await serving.get(path, headers: ["Host": host, "Authorization": "Bearer \(Serving.token)"]), 421)
      }
    }
    for host in ["localhost", "127.0.0.2:\(serving.reportsPort)", "[::1]:80", "Reports.Example.com:443"] {
      #expect(try await serving.get("/healthz", headers: ["Host": host]).status == 200, "\(host)")
    }
    await serving.end()
  }

  @Test("reports over HTTP are what the command prints, and mistakes are told")
  func reports() async throws {
    let serving = try await serve()
    for number in 1...3 { #expect(try await serving.post(notification(number).body).status == 200) }
    let environment = ["DATABASE_URL": database.connectionString]
    let config = ["--config", serving.folder.file("tenure.json")]
    let measured = try await TestProgram.run(["measure", "--as-of", "2025-04-15"] + config, environment: environment)
    try #require(measured.code == 0, "\(measured.errors)")
    for (target, words) in [
      ("", ["report", "--format", "json"]),
      ("/movements", ["report", "movements", "--format", "json"]),
      (
        "/movements?from=2025-02-01&to=2025-03-31&by=month&group_by=product%2Ccountry&format=csv",
        [
          "report", "movements", "--from", "2025-02-01", "--to", "2025-03-31", "--by", "month", "--group-by",
          "product,country", "--format", "csv",
        ]
      ),
      ("/events?app=video&environment=Production", ["report", "events", "--app", "video", "--format", "json"]),
      ("/events?environment=Sandbox", ["report", "events", "--environment", "Sandbox", "--format", "json"]),
      ("/events?last=2", ["report", "events", "--last", "2", "--format", "json"]),
      ("/events?group_by=kind", ["report", "events", "--group-by", "kind", "--format", "json"]),
      (
        "/revenue?group_by=product&converted=true",
        ["report", "revenue", "--group-by", "product", "--converted", "--format", "json"]
      ),
    ] {
      let printed = try await TestProgram.run(words + config, environment: environment)
      let answer = try await serving.get("/v1/reports\(target)")
      #expect(answer.status == 200)
      #expect(answer.text == printed.output, "\(target)")
      #expect(
        answer.headers["content-type"]?.hasPrefix(target.contains("csv") ? "text/csv" : "application/json") == true)
    }
    let asked = "/movements?on=2025-02-10&column=closing&app=video&environment=Production&store=app_store"
    let explained = try await TestProgram.run(
      [
        "explain", "movements", "--on", "2025-02-10", "--column", "closing", "--app", "video", "--store", "app_store",
        "--json",
      ] + config, environment: environment)
    #expect(explained.code == 0, "\(explained.errors)")
    let explanation = try await serving.get("/v1/explain\(asked)")
    #expect(explanation.status == 200)
    #expect(explanation.text == explained.output)
    #expect(explanation.text.contains("\"closing\":3"))
    let first = try await serving.get("/v1/explain\(asked)&limit=1").text
    #expect(first.contains("\"closing\":3"))
    #expect(first.components(separatedBy: "\"entry_id\"").count == 2)
    for (target, status) in [
      ("/movements", 400), ("/movements?on=today", 400), ("/movements?on=2025-03-31&limit=0", 400),
      ("/movements?on=2025-03-31&all=perhaps", 400), ("/churn?on=2025-03-31", 400),
      ("/churn?on=2025-03-31&by=month&column=churn_rate", 400), ("/movements?on=1999-03-31", 404),
      ("/movments?on=2025-03-31", 404), ("/movements?on=2025-03-31&app=vidio", 404),
    ] { expectProblem(try await serving.get("/v1/explain\(target)"), status) }
    for target in [
      "/movements?from=yesterday", "/movements?last=0", "/movements?last=few", "/revenue?converted=yes",
      "/movements?converted=true&group_by=product", "/events?group_by=kind&last=1", "/movements?from=2025-01-01%27",
      "/movements?by=fortnight",
      "/movements?group_by=nothing", "/movements?format=table", "/movements?app=%00", "/movements?frm=2025-01-01",
      "/movements?from=2025-02-01&to=2025-01-01", "/products?from=2025-01-01", "/events?by=month&by=day",
    ] { expectProblem(try await serving.get("/v1/reports\(target)"), 400) }
    expectProblem(try await serving.get("/v1/reports/movments"), 404)
    expectProblem(try await serving.get("/v1/reports/movements?app=vidio"), 404)
    let posted = try #require(
      try await HTTPConnection.request(
        "POST", "/v1/reports", port: serving.reportsPort, headers: ["Authorization": "Bearer \(Serving.token)"]))
    expectProblem(posted, 405)
    let head = try #require(
      try await HTTPConnection.request(
        "HEAD", "/v1/reports/movements", port: serving.reportsPort,
        headers: ["Authorization": "Bearer \(Serving.token)"]))
    #expect(head.status == 200)
    await serving.end()
  }

  @Test("a report that is larger than any buffer arrives whole")
  func largeReport() async throws {
    let serving = try await serve()
    let connection = try await database.connect()
    try await connection.execute(
      """
      insert into ingest.rejection (source, received_at, reason, place, excerpt)
      select 'tenure', now(), 'malformed', 'http', repeat('x', 200) from generate_series(1, 20000)
      """)
    let answer = try await serving.get("/v1/reports/rejections")
    let rows = try #require(try JSONSerialization.jsonObject(with: Data(answer.body)) as? [[String: Any]])
    #expect(rows.count == 20_000)
    // A client that goes away in the middle leaves the server as it was.
    for _ in 0..<6 {
      let gone = try HTTPConnection(port: serving.reportsPort)
      await gone.send(
        "GET /v1/reports/rejections HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer \(Serving.token)\r\n\r\n")
    }
    #expect(try await serving.get("/v1/reports/rejections?format=csv").text.split(separator: "\n").count == 20_001)
    await serving.end()
  }

  @Test("metrics are in Prometheus' form and count what happened")
  func metrics() async throws {
    let serving = try await serve()
    #expect(try await serving.post(notification().body).status == 200)
    #expect(try await serving.post(notification().body).status == 200)
    #expect(try await serving.post("x").status == 400)
    let answer = try await serving.get("/metrics")
    #expect(answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8")
    var types: [String: String] = [:]
    var values: [String: Double] = [:]
    for line in answer.text.split(separator: "\n") {
      if line.hasPrefix("# TYPE ") {
        let words = line.split(separator: " ")
        types[String(words[2])] = String(words[3])
        continue
      }
      if line.hasPrefix("# HELP ") { continue }
      let match = try #require(
        try /([a-z_]+)((?:\{(?:[a-z_]+="[^"]*",?)+\})?) (-?[0-9.e+]+)/.wholeMatch(in: String(line)), "\(line)")
      #expect(types[String(match.1)] != nil, "\(line) has no type")
      values[String(match.1) + match.2] = Double(match.3)
    }
    #expect(types["tenure_http_requests_total"] == "counter")
    #expect(types["tenure_http_connections"] == "gauge")
    #expect(values["tenure_http_requests_total{listener=\"ingest\",status=\"200\"}"] == 2)
    #expect(values["tenure_http_requests_total{listener=\"ingest\",status=\"400\"}"] == 1)
    #expect(values["tenure_ingest_events_total{outcome=\"stored\",source=\"app_store\"}"] == 1)
    #expect(values["tenure_ingest_events_total{outcome=\"duplicate\",source=\"app_store\"}"] == 1)
    #expect(values["tenure_ingest_events_total{outcome=\"rejected\",source=\"app_store\"}"] == 1)
    #expect(values["tenure_ingest_commits_total{source=\"app_store\"}"] == 3)
    await serving.end()
  }

  @Test("without a token a new one is made, kept for its owner alone, and told with the page's address")
  func ownTokenAndDatabase() async throws {
    let home = try TestFolder()
    let environment = ["TENURE_HOME": home.file("home")]
    let serving = try await Serving(server: "", environment: environment)
    let file = home.file("home/token")
    let token = try String(contentsOfFile: file, encoding: .utf8).trimmingCharacters(in: .whitespacesAndNewlines)
    let attributes = try FileManager.default.attributesOfItem(atPath: file)
    #expect(attributes[.posixPermissions] as? Int == 0o600)
    #expect(token.count >= 32)
    #expect(serving.page == "http://127.0.0.1:\(serving.reportsPort)/?token=\(token)")
    #expect(try await serving.post(notification().body).status == 200)
    let events = try await serving.get("/v1/reports/events", headers: ["Authorization": "Bearer \(token)"])
    #expect(events.text.contains("\"raw_kind\":\"SUBSCRIBED.INITIAL_BUY\""))
    await serving.end()
    let again = try await Serving(server: "", environment: environment)
    #expect(again.page.hasSuffix("?token=\(token)"))
    #expect(counts(try await again.post(notification().body))["duplicates"] == 1)
    await again.end()
  }

  @Test("wrong addresses, secrets that are none and ports that are taken are told")
  func usage() async throws {
    let environment = ["DATABASE_URL": database.connectionString]
    let wrong = try await TestProgram.run(["serve", "--listen", "8080"], environment: environment)
    #expect(wrong.code == 2)
    #expect(wrong.errors.contains("--listen is an address and a port"))
    let folder = try TestFolder()
    let config = try folder.write(
      #"{ server: { token: "t" }, apps: [{ key: "a", sources: { tenure: { secret: "not base64!" } } }] }"#,
      to: "tenure.json")
    let secret = try await TestProgram.run(["serve", "--config", config], environment: environment)
    #expect(secret.code == 2)
    #expect(secret.errors.contains("apps[0].sources.tenure.secret"))
    #expect(!secret.errors.contains("not base64!"))
    let serving = try await serve()
    let taken = try await TestProgram.run(
      ["serve", "--listen", "127.0.0.1:\(serving.ingestPort)", "--config", serving.folder.file("tenure.json")],
      environment: environment)
    #expect(taken.code == 1)
    #expect(taken.errors.contains("listening on 127.0.0.1:\(serving.ingestPort)"))
    await serving.end()
  }
}
