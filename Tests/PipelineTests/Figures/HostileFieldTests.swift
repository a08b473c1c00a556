import Foundation
import TestSupport
import Testing
import Vocabulary

/// Fields that hold what nobody expects, where no signature vouches for them. What gets into the facts must not be in the
/// way of a run.
@Suite("Figures: whatever fields hold", .fewAtOnce)
struct HostileFieldTests {
  /// What is put into fields, as JSON.
  private static let values = [
    "null", "\"\"", "\"\(String(repeating: "x", count: 501))\"", "\"\(String(repeating: "é", count: 251))\"", "-1", "0",
    "-0.0", "1e-127", "1e127", "9223372036854.775807", "-9223372036854.775808", "9223372036854775807",
    "-9223372036854775808", "253402300799000", "253402300800000", "946684799999", "true", "[]", "{}", "[[1]]",
    "\"9999-12-31T23:59:59.999999Z\"", "\"0001-01-01T00:00:00Z\"", "\"2026-02-30T00:00:00Z\"", "\"NaN\"",
    "\"\\u202e\\ud83d\\ude00'; drop table\"", "\"USD\"", "\"XXX\"", "\"TRIAL\"", "\"refund\"",
    "\"-1\"", "\"1e400\"", "\"9223372036854775807\"", "\"-9223372036854775808\"", "\"253402300800000\"",
  ]

  private static let mark = "\u{1F}here"

  /// What the decoders' tests have of a source.
  private static func inputs(_ source: String) throws -> [Any] {
    let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().appending(path: "IngestTests/Fixtures/\(source)")
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".json") }
      .sorted()
    return try names.compactMap { name in
      let fixture =
        try JSONSerialization.jsonObject(with: Data(contentsOf: folder.appending(path: name))) as? [String: Any]
      return fixture?["payload"] ?? fixture?["input"]
    }
  }

  /// The value with the mark in the place of each of its leaves in turn.
  private static func marked(_ value: Any) -> [Any] {
    var variants: [Any] = []
    if let object = value as? [String: Any] {
      for (name, inner) in object.sorted(by: { $0.key < $1.key }) {
        for variant in marked(inner) { variants.append(object.merging([name: variant]) { $1 }) }
      }
    } else if let list = value as? [Any], !list.isEmpty {
      for index in list.indices {
        for variant in marked(list[index]) {
          var changed = list
          changed[index] = variant
          variants.append(changed)
        }
      }
    } else {
      variants.append(mark)
    }
    return variants
  }

  private static func lines(_ source: String, _ random: inout SeededGenerator) throws -> [String] {
    var lines: [String] = []
    for event in try inputs(source).flatMap(marked) {
      let json = try JSONSerialization.data(
        withJSONObject: event, options: [.sortedKeys, .withoutEscapingSlashes, .fragmentsAllowed])
      let text = String(decoding: json, as: UTF8.self).replacing(
        "com.apphud.testapplication", with: "com.example.video"
      ).replacing("\"environment\":\"sandbox\"", with: "\"environment\":\"production\"")
      for _ in 0..<2 {
        lines.append(text.replacing("\"\\u001fhere\"", with: values[Int.random(in: 0..<values.count, using: &random)]))
      }
    }
    return lines
  }

  @Test(
    "each event is stored or refused, and runs, checks and reports go well",
    arguments: ["revenuecat", "adapty", "apphud", "app_store_receipt"], [1, 2] as [UInt64])
  func anything(source: String, seed: UInt64) async throws {
    var random = SeededGenerator(seed: seed)
    let lines = try Self.lines(source, &random)
    #expect(lines.count > 800)
    #expect(!lines.contains { $0.contains("1fhere") })
    let program = try await Installation()
    let summary = try await program.ingest(lines: lines, source: source, app: "video", ends: 3)
    #expect(summary.received >= lines.count && summary.rejected > 50 && summary.stored + summary.duplicates > 500)
    for moment in ["2022-06-01", "2026-01-15"] { try await program.measure(asOf: moment) }
    // What is dated ahead counts from its receipt.
    let now = Instant(microseconds: Int64(Date().timeIntervalSince1970) * 1_000_000)
    try await program.measure(asOf: now)
    #expect(try await program.measure(asOf: now, ["--rebuild"]) == 0)
    for report in [
      "active_subscriptions", "movements", "churn", "revenue", "mrr", "mrr_movement", "trials", "subscriptions",
      "events",
      "data_quality", "subscription_history",
    ] {
      _ = try await program.rows(report)
    }
  }
}
