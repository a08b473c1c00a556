import Foundation
import Postgres
import TestSupport
import Testing

/// `tenure ingest`, `catalogue import` and `winback import` as people and cron jobs run them.
@Suite("Ingest commands")
struct IngestCommandTests {
  private let folder: TestFolder
  private let database: TestDatabase

  init() async throws {
    folder = try TestFolder()
    database = try await TestDatabase.clone()
    try folder.write(
      #"{ apps: [{ key: "video", bundle_id: "com.example.video", sources: { tenure: {}, app_store: { environments: ["Sandbox"] } } }] }"#,
      to: "tenure.json")
  }

  private func run(_ words: [String], input: String? = nil) async throws -> TestProgram.Outcome {
    try await TestProgram.run(
      words + ["--config", folder.file("tenure.json")], input: input.map { Data($0.utf8) },
      environment: ["DATABASE_URL": database.connectionString])
  }

  private func event(_ id: String, app: String = "video") -> String {
    """
    {"event_id": "\(id)", "kind": "subscription_started", "occurred_at": "2026-03-01T09:30:00Z", "app": "\(app)", \
    "store": "app_store", "environment": "Production", "original_transaction_id": "1"}
    """
  }

  private func counts(
    received: Int, stored: Int = 0, duplicates: Int = 0, rejected: Int = 0, unrecognised: Int = 0
  ) -> [String: Int] {
    [
      "received": received, "stored": stored, "duplicates": duplicates, "rejected": rejected,
      "unrecognised": unrecognised,
    ]
  }

  private func json(_ outcome: TestProgram.Outcome) throws -> [String: Int]? {
    try JSONSerialization.jsonObject(with: Data(outcome.output.utf8)) as? [String: Int]
  }

  @Test("files, folders and standard input are stored once, with the counts as JSON")
  func stores() async throws {
    let file = try folder.write(event("e1") + "\n" + event("e2") + "\n", to: "events.ndjson")
    let first = try await run(["ingest", "--source", "tenure", "--json", file])
    #expect(first.code == 0, "\(first.errors)")
    #expect(try json(first) == counts(received: 2, stored: 2))
    let second = try await run(
      ["ingest", "--source", "tenure", "--json", file, "-"], input: "[\(event("e3")), \(event("e1"))]")
    #expect(second.code == 0, "\(second.errors)")
    #expect(try json(second) == counts(received: 4, stored: 1, duplicates: 3))
    // Without a file, standard input is read.
    let third = try await run(["ingest", "--source", "tenure"], input: event("e4"))
    #expect(third.output == "received 1: stored 1, duplicates 0, rejected 0\n")
  }

  @Test("rejected input ends with 3, and the report says what and where")
  func rejects() async throws {
    let file = try folder.write(event("e1") + "\nnonsense\n" + event("e2", app: "other"), to: "events.ndjson")
    let outcome = try await run(["ingest", "--source", "tenure", "--json", file])
    #expect(outcome.code == 3)
    #expect(try json(outcome) == counts(received: 3, stored: 1, rejected: 2))
    let rows = try await database.connect().query("select reason, place from report.rejections order by rejection_id")
    #expect(rows.map { $0["reason"] } == ["not_json", "unknown_app"])
    #expect(rows.map { $0["place"] } == ["\(file):2", "\(file):3"])
  }

  @Test("wrong usage ends with 2, and input that cannot be read with 1, naming it")
  func fails() async throws {
    let missing = try await run(["ingest", "--app", "video", folder.file("x")])
    #expect(missing.code == 2)
    #expect(missing.errors.contains("--source is missing"))
    let unknown = try await run(["ingest", "--source", "app_stor", folder.file("x")])
    #expect(unknown.code == 2)
    #expect(unknown.errors.contains("app_store"))
    let absent = try await run(["ingest", "--source", "tenure", folder.file("absent.json")])
    #expect(absent.code == 1)
    #expect(absent.errors.contains("absent.json"))
  }

  @Test("App Store data needs a signature unless a test says otherwise")
  func unsigned() async throws {
    let text = """
      {"notificationType": "TEST", "notificationUUID": "n1", "version": "2.0", "signedDate": 1772366967482, \
      "data": {"bundleId": "com.example.video", "environment": "Sandbox"}}
      """
    let refused = try await run(["ingest", "--source", "app_store", "--json"], input: text)
    #expect(refused.code == 3)
    #expect(try json(refused) == counts(received: 1, rejected: 1))
    let accepted = try await run(["ingest", "--source", "app_store", "--unsigned", "--json"], input: text)
    #expect(accepted.code == 0, "\(accepted.errors)")
    #expect(try json(accepted) == counts(received: 1, stored: 1))
  }

  @Test("a catalogue is imported whole or, with all its problems named, not at all")
  func catalogue() async throws {
    let file = try folder.write("product_id,level,period,price,currency,country\na,1,P1M,9.99,USD,USA\n", to: "c.csv")
    let connection = try await database.connect()
    let dry = try await run(["catalogue", "import", file, "--app", "video", "--dry-run", "--json"])
    #expect(dry.output == "{\"app\":\"video\",\"is_dry_run\":true,\"prices\":1,\"products\":1}\n")
    #expect(try await connection.query("select from reference.product").isEmpty)
    let done = try await run(["catalogue", "import", file, "--app", "video"])
    #expect(done.code == 0, "\(done.errors)")
    #expect(done.output == "video: 1 products, 1 prices\n")
    try folder.write("product_id,level,period\nb,x,y\n", to: "c.csv")
    let wrong = try await run(["catalogue", "import", file, "--app", "video"])
    #expect(wrong.code == 1)
    #expect(wrong.errors.contains("\"place\":\"line 2\",\"error\":\"level: "))
    #expect(wrong.errors.contains("\"place\":\"line 2\",\"error\":\"period: "))
    #expect(try await connection.query("select product_id from reference.product").map { $0["product_id"] } == ["a"])
    let other = try await run(["catalogue", "import", file, "--app", "vidio"])
    #expect(other.code == 1)
  }

  @Test("win-back offers are imported whole or not at all, for apps that are configured")
  func winback() async throws {
    let file = try folder.write(#"[{"offer_id": "w", "app": "video", "min_paid_months": 6}]"#, to: "w.json")
    let done = try await run(["winback", "import", file, "--json"])
    #expect(done.code == 0, "\(done.errors)")
    #expect(done.output == "{\"apps\":[\"video\"],\"is_dry_run\":false,\"offers\":1}\n")
    try folder.write(#"[{"offer_id": "w", "app": "vidio"}]"#, to: "w.json")
    let unknown = try await run(["winback", "import", file])
    #expect(unknown.code == 1)
    #expect(unknown.errors.contains("did you mean"))
    let rows = try await database.connect().query("select offer_id, min_paid_months from reference.winback_offer")
    #expect(rows.map { $0["min_paid_months"] } == ["6"])
  }
}
