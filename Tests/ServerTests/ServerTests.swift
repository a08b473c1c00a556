import Foundation
import Ingest
import Postgres
import Signatures
import Synchronization
import TestSupport
import Testing
import Vocabulary

@testable import Server

/// What cannot be seen of the built program without waiting for it.
@Suite("Server")
struct ServerTests {
  private let database: TestDatabase

  init() async throws { database = try await TestDatabase.clone() }

  private func server(
    over proxy: DatabaseProxy? = nil, _ change: (inout Server.Settings) -> Void = { _ in }
  ) throws -> Server {
    let address = try #require(ListenAddress("127.0.0.1:0"))
    var settings = Server.Settings(ingest: address, reports: address, token: "token")
    settings.endpoints = [
      .appStore(
        AppConfiguration(
          key: "video", bundleID: "com.example.video", roots: TestCertificateAuthority.shared.roots))
    ]
    change(&settings)
    // libpq's shortest time to connect.
    let connectionString = proxy.map { "\($0.connectionString) connect_timeout=2" } ?? database.connectionString
    return try Server(
      settings, open: { try await Connection.open(connectionString) },
      now: { Instant(microseconds: 1_740_000_000_000_000) },
      report: { _ in })
  }

  private static let notification = {
    let claims = """
      {"notificationType":"TEST","notificationUUID":"n1","version":"2.0","signedDate":1738368000000,\
      "data":{"bundleId":"com.example.video","environment":"Production"}}
      """
    return Array("{\"signedPayload\":\"\(TestCertificateAuthority.shared.sign(claims))\"}".utf8)
  }()

  @Test("a request that does not come whole in time is ended, however steadily it comes")
  func slowSender() async throws {
    let server = try server { $0.requestTime = .milliseconds(200) }
    let head = "POST /v1/ingest/app_store/video HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n"
    // In the body, in a header, and before anything was said.
    for beginning in [head + "\r\n{", head + "X-Long: ", "", "POST /v1/ingest/unknown HTTP/1.1\r\nHost: x\r\n"] {
      let connection = try HTTPConnection(port: server.ingestAddress.port)
      await connection.send(beginning)
      await connection.trickle(UInt8(ascii: "a"))
      #expect(await connection.answer() == nil)
    }
    #expect(await server.stop() == 0)
  }

  @Test("several requests may follow one another on one connection")
  func keepAlive() async throws {
    let server = try server()
    let connection = try HTTPConnection(port: server.ingestAddress.port)
    let head =
      "POST /v1/ingest/app_store/video HTTP/1.1\r\nHost: x\r\nContent-Length: \(Self.notification.count)\r\n\r\n"
    for _ in 0..<2 {
      await connection.send(Array(head.utf8) + Self.notification)
      #expect(await connection.answer()?.status == 200)
    }
    await connection.send(
      "GET /v1/nothing HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabcGET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
    #expect(await connection.answer()?.status == 404)
    #expect(await connection.answer()?.status == 200)
    #expect(await server.stop() == 0)
  }

  @Test("where anyone may send, an address that does so too often is told when to come again, and others are served")
  func tooManyRequests() async throws {
    let app = AppConfiguration(
      key: "video", bundleID: "com.example.video", roots: TestCertificateAuthority.shared.roots)
    let server = try server {
      $0.requestsPerAddress = 1
      $0.endpoints = [.appClient(app, key: nil), .appStore(app)]
    }
    func post(_ source: String, from address: String) async throws -> HTTPConnection.Answer {
      try #require(
        try await HTTPConnection.request(
          "POST", "/v1/ingest/\(source)/video", port: server.ingestAddress.port,
          headers: ["X-Forwarded-For": address], body: Self.notification))
    }
    #expect(try await post("app_client", from: "203.0.113.1").status == 200)
    let refused = try await post("app_client", from: "203.0.113.1")
    #expect(refused.status == 429)
    #expect(refused.headers["retry-after"].flatMap(Int.init).map { (1...60).contains($0) } == true)
    #expect(try await post("app_client", from: "203.0.113.2").status == 200)
    // The App Store is one address.
    for _ in 0..<3 { #expect(try await post("app_store", from: "203.0.113.1").status == 200) }
    let metrics = try #require(
      try await HTTPConnection.request(
        "GET", "/metrics", port: server.reportsAddress.port, headers: ["Authorization": "Bearer token"]))
    #expect(metrics.text.contains("tenure_ingest_limited_requests_total{source=\"app_client\"} 1"))
    #expect(await server.stop() == 0)
  }

