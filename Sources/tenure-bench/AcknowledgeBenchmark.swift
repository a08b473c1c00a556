import Forward
import Foundation
import Glibc
import Ingest
import Postgres
import SQL
import Server
import Signatures
import TestSupport
import Vocabulary

/// Receiving events over HTTP, each on the disk before it is acknowledged, against single-row commits of `pgbench`.
enum AcknowledgeBenchmark: Benchmark {
  static let name = "acknowledge"
  static let summary = "receive events over HTTP, each durable before its 200, against pgbench's single-row commits"
  static let size = 20_000
  static let unit = "events"

  /// How many senders wait for an answer at once.
  private static let senders = [64, 256]

  static func run(_ plan: Plan) async throws {
    guard let programs = ServerPrograms.find() else {
      throw BenchError("pgbench of PostgreSQL's server package is needed")
    }
    let secret = StandardWebhookSecret("whsec_" + Base64.encode((0..<32).map { UInt8($0) }))
    guard let secret else { throw BenchError("the secret is none") }
    for count in senders {
      let each = max(plan.size / count, 1)
      var comparison = Comparison("acknowledge, \(count) at once, limit to work", .share, reach: 2)
      try await ScratchDatabase.with(isDurable: true) { database in
        try await database.connection.execute(
          "create table public.acknowledged (id bigint primary key, payload text not null)")
        for repetition in 0..<plan.repetitions {
          let requests = Self.requests(each, senders: count, repetition, secret)
          let limit = try await commits(each, senders: count, in: database, programs)
          let work = try await acknowledgements(requests, of: database, secret)
          comparison.add(work: Cost(wall: work), limit: Cost(wall: limit))
          let stored = try await database.connection.query("select count(*) as count from ingest.event")
          let expected = (repetition + 1) * count * each
          guard let found = try stored.first?.int("count"), found == Int64(expected) else {
            throw BenchError("not everything that was acknowledged is there")
          }
        }
        try await database.connection.execute("drop table public.acknowledged")
      }
      comparison.conclude()
    }
  }

  // MARK: - The limit

  /// Seconds that `pgbench` takes for so many commits of each sender, each of one row of about the size of an event.
  private static func commits(
    _ each: Int, senders: Int, in database: ScratchDatabase, _ programs: ServerPrograms
  ) async throws -> Double {
    let folder = try TestFolder()
    let script = folder.file("insert.sql")
    let payload = String(repeating: "x", count: 700)
    try """
    \\set id random(1, 9000000000000000000)
    insert into public.acknowledged values (:id, '\(payload)');
    """.write(toFile: script, atomically: false, encoding: .utf8)
    let outcome = try await TestProgram.run(
      [
        "--no-vacuum", "--protocol=prepared", "--jobs=2", "--client=\(senders)",
        "--transactions=\(each)", "--file=\(script)", database.connectionString,
      ], file: "\(programs.directory)/pgbench")
    let rate = outcome.output.split(separator: "\n").first { $0.hasPrefix("tps = ") }?.split(separator: " ").dropFirst(
      2
    )
    .first
    guard outcome.code == 0, let rate = rate.flatMap({ Double($0) }), rate > 0 else {
      throw BenchError("pgbench ended with \(outcome.code): \(outcome.errors)")
    }
    return Double(each * senders) / rate
  }

  // MARK: - The work

  /// Seconds until every request has been answered, each sender sending its next one when the last was answered.
  private static func acknowledgements(
    _ requests: [[[UInt8]]], of database: ScratchDatabase, _ secret: StandardWebhookSecret
  ) async throws -> Double {
    guard let any = ListenAddress("127.0.0.1:0") else { throw BenchError("there is no address to listen on") }
    var settings = Server.Settings(ingest: any, reports: any, token: "benchmark")
    settings.endpoints = [.tenure(AppConfiguration(key: "video"), secret: secret)]
    settings.afterStoring = SQLFiles.folder("forward").filter { $0.name == "announce" }
    let server = try Server(
      settings, open: { try await database.connect() }, now: Forwarder.systemClock, report: { _ in })
    let port = server.ingestAddress.port
    let start = ContinuousClock.now
    let answered = await withTaskGroup(of: Int.self) { group in
      for own in requests {
        group.addTask {
          await withCheckedContinuation { continuation in
            Thread.detachNewThread { continuation.resume(returning: send(own, to: port)) }
          }
        }
      }
      return await group.reduce(0, +)
    }
    let wall = (ContinuousClock.now - start) / Duration.seconds(1)
    _ = await server.stop()
    let count = requests.reduce(0) { $0 + $1.count }
    guard answered == count else { throw BenchError("\(count - answered) of \(count) requests were not acknowledged") }
    return wall
  }

  /// Sends requests over one connection, one after another, and returns how many were answered with 200.
  private static func send(_ requests: [[UInt8]], to port: UInt16) -> Int {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    defer { close(descriptor) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    let connected = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    var noDelay: Int32 = 1
    setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &noDelay, socklen_t(MemoryLayout<Int32>.size))
    guard connected == 0 else { return 0 }
    var answered = 0
    var answer = [UInt8](repeating: 0, count: 4096)
    for request in requests {
      guard Glibc.send(descriptor, request, request.count, Int32(MSG_NOSIGNAL)) == request.count else {
        return answered
      }
      // Answers are short and end with the object they hold.
      var length = 0
      repeat {
        let count = answer.withUnsafeMutableBytes { recv(descriptor, $0.baseAddress! + length, $0.count - length, 0) }
        guard count > 0 else { return answered }
        length += count
      } while answer[length - 1] != UInt8(ascii: "}") && length < answer.count
      if answer[..<length].starts(with: Array("HTTP/1.1 200".utf8)) { answered += 1 }
    }
    return answered
  }

  /// Signed requests with a new event each, by sender.
  private static func requests(
    _ each: Int, senders: Int, _ repetition: Int, _ secret: StandardWebhookSecret
  ) -> [[[UInt8]]] {
    let now = Forwarder.systemClock()
    let timestamp = now.microseconds / 1_000_000
    return (0..<senders).map { sender in
      (0..<each).map { turn in
        let number = (repetition * senders + sender) * each + turn
        let body = Array(event(number, now).utf8)
        let id = "m\(number)"
        let signature = secret.signature(id: id, timestamp: timestamp, body: body)
        let head = """
          POST /v1/ingest/tenure/video HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
          Content-Length: \(body.count)\r\nwebhook-id: \(id)\r\nwebhook-timestamp: \(timestamp)\r\n\
          webhook-signature: \(signature)\r\n\r\n
          """
        return Array(head.utf8) + body
      }
    }
  }

  private static func event(_ number: Int, _ now: Instant) -> String {
    """
    {"event_id":"a\(number)","kind":"subscription_started","occurred_at":"\(now)","app":"video","store":"app_store",\
    "environment":"Production","original_transaction_id":"\(3_000_000_000_000_000 + number)",\
    "subscriber_id":"customer-\(number)","transaction":{"transaction_id":"\(3_000_000_000_000_000 + number)",\
    "type":"auto_renewable","product_id":"premium.monthly","group_id":"premium","period":"P1M","purchased_at":"\(now)",\
    "expires_at":"\(now.adding(seconds: 2_592_000))","price":9.99,"currency":"USD","country":"USA",\
    "reason":"purchase","ownership":"purchased"},"renewal":{"auto_renew":true,\
    "auto_renew_product_id":"premium.monthly","renewal_price":9.99,"currency":"USD"}}
    """
  }
}
