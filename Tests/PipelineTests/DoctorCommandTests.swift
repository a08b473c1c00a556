import Foundation
import Postgres
import Signatures
import TestSupport
import Testing
import Vocabulary

@testable import tenure

/// `tenure doctor`: what is wrong is said, with what to do about it.
@Suite("Doctor command", .fewAtOnce)
struct DoctorCommandTests {
  private struct Line: Decodable, Equatable {
    let check: String
    let ok: Bool
    let found: String
    let `do`: String?
  }

  private func examine(_ program: Installation, ends code: Int32) async throws -> [Line] {
    try JSONDecoder().decode([Line].self, from: Data(try await program.run(["doctor", "--json"], ends: code).utf8))
  }

  private func installation(
    _ configuration: String, database: TestDatabase? = nil
  ) async throws -> Installation {
    let folder = try TestFolder()
    try folder.write(configuration, to: "tenure.json")
    let cloned = try await TestDatabase.clone()
    return Installation(database: database ?? cloned, folder: folder)
  }

  private static let plain = "{ apps: [{ key: \"video\", bundle_id: \"com.example.video\", sources: { tenure: {} } }] }"

  @Test("where everything is as it should be it says so and ends with 0")
  func healthy() async throws {
    let program = try await Installation()
    try await program.import("catalogue", "product_id,period\nmonthly,P1M\n", ["--app", "video"])
    try await program.ingest([Life("1").buys("2025-01-01", until: "2025-02-01")])
    try await program.measure(asOf: "2025-02-15")
    let lines = try await examine(program, ends: 0)
    expect(
      lines.map(\.check),
      is: ["configuration", "certificates", "database", "clock", "targets", "runs", "rates", "products"])
    #expect(lines.allSatisfy { $0.ok && $0.do == nil }, "\(lines)")
    #expect(lines[0].found.contains("video (app_client, app_store, app_store_receipt, tenure)"))
    #expect(lines[1].found.hasSuffix("root.pem is valid to 2040-01-01"), "\(lines[1])")
    let text = try await program.run(["doctor"])
    #expect(text.contains("ok      database       PostgreSQL"), "\(text)")
  }

  @Test("certificates of targets are looked at too: those they show, and those they believe")
  func targetCertificates() async throws {
    let folder = try TestFolder()
    let authority = TLSAuthority()
    let soon = Instant.now.adding(seconds: 10 * 86_400)
    for (name, end) in [("soon", soon.microseconds / 1_000_000), ("ended", 1_600_000_000)] {
      let identity = authority.identity(name, until: end)
      try folder.write(identity.certificate, to: "\(name).pem")
      try folder.write(identity.key, to: "\(name).key")
    }
    // Of the authorities one that lasts is enough.
    try folder.write(
      authority.identity("old", until: 1_600_000_000).certificate + authority.certificate.pem, to: "authorities.pem")
    let targets = ["soon", "ended"].map { name in
      """
      { name: "\(name)", type: "webhook", url: "https://example.com/", secret: "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz",
        ca_file: "authorities.pem", certificate_file: "\(name).pem", key_file: "\(name).key" }
      """
    }
    try folder.write("{ targets: [\(targets.joined(separator: ","))] }", to: "tenure.json")
    let program = Installation(database: try await TestDatabase.clone(), folder: folder)
    let lines = try await examine(program, ends: 1).filter { $0.check == "certificates" }
    #expect(lines.map(\.ok) == [true, true, false, false], "\(lines)")
    #expect(lines[1].found.hasSuffix("authorities.pem is valid to 2040-01-01"))
    #expect(lines[2].found.hasSuffix("ended.pem ended on 2020-09-13"))
    #expect(lines[3].found.hasSuffix("soon.pem ends on \(soon.description.prefix(10))"))
    #expect(lines.suffix(2).allSatisfy { $0.do?.contains("successor") == true })
  }

  @Test("every problem of the configuration is said, and what it needs is not guessed")
  func brokenConfiguration() async throws {
    let program = try await installation("{ apps: [{ key: \"a b\" }], reporting: { timezone: \"Mars\" } }")
    let lines = try await examine(program, ends: 1)
    #expect(lines.count == 2 && lines.allSatisfy { $0.check == "configuration" && !$0.ok && $0.do != nil }, "\(lines)")
    #expect(lines.contains { $0.found.contains("apps[0].key") })
    #expect(lines.contains { $0.found.contains("reporting.timezone") })
  }

