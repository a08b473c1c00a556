import Foundation
import Glibc
import Postgres
import Signatures
import Synchronization
import TestSupport
import Testing
import Vocabulary

@testable import Forward

/// Targets of every type as people configure, watch and mend them.
@Suite("Targets, by the built program", .fewAtOnce)
struct TargetCommandTests {
  private static let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
  private static let serverToken = "a-token-that-is-long-enough-for-tests"
  /// What must never be seen: keys and tokens, whole or encoded, and what addresses hold beside the host.
  private static let secrets = [
    "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "secret-path", "secret-token", Data("secret-token:".utf8).base64EncodedString(),
  ]

  private let folder: TestFolder
  private let database: TestDatabase
  private let connection: Connection
  private let program: Installation

  init() async throws {
    folder = try TestFolder()
    database = try await TestDatabase.clone()
    connection = try await database.connect()
    program = Installation(database: database, folder: folder)
  }

  private func configure(reporting: String = "", _ targets: String...) async throws {
    try folder.write(
      """
      { server: { token: "\(Self.serverToken)" }, reporting: { \(reporting) },
        apps: [{ key: "video", bundle_id: "com.example.video",
                 subscriber_url: "https://admin.example.com/users/{subscriber_id}",
                 sources: { tenure: { environments: ["Production", "Sandbox"] } } }],
        targets: [\(targets.joined(separator: ", "))] }
      """, to: "tenure.json")
    try await program.run(["migrate"])
  }

  private func webhook(_ receiver: HTTPReceiver, _ name: String = "backend", _ settings: String = "") -> String {
    """
    { name: "\(name)", type: "webhook", url: "\(receiver.url)", secret: "\(Self.secret)",
      allow_private_network: true, \(settings) }
    """
  }

  /// This moment, in whole seconds as sources give it: not before the targets of the test were added.
  private static var now: Instant { Instant(microseconds: Int64(Date().timeIntervalSince1970) * 1_000_000) }

  private func event(
    _ id: String, _ kind: String = "subscription_renewed", daysAgo: Int64 = 0, environment: String = "Production",
    country: String = "USA", price: String = "9.99"
  ) -> String {
    let moment = Self.now.adding(seconds: -daysAgo * 86_400)
    return """
      {"event_id": "\(id)", "kind": "\(kind)", "occurred_at": "\(moment)", "app": "video", "store": "app_store", \
      "environment": "\(environment)", "original_transaction_id": "\(id)", "subscriber_id": "u-\(id)", "transaction": \
      {"transaction_id": "\(id)", "type": "auto_renewable", "product_id": "monthly", "period": "P1M", \
      "purchased_at": "\(moment)", "expires_at": "\(moment.adding(seconds: 30 * 86_400))", "price": \(price), "currency": "USD", "country": "\(country)"}}
      """
  }

  private func forward() async throws -> String { try await program.run(["forward", "--once"]) }

  private func ids(_ receiver: HTTPReceiver) -> [String] { receiver.requests.compactMap { $0.headers["webhook-id"] } }

  // MARK: -

  /// A service behind each type, as the real one behaves, and a target that reaches it.
  private struct Services {
    let receivers: [String: HTTPReceiver]
    let targets: [String]

    init() {
      let telegram = TelegramService(token: "12345:secret-token", chats: ["17"])
      let amplitude = AmplitudeService(apiKey: "secret-token")
      let mixpanel = MixpanelService(token: "secret-token") { TargetCommandTests.now.microseconds / 1_000_000 }
      let receivers = [
        "webhook": HTTPReceiver(), "slack": HTTPReceiver { SlackService.answer($1).answer },
        "telegram": HTTPReceiver { telegram.answer($1).answer },
        "discord": HTTPReceiver { DiscordService.answer($1).answer },
        "amplitude": HTTPReceiver { amplitude.answer($1) }, "mixpanel": HTTPReceiver { mixpanel.answer($1) },
      ]
      func base(_ type: String) -> String { "base_url: \"http://127.0.0.1:\(receivers[type]?.port ?? 0)\"" }
      func url(_ type: String) -> String { "url: \"\(receivers[type]?.url ?? "")\"" }
      let settings = [
        "webhook": "\(url("webhook")), secret: \"\(TargetCommandTests.secret)\"", "slack": url("slack"),
        "discord": url("discord"), "telegram": "token: \"12345:secret-token\", chat_id: 17, \(base("telegram"))",
        "amplitude": "api_key: \"secret-token\", region: \"eu\", endpoint: \"batch\", \(base("amplitude"))",
        "mixpanel": "project_token: \"secret-token\", region: \"in\", \(base("mixpanel"))",
      ]
      self.receivers = receivers
      targets = settings.keys.sorted().map { type in
        "{ name: \"to-\(type)\", type: \"\(type)\", \(settings[type] ?? ""), allow_private_network: true }"
      }
    }
  }

