import Foundation
import Postgres
import Signatures
import TestSupport
import Testing

/// `tenure serve` as RevenueCat, Adapty and Apphud meet it, and whoever pretends to be one of them.
@Suite("Serve command: vendors' webhooks", .fewAtOnce)
struct VendorServingTests {
  private let database: TestDatabase

  init() async throws { database = try await TestDatabase.clone() }

  private static let sources = """
    revenuecat: { authorization: "Bearer rc-value" }, adapty: { authorization: "adapty value" },
    apphud: { token: "apphud-token" },
    """

  private func serve(
    _ sources: String = VendorServingTests.sources, server: String = "token: \"t\""
  ) async throws -> Serving {
    try await Serving(server: server, sources: sources, environment: ["DATABASE_URL": database.connectionString])
  }

  /// A vendor with its proof, and an event of it.
  struct Vendor: Sendable, CustomTestStringConvertible {
    let name: String
    let header: (name: String, value: String)
    let event: @Sendable (_ id: String) -> String
    /// The status of a request that is refused where another source would answer with this one.
    let refusal: @Sendable (Int) -> Int
    var testDescription: String { name }
    var headers: [String: String] { [header.name: header.value] }

    static let revenueCat = Vendor(
      name: "revenuecat", header: ("Authorization", "Bearer rc-value"),
      event: { id in
        """
        {"api_version":"1.0","event":{"id":"\(id)","type":"RENEWAL","event_timestamp_ms":1767225600000,\
        "app_user_id":"u","product_id":"monthly","period_type":"NORMAL","purchased_at_ms":1767225600000,\
        "expiration_at_ms":1769904000000,"environment":"PRODUCTION","store":"APP_STORE","transaction_id":"\(id)",\
        "original_transaction_id":"1","currency":"EUR","price":10.4,"price_in_purchased_currency":9.99}}
        """
      }, refusal: { $0 })
    static let adapty = Vendor(
      name: "adapty", header: ("Authorization", "adapty value"),
      event: { id in
        """
        {"customer_user_id":"u","event_type":"subscription_renewed","event_properties":{"profile_event_id":"\(id)",\
        "store":"app_store","environment":"Production","currency":"EUR","price_local":9.99,"transaction_id":"\(id)",\
        "original_transaction_id":"1","purchase_date":"2026-01-01T00:00:00.000000+0000",\
        "subscription_expires_at":"2026-02-01T00:00:00.000000+0000","vendor_product_id":"monthly",\
        "event_datetime":"2026-01-01T00:00:00.000000+0000"}}
        """
      }, refusal: { _ in 503 })
    static let apphud = Vendor(
      name: "apphud", header: ("X-Apphud-Token", "apphud-token"),
      event: { id in
        """
        {"app":{"bundle_id":"com.example.video"},"event":{"id":"\(id)","created_at":"2026-01-01T00:00:00.000Z",\
        "name":"subscription_renewed","store":"app_store","properties":{},"receipt":{"transaction_id":"\(id)",\
        "original_transaction_id":"1","purchased_at":"2026-01-01T00:00:00.000Z","price":9.99,"currency":"EUR",\
        "product_id":"monthly"}},"user":{"user_id":"u","subscriptions":[{"original_transaction_id":"1",\
        "environment":"production","expires_at":"2026-02-01T00:00:00.000Z"}]}}
        """
      }, refusal: { $0 })
    static let all = [revenueCat, adapty, apphud]
  }

  private func stored() async throws -> Int {
    let connection = try await database.connect()
    defer { Task { await connection.close() } }
    return try await connection.query("select 1 as one from ingest.event").count
  }

  private func reasons() async throws -> [String?] {
    let connection = try await database.connect()
    defer { Task { await connection.close() } }
    return try await connection.query("select reason from report.rejections order by rejection_id")
      .map { $0["reason"] }
  }

  @Test("an event with its vendor's proof is stored; a repeated delivery is a duplicate", arguments: Vendor.all)
  func stores(vendor: Vendor) async throws {
    let serving = try await serve()
    let path = "\(vendor.name)/video"
    let first = try await serving.post(vendor.event("e1"), to: path, headers: vendor.headers)
    #expect(first.status == 200, "\(first.text)")
    #expect(first.json["stored"] as? Int == 1)
    let again = try await serving.post(vendor.event("e1"), to: path, headers: vendor.headers)
    #expect(again.status == 200)
    #expect(again.json["duplicates"] as? Int == 1)
    let connection = try await database.connect()
    let rows = try await connection.query("select source, kind, amount::text, currency from report.events")
    #expect(rows.map { $0["source"] } == [vendor.name])
    #expect(rows.map { $0["kind"] } == ["subscription_renewed"])
    #expect(rows.map { $0["currency"] } == ["EUR"])
    await connection.close()
    await serving.end()
  }