  @Test("a key to the App Store that backfill could not use is said, with its file and without what is in it")
  func backfillKeys() async throws {
    let folder = try TestFolder()
    let other = #"{ key: "audio", bundle_id: "com.example.audio", sources: { app_store: {} } }"#
    func configure(_ bundleID: String = #"bundle_id: "com.example.video","#) throws {
      try folder.write(
        """
        { apps: [\(other), { key: "video", \(bundleID) sources: { app_store: {} },
          app_store_server: { issuer_id: "i", key_id: "k", private_key_file: "key.p8" } }] }
        """, to: "tenure.json")
    }
    try configure()
    let program = Installation(database: try await TestDatabase.clone(), folder: folder)
    func found() async throws -> [Line] { try await examine(program, ends: 1).filter { $0.check == "configuration" } }
    for text in ["hello-secret", "", TestCertificateAuthority.shared.root.pem] {
      try folder.write(text, to: "key.p8")
      let lines = try await found()
      try #require(lines.count == 1, "\(lines)")
      #expect(!lines[0].ok && lines[0].found.contains("key.p8 holds no private key on P-256"), "\(lines)")
      #expect(lines[0].do?.contains("apps[1].app_store_server.private_key_file") == true)
      #expect(!lines[0].found.contains("hello-secret"))
      // It says what the command itself says.
      try await program.run(["backfill", "app_store"], ends: 1)
    }
    try folder.write(SigningKey(.p256).pem, to: "key.p8")
    #expect(try await found().allSatisfy(\.ok))
    try configure("")
    #expect(try await found().first?.found.contains("apps[1].bundle_id") == true)
  }

