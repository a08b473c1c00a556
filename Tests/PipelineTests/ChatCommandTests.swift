import Foundation
import Postgres
import Synchronization
import TestSupport
import Testing
import Vocabulary

/// Slack and Telegram as `tenure run` and its relatives reach them, with events that go the whole way.
@Suite("Chats, by the built program")
struct ChatCommandTests {
  private static let token = "12345:secret-token"

  private let folder: TestFolder
  private let database: TestDatabase
  private let telegram = TelegramService(token: token, chats: ["17"])
  private let slackReceiver: HTTPReceiver
  private let telegramReceiver: HTTPReceiver
  private let posts = Posts()

  /// What the services took, by service.
  private final class Posts: Sendable {
    private let posts = Mutex<[String: [String]]>([:])

    func take(_ service: String, _ answer: (answer: HTTPReceiver.Answer, post: ChatPost?)) -> HTTPReceiver.Answer {
      if let post = answer.post { posts.withLock { $0[service, default: []].append(post.text) } }
      return answer.answer
    }

    subscript(service: String) -> [String] { posts.withLock { $0[service, default: []] } }
  }

  init() async throws {
    folder = try TestFolder()
    database = try await TestDatabase.clone()
    slackReceiver = HTTPReceiver { [posts] _, request in posts.take("slack", SlackService.answer(request)) }
    telegramReceiver = HTTPReceiver { [posts, telegram] _, request in
      posts.take("telegram", telegram.answer(request))
    }
    try folder.write(
      """
      {
        apps: [{ key: "video", bundle_id: "com.example.video", sources: { tenure: {} } }],
        targets: [
          { name: "team", type: "slack", url: "${SLACK_WEBHOOK_URL}", allow_private_network: true },
          { name: "phone", type: "telegram", token: "${TELEGRAM_BOT_TOKEN}", chat_id: 17,
            base_url: "http://127.0.0.1:\(telegramReceiver.port)", allow_private_network: true },
        ],
      }
      """, to: "tenure.json")
    #expect(try await run(["migrate"]).code == 0)
  }

  /// Runs a command to its end; whatever it prints, no secret is in it.
  private func run(_ words: [String], input: String? = nil) async throws -> TestProgram.Outcome {
    let outcome = try await TestProgram.run(
      words + ["--config", folder.file("tenure.json")], input: input.map { Data($0.utf8) },
      environment: [
        "DATABASE_URL": database.connectionString, "SLACK_WEBHOOK_URL": slackReceiver.url,
        "TELEGRAM_BOT_TOKEN": Self.token,
      ])
    for secret in ["secret-path", "secret-token"] {
      #expect(!outcome.output.contains(secret), "\(words)")
      #expect(!outcome.errors.contains(secret), "\(words)")
    }
    return outcome
  }

  private func ingest(_ events: String...) async throws {
    let outcome = try await run(["ingest", "--source", "tenure", "-"], input: events.joined(separator: "\n"))
    #expect(outcome.code == 0, "\(outcome.errors)")
  }

  private func event(
    _ id: String, _ kind: String, transaction: String, daysAgo: Int64 = 0, price: String = "3300",
    currency: String = "KRW",
    facts: String = ""
  ) -> String {
    let now = Instant(microseconds: Int64(Date().timeIntervalSince1970) * 1_000_000)
    let moment = now.adding(seconds: -daysAgo * 86_400)
    return """
      {"event_id": "\(id)", "kind": "\(kind)", "occurred_at": "\(moment)", "app": "video", "store": "app_store", \
      "environment": "Production", "original_transaction_id": "1000", "subscriber_id": "u-17", "transaction": \
      {"transaction_id": "\(transaction)", "type": "auto_renewable", "product_id": "monthly", "period": "P1M", \
      "purchased_at": "\(moment)", "expires_at": "\(moment.adding(seconds: 30 * 86_400))", "price": \(price), \
      "currency": "\(currency)", "country": "KOR"\(facts)}}
      """
  }

  @Test("history imported sends nothing, and a renewal told twice is announced once, to each chat")
  func announcedOnce() async throws {
    let old = event("old", "subscription_started", transaction: "t1", daysAgo: 30, facts: #", "reason": "purchase""#)
    let renewal = event("renewal", "subscription_renewed", transaction: "t2", facts: #", "reason": "renewal""#)
    try await ingest(old)
    #expect(try await run(["run"]).output.hasSuffix("delivered 0, refused 0, waiting 0, held 0\n"))
    try await ingest(renewal, renewal)
    try await ingest(event("retold", "billing_recovered", transaction: "t2"))
    #expect(try await run(["run"]).output.hasSuffix("delivered 2, refused 0, waiting 0, held 0\n"))
    try await ingest(renewal)
    #expect(try await run(["run"]).output.hasSuffix("delivered 0, refused 0, waiting 0, held 0\n"))
    for service in ["slack", "telegram"] {
      #expect(posts[service].count == 1)
      for part in ["Subscription renewed", "monthly", "₩3,300", "KOR", "u-17"] {
        #expect(posts[service].first?.contains(part) == true, "\(service): \(part)")
      }
    }
  }

  @Test("a pass sends what is due at the chats' pace, with a refund's minus, and a dry run shows it without secrets")
  func pass() async throws {
    let refund = #", "revoked_at": "2026-03-01T00:00:00Z", "revocation": "full""#
    try await ingest(
      event("e1", "subscription_started", transaction: "t1", price: "1.49", currency: "KWD"),
      event("e2", "refunded", transaction: "t1", price: "1.49", currency: "KWD", facts: refund))
    let preview = try await run(["forward", "--dry-run"])
    #expect(preview.code == 0)
    #expect(preview.output.contains("# team\nPOST http://127.0.0.1:\(slackReceiver.port)/…"))
    #expect(preview.output.contains("# phone\nPOST http://127.0.0.1:\(telegramReceiver.port)/…"))
    #expect(preview.output.contains(#""chat_id":17"#))
    #expect(slackReceiver.requests.isEmpty)
    #expect(telegramReceiver.requests.isEmpty)
    let outcome = try await run(["forward", "--once"])
    #expect(outcome.output == "delivered 4, refused 0, waiting 0, held 0\n")
    for service in ["slack", "telegram"] {
      #expect(posts[service].count == 2)
      #expect(posts[service].first?.contains("KWD 1.490") == true)
      #expect(posts[service].last?.contains("-KWD 1.490") == true)
    }
    for request in telegramReceiver.requests {
      #expect(preview.output.contains(String(decoding: request.body, as: UTF8.self)))
    }
  }

  @Test("a chat that is gone pauses its target and says why; the other goes on")
  func goneChat() async throws {
    let text = try String(contentsOfFile: folder.file("tenure.json"), encoding: .utf8)
    try folder.write(text.replacing("chat_id: 17", with: "chat_id: -404"), to: "tenure.json")
    try await ingest(event("e1", "subscription_started", transaction: "t1"))
    let outcome = try await run(["forward", "--once"])
    #expect(outcome.output == "delivered 1, refused 0, waiting 0, held 1\n")
    #expect(outcome.errors.contains("chat not found"))
    #expect(outcome.errors.contains("tenure targets resume"))
    #expect(try await run(["targets", "test", "phone"]).code == 1)
    #expect(try await run(["targets", "test", "team"]).code == 0)
    try folder.write(text, to: "tenure.json")
    #expect(try await run(["targets", "resume", "phone"]).code == 0)
    #expect(try await run(["forward", "--once"]).output == "delivered 1, refused 0, waiting 0, held 0\n")
    #expect(posts["telegram"].count == 1)
  }
}
