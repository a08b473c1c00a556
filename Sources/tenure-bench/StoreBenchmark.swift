import Foundation
import Ingest
import Postgres
import SQL
import TestSupport
import Vocabulary

/// Decoding and storing canonical events, against COPY of the rows they became.
enum StoreBenchmark: Benchmark {
  static let name = "store"
  static let summary = "decode and store canonical events from a file, against COPY of the finished rows"
  static let size = 200_000
  static let unit = "events"

  /// What the events fill.
  private static let tables = [
    "ingest.event", "fact.chain", "fact.transaction", "fact.renewal", "fact.subscriber", "ledger.unsettled",
  ]

  static func run(_ plan: Plan) async throws {
    let folder = try TestFolder()
    let new = try write(plan.size, everyHundredthAgain: false, to: folder.file("new.ndjson"))
    let again = try write(plan.size, everyHundredthAgain: true, to: folder.file("again.ndjson"))
    var ofNew = Comparison("store, all of it new, limit to work", .share, reach: 0.8)
    var ofAgain = Comparison("store, every hundredth a duplicate, limit to work", .share, reach: 0.8)
    try await ScratchDatabase.with { database in
      for _ in 0..<plan.repetitions {
        try await compare(new, plan, on: database.connection, &ofNew)
        try await compare(again, plan, on: database.connection, &ofAgain)
      }
    }
    ofNew.conclude()
    ofAgain.conclude()
  }

  private struct Input {
    let path: String
    let duplicates: Int
  }

  private static func compare(
    _ input: Input, _ plan: Plan, on connection: Connection, _ comparison: inout Comparison
  ) async throws {
    try await connection.execute("truncate \(tables.joined(separator: ", ")), ingest.app")
    // As `tenure ingest` does it.
    let ingester = Ingester(
      connection, source: .tenure, afterStoring: SQLFiles.folder("forward").filter { $0.name == "announce" },
      now: { now })
    let app = AppConfiguration(key: "video")
    var summary = IngestSummary()
    let work = try await Cost.measure(on: connection) {
      summary = try await ingester.ingest([input.path]) { TenureDecoder { _ in app } }
    }
    guard summary.stored == plan.size, summary.duplicates == input.duplicates, summary.rejected == 0 else {
      throw BenchError("not everything was stored: \(summary.json)")
    }
    let rows = try await FinishedRows(of: tables, on: connection, plan)
    let limit = try await Cost.measure(on: connection) { try await rows.load(on: connection) }
    comparison.add(work: work, limit: limit)
  }

  // MARK: - Events

  private static let now = Instant(microseconds: 1_767_225_600_000_000)  // 2026-01-01

  /// Writes events of about ten renewals per chain, in the order of their moments.
  ///
  /// - Parameter everyHundredthAgain: Whether after each hundred events one of an earlier batch comes again.
  private static func write(_ count: Int, everyHundredthAgain: Bool, to path: String) throws -> Input {
    guard FileManager.default.createFile(atPath: path, contents: nil), let file = FileHandle(forWritingAtPath: path)
    else { throw BenchError("cannot write \(path)") }
    let chains = max(count / 10, 1)
    var duplicates = 0
    var piece = ""
    for number in 0..<count {
      piece += event(number, chains)
      if everyHundredthAgain, number % 100 == 99 {
        piece += event(max(number - 6000, 0), chains)
        duplicates += 1
      }
      if piece.utf8.count > 1 << 18 || number == count - 1 {
        try file.write(contentsOf: Data(piece.utf8))
        piece = ""
      }
    }
    try file.close()
    return Input(path: path, duplicates: duplicates)
  }

  private static func event(_ number: Int, _ chains: Int) -> String {
    let chain = number % chains
    let renewals = number / chains
    let length: Int64 = 30 * 86_400
    let purchased = now.adding(
      seconds: -length * Int64(11 - min(renewals, 10)) + length * Int64(chain) / Int64(chains))
    let expires = purchased.adding(seconds: length)
    return """
      {"event_id":"e\(number)","kind":"\(renewals == 0 ? "subscription_started" : "subscription_renewed")",\
      "occurred_at":"\(purchased)","app":"video","store":"app_store","environment":"Production",\
      "original_transaction_id":"\(2_000_000_000_000_000 + chain)","subscriber_id":"customer-\(chain)",\
      "transaction":{"transaction_id":"\(2_000_001_000_000_000 + number)","type":"auto_renewable",\
      "product_id":"premium.monthly","group_id":"premium","period":"P1M","purchased_at":"\(purchased)",\
      "expires_at":"\(expires)","price":9.99,"currency":"USD","country":"USA",\
      "reason":"\(renewals == 0 ? "purchase" : "renewal")","ownership":"purchased"},\
      "renewal":{"auto_renew":true,"auto_renew_product_id":"premium.monthly","renews_at":"\(expires)",\
      "renewal_price":9.99,"currency":"USD"}}\n
      """
  }
}