  @Test("certificates that are not known are not verified beyond the allowance: the sender is told to come again")
  func tooManyChains() async throws {
    let server = try server { $0.chainsPerSecond = 0 }
    let answer = try #require(
      try await HTTPConnection.request(
        "POST", "/v1/ingest/app_store/video", port: server.ingestAddress.port, body: Self.notification))
    #expect(answer.status == 503)
    #expect(answer.headers["retry-after"] == "1")
    // It was not refused, so nothing is listed.
    #expect(try await database.connect().query("select 1 as one from ingest.rejection").isEmpty)
    #expect(await server.stop() == 0)
  }

  @Test("refusals beyond the limit are answered and not stored")
  func manyRejections() async throws {
    let server = try server { $0.rejectionsPerSecond = 0 }
    let answer = try await HTTPConnection.request(
      "POST", "/v1/ingest/app_store/video", port: server.ingestAddress.port, body: Array("x".utf8))
    #expect(answer?.status == 400)
    #expect(try await database.connect().query("select 1 as one from ingest.rejection").isEmpty)
    let metrics = try await HTTPConnection.request(
      "GET", "/metrics", port: server.reportsAddress.port, headers: ["Authorization": "Bearer token"])
    #expect(metrics?.text.contains("tenure_ingest_dropped_rejections_total{source=\"app_store\"} 1\n") == true)
    #expect(await server.stop() == 0)
  }

  @Test("what strangers are refused takes no room from what those with the secret are refused")
  func rejectionsOfVendors() async throws {
    let app = AppConfiguration(key: "video", bundleID: "com.example.video")
    let server = try server {
      $0.rejectionsPerSecond = 0
      $0.endpoints = [.apphud(app, token: "secret")]
    }
    for (token, status) in [("other", 401), ("secret", 400)] {
      let answer = try await HTTPConnection.request(
        "POST", "/v1/ingest/apphud/video", port: server.ingestAddress.port, headers: ["X-Apphud-Token": token],
        body: Array("x".utf8))
      #expect(answer?.status == status)
    }
    let listed = try await database.connect().query("select reason from ingest.rejection")
    #expect(listed.map { $0["reason"] } == ["not_json"])
    #expect(await server.stop() == 0)
  }

  // MARK: - A database that hangs

  private func post(to server: Server) async throws -> Int? {
    try await HTTPConnection.request(
      "POST", "/v1/ingest/app_store/video", port: server.ingestAddress.port, body: Self.notification)?.status
  }

  private func readiness(of server: Server) async throws -> Int? {
    try await HTTPConnection.request("GET", "/readyz", port: server.ingestAddress.port)?.status
  }

  @Test("a connection that is lost without a word is left, and what came over it stored over a new one")
  func lostConnection() async throws {
    let proxy = try await database.proxy()
    let server = try server(over: proxy) { $0.databaseTime = .seconds(2) }
    for _ in 1...2 {
      #expect(try await post(to: server) == 200)
      #expect(try await readiness(of: server) == 200)
      proxy.loseConnections()
    }
    #expect(try await post(to: server) == 200)
    #expect(try await readiness(of: server) == 200)
    #expect(try await database.connect().query("select from ingest.event").count == 1)
    #expect(await server.stop() == 0)
  }

  @Test("a database that does not answer is not ready, which is said in time and keeps nobody from ending")
  func frozenDatabase() async throws {
    let proxy = try await database.proxy()
    let server = try server(over: proxy) { $0.databaseTime = .seconds(1) }
    #expect(try await readiness(of: server) == 200)
    proxy.freeze()
    try await withThrowingTaskGroup(of: Int?.self) { group in
      for _ in 1...20 { group.addTask { try await readiness(of: server) } }
      for try await status in group { #expect(status == 503) }
    }
    // However many ask, the database is asked once at a time.
    #expect(proxy.accepted < 10)
    proxy.thaw()
    try await waiting(for: "the database to be asked again") { try await readiness(of: server) == 200 }
    proxy.freeze()
    #expect(try await readiness(of: server) == 503)
    #expect(await server.stop() == 0)
  }

  @Test("a transaction that was left half done does not keep what is stored again waiting")
  func leftTransaction() async throws {
    let holder = try await database.connect()
    let server = try server { $0.databaseTime = .seconds(1) }
    #expect(try await post(to: server) == 200)
    try await holder.execute("begin; lock table ingest.event in access exclusive mode")
    #expect(try await post(to: server) == 503)
    try await waiting(for: "the sessions that were left to be gone") {
      try await holder.query(
        """
        select from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock' and state = 'active'
        """
      ).isEmpty
    }
    try await holder.execute("commit")
    try await waiting(for: "the database to answer") { try await post(to: server) == 200 }
    await holder.close()
    #expect(await server.stop() == 0)
  }

  // MARK: - Storing together

  private func event(_ id: String, _ change: (inout Event) -> Void = { _ in }) throws -> BatchItem {
    var decoder = TenureDecoder(app: "video") { AppConfiguration(key: $0) }
    let text = """
      {"event_id": "\(id)", "kind": "subscription_started", "occurred_at": "2026-03-01T09:30:00Z", \
      "store": "app_store", "environment": "Production", "original_transaction_id": "\(id)"}
      """
    let decoded = decoder.decode(Array(text.utf8), receivedAt: Instant(microseconds: 1_772_400_000_000_000))
    guard case .event(var event, let payload)? = decoded.first else { throw CocoaError(.coderInvalidValue) }
    change(&event)
    return BatchItem(.event(event, payload: payload), place: "http")
  }

  private func groupCommit(
    patience: Duration = .seconds(10), _ report: @escaping @Sendable (Result<Int, any Error>) -> Void
  ) -> GroupCommit {
    let database = database
    return GroupCommit(
      patience: patience,
      open: {
        Ingester(
          try await database.connect(), source: .tenure, apps: [],
          now: { Instant(microseconds: 1_772_400_000_000_000) })
      }, report: report)
  }

  @Test("while the database does not answer, senders are told to come again, and served when it does")
  func noAnswer() async throws {
    let failures = Mutex(0)
    let commit = groupCommit(patience: .milliseconds(50)) { result in
      if case .failure(is GroupCommit.NoAnswer) = result { failures.withLock { $0 += 1 } }
    }
    try await waiting(for: "a first transaction") { (try? await commit.store([event("e0")])) != nil }
    let holder = try await database.connect()
    try await holder.execute("begin; lock table ingest.event in share row exclusive mode")
    // The first is being stored, the second waits for it.
    let first = Task { try await commit.store([event("e1")]) }
    try await waiting(for: "the first to be taken in hand") { await commit.waitingCount == 0 }
    await #expect(throws: GroupCommit.NoAnswer.self) { try await commit.store([event("e2")]) }
    await #expect(throws: GroupCommit.NoAnswer.self) { try await first.value }
    #expect(failures.withLock { $0 } > 0)
    try await holder.execute("commit")
    // Sent again. What was in hand was stored all the same, and what is given up on once more is there the next time.
    try await waiting(for: "the database to answer") {
      (try? await commit.store([event("e1"), event("e2")]))?.first == .duplicate
    }
    #expect(try await holder.query("select from ingest.event").count == 3)
    await holder.close()
  }

  @Test("what comes while a transaction is being committed is stored together in the next one")
  func together() async throws {
    let groups = Mutex<[Int]>([])
    let commit = groupCommit { result in groups.withLock { $0.append((try? result.get()) ?? 0) } }
    #expect(try await commit.store([event("e0")]) == [.stored(isUnrecognised: false)])
    // The first transaction waits for this lock, and the others for the first.
    let holder = try await database.connect()
    try await holder.execute("begin; lock table ingest.event in share row exclusive mode")
    let first = Task { try await commit.store([event("e1")]) }
    try await waiting(for: "the first transaction to wait") {
      try await !holder.query(
        "select 1 as one from pg_locks where relation = 'ingest.event'::regclass and not granted"
      ).isEmpty
    }
    let others = try (2...20).map { number in
      let item = try event(number == 20 ? "e2" : "e\(number)")
      return Task { try await commit.store([item]) }
    }
    try await waiting(for: "the others to wait") { await commit.waitingCount >= others.count }
    try await holder.execute("commit")
    #expect(try await first.value == [.stored(isUnrecognised: false)])
    var outcomes: [StoredItem] = []
    for other in others { outcomes += try await other.value }
    #expect(outcomes.count { $0 == .stored(isUnrecognised: false) } == 18)
    #expect(outcomes.count { $0 == .duplicate } == 1)
    #expect(groups.withLock { $0 } == [1, 1, 19])
  }

  @Test("a request that the database refuses for its data is refused alone")
  func poison() async throws {
    let commit = groupCommit { _ in }
    let good = try event("good")
    // A character that no text of the database can hold; decoders refuse it at the door.
    let bad = try event("bad") { $0.subscriberID = "a\u{0}b" }
    let outcomes = try await commit.store([good, bad, try event("good"), try event("other")])
    #expect(outcomes.count == 4)
    #expect(outcomes[0] == .stored(isUnrecognised: false))
    guard case .rejected(let rejection) = outcomes[1] else {
      Issue.record("it was stored: \(outcomes[1])")
      return
    }
    #expect(rejection.reason == .malformed)
    #expect(outcomes[3] == .stored(isUnrecognised: false))
    #expect(try await database.connect().query("select 1 as one from ingest.event").count == 2)
  }
}

