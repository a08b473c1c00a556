import Foundation
import HTTP
import Postgres
import Synchronization
import TestSupport
import Testing
import Vocabulary

@testable import Forward

/// What every target must do, whatever it is.
@Suite("Every target", .serialized)
struct ConformanceTests {
  /// What is left of one delivery after one pass, when the target answers so.
  ///
  /// - Parameter bench: emptied before.
  private func outcome(
    _ type: String, on bench: DeliveryBench, settings: Forwarder.Settings = Forwarder.Settings(),
    _ answer: HTTPReceiver.Answer
  ) async throws -> Outcome {
    let receiver = HTTPReceiver { _, _ in answer }
    let target = TargetService(type).configuration(receiver)
    try await bench.empty()
    try await bench.register([target])
    try await bench.store(bench.event("e1"))
    let reports = Reports()
    let summary = try await bench.forwarder([target], settings: settings, report: { reports.add($0) }).runOnce()
    let row = try #require(try await bench.deliveries().first)
    let next = try row.optionalTimestamp("next_attempt_at").map { $0 - bench.clock.now.microseconds }
    let error = try row.optionalText("last_error")
    let standing = try #require(try await bench.register.standings().first)
    #expect(try row.int("attempts") == 1)
    for text in [error, standing.lastError, reports.text] {
      for secret in ["secret-path", "secret-token", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"] {
        #expect(text?.contains(secret) != true, "a secret is in \(text ?? "")")
      }
    }
    let isPaused = standing.isPaused
    return Outcome(
      state: try row.text("state"), status: try row.optionalInt("last_status"), error: error,
      wait: next.map { $0 / 1_000_000 }, isPaused: isPaused, summary: summary)
  }

  private struct Outcome {
    let state: String
    let status: Int64?
    let error: String?
    let wait: Int64?
    let isPaused: Bool
    let summary: ForwardSummary
  }

  private final class Reports: Sendable {
    private let lines = Mutex("")
    func add(_ report: ForwardReport) { lines.withLock { $0 += "\(report)\n" } }
    var text: String { lines.withLock { $0 } }
  }

  @Test("a target that answers 2xx has taken the delivery", arguments: TargetConfiguration.types)
  func delivered(type: String) async throws {
    let bench = try await DeliveryBench()
    let outcome = try await outcome(type, on: bench, .status(200))
    #expect(outcome.state == "delivered")
    #expect(outcome.status == 200)
    #expect(outcome.error == nil)
    #expect(outcome.wait == nil)
    #expect(outcome.summary == ForwardSummary(delivered: 1))
  }

  @Test("statuses of the moment are tried again after five seconds", arguments: TargetConfiguration.types)
  func transient(type: String) async throws {
    let bench = try await DeliveryBench()
    for status in [408, 409, 425, 500, 502, 503, 504] {
      let outcome = try await outcome(type, on: bench, .status(status))
      #expect(outcome.state == "waiting")
      #expect(outcome.status == Int64(status))
      #expect(outcome.wait == 5)
      #expect(outcome.error?.contains("\(status)") == true)
      #expect(outcome.summary == ForwardSummary(waiting: 1))
    }
  }

  @Test("statuses for good refuse the delivery, redirects too", arguments: TargetConfiguration.types)
  func refused(type: String) async throws {
    let bench = try await DeliveryBench()
    for status in [301, 302, 307, 400, 413, 415, 422] {
      let outcome = try await outcome(
        type, on: bench, .status(status, headers: ["location": "http://127.0.0.1:1/"], body: "no: /hooks/secret-path"))
      #expect(outcome.state == "refused")
      #expect(outcome.wait == nil)
      #expect(!outcome.isPaused)
      #expect(outcome.summary == ForwardSummary(refused: 1))
    }
  }

  @Test("401, 403, 404 and 410 pause the target and keep the delivery", arguments: TargetConfiguration.types)
  func paused(type: String) async throws {
    let bench = try await DeliveryBench()
    for status in [401, 403, 404, 410] {
      let outcome = try await outcome(type, on: bench, .status(status, body: "Cannot POST /hooks/secret-path"))
      #expect(outcome.state == "held")
      #expect(outcome.wait == nil)
      #expect(outcome.isPaused)
      #expect(outcome.summary == ForwardSummary(held: 1))
    }
  }

  @Test("a wait that 429 asks for is kept, up to an hour", arguments: TargetConfiguration.types)
  func throttled(type: String) async throws {
    let bench = try await DeliveryBench()
    for (header, wait) in [
      ("17", 17), ("0", 1), ("999999", 3600), ("99999999999999", 3600), ("9223372036854775807", 3600),
      ("9223372036854775808", 5), ("Fri, 31 Dec 9999 23:59:59 GMT", 3600), ("Sun, 01 Mar 2026 12:02:00 GMT", 120),
      ("Sunday, 01-Mar-26 12:02:00 GMT", 120), ("soon", 5), ("-3", 5),
    ] {
      let outcome = try await outcome(type, on: bench, .status(429, headers: ["Retry-After": header]))
      #expect(outcome.state == "waiting")
      #expect(outcome.wait == Int64(wait), "Retry-After: \(header)")
    }
  }

