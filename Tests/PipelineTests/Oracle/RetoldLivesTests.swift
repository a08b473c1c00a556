import Foundation
import TestSupport
import Testing
import Vocabulary

/// The same generated lives, told by the App Store and by each vendor.
@Suite("The same lives give the same figures, whoever tells them", .fewAtOnce)
struct RetoldLivesTests {
  private static let lives: [LifeGenerator.Life] = {
    var known: [LifeGenerator.Life] = []
    for seed: UInt64 in 1...4000 where known.count < 60 {
      let life = LifeGenerator.life(seed)
      if RetoldLife.isKnownToAll(life) { known.append(life) }
    }
    return known
  }()

  /// What no vendor's word leaves open.
  private static let reports: [(name: String, columns: [String])] = [
    (
      "active_subscriptions",
      [
        "day", "product_id", "country", "offer", "active_subscriptions", "active_trials", "in_grace",
        "in_billing_retry", "set_to_cancel",
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

  private static func program(_ teller: RetoldLife.Teller) async throws -> Installation {
    let program = try await Installation()
    try await program.import("catalogue", LifeGenerator.catalogueTable, ["--app", "video"])
    let bodies = lives.flatMap { RetoldLife.bodies($0, by: teller) }
    let summary = try await program.ingest(
      lines: bodies, source: teller.rawValue, app: teller == .appStore ? nil : "video")
    #expect(summary.stored == bodies.count && summary.unrecognised == 0, "\(teller): \(summary)")
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

  private static let reference = Task { try await figures(program(.appStore)) }

  @Test("what the App Store's notifications give comes out", arguments: RetoldLife.Teller.allCases.dropFirst())
  func retold(teller: RetoldLife.Teller) async throws {
    #expect(Self.lives.count == 60, "too few lives are known to all")
    let expected = try await Self.reference.value
    let found = try await Self.figures(Self.program(teller))
    for (name, _) in Self.reports {
      let (was, is_) = (expected[name, default: []], found[name, default: []])
      #expect(was.count > 20, "\(name)")
      #expect(
        was == is_,
        """
        \(teller.rawValue): \(name): \(was.subtracting(is_).sorted().prefix(4)) became \
        \(is_.subtracting(was).sorted().prefix(4))
        """)
    }
  }
}
