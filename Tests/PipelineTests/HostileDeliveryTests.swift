import Foundation
import Postgres
import TestSupport
import Testing
import Vocabulary

/// What strangers, broken senders and broken networks bring to the addresses of vendors: each gets the answer that
/// docs/sources.md promises, leaves nothing behind, and is in the way of nothing.
@Suite("Hostile deliveries", .fewAtOnce)
struct HostileDeliveryTests {
  private let database: TestDatabase

  init() async throws { database = try await TestDatabase.clone() }

  private func serve(_ sources: String = Vendor.sources) async throws -> Serving {
    try await Serving(sources: sources, environment: ["DATABASE_URL": database.connectionString])
  }

  /// A delivery that is no event.
  private struct Delivery {
    let name: String
    /// How the row of the table begins that answers it.
    let row: String
    /// The reason that it is listed with; nil where it is refused before it is read.
    var reason: String?
    let body: [UInt8]
    var headers: [String: String]

    init(_ name: String, _ row: String, _ reason: String?, _ body: [UInt8], _ headers: [String: String] = [:]) {
      (self.name, self.row, self.reason, self.body, self.headers) = (name, row, reason, body, headers)
    }

    init(_ name: String, _ row: String, _ reason: String?, _ body: String, _ headers: [String: String] = [:]) {
      self.init(name, row, reason, Array(body.utf8), headers)
    }

    static func all(_ vendor: Vendor) -> [Delivery] {
      let good = vendor.event("e1")
      let deep = String(repeating: "[", count: 200_000) + String(repeating: "]", count: 200_000)
      func broken(_ word: String) -> [UInt8] {
        var bytes = Array(good.utf8)
        bytes[bytes.firstIndex(of: UInt8(ascii: "s")) ?? 0] = 0xFF
        return word == "UTF-8" ? bytes : Array(good.utf8) + [0]
      }
      let (secret, unreadable) = ("secret or signature", "not JSON")
      return [
        .init("a wrong secret", secret, "secret", good, [vendor.header.name: "wrong"]),
        .init("an empty secret", secret, "secret", good, [vendor.header.name: ""]),
        .init("a secret and more", secret, "secret", good, [vendor.header.name: vendor.header.value + "x"]),
        .init(
          "a secret in other letters", secret, "secret", good, [vendor.header.name: vendor.header.value.uppercased()]),
        .init("nothing", unreadable, "not_json", ""), .init("spaces", unreadable, "not_json", " \r\n\t"),
        .init("half an object", unreadable, "not_json", String(good.dropLast(20))),
        .init("two objects", unreadable, "not_json", good + good),
        .init("a list", unreadable, "malformed", "[\(good)]"),
        .init("a text", unreadable, "malformed", "\"\(vendor.name)\""), .init("null", unreadable, "malformed", "null"),
        .init("invalid UTF-8", unreadable, "not_json", broken("UTF-8")),
        .init("a byte 0", unreadable, "not_json", broken("NUL")),
        .init("U+0000", unreadable, "malformed", good.replacing("\"u\"", with: "\"\\u0000\"")),
        .init("half a surrogate pair", unreadable, "not_json", good.replacing("\"u\"", with: "\"\\ud800\"")),
        .init("deep nesting", unreadable, "malformed", "{\"a\":\(deep)}"),
        .init(
          "a name twice", unreadable, "malformed", good.replacing("\"store\":", with: "\"store\":\"stripe\",\"store\":")
        ),
        .init(
          "a name twice, once in escapes", unreadable, "malformed",
          good.replacing("\"store\":", with: "\"st\\u006fre\":\"stripe\",\"store\":")),
        .init("a number without an end", unreadable, "malformed", good.replacing("9.99", with: "1e9999")),
        .init("a price as text", unreadable, "malformed", good.replacing("9.99", with: "\"9.99\"")),
        .init("no id", unreadable, "field_missing", good.replacing("\"e1\"", with: "null")),
        .init("damaged gzip", unreadable, "malformed", good, ["Content-Encoding": "gzip"]),
        .init("brotli", "`Content-Encoding`", nil, good, ["Content-Encoding": "br"]),
      ]
    }
  }