  @Test("no answer in time is tried again", arguments: TargetConfiguration.types)
  func timeOut(type: String) async throws {
    let bench = try await DeliveryBench()
    var settings = Forwarder.Settings()
    settings.timeout = .milliseconds(50)
    let outcome = try await outcome(type, on: bench, settings: settings, .silence)
    #expect(outcome.state == "waiting")
    #expect(outcome.status == nil)
    #expect(outcome.error == "no answer in time")
    #expect(outcome.wait == 5)
  }

  @Test("a connection that breaks is tried again", arguments: TargetConfiguration.types)
  func broken(type: String) async throws {
    let bench = try await DeliveryBench()
    let outcome = try await outcome(type, on: bench, .close)
    #expect(outcome.state == "waiting")
    #expect(outcome.status == nil)
    #expect(outcome.error?.hasPrefix("no answer: ") == true)
  }

  @Test("an endless answer is cut and its status counts", arguments: TargetConfiguration.types)
  func largeBody(type: String) async throws {
    let bench = try await DeliveryBench()
    let outcome = try await outcome(type, on: bench, .status(500, body: String(repeating: "x", count: 3_000_000)))
    #expect(outcome.state == "waiting")
    #expect(outcome.status == 500)
  }

  // MARK: - Answers of the real services

  /// One answer, what it carried, and what it means for each of that.
  private struct Answered: Decodable {
    let status: Int
    let headers: [String: String]?
    let body: String
    /// How many deliveries the request carried; one where it is left out.
    let carried: Int?
    /// Whose events some of them are, by their place.
    let users: [String: String]?
    /// What it means for those that ``named`` leaves out.
    let verdicts: String
    /// What it means for some of them, by their place.
    let named: [String: String]?

    func meaning(of place: Int) -> String { named?["\(place)"] ?? verdicts }
  }

  private static func answers(of type: String) throws -> [Answered] {
    let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Fixtures/answers/\(type).json")
    return try JSONDecoder().decode([Answered].self, from: Data(contentsOf: file))
  }

  @Test("an answer means for each delivery what the service means by it", arguments: TargetConfiguration.types)
  func meanings(type: String) throws {
    let receiver = HTTPReceiver()
    let target = try TargetService(type).configuration(receiver).makeTarget()
    for answered in try Self.answers(of: type) {
      let parcels = (0..<(answered.carried ?? 1)).map { place in
        var event = Event(
          eventID: "e\(place)", kind: .subscriptionRenewed, occurredAt: TestClock().now, app: "video", store: .appStore,
          environment: .production, originalTransactionID: "1000")
        event.subscriberID = answered.users?["\(place)"]
        return Parcel(eventID: event.eventID, body: target.body(for: Announcement(event)))
      }
      let headers = Dictionary(
        (answered.headers ?? [:]).map { ($0.key.lowercased(), $0.value) }, uniquingKeysWith: { first, _ in first })
      let response = HTTPResponse(status: answered.status, headers: headers, body: Array(answered.body.utf8))
      let verdicts = target.verdicts(on: response, carrying: parcels, at: TestClock().now)
      #expect(
        verdicts.map(\.meaning) == parcels.indices.map(answered.meaning(of:)), "\(answered.status) \(answered.body)")
      for verdict in verdicts where verdict != .delivered {
        #expect(verdict.reason?.contains("\(answered.status)") == true, "\(verdict)")
      }
    }
  }

  @Test(
    "after every answer of the real service each delivery arrives once, but for those that were refused",
    arguments: TargetConfiguration.types)
  func recovery(type: String) async throws {
    let bench = try await DeliveryBench()
    for (number, answered) in try Self.answers(of: type).enumerated() {
      let service = TargetService(type, clock: bench.clock)
      let receiver = HTTPReceiver { count, request in
        count == 0
          ? .status(answered.status, headers: answered.headers ?? [:], body: answered.body) : service.answer(request)
      }
      let target = service.configuration(receiver)
      try await bench.register([target])
      let carried = answered.carried ?? 1
      for place in 0..<carried {
        // Deliveries are made and sent in the order of what they announce.
        var event = bench.event("\(number)-\(place)", transaction: "\(number)-\(100 + place)")
        event.subscriberID = answered.users?["\(place)"]
        try await bench.store(event)
      }
      let comment: Comment = "\(answered.status) \(answered.body)"
      _ = try await bench.pass(target)
      let states = try await bench.deliveries().map { try $0.text("state") }
      let expected = (0..<carried).map { place in
        let meaning = answered.meaning(of: place)
        return switch meaning.split(separator: " ")[0] {
        case "refused": "refused"
        case "paused": "held"
        case "retry", "throttled", "doubtful", "delayed": "waiting"
        default: "delivered"
        }
      }
      #expect(states == expected, comment)
      _ = try await bench.register.resume(target.name)
      bench.clock.advance(seconds: 86_400)
      _ = try await bench.pass(target)
      let refused = expected.count { $0 == "refused" }
      // What the answer itself took, the service here has not seen.
      let tookItself = (0..<carried).count { answered.meaning(of: $0) == "delivered" }
      #expect(service.count == carried - refused - tookItself, comment)
      #expect(
        try await bench.deliveries().map { try $0.text("state") }
          == expected.map { $0 == "refused" ? "refused" : "delivered" }, comment)
      try await bench.empty()
    }
  }
}