  @Test("a database that does not answer, or is not migrated, is said without its password")
  func database() async throws {
    let folder = try TestFolder()
    try folder.write(Self.plain, to: "tenure.json")
    let outcome = try await TestProgram.run(
      ["doctor", "--config", folder.file("tenure.json")],
      environment: ["DATABASE_URL": "postgresql://someone:the-password@127.0.0.1:1/nothing"])
    #expect(outcome.code == 1)
    #expect(outcome.output.contains("not ok  database"), "\(outcome.output)")
    #expect(outcome.output.contains("DATABASE_URL"))
    #expect(!(outcome.output + outcome.errors).contains("the-password"))

    let program = try await installation(Self.plain, database: TestDatabase.empty())
    let lines = try await examine(program, ends: 1)
    expect(
      lines.map { "\($0.check) \($0.ok)" },
      is: ["configuration true", "certificates true", "database false", "clock true"])
    expect(lines[2].do, is: "tenure migrate")
    // It has changed nothing.
    let connection = try await program.connect()
    #expect(
      try await connection.query("select 1 as one from pg_namespace where nspname in ('tenure', 'ingest')").isEmpty)
    await connection.close()
  }

  @Test("targets that are paused, or whose deliveries have waited for an hour, are named")
  func targets() async throws {
    let program = try await installation(
      """
      { apps: [{ key: "video", bundle_id: "com.example.video", sources: { tenure: {} } }],
        targets: [{ name: "held", type: "webhook", url: "https://example.com/a", secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw" },
          { name: "late", type: "webhook", url: "https://example.com/b", secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw" },
          { name: "well", type: "webhook", url: "https://example.com/c", secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw" }] }
      """)
    try await program.run(["migrate"])
    try await program.run(["targets", "pause", "held"])
    let connection = try await program.connect()
    try await connection.query(
      """
      insert into forward.delivery (target, app_id, source, event_id, subscription_key, announces, due_at, created_at)
      values ('late', 1, 'tenure', 'e', 1, 'a', now() - interval '2 hours', now()),
        ('well', 1, 'tenure', 'e', 1, 'a', now() - interval '10 minutes', now())
      """)
    await connection.close()
    let lines = try await examine(program, ends: 1).filter { $0.check == "targets" }
    try #require(lines.count == 2, "\(lines)")
    #expect(lines[0].found == "held is paused" && lines[0].do?.hasSuffix("tenure targets resume held") == true)
    #expect(lines[1].found.hasPrefix("1 deliveries to late wait") && lines[1].do?.contains("tenure run") == true)
  }

  @Test("a target whose address is one that is never sent to is named before anything is lost")
  func unreachableTargets() async throws {
    let secret = #"secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw""#
    let program = try await installation(
      """
      { targets: [{ name: "plain", type: "webhook", url: "http://example.com/s3cr3t", \(secret) },
          { name: "inside", type: "webhook", url: "https://10.0.0.1/s3cr3t", \(secret) },
          { name: "gateway", type: "mixpanel", project_token: "t", base_url: "http://[::1]:9" },
          { name: "meant", type: "webhook", url: "http://localhost/s3cr3t", \(secret), allow_private_network: true },
          { name: "well", type: "webhook", url: "https://example.com/s3cr3t", \(secret) }] }
      """)
    let lines = try await examine(program, ends: 1).filter { $0.check == "targets" }
    expect(lines.map { $0.found.split(separator: " ").dropFirst(3).first ?? "" }, is: ["plain", "inside", "gateway"])
    #expect(lines.allSatisfy { !$0.ok && $0.do?.contains("allow_private_network") == true }, "\(lines)")
    #expect(lines[0].found.hasSuffix("it has no TLS (https)"))
    #expect(lines[1].found.hasSuffix("10.0.0.1: it is private"))
    #expect(lines.allSatisfy { !$0.found.contains("s3cr3t") })
  }

  @Test("rates and products that are missing are named, and that nothing was measured")
  func figures() async throws {
    let program = try await Installation()
    try await program.ingest([
      Life("1").buys("2025-01-01", until: "2025-02-01"),
      Life("2").buys("2025-01-01", until: "2025-02-01", "yearly", price: 5, "JPY"),
    ])
    let before = try await examine(program, ends: 1)
    #expect(before.filter { !$0.ok }.map(\.check) == ["runs"], "\(before)")
    try await program.measure(asOf: "2025-02-15")
    let lines = try await examine(program, ends: 1)
    expect(lines.filter { !$0.ok }.map(\.check), is: ["rates", "products"])
    #expect(lines.contains { $0.found == "1 charges cannot be converted, such as of JPY" }, "\(lines)")
    #expect(lines.contains { $0.do?.contains("rates import") == true })
    #expect(lines.contains { $0.do?.contains("catalogue import") == true })
  }

  // MARK: - What cannot be brought about

  private func examination(now: String) throws -> Examination {
    Examination(
      Context(
        arguments: try Arguments([], syntax: DoctorCommand.syntax), log: Log(), output: Output(), environment: [:]),
      now: try #require(Instant(now)))
  }

  @Test("a clock that is more than 5 s from the database's is wrong, as far as the way there lets that be known")
  func clock() throws {
    let examination = try examination(now: "2026-03-01T00:00:00Z")
    #expect(examination.clock(ahead: 5_000_000).ok)
    #expect(examination.clock(ahead: -5_000_000).ok)
    #expect(examination.clock(ahead: 90_000_000).found == "it is 90 s ahead of the database's")
    #expect(examination.clock(ahead: -90_000_000).found == "it is 90 s behind the database's")
    #expect(examination.clock(ahead: 6_000_000, within: 2_000_000).ok)
  }

  @Test("a root is told of 60 days before it ends, when it has ended, and when there is none in its file")
  func certificates() throws {
    let examination = try examination(now: "2026-03-01T00:00:00Z")
    func end(_ text: String) -> Int64? { Instant(text).map { $0.microseconds / 1_000_000 } }
    #expect(examination.certificate("root.pem", ends: end("2026-05-02T00:00:00Z")).ok)
    #expect(
      examination.certificate("root.pem", ends: end("2026-04-29T00:00:00Z")).found == "root.pem ends on 2026-04-29")
    #expect(
      examination.certificate("root.pem", ends: end("2026-02-01T00:00:00Z")).found == "root.pem ended on 2026-02-01")
    #expect(!examination.certificate("root.pem", ends: nil).ok)
  }

  @Test("a run that failed, or was a day ago, is told of")
  func runs() throws {
    let examination = try examination(now: "2026-03-02T00:00:00Z")
    let start = try #require(Instant("2026-03-01T00:00:01Z"))
    #expect(examination.run(outcome: "done", startedAt: start).ok)
    #expect(!examination.run(outcome: "done", startedAt: start.adding(seconds: -1)).ok)
    #expect(!examination.run(outcome: "failed", startedAt: start).ok)
  }
}