  /// What the table promises a vendor.
  private func promised(_ row: String, to vendor: Vendor) throws -> Int {
    let table = try DocumentTable("sources.md", beginning: "| request | RevenueCat, Apphud | Adapty |")
    let found = table.rows.filter { $0[0].hasPrefix(row) }
    try #require(found.count == 1, "\(row)")
    return try #require(Int(found[0][vendor.name == "adapty" ? 2 : 1]))
  }

  private func rows(_ sql: String) async throws -> [Row] {
    let connection = try await database.connect()
    let rows = try await connection.query(sql)
    await connection.close()
    return rows
  }

  @Test(
    "what is no event is answered as promised and listed with its reason; the next event is stored",
    arguments: Vendor.all)
  func refused(vendor: Vendor) async throws {
    let serving = try await serve()
    var reasons: [String?] = []
    for delivery in Delivery.all(vendor) {
      let answer = try await serving.post(
        delivery.body, to: "\(vendor.name)/video", headers: vendor.headers.merging(delivery.headers) { $1 })
      #expect(try answer.status == promised(delivery.row, to: vendor), "\(delivery.name): \(answer.text)")
      #expect(answer.headers["content-type"] == "application/problem+json", "\(delivery.name)")
      #expect(!answer.text.contains(vendor.header.value), "\(delivery.name)")
      if let reason = delivery.reason { reasons.append(reason) }
    }
    let listed = try await rows("select reason, source, excerpt from report.rejections order by rejection_id")
    #expect(listed.map { $0["reason"] } == reasons)
    #expect(listed.allSatisfy { $0["source"] == vendor.name })
    #expect(listed.allSatisfy { $0["excerpt"]?.contains(vendor.header.value) != true })
    #expect(try await rows("select from ingest.event").isEmpty)
    let answer = try await serving.post(vendor.event("e1"), to: "\(vendor.name)/video", headers: vendor.headers)
    #expect(answer.status == 200 && answer.json["stored"] as? Int == 1, "\(answer.text)")
    await serving.end()
  }

  @Test("where no secret is configured, and for an app that is unknown, there is no address", arguments: Vendor.all)
  func noAddress(vendor: Vendor) async throws {
    let serving = try await serve("revenuecat: {}, adapty: {}, apphud: {},")
    for (path, headers) in [("video", vendor.headers), ("video", [:]), ("audio", vendor.headers), ("nobody", [:])] {
      let answer = try await serving.post(vendor.event("e1"), to: "\(vendor.name)/\(path)", headers: headers)
      #expect(try answer.status == promised("no secret configured", to: vendor), "\(path)")
    }
    #expect(try await rows("select from ingest.event").isEmpty)
    await serving.end()
  }

  @Test("a body whose end cannot be told is not read, and its sender is answered as promised", arguments: Vendor.all)
  func ambiguous(vendor: Vendor) async throws {
    let serving = try await serve()
    let body = vendor.event("e1")
    let connection = try HTTPConnection(port: serving.ingestPort)
    await connection.send(
      "POST /v1/ingest/\(vendor.name)/video HTTP/1.1\r\nHost: x\r\n\(vendor.header.name): \(vendor.header.value)\r\n"
        + "Content-Length: \(body.utf8.count)\r\nContent-Length: 2\r\n\r\n\(body)")
    #expect(try await connection.answer()?.status == promised("a body whose length", to: vendor))
    #expect(await connection.answer() == nil)
    #expect(try await rows("select from ingest.event").isEmpty)
    await serving.end()
  }

  @Test(
    "while the database is away nothing is lost: the sender is told to come again, and then it is stored",
    arguments: Vendor.all)
  func databaseAway(vendor: Vendor) async throws {
    let server = try await StoppableServer()
    let serving = try await Serving(
      sources: Vendor.sources, environment: ["DATABASE_URL": server.connectionString])
    func post() async throws -> HTTPConnection.Answer {
      try await serving.post(vendor.event("e1"), to: "\(vendor.name)/video", headers: vendor.headers)
    }
    try await server.stop()
    let away = try await post()
    #expect(try away.status == promised("the database is away", to: vendor))
    #expect(away.headers["retry-after"].flatMap { Int($0) } != nil)
    try await server.start()
    #expect(try await post().json["stored"] as? Int == 1)
    await serving.end()
  }

