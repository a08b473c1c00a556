import Foundation
import HTTP
import TestSupport
import Testing
import Vocabulary

@testable import Forward

/// What is sent to chats, and what their answers mean.
@Suite("Chat targets")
struct ChatTargetTests {
  private static let chats = ["slack", "telegram"]

  private static func target(_ type: String) throws -> any Target {
    var target = TargetConfiguration(name: type, type: type)
    target.url = "https://hooks.slack.com/services/T0/B0/secret"
    target.token = "12345:secret-token"
    target.chatID = "-1001234567890"
    return try target.makeTarget()
  }

  private static func event(_ kind: EventKind = .subscriptionRenewed) throws -> Event {
    var event = Event(
      eventID: "e", kind: kind, occurredAt: try #require(Instant("2026-03-01T09:30:00Z")), app: "video",
      store: .appStore, environment: .production, originalTransactionID: "1000")
    event.transaction = TransactionFact(transactionID: "t1", signedAt: event.signedAt)
    event.transaction?.productID = .value("monthly")
    event.transaction?.price = .value(Money(amount: Micros(9_990_000), currency: "USD"))
    event.transaction?.country = .value("USA")
    return event
  }

  private struct Fixture {
    let announcement: Announcement
    let request: NSDictionary

    init(_ file: URL) throws {
      let data = try Data(contentsOf: file)
      struct Known: Decodable {
        struct Product: Decodable {
          let id: String
          let name: String?
        }
        let event: Event
        let productName: String?
        let nextProduct: Product?
        enum CodingKeys: String, CodingKey {
          case event
          case productName = "product_name"
          case nextProduct = "next_product"
        }
      }
      let known = try JSONDecoder().decode(Known.self, from: data)
      var announcement = Announcement(known.event)
      announcement.product?.name = known.productName
      announcement.nextProduct = known.nextProduct.map { .init(id: $0.id, name: $0.name) }
      self.announcement = announcement
      let object = try JSONSerialization.jsonObject(with: data) as? [String: Any]
      request = try #require(object?["request"] as? NSDictionary)
    }
  }

  @Test("a message says what happened, in the service's own form", arguments: chats)
  func fixtures(type: String) throws {
    let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Fixtures/\(type)")
    let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
    #expect(files.count >= 6)
    let target = try Self.target(type)
    for file in files {
      let fixture = try Fixture(file)
      let parcel = Parcel(eventID: "e1", body: target.body(for: fixture.announcement))
      let body = target.request(carrying: [parcel], at: fixture.announcement.event.occurredAt).body
      let made = try #require(try JSONSerialization.jsonObject(with: Data(body)) as? NSDictionary)
      #expect(made == fixture.request, "\(file.lastPathComponent): \(String(decoding: body, as: UTF8.self))")
    }
  }

  @Test("values that are too long are cut with …, and the message is one that the service takes", arguments: chats)
  func longValues(type: String) throws {
    let target = try Self.target(type)
    let telegram = TelegramService(token: "12345:secret-token", chats: ["-1001234567890"])
    for value in [
      String(repeating: "&", count: 5000), String(repeating: "👩‍👩‍👧‍👦", count: 2000), String(repeating: "<b>", count: 2000),
      "e" + String(repeating: "\u{301}", count: 5000), String(repeating: "x", count: 299) + "😀",
    ] {
      var event = try Self.event(.productChanged)
      event.detail = EventDetail(reason: value, direction: value, effective: "next_period", message: value)
      event.subscriberID = value
      event.app = value
      event.environment = StoreEnvironment(rawValue: value)
      event.transaction?.country = .value(value)
      event.transaction?.price = .value(Money(amount: Micros(.min), currency: value))
      var announcement = Announcement(event)
      announcement.product?.name = value
      announcement.nextProduct = .init(id: value)
      let body = Array(target.body(for: announcement).utf8)
      let text = String(decoding: body, as: UTF8.self)
      #expect(text.contains("…"))
      #expect(!text.contains("\u{FFFD}"))
      let request = HTTPReceiver.Request(
        path: "/bot12345:secret-token/sendMessage", headers: ["content-type": "application/json"],
        body: target.request(carrying: [Parcel(eventID: "e", body: text)], at: event.occurredAt).body)
      let post = type == "slack" ? SlackService.answer(request).post : telegram.answer(request).post
      #expect(post != nil, "\(value.prefix(3))")
      // Each value has its share: none pushes another out.
      #expect(post?.text.components(separatedBy: "…").count ?? 0 > 6)
    }
  }

