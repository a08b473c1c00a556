import Postgres
import SQL
import Synchronization
import TestSupport
import Testing
import Vocabulary

@testable import Ingest

/// Reading a stream into the database, with a stream that is a list.
@Suite("Stream consumer")
struct StreamConsumerTests {
  /// Gives out its batches one after another, and then ends whoever reads it.
  private actor ListedStream: MessageStream {
    struct Ended: Error {}

    private var batches: [[StreamMessage]]
    private let committed: @Sendable () async -> Void
    private(set) var takes = 0
    private(set) var commits = 0

    init(_ batches: [[StreamMessage]], committed: @escaping @Sendable () async -> Void = {}) {
      self.batches = batches
      self.committed = committed
    }

    func take() throws -> [StreamMessage] {
      if batches.isEmpty { throw Ended() }
      takes += 1
      return batches.removeFirst()
    }

    func commit() async -> [StreamPosition] {
      commits += 1
      await committed()
      return [
        StreamPosition(partition: 0, next: Int64(takes * 10), end: 100), StreamPosition(partition: 1, next: 5, end: 5),
      ]
    }
  }

  private struct Away: Error {}

  private let database: TestDatabase

  init() async throws { database = try await TestDatabase.clone() }

  private func event(_ id: String) -> String {
    """
    {"event_id": "\(id)", "kind": "subscription_started", "occurred_at": "2026-03-01T09:30:00Z", \
    "store": "app_store", "environment": "Production", "original_transaction_id": "1"}
    """
  }

  private func message(_ text: String?, partition: Int32 = 0, offset: Int = 0) -> StreamMessage {
    StreamMessage(place: "sales/\(partition)@\(offset)", partition: partition, value: text.map { Array($0.utf8) })
  }

  /// A consumer of the stream.
  private func consumer(
    _ stream: ListedStream, absences: Int = 0, pause: @escaping @Sendable (Duration) async throws -> Void = { _ in },
    report: @escaping @Sendable (StreamConsumer.Report) -> Void = { _ in }
  ) -> StreamConsumer {
    let left = Mutex(absences)
    let database = database
    let app = AppConfiguration(key: "video")
    let now: @Sendable () -> Instant = { Instant("2026-03-02T00:00:00Z") ?? Instant(microseconds: 0) }
    return StreamConsumer(
      .init(group: "readers", topic: "sales"), app: "video", stream: stream,
      decoder: { TenureDecoder(app: "video") { $0 == "video" ? app : nil } },
      open: {
        let isAway = left.withLock { left in
          left -= 1
          return left >= 0
        }
        if isAway { throw Away() }
        return try await database.connect()
      }, ingester: { Ingester($0, source: .tenure, apps: [app], now: now) }, now: now, pause: pause, report: report)
  }

  private func count(_ table: String) async throws -> Int64 {
    let connection = try await database.connect()
    let rows = try await connection.query("select count(*) as count from \(table)")
    await connection.close()
    return try rows[0].int("count")
  }

  @Test("offsets are committed when the database has what was taken, and not before")
  func order() async throws {
    let seen = Mutex<[Int64]>([])
    let database = database
    let stream = ListedStream([
      [message(event("a")), message(event("b"))], [], [message("[\(event("c")), \(event("d"))]")],
    ]) {
      guard let connection = try? await database.connect(),
        let rows = try? await connection.query("select count(*) as count from ingest.event"),
        let count = try? rows[0].int("count")
      else { return }
      seen.withLock { $0.append(count) }
    }
    await #expect(throws: ListedStream.Ended.self) { try await consumer(stream).run() }
    #expect(seen.withLock { $0 } == [2, 2, 4])
  }

  @Test("what is refused is a rejection with its place, is counted, and does not hold up what follows")
  func poison() async throws {
    let stream = ListedStream([
      [
        message("no json", partition: 1, offset: 7), message(event("a")), message(nil, offset: 1),
        message(" \n", offset: 2), message("{\"event_id\": \"x\"}", offset: 3), message("[\(event("b")), 1", offset: 4),
      ], [message(event("a"), offset: 5)],
    ])
    await #expect(throws: ListedStream.Ended.self) { try await consumer(stream).run() }
    #expect(try await count("ingest.event") == 2)
    let connection = try await database.connect()
    let rejections = try await connection.query(
      "select app, place, reason from report.rejections order by rejection_id")
    #expect(rejections.allSatisfy { $0["app"] == "video" })
    #expect(
      rejections.map { "\($0["place"] ?? "") \($0["reason"] ?? "")" } == [
        "sales/1@7 not_json", "sales/0@1 not_json", "sales/0@2 not_json", "sales/0@3 field_missing",
        "sales/0@4 malformed", "sales/0@4 not_json",
      ])
    let partitions = try await connection.query(
      """
      select partition, next_offset, end_offset, messages, rejections from ingest.stream_partition
      where consumer_group = 'readers' and topic = 'sales' order by partition
      """)
    #expect(partitions.map { $0["next_offset"] } == ["20", "5"])
    #expect(partitions.map { $0["end_offset"] } == ["100", "5"])
    #expect(partitions.map { $0["messages"] } == ["6", "1"])
    #expect(partitions.map { $0["rejections"] } == ["5", "1"])
  }

  @Test("while the database is away nothing more is taken, and then everything is stored")
  func absence() async throws {
    let pauses = Mutex<[Duration]>([])
    let reports = Mutex<[String]>([])
    let stream = ListedStream([[message(event("a"))], [message(event("b"))]])
    let consumer = consumer(stream, absences: 3) { pause in
      #expect(await stream.takes == 1)
      #expect(await stream.commits == 0)
      pauses.withLock { $0.append(pause) }
    } report: { report in
      let word =
        switch report {
        case .stored: "stored"
        case .storingFailed: "failed"
        case .storingResumed: "resumed"
        }
      reports.withLock { $0.append(word) }
    }
    await #expect(throws: ListedStream.Ended.self) { try await consumer.run() }
    #expect(pauses.withLock { $0 } == [.seconds(1), .seconds(2), .seconds(4)])
    #expect(reports.withLock { $0 } == ["failed", "failed", "failed", "resumed", "stored", "stored"])
    #expect(try await count("ingest.event") == 2)
  }

  @Test("asked to end while the database is away, it ends, and what it took is not committed")
  func endWhileAway() async throws {
    let stream = ListedStream([[message(event("a"))]])
    try await consumer(stream, absences: .max) { _ in throw CancellationError() }.run()
    #expect(await stream.commits == 0)
  }
}
