import Foundation
import Glibc
import Postgres
import Signatures
import Synchronization
import TestSupport
import Testing
import Vocabulary

/// `tenure backfill app_store` against the App Store's interface on the loopback interface.
@Suite("Backfill command", .fewAtOnce)
struct BackfillCommandTests {
  private let folder: TestFolder
  private let database: TestDatabase
  private let service = AppStoreService(pageSize: 2)
  private let sandbox = AppStoreService(pageSize: 2, environment: .sandbox)
  /// Days ago, whole, so that the history is kept whenever the test runs.
  private let start = Instant(
    microseconds: (Int64(Date().timeIntervalSince1970) / 86_400 - 5) * 86_400_000_000)

  init() async throws {
    folder = try TestFolder()
    database = try await TestDatabase.clone()
    try folder.write(TestCertificateAuthority.shared.root.pem, to: "root.pem")
    try folder.write(service.key.pem, to: "key.p8")
    for number in 1...9 {
      service.renew("\(number % 3 + 1)", number: number, at: start.adding(seconds: Int64(number) * 20_000))
    }
  }

  /// Writes a configuration that asks these receivers.
  private func configure(
    _ receiver: HTTPReceiver, sandbox: HTTPReceiver? = nil, environments: [String] = ["Production"]
  ) throws {
    let list = environments.map { "\"\($0)\"" }.joined(separator: ", ")
    let sandboxSetting = sandbox.map { "sandbox_base_url: \"http://127.0.0.1:\($0.port)/\"," } ?? ""
    try folder.write(
      """
      { apps: [{ key: "video", bundle_id: "\(AppStoreService.bundleID)",
        app_store_server: { issuer_id: "\(AppStoreService.issuerID)", key_id: "\(AppStoreService.keyID)",
          private_key_file: "key.p8", base_url: "http://127.0.0.1:\(receiver.port)", \(sandboxSetting)
          allow_private_network: true },
        sources: { app_store: { environments: [\(list)], roots: ["root.pem"] } } }] }
      """, to: "tenure.json")
  }

  private func arguments(_ words: [String]) -> [String] {
    ["backfill", "app_store", "--json", "--config", folder.file("tenure.json")] + words
  }

  private var environment: [String: String] { ["DATABASE_URL": database.connectionString] }

  private struct Result: Decodable {
    struct Missed: Decodable { let app, environment, what, reason: String }
    let received, stored, duplicates, rejected, undelivered, spans, chains: Int
    let missed: [Missed]
  }

  private func run(_ words: [String] = []) async throws -> Result {
    let outcome = try await TestProgram.run(arguments(words), environment: environment)
    #expect(outcome.code == 0, "\(outcome.errors)")
    return try JSONDecoder().decode(Result.self, from: Data(outcome.output.utf8))
  }

  private func events() async throws -> [String] {
    let connection = try await database.connect()
    let rows = try await connection.query(
      "select event_id from ingest.event where raw_kind like 'DID_RENEW%' order by 1")
    await connection.close()
    return try rows.map { try $0.text("event_id") }
  }

  private static let all = (1...9).map { "n\($0)" }

  @Test("killed at any request and started again, it goes on there, and every event is stored once")
  func killed() async throws {
    let silentFrom = Mutex(0)
    let receiver = HTTPReceiver { [service] number, request in
      number < silentFrom.withLock { $0 } ? service.answer(request) : .silence
    }
    try configure(receiver)
    let words = ["--transactions", "--from", String(start.description.prefix(10))]
    // So many requests are answered; the program is killed while it waits for the next one, or does something with these.
    for answered in [1, 2, 2, 3] {
      let silent = receiver.requests.count + answered
      silentFrom.withLock { $0 = silent }
      let program = try TestProgram(arguments(words), environment: environment)
      try await receiver.received(silent + 1)
      program.send(SIGKILL)
      #expect(await program.ended().code == 128 + SIGKILL)
    }
    silentFrom.withLock { $0 = .max }
    let result = try await run(words)
    #expect(result.missed.isEmpty)
    #expect(try await events() == Self.all)
    let connection = try await database.connect()
    let transactions = try await connection.query("select count(*) as count from fact.transaction")
    #expect(try transactions[0].int("count") == 9)
    await connection.close()
    #expect(service.refusals.isEmpty)
    let again = try await run(words)
    #expect(again.stored == 0 && again.received == 0, "there is nothing new")
  }