  @Test("deliveries in another order, each of them twice, give the figures of those in order", arguments: Vendor.all)
  func reordered(vendor: Vendor) async throws {
    let teller = try #require(RetoldLife.Teller(rawValue: vendor.name))
    let known = (1...400).lazy.map { LifeGenerator.life($0) }.filter {
      RetoldLife.isKnown($0, but: Set(RetoldLife.Gap.allCases))
    }
    let lives = Array(known.prefix(16))
    let bodies = lives.flatMap { RetoldLife.bodies($0, by: teller) }
    var random = SeededGenerator(seed: 11)
    let disorder = (bodies + bodies).shuffled(using: &random)
    #expect(bodies.count > 20)
    let found = try await (figures(bodies, of: vendor), figures(disorder, of: vendor))
    #expect(found.0.count > 100)
    #expect(found.0 == found.1)
  }

  /// The rows of the reports after deliveries, each of which must be taken.
  private func figures(_ bodies: [String], of vendor: Vendor) async throws -> [String] {
    let database = try await TestDatabase.clone()
    let serving = try await Serving(sources: Vendor.sources, environment: ["DATABASE_URL": database.connectionString])
    for body in bodies {
      let answer = try await serving.post(body, to: "\(vendor.name)/video", headers: vendor.headers)
      #expect(try answer.status == promised("stored, a duplicate", to: vendor), "\(answer.text)")
    }
    await serving.end()
    let program = Installation(database: database, folder: serving.folder)
    try await program.import("catalogue", LifeGenerator.catalogueTable, ["--app", "video"])
    try await program.measure(asOf: LifeGenerator.asOf)
    var figures: [String] = []
    for report in ["movements", "active_subscriptions", "revenue", "mrr", "trials", "subscriptions"] {
      figures += try await program.rows(report).map { row in
        row.filter { $0.key != "subscription_id" }.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
          .joined(separator: " ")
      }.sorted()
    }
    return figures
  }

  // MARK: - Sizes

