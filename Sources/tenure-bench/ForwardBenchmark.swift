import Forward
import Foundation
import HTTP
import Ingest
import Postgres
import SQL
import TestSupport
import Vocabulary

/// Forwarding events to a receiver on this machine, against the HTTP client alone sending the same requests to it.
enum ForwardBenchmark: Benchmark {
  static let name = "forward"
  static let summary = "forward events to a local receiver, against the HTTP client alone sending the same requests"
  static let size = 5000
  static let unit = "events"

  static func run(_ plan: Plan) async throws {
    var comparison = Comparison("forward, limit to work", .share, reach: 0.6)
    for _ in 0..<plan.repetitions {
      try await ScratchDatabase.with { database in
        let receiver = HTTPReceiver()
        defer { receiver.close() }
        var configuration = TargetConfiguration(name: "backend", type: "webhook")
        configuration.url = receiver.url
        configuration.secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
        configuration.allowsPrivateNetwork = true
        try await TargetRegister(database.connection).register([configuration], at: now.adding(seconds: -86_400))
        try await announce(plan.size, on: database.connection)
        let forwarder = Forwarder(
          connectionString: database.connectionString, targets: [try configuration.makeTarget()], now: { now })
        var delivered = 0
        let work = try await Cost.measure(on: database.connection) {
          delivered = try await forwarder.runOnce().delivered
        }
        let sent = receiver.requests
        guard delivered == plan.size, sent.count == plan.size else {
          throw BenchError("\(delivered) of \(plan.size) events were delivered, and \(sent.count) requests came")
        }
        let requests = sent.map { request in
          HTTPRequest(
            url: receiver.url,
            headers: request.headers.filter { $0.key.hasPrefix("webhook-") }.map { .init($0.key, $0.value) },
            body: request.body, secrets: [])
        }
        let limit = try await Cost.measure(on: database.connection) { try await send(requests) }
        comparison.add(work: Cost(wall: work.wall), limit: Cost(wall: limit.wall))
      }
    }
    comparison.conclude()
  }

  private static let now = Instant(microseconds: 1_767_225_600_000_000)  // 2026-01-01

  /// Sends requests with as many under way as the forwarder has.
  private static func send(_ requests: [HTTPRequest]) async throws {
    let client = HTTPClient(allowsPrivateNetwork: true)
    let atOnce = Forwarder.Settings().requestsPerTarget
    let taken = await withTaskGroup(of: Int.self) { group in
      for first in 0..<atOnce {
        group.addTask {
          var taken = 0
          for number in stride(from: first, to: requests.count, by: atOnce) {
            if case .success(let answer) = await client.send(requests[number]), answer.status == 200 { taken += 1 }
          }
          return taken
        }
      }
      return await group.reduce(0, +)
    }
    guard taken == requests.count else { throw BenchError("\(requests.count - taken) requests were not taken") }
  }

  /// Stores renewals of as many chains, of a minute ago, as `tenure ingest` does; that makes their deliveries.
  private static func announce(_ count: Int, on connection: Connection) async throws {
    let folder = try TestFolder()
    let path = folder.file("events.ndjson")
    let moment = now.adding(seconds: -60)
    let lines = (0..<count).map { number in
      """
      {"event_id":"f\(number)","kind":"subscription_started","occurred_at":"\(moment)","app":"video",\
      "store":"app_store","environment":"Production","original_transaction_id":"\(4_000_000_000_000_000 + number)",\
      "subscriber_id":"customer-\(number)","transaction":{"transaction_id":"\(4_000_000_000_000_000 + number)",\
      "type":"auto_renewable","product_id":"premium.monthly","group_id":"premium","period":"P1M",\
      "purchased_at":"\(moment)","expires_at":"\(moment.adding(seconds: 2_592_000))","price":9.99,"currency":"USD",\
      "country":"USA","reason":"purchase","ownership":"purchased"}}\n
      """
    }
    try lines.joined().write(toFile: path, atomically: false, encoding: .utf8)
    let app = AppConfiguration(key: "video")
    let summary = try await Ingester(
      connection, source: .tenure, afterStoring: SQLFiles.folder("forward").filter { $0.name == "announce" },
      now: { now }
    ).ingest([path]) { TenureDecoder { _ in app } }
    guard summary.stored == count else { throw BenchError("not everything was stored: \(summary.json)") }
  }
}