  @Test(
    "a wrong secret, a missing one, and one with something added are refused, and stored is nothing",
    arguments: Vendor.all)
  func wrongSecrets(vendor: Vendor) async throws {
    let serving = try await serve()
    let path = "\(vendor.name)/video"
    for value in [
      "wrong", vendor.header.value + "x", vendor.header.value.uppercased(), "Bearer \(vendor.header.value)",
    ] {
      let answer = try await serving.post(vendor.event("e"), to: path, headers: [vendor.header.name: value])
      #expect(answer.status == vendor.refusal(401), "\(value)")
      #expect(answer.headers["content-type"] == "application/problem+json")
      #expect(!answer.text.contains(vendor.header.value))
    }
    let bare = try await serving.post(vendor.event("e"), to: path)
    #expect(bare.status == vendor.refusal(401))
    // Adapty's question whether anyone is there needs its secret as well, or a wrong one would be noticed too late.
    if vendor.name == "adapty" { #expect(try await serving.post("{}", to: path).status == 503) }
    #expect(try await stored() == 0)
    #expect(try await Set(reasons()) == ["secret"])
    await serving.end()
  }

  @Test(
    "without a secret in the configuration there is no address; Adapty is told to come again", arguments: Vendor.all)
  func noSecret(vendor: Vendor) async throws {
    let serving = try await serve("revenuecat: {}, adapty: {}, apphud: {},")
    for path in ["\(vendor.name)/video", "\(vendor.name)/audio", "\(vendor.name)/nobody"] {
      #expect(
        try await serving.post(vendor.event("e"), to: path, headers: vendor.headers).status == vendor.refusal(404))
    }
    #expect(try await stored() == 0)
    await serving.end()
  }

