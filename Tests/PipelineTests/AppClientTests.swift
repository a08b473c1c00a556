import Foundation
import Postgres
import TestSupport
import Testing

/// What an app sends itself, over HTTP and from files.
@Suite("App client", .fewAtOnce)
struct AppClientTests {
  private let database: TestDatabase

  init() async throws { database = try await TestDatabase.clone() }

  private func serve() async throws -> Serving {
    try await Serving(environment: ["DATABASE_URL": database.connectionString])
  }

  private let bought = Notification("SUBSCRIBED.INITIAL_BUY", signed: "2025-02-01")

  private func post(
    _ serving: Serving, _ body: String, key: String? = Serving.publicKey
  ) async throws -> HTTPConnection.Answer {
    try await serving.post(
      body, to: "app_client/video", headers: key.map { ["Authorization": "Bearer \($0)"] } ?? [:])
  }

  @Test("signed transactions and reports of messages are stored with the app's public key")
  func stores() async throws {
    let serving = try await serve()
    let proof = bought.signedTransaction
    let first = try await post(serving, proof)
    #expect(first.status == 200, "\(first.text)")
    #expect(first.json["stored"] as? Int == 1)
    #expect(try await post(serving, "[\"\(proof)\"]").json["duplicates"] as? Int == 1)
    let report =
      #"{"kind":"store_message","message":"generic","state":"pending","occurred_at":"2025-02-03T10:00:00Z","#
      + "\"signedTransactionInfo\":\"\(proof)\"}"
    let told = try await post(serving, report)
    #expect(told.json["stored"] as? Int == 1 && told.json["duplicates"] as? Int == 1, "\(told.text)")
    let connection = try await database.connect()
    #expect(
      try await connection.query("select source, kind, raw_kind from ingest.event order by raw_kind").map {
        "\(try $0.text("source")) \(try $0.text("kind")) \(try $0.text("raw_kind"))"
      } == ["app_client store_message store_message", "app_client ignored transaction"])
    #expect(
      try await connection.query("select message, is_pending from fact.store_message").map {
        "\(try $0.text("message")) \(try $0.bool("is_pending"))"
      } == ["generic true"])
    #expect(try await connection.query("select source from fact.transaction").map { $0["source"] } == ["app_client"])
    await serving.end()
  }

  @Test("nothing unsigned becomes a fact, and neither does anything with another key")
  func refuses() async throws {
    let serving = try await serve()
    let proof = bought.signedTransaction
    #expect(try await post(serving, proof, key: nil).status == 401)
    #expect(try await post(serving, proof, key: "another").status == 401)
    let claims = #"{"transactionId":"1","originalTransactionId":"1","bundleId":"com.example.video"}"#
    #expect(try await post(serving, claims).status == 401)
    #expect(
      try await post(
        serving,
        #"{"kind":"store_message","message":"generic","occurred_at":"2025-02-03T10:00:00Z","original_transaction_id":"1"}"#
      ).status == 401)
    #expect(
      try await post(
        serving, #"{"event_id":"e","kind":"subscription_started","occurred_at":"2025-02-01T00:00:00Z"}"#
      ).status == 400)
    #expect(
      try await post(serving, Notification("X", signed: "2025-02-01", environment: "Sandbox").signedTransaction).status
        == 422)
    #expect(try await post(serving, "").status == 400)
    #expect(try await serving.post(proof, to: "app_client/audio").status == 404)
    let connection = try await database.connect()
    for table in ["fact.transaction", "fact.renewal", "fact.chain", "fact.subscriber", "fact.store_message"] {
      #expect(try await connection.query("select 1 as one from \(table)").isEmpty, "\(table)")
    }
    #expect(
      try await connection.query("select reason from report.rejections order by rejection_id").map { $0["reason"] }
        == ["secret", "secret", "unsigned", "unsigned", "malformed", "environment_not_listed", "not_json"])
    await serving.end()
  }

  @Test("what was collected is read from files, and shows which messages wait")
  func files() async throws {
    let program = try await Installation()
    func report(_ message: String, _ state: String, _ at: String) -> String {
      "{\"kind\":\"store_message\",\"message\":\"\(message)\",\"state\":\"\(state)\",\"occurred_at\":\"\(at)T00:00:00Z\","
        + "\"signedTransactionInfo\":\"\(bought.signedTransaction)\"}"
    }
    let lines = [
      bought.signedTransaction, report("generic", "shown", "2025-02-02"), report("generic", "pending", "2025-02-05"),
      report("generic", "pending", "2025-02-04"), report("storekit_9", "pending", "2025-02-03"),
      // What the facts say is not due is not due.
      report("billing_issue", "pending", "2025-02-03"), report("price_increase_consent", "shown", "2025-02-03"),
    ]
    try await expect(
      program.ingest(lines: lines, source: "app_client"), is: .init(received: 13, stored: 7, duplicates: 6))
    try await program.measure(asOf: "2025-02-10")
    try await expect(
      program.lines("store_messages", "message due_since last_shown_at").sorted(),
      is: [
        "generic 2025-02-04T00:00:00.000Z 2025-02-02T00:00:00.000Z",
        "price_increase_consent - 2025-02-03T00:00:00.000Z", "storekit_9 2025-02-03T00:00:00.000Z -",
      ])
  }
}
