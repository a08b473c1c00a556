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

  private func serve(
    _ sources: String = Vendor.sources, server: String = "token: \"t\""
  ) async throws -> Serving {
    try await Serving(server: server, sources: sources, environment: ["DATABASE_URL": database.connectionString])
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