  @Test("an event reaches targets of every type, as a dry run had shown it, and no secret is ever printed")
  func everyType() async throws {
    let services = Services()
    #expect(Set(services.receivers.keys) == Set(TargetConfiguration.types))
    try await configure(services.targets.joined(separator: ", "))
    try await program.ingest(lines: [event("e1")])
    let preview = try await program.run(["forward", "--dry-run"])
    #expect(services.receivers.values.allSatisfy { $0.requests.isEmpty })
    #expect(try await forward() == "delivered 6, refused 0, waiting 0, held 0\n")
    for (type, receiver) in services.receivers {
      #expect(preview.contains("# to-\(type)\nPOST http://127.0.0.1:\(receiver.port)/…"))
      #expect(receiver.requests.count == 1, "\(type)")
      let body = try #require(receiver.requests.first?.text)
      #expect(preview.contains(body.replacing("secret-token", with: "…")), "\(type): \(body)")
    }
    let list = try await program.run(["targets"])
    for type in TargetConfiguration.types {
      let line = try #require(list.split(separator: "\n").first { $0.contains("to-\(type)") })
      // Its type, its state, the backlog, what was delivered and refused, and the share of attempts that succeeded.
      #expect(line.contains(#/\b\w+ +active +0 +1 +0 +1(\.0)? /#), "\(line)")
    }
    for text in [preview, list, try await program.run(["report", "deliveries"])] {
      for secret in Self.secrets { #expect(!text.contains(secret), "\(text)") }
    }
  }

  @Test("a type of target that there is not ends every command with 2, and the types that there are")
  func unknownType() async throws {
    try folder.write(
      "{ targets: [{ name: \"team\", type: \"slak\", url: \"https://hooks.example.com/secret-path\" }] }",
      to: "tenure.json")
    for words in [["targets"], ["forward", "--once"], ["run"], ["targets", "test", "team"]] {
      let outcome = try await program.start(words).ended()
      #expect(outcome.code == 2)
      #expect(outcome.output.isEmpty)
      #expect(outcome.errors.contains("targets[0].type"))
      #expect(outcome.errors.contains(#"did you mean \"slack\"?"#))
      for type in TargetConfiguration.types { #expect(outcome.errors.contains(type), "\(type): \(outcome.errors)") }
      #expect(!outcome.errors.contains("secret-path"))
    }
  }

  @Test("each target gets what its filters let through, and nothing else")
  func filters() async throws {
    let filters = [
      "kind": #"events: ["refunded"]"#, "country": #"countries: ["DEU", "FRA"]"#, "amount": "minimum_amount: 9.99",
      "environment": #"environments: ["Sandbox"]"#, "both": #"environments: ["Production", "Sandbox"]"#,
      "history": #"from: "2020-01-01", max_age: "100d""#, "other": #"from: "2020-01-01""#, "usual": "",
    ]
    let receivers = filters.mapValues { _ in HTTPReceiver() }
    try await configure(
      filters.keys.sorted().map { webhook(receivers[$0] ?? HTTPReceiver(), $0, filters[$0] ?? "") }
        .joined(separator: ", "))
    try await program.ingest(lines: [
      event("plain"), event("german", country: "DEU", price: "9.98"), event("sandbox", environment: "Sandbox"),
      event("old", daysAgo: 50), event("refund", "refunded"),
    ])
    _ = try await forward()
    let got = receivers.mapValues { ids($0).sorted() }
    #expect(
      got == [
        "kind": ["refund"], "country": ["german"], "amount": ["plain", "refund"], "environment": ["sandbox"],
        "both": ["german", "plain", "refund", "sandbox"], "history": ["german", "old", "plain", "refund"],
        "other": ["german", "plain", "refund"], "usual": ["german", "plain", "refund"],
      ])
  }

  @Test("the metrics count for each target what was delivered, tried again, refused and given up")
  func metrics() async throws {
    let answers = Mutex([500, 400, 200, 500, 200])
    let receiver = HTTPReceiver { _, _ in .status(answers.withLock { $0.isEmpty ? 500 : $0.removeFirst() }) }
    let gone = HTTPReceiver { _, _ in .status(410) }
    // With a pace one request is under way at a time.
    try await configure(webhook(receiver), webhook(gone, "gone", "pace: { per_minute: 60000 }"))
    try await connection.execute("update forward.target set state = 'paused' where name = 'gone'")
    // One after the other, each meets the answer that is meant for it: 500, then 400, then 200.
    for number in 1...3 {
      try await program.ingest(lines: [event("e\(number)")])
      _ = try await forward()
      try await connection.execute("update forward.delivery set due_at = now() + interval '1 day' where attempts > 0")
    }
    try await connection.execute("update forward.target set state = 'active' where name = 'gone'")
    // Tried again: 500, and three days after the first failure given up.
    try await connection.execute(
      "update forward.delivery set due_at = now(), failing_since = now() - interval '4 days' where state = 'waiting' "
        + "and target = 'backend'")
    _ = try await forward()
    #expect(receiver.requests.count == 4)
    try await program.ingest(lines: [event("e4")])
    _ = try await forward()
    let server = try program.start([
      "serve", "--listen", "127.0.0.1:0", "--reports-listen", "127.0.0.1:0", "--json",
    ])
    struct Listening: Decodable { let reports: String }
    let line = try #require(await server.outputLine(containing: "reports"))
    let listening = try JSONDecoder().decode(Listening.self, from: Data(line.utf8))
    let port = try #require(UInt16(listening.reports.split(separator: ":").last ?? ""))
    let answer = try #require(
      try await HTTPConnection.request(
        "GET", "/metrics", port: port, headers: ["Authorization": "Bearer \(Self.serverToken)"]))
    server.send(SIGTERM)
    #expect(await server.ended().code == 0)
    let lines = answer.text.split(separator: "\n").filter { $0.hasPrefix("tenure_forward_") }
    func value(_ series: String, _ target: String) -> Int? {
      lines.first { $0.hasPrefix("tenure_forward_\(series){target=\"\(target)\",type=\"webhook\"} ") }
        .flatMap { Int($0.split(separator: " ").last ?? "") }
    }
    let series = ["attempts_total", "delivered_total", "refused_total", "waiting", "paused"]
    #expect(series.map { value($0, "backend") } == [5, 2, 2, 0, 0])
    #expect(series.map { value($0, "gone") } == [1, 0, 0, 4, 1])
    #expect(value("oldest_due_seconds", "backend") == nil)
    let due = try #require(value("oldest_due_seconds", "gone"))
    #expect(abs(Int64(due) - Self.now.microseconds / 1_000_000) < 3600)
    for series in series where series.hasSuffix("_total") {
      #expect(answer.text.contains("# TYPE tenure_forward_\(series) counter\n"))
    }
    #expect(try await program.lines("deliveries", "last_error").contains { $0.hasPrefix("given up after three days") })
  }