  @Test("hostile bodies get the documented answer, and what comes after them is stored", arguments: Vendor.all)
  func hostileBodies(vendor: Vendor) async throws {
    let serving = try await serve()
    let path = "\(vendor.name)/video"
    func status(_ body: [UInt8], _ more: [String: String] = [:]) async throws -> Int {
      try await serving.post(body, to: path, headers: vendor.headers.merging(more) { $1 }).status
    }
    func status(_ body: String, _ more: [String: String] = [:]) async throws -> Int {
      try await status(Array(body.utf8), more)
    }
    let good = vendor.event("e1")
    let refused = vendor.refusal(400)
    #expect(try await status("") == refused)
    #expect(try await status("{") == refused)
    #expect(try await status([0x7B, 0x22, 0xFF, 0x22, 0x3A, 0x31, 0x7D]) == refused)
    #expect(try await status(good.replacing("\"store\":", with: "\"store\":\"stripe\",\"store\":")) == refused)
    #expect(try await status(good.replacing("\"u\"", with: "\"\\u0000\"")) == refused)
    #expect(try await status(Array(good.utf8) + [0]) == refused)
    #expect(
      try await status(
        "{\"a\":" + String(repeating: "[", count: 200_000) + String(repeating: "]", count: 200_000) + "}")
        == refused)
    #expect(try await status("[\(good)]") == refused)
    #expect(try await status(good, ["Content-Encoding": "br"]) == vendor.refusal(415))
    #expect(try await status("not gzip", ["Content-Encoding": "gzip"]) == refused)
    // A hundred megabytes: said, sent all the same, streamed, and packed into a hundred kilobytes.
    let large = try HTTPConnection(port: serving.ingestPort)
    let line = "POST /v1/ingest/\(path) HTTP/1.1\r\nHost: x\r\n\(vendor.header.name): \(vendor.header.value)\r\n"
    await large.send(line + "Content-Length: 104857600\r\n\r\n")
    #expect(await large.answer()?.status == vendor.refusal(413))
    let streamed = try HTTPConnection(port: serving.ingestPort)
    await streamed.send(line + "Transfer-Encoding: chunked\r\n\r\n")
    let piece = "10000\r\n" + String(repeating: " ", count: 65_536) + "\r\n"
    var pieces = 0
    while pieces < 1600, await streamed.send(piece) { pieces += 1 }
    #expect(await streamed.answer()?.status == vendor.refusal(413))
    let folder = try TestFolder()
    let file = try folder.write(String(repeating: " ", count: 100 << 20), to: "bomb")
    _ = try await TestProgram.run(["-k", file], file: "/bin/gzip")
    let bomb = Array(try Data(contentsOf: URL(filePath: file + ".gz")))
    #expect(bomb.count < 1 << 20)
    #expect(try await status(bomb, ["Content-Encoding": "gzip"]) == vendor.refusal(413))
    #expect(try await stored() == 0)
    // Nothing of it stays in the way.
    #expect(try await status(good) == 200)
    #expect(try await stored() == 1)
    await serving.end()
  }

  @Test("RevenueCat's signature must hold beside its header, whatever its name, and for five minutes")
  func signature() async throws {
    let serving = try await serve("revenuecat: { authorization: \"Bearer rc-value\", signing_secret: \"rc-secret\" },")
    let secret = try #require(TimestampedWebhookSecret("rc-secret"))
    let body = Vendor.revenueCat.event("e1")
    func post(_ headers: [String: String]) async throws -> Int {
      try await serving.post(body, to: "revenuecat/video", headers: headers).status
    }
    let now = Int64(Date().timeIntervalSince1970)
    let signature = secret.signature(timestamp: now, body: Array(body.utf8))
    let header = Vendor.revenueCat.headers
    #expect(try await post(header) == 401)
    #expect(try await post(["X-RevenueCat-Webhook-Signature": signature]) == 401)
    let old = secret.signature(timestamp: now - 400, body: Array(body.utf8))
    #expect(try await post(header.merging(["X-RevenueCat-Webhook-Signature": old]) { $1 }) == 401)
    let other = secret.signature(timestamp: now, body: Array(body.utf8) + [0x20])
    #expect(try await post(header.merging(["X-RevenueCat-Webhook-Signature": other]) { $1 }) == 401)
    #expect(try await stored() == 0)
    #expect(try await post(header.merging(["X-RevenueCat-Webhook-Signature": signature]) { $1 }) == 200)
    // Sent again with a fresh signature under the other name.
    let fresh = secret.signature(timestamp: now - 1, body: Array(body.utf8))
    #expect(try await post(header.merging(["X-RevenueCat-Signature": fresh]) { $1 }) == 200)
    #expect(try await stored() == 1)
    await serving.end()
  }

  @Test("RevenueCat's signature alone is proof enough where no header is agreed on")
  func signatureAlone() async throws {
    let serving = try await serve("revenuecat: { signing_secret: \"rc-secret\" },")
    let secret = try #require(TimestampedWebhookSecret("rc-secret"))
    let body = Vendor.revenueCat.event("e1")
    let signature = secret.signature(timestamp: Int64(Date().timeIntervalSince1970), body: Array(body.utf8))
    #expect(try await serving.post(body, to: "revenuecat/video", headers: [:]).status == 401)
    #expect(
      try await serving.post(body, to: "revenuecat/video", headers: ["X-RevenueCat-Signature": signature]).status == 200
    )
    await serving.end()
  }

  @Test("Adapty's question whether anyone is there is answered as it expects, and counted nowhere")
  func adaptyGreeting() async throws {
    let serving = try await serve()
    let answer = try await serving.post("{}", to: "adapty/video", headers: Vendor.adapty.headers)
    #expect(answer.status == 200)
    #expect(answer.headers["content-type"] == "application/json")
    #expect(answer.text == "{}")
    #expect(try await stored() == 0)
    #expect(try await reasons() == [])
    await serving.end()
  }

  @Test("data of another environment or another app is refused for what it is, unknown types are stored")
  func others() async throws {
    let serving = try await serve()
    func status(_ vendor: Vendor, _ body: String) async throws -> Int {
      try await serving.post(body, to: "\(vendor.name)/video", headers: vendor.headers).status
    }
    let sandbox = Vendor.revenueCat.event("e").replacing("PRODUCTION", with: "SANDBOX")
    #expect(try await status(.revenueCat, sandbox) == 422)
    #expect(try await status(.revenueCat, sandbox.replacing("RENEWAL", with: "TEST")) == 200)
    #expect(try await status(.adapty, Vendor.adapty.event("e").replacing("Production", with: "Sandbox")) == 503)
    #expect(try await status(.apphud, Vendor.apphud.event("e").replacing("example.video", with: "example.tv")) == 422)
    #expect(try await reasons() == ["environment_not_listed", "environment_not_listed", "other_app"])
    for vendor in Vendor.all {
      let unknown = vendor.event("new").replacing("RENEWAL", with: "NEWS").replacing(
        "subscription_renewed", with: "news")
      let answer = try await serving.post(unknown, to: "\(vendor.name)/video", headers: vendor.headers)
      #expect(answer.status == 200)
      #expect(answer.json["unrecognised"] as? Int == 1, "\(vendor.name): \(answer.text)")
    }
    await serving.end()
  }
}