  @Test("a value that fits is not cut, and one that does not keeps whole characters")
  func cutting() {
    #expect(ChatMessage.cut("abcde", to: 5) == "abcde")
    #expect(ChatMessage.cut("abcdef", to: 5) == "abcd…")
    // Two units each; what would be half of one goes.
    #expect(ChatMessage.cut("😀😀😀", to: 6) == "😀😀😀")
    #expect(ChatMessage.cut("😀😀😀", to: 5) == "😀😀…")
    #expect(ChatMessage.cut("😀😀😀", to: 4) == "😀…")
    // "&" counts as "&amp;".
    #expect(ChatMessage.cut("a&b", to: 7) == "a&b")
    #expect(ChatMessage.cut("a&b", to: 6) == "a…")
    #expect(ChatMessage.cut("👩‍👩‍👧‍👦!", to: 4) == "👩\u{200D}…")
    #expect(ChatMessage.unescaped(ChatMessage.escaped("&lt;<&amp;>&")) == "&lt;<&amp;>&")
  }

  @Test("every kind has a title in words", arguments: chats)
  func titles(type: String) throws {
    let target = try Self.target(type)
    for kind in EventKind.allCases {
      let text = target.body(for: Announcement(try Self.event(kind)))
      let words = kind.rawValue.replacing("_", with: " ")
      #expect(text.contains(words.prefix(1).uppercased() + words.dropFirst()), "\(kind)")
    }
  }

  // MARK: - Answers

