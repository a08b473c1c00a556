import Foundation
import Postgres
import Signatures
import TestSupport
import Testing

@Suite("Run: the scheduled job, by the built program", .fewAtOnce)
struct RunCommandTests {
  private let folder: TestFolder
  private let program: Installation

  init() async throws {
    folder = try TestFolder()
    program = Installation(database: try await TestDatabase.clone(), folder: folder)
    try configure("")
    try folder.write(TestCertificateAuthority.shared.root.pem, to: "root.pem")
    try await program.ingest(Self.notifications)
    // One payload came long ago.
    let connection = try await program.connect()
    try await connection.execute(
      """
      select ingest.add_payload_month('2025-01-31T23:00:00Z');
      update ingest.payload set received_at = '2025-01-31T23:00:00Z'
      where event_id = (select min(event_id) from ingest.payload)
      """)
    await connection.close()
  }

  /// What is signed is kept as it came.
  private static let notifications = [
    Notification("SUBSCRIBED.INITIAL_BUY", signed: "2025-02-01"),
    Notification("DID_RENEW", signed: "2025-03-01", id: "2", from: "2025-03-01", until: "2025-04-01"),
  ]

  private func configure(_ ingest: String) throws {
    try folder.write(
      """
      { ingest: { \(ingest) }, apps: [{ key: "video", bundle_id: "com.example.video",
        app_apple_id: 1234567890, sources: { app_store: { environments: ["Production"], roots: ["root.pem"] } } }] }
      """, to: "tenure.json")
  }

  /// How many payloads, and how many events there are.
  private func kept() async throws -> String {
    let connection = try await program.connect()
    let counts = try await connection.query(
      "select (select count(*) from ingest.payload) || ' ' || (select count(*) from ingest.event) as counts")
    await connection.close()
    return try counts[0].text("counts")
  }

  @Test("raw payloads are kept for ever unless an age is set, and then the months that are older are removed, alone")
  func rawPayloads() async throws {
    try await program.run(["run"])
    try await expect(kept(), is: "2 2")
    // The month's last day is not so old yet.
    let days = Int(Date().timeIntervalSince1970 / 86_400) - 20_120  // since 2025-02-01
    try configure("keep_raw: \"\(days + 1)d\"")
    try await program.run(["run"])
    try await expect(kept(), is: "2 2")
    let reports = try await program.run(["report", "revenue", "--format", "csv"])
    try configure("keep_raw: \"\(days)d\"")
    let outcome = try await program.start(["run"]).ended()
    #expect(outcome.code == 0 && outcome.errors.contains("removed raw payloads"), "\(outcome.errors)")
    try await expect(kept(), is: "1 2")
    try await expect(program.run(["report", "revenue", "--format", "csv"]), is: reports)
    // The same again is still known.
    #expect(try await program.ingest(Self.notifications).duplicates == 2)
  }

  @Test("while payloads are being stored the old ones wait for the next run, and the run ends well")
  func busy() async throws {
    try configure("keep_raw: \"30d\"")
    let holding = try await program.connect()
    try await holding.execute("begin; lock table ingest.payload in row exclusive mode")
    let outcome = try await program.start(["run"]).ended()
    #expect(outcome.code == 0 && outcome.errors.contains("the next time"), "\(outcome.errors)")
    try await expect(kept(), is: "2 2")
    await holding.close()
    try await program.run(["run"])
    try await expect(kept(), is: "1 2")
  }
}
