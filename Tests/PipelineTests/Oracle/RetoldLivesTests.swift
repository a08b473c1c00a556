import Foundation
import TestSupport
import Testing
import Vocabulary

/// The same generated lives, told by the App Store and by each vendor.
@Suite("The same lives give the same figures, whoever tells them", .fewAtOnce)
struct RetoldLivesTests {
  /// Sixty lives of which a teller tells everything but some gaps.
  private static func lives(but gaps: Set<RetoldLife.Gap>) throws -> [LifeGenerator.Life] {
    let lives = (1...4000).lazy.map { LifeGenerator.life($0) }.filter { RetoldLife.isKnown($0, but: gaps) }
    let known = Array(lives.prefix(60))
    try #require(known.count == 60, "too few lives are known")
    return known
  }

  /// What the table in docs/sources.md says that a teller does not tell.
  private static func gaps(_ teller: RetoldLife.Teller) throws -> Set<RetoldLife.Gap> {
    let table = try DocumentTable("sources.md", beginning: "| what figures depend on |")
    let words = table.rows.map { $0[0] }
    #expect(Set(words) == Set(RetoldLife.Gap.allCases.map(\.rawValue)) && words.count == Set(words).count)
    let column = try #require([.revenueCat: 1, .adapty: 2, .apphud: 3][teller])
    #expect(table.rows.allSatisfy { ["yes", "no"].contains($0[column]) })
    return Set(table.rows.filter { $0[column] == "no" }.compactMap { RetoldLife.Gap(rawValue: $0[0]) })
  }

  /// What is compared.
  private static let reports: [(name: String, columns: [String])] = [
    (
      "active_subscriptions",
      [
        "day", "product_id", "country", "offer", "active_subscriptions", "active_trials", "in_grace",
        "in_billing_retry", "set_to_cancel", "family_shared",
      ]
    ),
    (
      "movements",
      ["day", "product_id", "country", "offer", "opening", "closing"] + Installation.inflows + Installation.outflows
    ),
    ("churn", ["period", "starts_on", "active_at_start", "churned", "churned_same_period", "churn_rate", "voluntary"]),
    (
      "trials", ["day", "product_id", "country", "started", "converted", "expired", "cancelled", "running", "in_retry"]
    ),
    ("mrr", ["day", "product_id", "country", "currency", "mrr", "unpriced_subscriptions"]),
    ("mrr_movement", ["day", "product_id", "country", "currency", "opening", "closing"] + Installation.mrrFlows),
    (
      "renewal_revenue",
      [
        "day", "product_id", "country", "offer", "currency", "kind", "charges", "unpriced_charges", "gross", "refunds",
        "net",
      ]
    ),
    ("revenue", ["day", "product_id", "country", "currency", "kind", "charges", "gross", "refunds", "net"]),
  ]

  private static func program(
    _ lives: [LifeGenerator.Life], by tellers: [RetoldLife.Teller]
  ) async throws -> Installation {
    let program = try await Installation()
    try await program.import("catalogue", LifeGenerator.catalogueTable, ["--app", "video"])
    var random = SeededGenerator(seed: 5)
    for teller in tellers {
      let bodies = lives.flatMap { RetoldLife.bodies($0, by: teller) }.shuffled(using: &random)
      let summary = try await program.ingest(
        lines: bodies, source: teller.rawValue, app: teller == .appStore ? nil : "video")
      #expect(summary.stored == bodies.count && summary.unrecognised == 0, "\(teller): \(summary)")
    }
    try await program.measure(asOf: LifeGenerator.asOf)
    return program
  }

  private static func figures(_ program: Installation) async throws -> [String: Set<String>] {
    var figures: [String: Set<String>] = [:]
    for (name, columns) in reports {
      let report = try ReportRows(
        json: await program.run(["report", name, "--format", "json"]), figures: Set(columns).subtracting(keys))
      figures[name] = Set(report.texts(without: Set(report.columns).subtracting(columns)))
    }
    return figures
  }

  private static let keys: Set<String> = [
    "day", "product_id", "country", "offer", "currency", "kind", "period", "starts_on",
  ]

  private func expectSame(
    _ found: Installation, as expected: Installation, _ what: String
  ) async throws {
    let (expected, found) = (try await Self.figures(expected), try await Self.figures(found))
    for (name, _) in Self.reports {
      let (was, is_) = (expected[name, default: []], found[name, default: []])
      #expect(was.count > 20, "\(name)")
      #expect(
        was == is_,
        """
        \(what): \(name): \(was.subtracting(is_).sorted().prefix(4)) became \(is_.subtracting(was).sorted().prefix(4))
        """)
    }
  }

  @Test(
    "told by a vendor, they give what the App Store's notifications give, but for what docs/sources.md lists",
    arguments: RetoldLife.Teller.allCases.dropFirst())
  func retold(teller: RetoldLife.Teller) async throws {
    let lives = try Self.lives(but: Self.gaps(teller))
    try await expectSame(
      Self.program(lives, by: [teller]), as: Self.program(lives, by: [.appStore]), teller.rawValue)
  }

  @Test(
    "told by a vendor and by the App Store, in either order, they give what the App Store's notifications alone give",
    arguments: RetoldLife.Teller.allCases.dropFirst())
  func besides(teller: RetoldLife.Teller) async throws {
    // Whatever the vendor leaves out or tells otherwise.
    let lives = try Self.lives(but: [])
    let alone = try await Self.program(lives, by: [.appStore])
    for tellers in [[teller, .appStore], [.appStore, teller]] {
      try await expectSame(Self.program(lives, by: tellers), as: alone, "\(tellers)")
    }
  }
}
