import Foundation
import Glibc
import Signatures
import TestSupport
import Testing

/// What the README tells a newcomer to type.
@Suite struct ReadmeTests {
  private let folder: TestFolder

  init() throws { folder = try TestFolder() }

  private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()

  private static func readme() throws -> String {
    try String(contentsOf: root.appending(path: "README.md"), encoding: .utf8)
  }

  /// The text of every fenced block of a language, in order, below a heading and before the next.
  private func blocks(_ language: String, below heading: String) throws -> [String] {
    let section = try #require(
      try Self.readme().components(separatedBy: "\n## ").first { $0.hasPrefix(heading + "\n") })
    let parts = section.components(separatedBy: "\n```")
    // Every second part stands between fences.
    return stride(from: 1, to: parts.count, by: 2).map { parts[$0] }
      .filter { $0.hasPrefix(language + "\n") }.map { String($0.dropFirst(language.count + 1)) }
  }

  private func commands(_ block: String) -> [String] {
    block.split(separator: "\n").map { String($0).components(separatedBy: "  #")[0] }
  }

  @Test("from the example's events to its figures, each command as the README shows it")
  func examples() async throws {
    let database = try await TestDatabase.clone()
    let block = try blocks("sh", below: "From clone to figures").first { $0.contains("examples/") }
    for command in commands(try #require(block)) {
      let words = command.split(separator: " ").map(String.init)
      #expect(words[0] == "tenure")
      let outcome = try await TestProgram.run(
        Array(words.dropFirst()),
        environment: ["DATABASE_URL": database.connectionString, "TENURE_CONFIG": try configuration()],
        directory: Self.root.path)
      #expect(outcome.code == 0, "\(command): \(outcome.errors)")
      if words[1] == "report" {
        #expect(outcome.output.split(separator: "\n").count > 3, "\(command) shows nothing")
      }
    }
  }

  @Test("every report of the README's table exists, and every report is in it")
  func reports() async throws {
    let database = try await TestDatabase.clone()
    let listed = try await TestProgram.run(
      ["report", "--json"], environment: ["DATABASE_URL": database.connectionString])
    struct Listed: Decodable { let name: String }
    let names = Set(try JSONDecoder().decode([Listed].self, from: Data(listed.output.utf8)).map(\.name))
    let table = try #require(
      Self.readme().components(separatedBy: "## Reports").last?.components(separatedBy: "\n\n").dropFirst().first)
    let told = table.split(separator: "\n").dropFirst(2).flatMap { row in
      row.split(separator: "|")[0].split(separator: "`").map(String.init).filter {
        $0.allSatisfy { $0.isLetter || $0 == "_" }
      }
    }
    #expect(Set(told) == names)
  }

  /// An installation as the README describes it: its configuration, changed in nothing but where the tests have no App
  /// Store, no Slack and no Telegram.
  private func install(slack: HTTPReceiver, telegram: HTTPReceiver) throws -> [String: String] {
    let changes = [
      "sources: { app_store: {": "sources: { app_store: { roots: [\"root.pem\"],",
      "type: \"slack\",": "type: \"slack\", allow_private_network: true,",
      "type: \"telegram\",":
        "type: \"telegram\", allow_private_network: true, base_url: \"http://127.0.0.1:\(telegram.port)\",",
      "  apps: [{": "  server: { ingest: \"127.0.0.1:0\", reports: \"127.0.0.1:0\" },\n  apps: [{",
    ]
    var configuration = try #require(try blocks("json5", below: "Your own app").first)
    for (shown, used) in changes {
      #expect(configuration.contains(shown))
      configuration = configuration.replacing(shown, with: used)
    }
    try folder.write(configuration, to: "tenure.json")
    try folder.write(TestCertificateAuthority.shared.root.pem, to: "root.pem")
    mkdir(folder.file("notifications"), 0o755)
    try folder.write(
      Notification("SUBSCRIBED.INITIAL_BUY", signed: "2025-02-01", id: "1", chain: "1").body,
      to: "notifications/1.json")
    return [
      "PATH": "\(URL(filePath: TestProgram.path).deletingLastPathComponent().path):/usr/bin:/bin",
      "TENURE_HOME": folder.file("home"), "SLACK_WEBHOOK_URL": slack.url,
      "TELEGRAM_BOT_TOKEN": "12345:secret-token", "WEBHOOK_SECRET": Serving.secret,
    ]
  }

  @Test("one's own app, from its configuration to the schedule, each command as the README shows it, in a shell")
  func ownApp() async throws {
    let slack = HTTPReceiver { _, request in SlackService.answer(request).answer }
    let service = TelegramService(token: "12345:secret-token", chats: ["-1001234567890"])
    let telegram = HTTPReceiver { _, request in service.answer(request).answer }
    let database = try await TestDatabase.clone()
    var environment = try install(slack: slack, telegram: telegram)
    environment["DATABASE_URL"] = database.connectionString
    let renewal = Notification(
      "DID_RENEW", signed: "2025-03-01", id: "2", from: "2025-03-01", until: "2025-04-01", chain: "1")
    let archive = try folder.write(renewal.body + "\n", to: "archive.ndjson")
    _ = try await TestProgram.run([archive], file: "/bin/gzip")
    func shell(_ command: String, directory: String? = nil) async throws -> TestProgram.Outcome {
      let outcome = try await TestProgram.run(
        ["-c", command], environment: environment, directory: directory ?? folder.path, file: "/bin/sh")
      #expect(outcome.code == 0, "\(command): \(outcome.errors)")
      return outcome
    }

    var serving: TestProgram?
    var ran = 0
    for command in try blocks("sh", below: "Your own app").flatMap(commands) {
      ran += 1
      if command == "tenure serve" {
        let program = try TestProgram(["serve"], environment: environment, directory: folder.path)
        serving = program
        let page = try #require(await program.outputLine(containing: "/?token="))
        environment["TENURE_TOKEN"] = try #require(page.firstMatch(of: /token=([^ ]+)/)).1.description
        environment["PORT"] = try #require(page.firstMatch(of: /127\.0\.0\.1:([0-9]+)/)).1.description
      } else if command.hasPrefix("curl ") {
        let answer = try await shell(
          command.replacing("curl ", with: "curl --fail --silent ").replacing(
            ":8081", with: ":\(try #require(environment["PORT"]))"))
        #expect(answer.output.contains("opening"))
      } else {
        _ = try await shell(command)
      }
    }
    #expect(ran > 10)
    let program = try #require(serving)
    program.send(SIGTERM)
    #expect(await program.ended().code == 0)
    #expect(slack.requests.count == 1 && telegram.requests.count == 1, "history was announced, or the way not tried")
    let movements = try await shell("tenure report movements --format csv --by month")
    #expect(movements.output.contains("2025-02"))

    let lines = try blocks("cron", below: "Your own app").flatMap { $0.split(separator: "\n") }
    #expect(lines.count == 1)
    // As cron runs it: with next to nothing in the environment.
    let secrets = environment.filter { $0.key != "PATH" }.map { "export \($0.key)='\($0.value)'\n" }.joined()
    try folder.write(secrets, to: "secrets")
    for line in lines {
      let command = String(line.split(separator: " ", maxSplits: 5, omittingEmptySubsequences: true)[5])
        .replacing("/etc/tenure", with: folder.path).replacing("/usr/local/bin/tenure", with: TestProgram.path)
      let outcome = try await TestProgram.run(["-c", command], directory: "/", file: "/bin/sh")
      #expect(outcome.code == 0, "\(outcome.errors)")
    }
    for unit in ["tenure-serve.service", "tenure-run.service"] {
      let text = try String(contentsOf: Self.root.appending(path: "examples/systemd/\(unit)"), encoding: .utf8)
      let command = try #require(text.firstMatch(of: /(?m)^ExecStart=\/usr\/local\/bin\/(.*)$/)).1
      _ = try await shell("\(command) --help")
    }
  }

  private func configuration() throws -> String {
    try folder.write(#"{ apps: [{ key: "example", sources: { tenure: {} } }] }"#, to: "tenure.json")
  }
}