/// What a request's head says.
@Suite("Request heads")
struct HTTPHeadTests {
  @Test("names and values of a query are read without their escapes")
  func query() {
    let head = HTTPHead(method: "GET", target: "/a/b?x=1%2C2&y=a+b&z&%zz=%4", headers: [])
    #expect(head.path == "/a/b")
    #expect(head.segments == ["a", "b"])
    #expect(head.query.map(\.name) == ["x", "y", "z", "%zz"])
    #expect(head.query.map(\.value) == ["1,2", "a b", "", "%4"])
  }

  @Test(
    "a target that is a whole address stands for the Host header",
    arguments: [
      ("http://example.com:81/a/b?x=1", "/a/b", "example.com:81"), ("HTTPS://example.com", "/", "example.com"),
      ("http://example.com?x=1", "/", "example.com"), ("/http://example.com/a", "/http://example.com/a", "other"),
    ])
  func absoluteTarget(target: String, path: String, host: String) {
    let head = HTTPHead(method: "GET", target: target, headers: [(name: "host", value: "other")])
    #expect(head.path == path)
    #expect(head.header("host") == host)
    #expect(head.query.map(\.value) == (target.contains("?") ? ["1"] : []))
  }

  @Test(
    "a body's length that is told in two ways, or in none that is understood, is ambiguous",
    arguments: [
      ([("content-length", "3")], false), ([("transfer-encoding", "Chunked")], false), ([], false),
      ([("content-length", "3"), ("content-length", "3")], true),
      ([("content-length", "3"), ("transfer-encoding", "chunked")], true), ([("content-length", "+3")], true),
      ([("content-length", "3, 3")], true), ([("transfer-encoding", "gzip, chunked")], true),
      ([("transfer-encoding", "chunked"), ("transfer-encoding", "identity")], true),
      ([("host", "a"), ("host", "b")], true),
    ])
  func ambiguity(headers: [(String, String)], isAmbiguous: Bool) {
    let head = HTTPHead(method: "POST", target: "/", headers: headers.map { (name: $0.0, value: $0.1) })
    #expect(head.isAmbiguous == isAmbiguous)
  }

  @Test("addresses to listen on are a host and a port")
  func addresses() throws {
    #expect(ListenAddress("127.0.0.1:80")?.description == "127.0.0.1:80")
    #expect(ListenAddress("[::1]:80")?.description == "[::1]:80")
    #expect(ListenAddress("0.0.0.0:80")?.reachable.description == "127.0.0.1:80")
    #expect(ListenAddress("[::]:80")?.reachable.description == "[::1]:80")
    for text in ["80", ":80", "localhost", "::1:80", "localhost:99999", "[]:1"] { #expect(ListenAddress(text) == nil) }
  }
}