  // MARK: - Messages

  /// What people read in a channel of Slack.
  private final class Posts: Sendable {
    private let texts = Mutex<[String]>([])

    func take(_ request: HTTPReceiver.Request) -> HTTPReceiver.Answer {
      let said = SlackService.answer(request)
      if let post = said.post { texts.withLock { $0.append(post.text) } }
      return said.answer
    }

    var all: [String] { texts.withLock { $0 } }
  }

  /// A channel of Slack.
  private struct Channel {
    let posts: Posts
    let receiver: HTTPReceiver

    init() {
      let posts = Posts()
      self.posts = posts
      receiver = HTTPReceiver { posts.take($1) }
    }

    func target(_ settings: String) -> String {
      "{ name: \"team\", type: \"slack\", url: \"\(receiver.url)\", allow_private_network: true, \(settings) }"
    }
  }

  @Test(
    "a message has the words of the target's template, what was charged and what that is here, and leads to the subscriber"
  )
  func template() async throws {
    let channel = Channel()
    try await configure(
      reporting: "currency: \"EUR\"",
      channel.target(#"template: "*{event}* by {subscriber}\n{amount} = {converted}, {plan}\n{message}""#))
    try await program.import("rates", "Date,USD,\n2020-01-02,1.25,\n")
    try await program.ingest(lines: [event("e1", price: "10")])
    #expect(try await forward() == "delivered 1, refused 0, waiting 0, held 0\n")
    #expect(channel.posts.all == ["*Subscription renewed* by u-e1\n$10.00 = €8.00, $10.00 a month"])
    #expect(channel.receiver.requests.first?.text.contains("<https://admin.example.com/users/u-e1|u-e1>") == true)
  }

  @Test("the figures of a day reach a chat once, with the job after the hour it chose")
  func digest() async throws {
    let channel = Channel()
    let yesterday = [Self.now.adding(seconds: -86_400)]
    let from = Self.now.adding(seconds: -3 * 86_400)
    try await configure(
      channel.target(#"events: ["refunded"], from: "\#(from)", digest: { at: "00:00", timezone: "UTC" }"#))
    try await program.ingest(lines: [event("e1", daysAgo: 2)])
    for _ in 1...2 { try await program.run(["run"]) }
    // The clock may strike between the two.
    let days = (yesterday + [Self.now.adding(seconds: -86_400)]).map { $0.description.prefix(10) }
    let read = channel.posts.all
    #expect(Set(days).count == read.count)
    for (text, day) in zip(read, days) {
      #expect(text.hasPrefix("Daily digest of \(day)"), "\(text)")
      #expect(text.contains("*Active*\n1 (0)"), "\(text)")
    }
  }

  // MARK: - Sending again

  @Test("what was refused, a range, or one event is sent again on request, and of the rest nothing twice")
  func replay() async throws {
    let isRefusing = Mutex(true)
    let receiver = HTTPReceiver { _, request in
      .status(request.text.contains("\"e-bad\"") && isRefusing.withLock { $0 } ? 400 : 200)
    }
    try await configure(webhook(receiver))
    try await program.ingest(lines: [
      event("e-30", daysAgo: 30), event("e-20", daysAgo: 20), event("e-10", daysAgo: 10), event("e-new"),
      event("e-bad"),
    ])
    #expect(try await forward() == "delivered 1, refused 1, waiting 0, held 0\n")
    func replay(_ options: String...) async throws -> [String] {
      let before = receiver.requests.count
      try await program.run(["targets", "replay", "backend"] + options)
      return receiver.requests.dropFirst(before).compactMap { $0.headers["webhook-id"] }
    }
    func day(_ ago: Int64) -> String { "\(Self.now.adding(seconds: -ago * 86_400))" }
    #expect(try await replay("--from", day(25), "--to", day(15)) == ["e-20"])
    #expect(try await replay("--from", day(25), "--to", day(15)) == [])
    #expect(try await replay() == ["e-bad"])
    isRefusing.withLock { $0 = false }
    #expect(try await replay() == ["e-bad"])
    #expect(try await replay() == [])
    #expect(try await replay("--event", "e-new") == ["e-new"])
    #expect(try await replay("--event", "e-30") == ["e-30"])
    #expect(try await replay("--from", day(25)) == ["e-10"])
    let bodies = receiver.requests.filter { $0.headers["webhook-id"] == "e-new" }.map(\.body)
    #expect(bodies.count == 2 && bodies[0] == bodies[1])
  }

  @Test("a range that cannot hold anything, or has no beginning, is an error that says so")
  func emptyRange() async throws {
    try await configure(webhook(HTTPReceiver()))
    for options in [
      ["--to", "2026-03-01"], ["--from", "2026-03-02", "--to", "2026-03-01"],
      ["--from", "2026-03-01", "--to", "2026-03-01"], ["--from", "2026-03-01", "--event", "e1"],
    ] {
      let outcome = try await program.start(["targets", "replay", "backend"] + options).ended()
      #expect(outcome.code == 2, "\(options)")
      #expect(outcome.errors.contains("--from"), "\(outcome.errors)")
    }
  }

  @Test("two forwarders at work on one database send each event once")
  func together() async throws {
    let receiver = HTTPReceiver()
    try await configure(webhook(receiver))
    try await program.ingest(lines: (0..<600).map { event("e\($0)") })
    let programs = try (0..<2).map { _ in try program.start(["forward", "--once"]) }
    for program in programs { #expect(await program.ended().code == 0) }
    #expect(ids(receiver).count == 600)
    #expect(Set(ids(receiver)).count == 600)
  }

  // MARK: - Secrets

  @Test("neither the list of processes nor the database's activity shows a secret, and no proxy is told one")
  func nothingToSee() async throws {
    let receiver = HTTPReceiver { _, _ in .held(200) }
    let proxy = HTTPReceiver()
    try await configure(webhook(receiver))
    try await program.ingest(lines: [event("e1")])
    let address = "http://127.0.0.1:\(proxy.port)"
    let forwarder = try program.start(
      ["forward", "--once"],
      environment: ["http_proxy": address, "https_proxy": address, "HTTPS_PROXY": address, "ALL_PROXY": address])
    try await receiver.received(1)
    let command = try String(contentsOfFile: "/proc/\(forwarder.processID)/cmdline", encoding: .utf8)
    #expect(command.contains("forward"))
    let activity = try await connection.query(
      "select query from pg_stat_activity where datname = current_database()"
    ).compactMap { try $0.optionalText("query") }
    #expect(activity.count > 1)
    for secret in Self.secrets {
      #expect(!command.contains(secret))
      #expect(activity.allSatisfy { !$0.contains(secret) })
    }
    receiver.release()
    #expect(await forwarder.ended().code == 0)
    #expect(proxy.requests.isEmpty)
    // Nor does anything that is kept.
    let kept = try await connection.query(
      "select target::text as text from forward.target union all select delivery::text from forward.delivery")
    #expect(kept.count == 2)
    for row in kept {
      for secret in Self.secrets { #expect(try !row.text("text").contains(secret)) }
    }
  }
}