  @Test(
    "a hundred megabytes, said, streamed or packed, are refused in little memory",
    arguments: ["app_store"] + Vendor.all.map(\.name))
  func large(source: String) async throws {
    let serving = try await serve()
    let vendor = Vendor.all.first { $0.name == source }
    let status = try vendor.map { try promised("larger than", to: $0) } ?? 413
    let headers = vendor?.headers ?? [:]
    let line =
      "POST /v1/ingest/\(source)/video HTTP/1.1\r\nHost: x\r\n"
      + headers.map { "\($0.key): \($0.value)\r\n" }.joined()
    // What every request takes once.
    let most = [UInt8](repeating: 0x20, count: 1 << 20)
    #expect(try await serving.post(most, to: "\(source)/video", headers: headers).status != status || status == 503)
    let before = try serving.peakMemory()

    let piece = String(repeating: " ", count: 1 << 16)
    await withTaskGroup(of: Int?.self) { group in
      for number in 0..<4 {
        group.addTask {
          guard let connection = try? HTTPConnection(port: serving.ingestPort) else { return nil }
          let isStreamed = number.isMultiple(of: 2)
          await connection.send(
            line + (isStreamed ? "Transfer-Encoding: chunked\r\n\r\n" : "Content-Length: 104857600\r\n\r\n"))
          // Sent all the same, and to its end: the answer has to wait for such senders.
          var pieces = 0
          while pieces < 1600, await connection.send(isStreamed ? "10000\r\n\(piece)\r\n" : piece) { pieces += 1 }
          return await connection.answer()?.status
        }
      }
      for await answer in group { #expect(answer == status) }
    }
    // Nine hundred members of a megabyte each, in a little less than one.
    let folder = try TestFolder()
    let file = try folder.write(String(repeating: " ", count: 1 << 20), to: "spaces")
    _ = try await TestProgram.run(["-9", file], file: "/bin/gzip")
    let member = Array(try Data(contentsOf: URL(filePath: file + ".gz")))
    let bomb = [UInt8]((0..<900).map { _ in member }.joined())
    #expect(bomb.count < 1 << 20)
    let gzip = headers.merging(["Content-Encoding": "gzip"]) { $1 }
    for _ in 0..<4 { #expect(try await serving.post(bomb, to: "\(source)/video", headers: gzip).status == status) }

    #expect(try serving.peakMemory() - before < 32 << 20, "bytes more than a request of the usual size takes")
    #expect(try await rows("select from report.rejections where reason = 'too_large'").count == 8)
    #expect(try await rows("select from ingest.event").isEmpty)
    await serving.end()
  }

  @Test(
    "what anyone may send holds no more things than an app has to send, and fills neither memory nor the list of refusals"
  )
  func many() async throws {
    let serving = try await serve()
    let headers = ["Authorization": "Bearer \(Serving.publicKey)"]
    func status(_ body: String) async throws -> Int {
      try await serving.post(body, to: "app_client/video", headers: headers).status
    }
    let size = 1 << 20
    #expect(try await status(String(repeating: " ", count: size)) == 400)
    let before = try serving.peakMemory()
    func filled(_ piece: String) -> String { String(repeating: piece, count: (size - 100) / piece.utf8.count) }
    #expect(try await status("[" + filled(",")) == 400)
    #expect(try await status(filled("x\n")) == 413)
    #expect(try await status("[" + filled("1,") + "1]") == 413)
    #expect(try await status("[[" + filled("\"a\",") + "1]]") == 413)
    #expect(try await status("[" + filled("[1],") + "1]") == 413)
    #expect(try await status("{\"signedTransactions\":[" + filled("\"a\",") + "1]}") == 400)
    #expect(try await status("{\"data\":[{\"lastTransactions\":[" + filled("{},") + "1]}]}") == 400)
    let report = #"{"kind":"store_message","message":"generic","occurred_at":"2025-02-03T10:00:00Z"}"#
    #expect(try await status(filled(report + "\n")) == 413)
    #expect(try await status("[" + Array(repeating: report, count: 201).joined(separator: ",") + "]") == 413)
    #expect(try await rows("select from ingest.event").isEmpty)
    #expect(try serving.peakMemory() - before < 64 << 20)
    // As many as may be are taken, and what is refused beside them is listed as far as there is room.
    let proof = Notification("SUBSCRIBED.INITIAL_BUY", signed: "2025-02-01").signedTransaction
    let most = (1...199).map { "{\"kind\":\"store_message\",\"message\":\($0)}" } + ["\"\(proof)\""]
    #expect(try await status("[" + most.joined(separator: ",") + "]") == 200)
    #expect(try await rows("select from ingest.event").count == 1)
    #expect((10...110).contains(try await rows("select from ingest.rejection").count))
    await serving.end()
  }

  @Test(
    "an address that sends too often from an app is told when to come again; other addresses and sources are served")
  func tooOften() async throws {
    let serving = try await serve()
    func post(_ source: String, from address: String) async throws -> HTTPConnection.Answer {
      try await serving.post("x", to: "\(source)/video", headers: ["X-Forwarded-For": address])
    }
    var taken = 0
    var last = try await post("app_client", from: "203.0.113.1")
    while last.status != 429, taken < 500 {
      #expect(last.status == 401)
      taken += 1
      last = try await post("app_client", from: "203.0.113.1")
    }
    // Sixty at once, and one more in every second that it took.
    #expect((60..<500).contains(taken))
    #expect(last.headers["retry-after"].flatMap(Int.init).map { (1...60).contains($0) } == true)
    #expect(try await post("app_client", from: "203.0.113.2").status == 401)
    #expect(try await post("app_store", from: "203.0.113.1").status == 400)
    let metrics = try await serving.get("/metrics")
    #expect(metrics.text.contains("tenure_ingest_limited_requests_total{source=\"app_client\"} "))
    await serving.end()
  }
}

extension Serving {
  /// The most memory that it has had so far, in bytes.
  fileprivate func peakMemory() throws -> Int {
    let status = try String(contentsOfFile: "/proc/\(program.processID)/status", encoding: .utf8)
    let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") })
    return try #require(Int(line.split(separator: " ").dropLast().last ?? "")) << 10
  }
}