  @Test("each environment that the app lists is asked, and what is not fetched is told")
  func environments() async throws {
    sandbox.renew("90", number: 90, at: start)
    let key = sandbox.key
    let receiver = HTTPReceiver { [service] _, request in service.answer(request) }
    let other = HTTPReceiver { [sandbox] _, request in sandbox.answer(request) }
    try configure(receiver, sandbox: other, environments: ["Production", "Sandbox", "Xcode"])
    // One key is for both environments: here each service has its own, so that the second refuses.
    let refused = try await TestProgram.run(arguments([]), environment: environment)
    #expect(refused.code == 1)
    #expect(refused.errors.contains("fetching video Sandbox: the App Store refuses the key (401)"))
    #expect(try await events() == Self.all, "what was read before is kept")
    try folder.write(key.pem, to: "key.p8")
    try configure(other, sandbox: other, environments: ["Sandbox"])
    let result = try await run(["--from", "2020-01-01"])
    #expect(result.stored == 1)
    #expect(result.missed.map(\.reason) == ["the App Store keeps them for 30 days"])
    #expect(result.missed.map(\.environment) == ["Sandbox"])
    let text = try await TestProgram.run(
      Array(arguments(["--from", "2020-01-01"]).filter { $0 != "--json" }), environment: environment)
    #expect(text.output.contains("not fetched: video Sandbox: notifications before "))
  }

  @Test("history that the App Store refuses is told by the exit code, too")
  func refused() async throws {
    let receiver = HTTPReceiver { [service] _, request in service.answer(request) }
    try configure(receiver)
    service.plan(.status(403, body: "<html>"))
    let outcome = try await TestProgram.run(
      arguments([]).filter { $0 != "--json" }, environment: environment)
    #expect(outcome.code == 3)
    #expect(outcome.output.contains("not fetched: video Production: 1 of "))
    #expect(outcome.output.contains(" spans of notification history: the App Store answered 403"))
    let again = try await TestProgram.run(arguments([]), environment: environment)
    #expect(again.code == 0)
    #expect(try await events() == Self.all)
  }

  @Test("a day given with --to is meant whole, and nothing outside of the span is asked for")
  func span() async throws {
    let receiver = HTTPReceiver { [service] _, request in service.answer(request) }
    try configure(receiver)
    let day = String(start.description.prefix(10))
    let result = try await run(["--from", day, "--to", day])
    #expect(result.stored == 4, "those of the first 86400 seconds")
    #expect(receiver.requests.allSatisfy { $0.text.contains("\(start.microseconds / 1000 + 86_400_000)") })
  }

  @Test("a configuration without the key, or with one that is none, says what is missing and shows no secret")
  func configuration() async throws {
    let receiver = HTTPReceiver { _, _ in .status(500) }
    try configure(receiver)
    try folder.write("-----BEGIN PRIVATE KEY-----\nc2VjcmV0LXRleHQ=\n-----END PRIVATE KEY-----\n", to: "key.p8")
    let wrong = try await TestProgram.run(arguments([]), environment: environment)
    #expect(wrong.code == 1)
    #expect(wrong.errors.contains("holds no private key on P-256"))
    #expect(!wrong.errors.contains("c2VjcmV0"))
    let unknown = try await TestProgram.run(arguments(["--app", "vidio"]), environment: environment)
    #expect(unknown.code == 1)
    #expect(unknown.errors.contains("did you mean \\\"video\\\""))
    try folder.write("{ apps: [{ key: \"video\", bundle_id: \"com.example.video\" }] }", to: "tenure.json")
    let missing = try await TestProgram.run(arguments([]), environment: environment)
    #expect(missing.code == 1)
    #expect(missing.errors.contains("app_store_server: { issuer_id, key_id, private_key_file }"))
    let usage = try await TestProgram.run(
      arguments(["--from", "2026-02-01", "--to", "2026-01-01"]), environment: environment)
    #expect(usage.code == 2)
    #expect(receiver.requests.isEmpty)
  }

  @Test("two at once would fetch the same: the second one ends at once")
  func alone() async throws {
    let receiver = HTTPReceiver { _, _ in .silence }
    try configure(receiver)
    let first = try TestProgram(arguments([]), environment: environment)
    try await receiver.received(1)
    let second = try await TestProgram.run(arguments([]), environment: environment)
    #expect(second.code == 1)
    #expect(second.errors.contains("another tenure backfill is at work"))
    first.send(SIGTERM)
    let outcome = await first.ended()
    #expect(outcome.code == 1)
    #expect(outcome.errors.contains("interrupted by a signal"))
  }
}
