import Foundation
import Postgres
import TestSupport
import Testing

/// What logins may do that are given the roles which `tenure migrate` makes.
@Suite struct RolesTests {
  /// A login of its own with one of the roles, and how to connect as it.
  private func login(_ role: String, _ database: TestDatabase) async throws -> String {
    let connection = try await database.connect()
    let name = "login_\(UUID().uuidString.prefix(8).lowercased())"
    try await connection.execute("create role \(name) login; grant \(role) to \(name)")
    await connection.close()
    return database.connectionString(user: name)
  }

  @Test("the program ingests, measures, reports and forwards with the rights of tenure_writer alone")
  func writer() async throws {
    let database = try await TestDatabase.clone()
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let folder = try TestFolder()
    let file = try folder.write(
      """
      { apps: [{ key: "example", sources: { tenure: {} } }],
        targets: [{ name: "hook", type: "webhook", url: "https://example.com/", secret: "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz" }] }
      """, to: "tenure.json")
    let rates = try folder.write(PublishedRates.history, to: "rates.csv")
    let corrected = try folder.write(PublishedRates.history.replacing("7.5365", with: "N/A"), to: "corrected.csv")
    let environment = [
      "DATABASE_URL": try await login("tenure_writer", database), "TENURE_CONFIG": file,
    ]
    for words in [
      ["ingest", "--source", "tenure", "examples/events.ndjson"], ["winback", "import", "examples/winback.json"],
      ["catalogue", "import", "examples/catalogue.csv", "--app", "example"], ["rates", "import", rates],
      ["taxes", "import", "examples/taxes.csv"],
      // A correction and a replacement need more rights than what is there for the first time.
      ["rates", "import", corrected], ["taxes", "import", "examples/taxes.csv"], ["run"], ["measure", "--rebuild"],
      ["report", "winback_eligibility"], ["targets"], ["apps"], ["forward", "--once"],
    ] {
      let outcome = try await TestProgram.run(words, environment: environment, directory: root.path)
      #expect(outcome.code == 0, "\(words): \(outcome.errors)")
    }
  }

  @Test("tenure_reader reads figures and nobody's name; tenure_support reads both")
  func readers() async throws {
    let database = try await TestDatabase.clone()
    let reader = try await Connection.open(try await login("tenure_reader", database))
    let support = try await Connection.open(try await login("tenure_support", database))
    for figure in ["movements", "revenue", "churn", "active_subscribers", "products", "runs", "data_quality"] {
      try await reader.query("select from report.\(figure)")
      try await support.query("select from report.\(figure)")
    }
    for people in ["subscriptions", "events", "winback_eligibility", "store_messages", "deliveries"] {
      try await support.query("select from report.\(people)")
      await #expect(throws: PostgresError.self) { try await reader.query("select from report.\(people)") }
    }
    for table in ["ingest.event", "fact.transaction", "ledger.entry"] {
      await #expect(throws: PostgresError.self) { try await support.query("select from \(table)") }
    }
    await reader.close()
    await support.close()
  }
}