  private func verdict(
    _ type: String, _ status: Int, _ body: String, headers: [String: String] = [:], of parcel: Parcel? = nil
  ) throws -> Verdict {
    let target = try Self.target(type)
    let parcel = try parcel ?? Parcel(eventID: "e", body: target.body(for: Announcement(Self.event())))
    let response = HTTPResponse(status: status, headers: headers, body: Array(body.utf8))
    return try #require(
      target.verdicts(on: response, carrying: [parcel], at: Instant(microseconds: 0)).first)
  }

  @Test("Slack's words for what is wrong are acted on, and shown")
  func slackAnswers() throws {
    let rows: [(Int, String, String)] = [
      (200, "ok", "delivered"), (200, "", "delivered"), (200, #"{"ok":true}"#, "delivered"),
      (200, #"{"ok":false,"error":"invalid_blocks"}"#, "refused"),
      (200, #"{"ok":false,"error":"invalid_token"}"#, "paused"),
      (200, "no_text", "refused"), (200, "<html>Sign in</html>", "retry"), (400, "invalid_payload", "refused"),
      (400, "invalid_blocks", "refused"), (400, "no_text", "refused"), (400, "too_many_attachments", "refused"),
      (400, "user_not_found", "refused"), (400, "channel_not_found", "paused"), (403, "action_prohibited", "paused"),
      (403, "invalid_token", "paused"), (404, "channel_not_found", "paused"), (404, "no_service", "doubtful"),
      (404, "no_team", "paused"), (410, "channel_is_archived", "paused"), (404, "<html>Not found</html>", "paused"),
      (429, #"{"retry_after":7,"ok":false,"error":"rate_limited"}"#, "throttled 7"), (429, "", "throttled"),
      (500, "rollup_error", "retry"), (503, "", "retry"),
    ]
    for (status, body, meaning) in rows {
      let verdict = try verdict("slack", status, body)
      #expect(verdict.meaning == meaning, "\(status) \(body)")
      if let reason = verdict.reason {
        #expect(reason.hasPrefix("Slack answered \(status)"))
        #expect(reason.contains("<") == false)
        if !body.isEmpty, body.allSatisfy({ $0.isLetter || $0 == "_" }) { #expect(reason.contains(body)) }
      }
    }
    #expect(try verdict("slack", 429, "", headers: ["retry-after": "30"]).meaning == "throttled 30")
  }

  @Test("Telegram's descriptions of what is wrong are acted on, and shown without the token")
  func telegramAnswers() throws {
    func error(_ code: Int, _ words: String, _ parameters: String = "") -> String {
      #"{"ok":false,"error_code":\#(code),"description":"\#(words)"\#(parameters)}"#
    }
    let rows: [(Int, String, String)] = [
      (200, #"{"ok":true,"result":{"message_id":42}}"#, "delivered"), (200, "", "delivered"),
      (200, "<html>Sign in</html>", "retry"), (200, "{\"error\":\"quota\"}", "retry"), (200, "{}", "delivered"),
      (200, error(400, "Bad Request: chat not found"), "paused"),
      (200, error(500, "Internal Server Error"), "retry"), (200, #"{"ok":false}"#, "refused"),
      (400, error(400, "Bad Request: can't parse entities: Character '.' is reserved"), "reworded"),
      (400, error(400, "Bad Request: can't parse entities: Unsupported start tag"), "reworded"),
      (400, error(400, "Bad Request: message is too long"), "reworded"),
      (400, error(400, "Bad Request: message text is empty"), "refused"),
      (400, error(400, "Bad Request: chat not found"), "paused"),
      (400, error(400, "Bad Request: not enough rights to send text messages to the chat"), "paused"),
      (
        400,
        error(400, "Bad Request: group chat was upgraded", #","parameters":{"migrate_to_chat_id":-1001557912345}"#),
        "moved -1001557912345"
      ),
      (401, error(401, "Unauthorized"), "paused"),
      (403, error(403, "Forbidden: bot was blocked by the user"), "paused"),
      (404, error(404, "Not Found"), "paused"),
      (429, error(429, "Too Many Requests", #","parameters":{"retry_after":34}"#), "throttled 34"),
      (429, error(429, "Too Many Requests", #","parameters":{"retry_after":7.5}"#), "throttled 8"),
      (429, error(429, "Too Many Requests", #","parameters":{"retry_after":1e300}"#), "throttled"),
      (429, "", "throttled"), (502, "<html>Bad Gateway</html>", "retry"),
    ]
    for (status, body, meaning) in rows {
      #expect(try verdict("telegram", status, body).meaning == meaning, "\(status) \(body)")
    }
    let reason = try verdict("telegram", 400, error(400, "no way: /bot12345:secret-token/sendMessage")).reason
    #expect(reason == "Telegram answered 400: no way: /bot…/sendMessage")
    #expect(try verdict("telegram", 429, "", headers: ["retry-after": "30"]).meaning == "throttled 30")
  }

  @Test("a token is masked in an answer, however it is spelled there, in whole or without the bot's number")
  func maskedAnswers() throws {
    func refusal(_ words: String) -> String { #"{"ok":false,"error_code":400,"description":"\#(words)"}"# }
    for spelled in [
      "12345:secret-token", "12345%3Asecret-token", "12345%3asecret%2Dtoken", "12345%253Asecret-token",
      "12345\\\\u003asecret-token", "%31%32345:%73ecret-token", "secret-token",
    ] {
      let reason = try verdict("telegram", 400, refusal("no way: /bot\(spelled)/sendMessage")).reason
      #expect(reason?.hasSuffix("…/sendMessage") == true, "\(spelled): \(reason ?? "")")
      #expect(reason?.contains("ecret") == false, "\(reason ?? "")")
    }
    // Where the words are cut nothing is left of it either.
    let long = String(repeating: "x", count: 190) + " 12345:secret-token"
    #expect(try verdict("telegram", 400, refusal(long)).reason?.contains("1234") == false)
  }

  /// Texts in which nobody sees anything.
  static let blanks = [
    "", " ", "\n", "\t\r\n", "\u{0}", "\u{7F}", "\u{A0}\u{3000}", "\u{200B}", " \u{200B} ", "\u{200D}\u{2060}\u{FEFF}",
    "\u{202E}", "\u{2028}", "\u{AD}", "\u{3164}", "\u{2800}", "\u{E0020}",
  ]

  @Test(
    "a value of blanks is no value: no line, no field and no name of a template is of it",
    arguments: ["slack", "telegram", "discord"])
  func blankValues(type: String) throws {
    func target(_ template: String? = nil) throws -> any Target {
      var target = TargetConfiguration(name: type, type: type)
      target.url = "https://hooks.example.com/services/T0/B0/secret"
      target.token = "12345:secret-token"
      target.chatID = "-1001234567890"
      target.subscriberURLs = ["video": "https://admin.example.com/{subscriber_id}"]
      target.template = template
      return try target.makeTarget()
    }
    var without = Announcement(try Self.event())
    without.event.originalTransactionID = nil
    for blank in Self.blanks {
      var announcement = without
      announcement.event.subscriberID = blank
      announcement.event.detail.message = blank
      announcement.event.detail.reason = blank
      announcement.product?.name = blank
      #expect(
        try target().body(for: announcement) == target().body(for: without), "\(blank.unicodeScalars.map(\.value))")
      let template = "{event}\n{subscriber}\n{message}{reason}\n{product}"
      #expect(try target(template).body(for: announcement) == target(template).body(for: without))
      // Whoever is known by another name is told by that.
      announcement.event.appTransactionID = "a1"
      #expect(try target().body(for: announcement).contains("a1"))
    }
  }

  @Test("a message whose markup is refused is sent once more as the same text without any")
  func plainText() throws {
    var event = try Self.event()
    event.subscriberID = "<a&b>"
    let target = try Self.target("telegram")
    let parcel = Parcel(eventID: "e", body: target.body(for: Announcement(event)))
    let refusal = #"{"ok":false,"error_code":400,"description":"Bad Request: can't parse entities"}"#
    guard case .reworded(let body, _) = try verdict("telegram", 400, refusal, of: parcel) else {
      Issue.record("not sent again")
      return
    }
    let plain = try #require(try JSONSerialization.jsonObject(with: Data(body.utf8)) as? [String: Any])
    #expect(plain["parse_mode"] == nil)
    #expect(
      plain["text"] as? String
        == "Subscription renewed\nProduct: monthly\nAmount: $9.99\nCountry: USA\nSubscriber: <a&b>\n"
        + "video · app_store · 2026-03-01 09:30 UTC")
    let again = Parcel(eventID: "e", body: body)
    #expect(try verdict("telegram", 400, refusal, of: again).meaning == "refused")
  }

  @Test("an address and a token that cannot be used are named without being shown")
  func settings() {
    for (setting, change) in [
      ("token", { $0.token = "a/../b secret" }), ("token", { $0.token = nil }), ("chat_id", { $0.chatID = "team" }),
      ("chat_id", { $0.chatID = "@" }), ("base_url", { $0.baseURL = "nowhere" }),
    ] as [(String, (inout TargetConfiguration) -> Void)] {
      var target = TargetConfiguration(name: "phone", type: "telegram")
      target.token = "12345:secret-token"
      target.chatID = "@channel"
      change(&target)
      let problem = #expect(throws: TargetProblem.self) { try target.makeTarget() }
      #expect(problem?.setting == setting)
      #expect(problem?.description.contains("secret") == false)
    }
    #expect(throws: TargetProblem.self) { try TargetConfiguration(name: "team", type: "slack").makeTarget() }
  }

  @Test("a request that is shown has neither the webhook's path nor the bot's token in it", arguments: chats)
  func masked(type: String) throws {
    let target = try Self.target(type)
    let event = try Self.event()
    let request = target.request(
      carrying: [Parcel(eventID: "e", body: target.body(for: Announcement(event)))], at: event.occurredAt)
    #expect(request.url.contains("secret"))
    #expect(
      request.masked.hasPrefix(type == "slack" ? "POST https://hooks.slack.com/…" : "POST https://api.telegram.org/…"))
    #expect(!request.masked.contains("secret"))
    #expect(request.masked.contains("$9.99"))
  }
}
