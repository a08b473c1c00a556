import Postgres
import Synchronization
import TestSupport
import Testing
import Vocabulary

@testable import Forward

/// What every target must do, whatever it is.
@Suite("Every target", .serialized)
struct ConformanceTests {
  /// How a target of each type is configured to reach a receiver.
  private static func configuration(_ type: String, _ receiver: HTTPReceiver) -> TargetConfiguration {
    switch type {
    case "webhook": .webhook(receiver)
    case "slack": .slack(receiver)
    // A person, not a group: the pace is no longer than the shortest wait.
    case "telegram": .telegram(receiver, chatID: "17")
    default: TargetConfiguration(name: type, type: type)
    }
  }

  /// What is left of one delivery after one pass, when the target answers so.
  private func outcome(
    _ type: String, settings: Forwarder.Settings = Forwarder.Settings(), _ answer: HTTPReceiver.Answer
  ) async throws -> Outcome {
    let receiver = HTTPReceiver { _, _ in answer }
    let target = Self.configuration(type, receiver)
    let bench = try await DeliveryBench([target])
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
    let outcome = try await outcome(type, .status(200))
    #expect(outcome.state == "delivered")
    #expect(outcome.status == 200)
    #expect(outcome.error == nil)
    #expect(outcome.wait == nil)
    #expect(outcome.summary == ForwardSummary(delivered: 1))
  }

  @Test("statuses of the moment are tried again after five seconds", arguments: TargetConfiguration.types)
  func transient(type: String) async throws {
    for status in [408, 409, 425, 500, 502, 503, 504] {
      let outcome = try await outcome(type, .status(status))
      #expect(outcome.state == "waiting")
      #expect(outcome.status == Int64(status))
      #expect(outcome.wait == 5)
      #expect(outcome.error?.contains("\(status)") == true)
      #expect(outcome.summary == ForwardSummary(waiting: 1))
    }
  }

  @Test("statuses for good refuse the delivery, redirects too", arguments: TargetConfiguration.types)
  func refused(type: String) async throws {
    for status in [301, 302, 307, 400, 413, 415, 422] {
      let outcome = try await outcome(
        type, .status(status, headers: ["location": "http://127.0.0.1:1/"], body: "no: /hooks/secret-path"))
      #expect(outcome.state == "refused")
      #expect(outcome.wait == nil)
      #expect(!outcome.isPaused)
      #expect(outcome.summary == ForwardSummary(refused: 1))
    }
  }

  @Test("401, 403, 404 and 410 pause the target and keep the delivery", arguments: TargetConfiguration.types)
  func paused(type: String) async throws {
    for status in [401, 403, 404, 410] {
      let outcome = try await outcome(type, .status(status, body: "Cannot POST /hooks/secret-path"))
      #expect(outcome.state == "held")
      #expect(outcome.wait == nil)
      #expect(outcome.isPaused)
      #expect(outcome.summary == ForwardSummary(held: 1))
    }
  }

  @Test("a wait that 429 asks for is kept, up to an hour", arguments: TargetConfiguration.types)
  func throttled(type: String) async throws {
    for (header, wait) in [
      ("17", 17), ("0", 1), ("999999", 3600), ("99999999999999", 3600), ("9223372036854775807", 3600),
      ("9223372036854775808", 5), ("Fri, 31 Dec 9999 23:59:59 GMT", 3600), ("Sun, 01 Mar 2026 12:02:00 GMT", 120),
      ("Sunday, 01-Mar-26 12:02:00 GMT", 120), ("soon", 5), ("-3", 5),
    ] {
      let outcome = try await outcome(type, .status(429, headers: ["Retry-After": header]))
      #expect(outcome.state == "waiting")
      #expect(outcome.wait == Int64(wait), "Retry-After: \(header)")
    }
  }

  @Test("no answer in time is tried again", arguments: TargetConfiguration.types)
  func timeOut(type: String) async throws {
    var settings = Forwarder.Settings()
    settings.timeout = .milliseconds(50)
    let outcome = try await outcome(type, settings: settings, .silence)
    #expect(outcome.state == "waiting")
    #expect(outcome.status == nil)
    #expect(outcome.error == "no answer in time")
    #expect(outcome.wait == 5)
  }

  @Test("a connection that breaks is tried again", arguments: TargetConfiguration.types)
  func broken(type: String) async throws {
    let outcome = try await outcome(type, .close)
    #expect(outcome.state == "waiting")
    #expect(outcome.status == nil)
    #expect(outcome.error?.hasPrefix("no answer: ") == true)
  }

  @Test("an endless answer is cut and its status counts", arguments: TargetConfiguration.types)
  func largeBody(type: String) async throws {
    let outcome = try await outcome(type, .status(500, body: String(repeating: "x", count: 1_000_000)))
    #expect(outcome.state == "waiting")
    #expect(outcome.status == 500)
  }
}
