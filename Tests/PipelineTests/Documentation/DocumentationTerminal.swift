import Foundation
import Glibc
import Postgres
import Signatures
import TestSupport
import Testing
import Vocabulary

/// Someone at a terminal who follows a page: in a clone of the project, with what the page speaks of beside it, a database in which
/// there is nothing yet, and services on this machine in the place of Slack, Telegram, the App Store and the European Central Bank.
actor DocumentationTerminal {
  /// How a login reads the database.
  enum Reader: String {
    case figures = "tenure_reader"
    case people = "tenure_support"
    case owner
  }

  private let folder: TestFolder
  private let database: TestDatabase
  private let slack = HTTPReceiver { _, request in SlackService.answer(request).answer }
  private let discord = HTTPReceiver { _, _ in .status(200, body: "{\"id\": \"1\"}") }
  private let telegram: HTTPReceiver
  private let bank = HTTPReceiver { _, _ in .status(200, body: PublishedRates.history) }
  private let appStore: HTTPReceiver
  /// What commands see of an environment. A database is there from the moment that a configuration names it.
  private var environment: [String: String]
  /// What stays up until the page is done.
  private var running: [TestProgram] = []
  /// How many messages were asked for.
  private var tried = 0
  /// Whether a target wants to hear of days.
  private var hasDigest = false
  /// What stands on a page for something that is elsewhere on this machine.
  private var places: [(shown: String, used: String)]

  private static let botToken = "12345:secret-token"

  init() async throws {
    folder = try TestFolder()
    database = try await TestDatabase.empty()
    let chats = TelegramService(token: Self.botToken, chats: ["-1001234567890"])
    telegram = HTTPReceiver { _, request in
      request.path.hasSuffix("/getUpdates")
        ? .status(200, body: #"{"ok":true,"result":[{"message":{"chat":{"id":-1001234567890}}}]}"#)
        : chats.answer(request).answer
    }
    let service = AppStoreService()
    appStore = HTTPReceiver { _, request in service.answer(request) }
    places = [
      ("https://www.ecb.europa.eu", "http://127.0.0.1:\(bank.port)"),
      ("https://api.telegram.org", "http://127.0.0.1:\(telegram.port)"),
    ]
    environment = [
      "PATH": "\(URL(filePath: TestProgram.path).deletingLastPathComponent().path):/usr/bin:/bin",
      "HOME": folder.path, "TENURE_HOME": folder.file("home"), "LANG": "C.UTF-8",
      "SLACK_WEBHOOK_URL": slack.url, "DISCORD_WEBHOOK_URL": discord.url, "TELEGRAM_BOT_TOKEN": Self.botToken,
      "WEBHOOK_SECRET": Serving.secret, "RC_AUTH": "revenuecat's value", "ADAPTY_AUTH": "adapty's value",
      "APPHUD_TOKEN": "apphud's value", "APP_PUBLIC_KEY": Serving.publicKey,
    ]
    for name in ["docs", "examples", "dashboards", "scripts", "sql", "docker-compose.yml"] {
      symlink(DocumentationPage.root.appending(path: name).path, folder.file(name))
    }
    let yesterday = Instant(microseconds: Int64(Date().timeIntervalSince1970 - 86_400) * 1_000_000)
    for number in 1...3 {
      service.renew("7", number: 6 + number, at: yesterday.adding(seconds: Int64(-number) * 90_000))
    }
    try await layOut(key: service.key.pem)
  }

  /// The files that pages speak of.
  private func layOut(key: String) async throws {
    try folder.write(TestCertificateAuthority.shared.root.pem, to: "root.pem")
    try folder.write(key, to: "AuthKey_\(AppStoreService.keyID).p8")
    try folder.write("product_id,group_id,level,period\nmonthly,20,1,P1M\n", to: "catalogue.csv")
    mkdir(folder.file("notifications"), 0o755)
    let first = Notification("SUBSCRIBED.INITIAL_BUY", signed: "2025-02-01", id: "1", chain: "1")
    let renewal = Notification(
      "DID_RENEW", signed: "2025-03-01", id: "2", from: "2025-03-01", until: "2025-04-01", chain: "1")
    try folder.write(first.body, to: "notifications/1.json")
    try folder.write("{\"signedTransactionInfo\":\"\(renewal.signedTransaction)\"}\n", to: "collected.ndjson")
    let export = """
      country,product_identifier,start_time,end_time,store,is_auto_renewable,is_trial_period,is_sandbox,\
      store_transaction_id,original_store_transaction_id,purchased_currency,price_in_purchased_currency,\
      purchase_price_in_purchased_currency,renewal_number,ownership_type,updated_at,rc_last_seen_app_user_id_alias,\
      refunded_at,unsubscribe_detected_at
      US,monthly,2025-01-08 00:00:00,2025-02-08 00:00:00,app_store,true,false,false,5,5,USD,9.99,9.99,1,PURCHASED,\
      2025-02-20 00:00:00,u-1,,

      """
    for file in [
      try folder.write(renewal.body + "\n", to: "archive.ndjson"), try folder.write(export, to: "export.csv"),
    ] { _ = try await TestProgram.run([file], file: "/bin/gzip") }
  }

  // MARK: - What is typed

  /// Writes the configuration that a page shows, changed in nothing but where the tests have no App Store, no Slack and no
  /// Telegram. From then on there is a database.
  func configure(_ shown: String) throws {
    var text = shown
    let gateway = "http://127.0.0.1:\(appStore.port)"
    for (setting, addition) in [
      ("app_store: {", "roots: [\"root.pem\"],"), ("app_client: {", "roots: [\"root.pem\"],"),
      ("type: \"slack\",", "allow_private_network: true,"), ("type: \"discord\",", "allow_private_network: true,"),
      ("type: \"telegram\",", "allow_private_network: true, base_url: \"http://127.0.0.1:\(telegram.port)\","),
      (
        "app_store_server: {",
        "base_url: \"\(gateway)\", sandbox_base_url: \"\(gateway)\", allow_private_network: true,"
      ),
      // Any port that is free.
      ("database: \"${DATABASE_URL}\",", "server: { ingest: \"127.0.0.1:0\", reports: \"127.0.0.1:0\" },"),
    ] { text = text.replacing(setting, with: "\(setting) \(addition)") }
    try folder.write(text, to: "tenure.json")
    hasDigest = text.contains("digest:")
    environment["DATABASE_URL"] = database.connectionString
  }

  /// Brings the installation to where the README leaves it: configured, with a little history, measured.
  func install() async throws {
    try configure(try #require(DocumentationPage("README.md").configuration))
    for command in [
      "tenure catalogue import catalogue.csv --app video", "tenure ingest --source app_store notifications/",
      "tenure measure",
    ] { try await run(command) }
  }

  /// Has the database, and no configuration.
  func haveDatabase() { environment["DATABASE_URL"] = database.connectionString }

  /// Reports of which no rows is a good answer.
  private static let silent: Set<String> = [
    "rejections", "deliveries", "data_quality", "restatements", "winback_eligibility", "win_back_rate",
    "store_messages",
    "events", "renewal_rate",
  ]

  /// Runs the commands of a block, one after the other, as in one terminal.
  func follow(_ block: String) async throws {
    for command in Self.commands(block) {
      if command.contains(/^tenure (serve|run --every|forward$|consume|demo .*--serve)/) {
        try await start(command)
      } else {
        let output = try await run(command)
        if command.hasPrefix("tenure targets test ") { tried += 1 }
        if command.hasPrefix("curl "), command.contains("/v1/reports/") {
          #expect(output.split(separator: "\n").count > 1, "\(command) shows nothing")
        }
        if let report = command.wholeMatch(of: /(?:\w+='[^']*' )?tenure report (\w+)[^|>]*/)?.output.1,
          !Self.silent.contains(String(report)), !command.contains("--environment")
        {
          #expect(output.split(separator: "\n").count > 1, "\(command) shows nothing")
        }
      }
    }
  }

  /// The commands of a block: lines that go on are one, and so is a loop with all that is in it.
  private static func commands(_ block: String) -> [String] {
    guard !block.contains(/(?m)^done$/) else { return [block] }
    var commands: [String] = []
    var begun = ""
    for line in block.components(separatedBy: "\n") where !line.isEmpty && !line.hasPrefix("#") {
      begun += line
      let isOpen = line.hasSuffix("\\") || begun.count { $0 == "'" } % 2 == 1
      if isOpen {
        begun += "\n"
      } else {
        commands.append(begun)
        begun = ""
      }
    }
    return commands
  }

  /// Runs a command and returns what it printed.
  @discardableResult
  func run(_ command: String) async throws -> String {
    let words = ["-c", "\(Self.prelude)\n\(used(command))\nexport -p >.exports"]
    let (environment, directory) = (environment, folder.path)
    let typed: @Sendable () async throws -> TestProgram.Outcome = {
      try await TestProgram.run(words, environment: environment, directory: directory, file: "/bin/bash")
    }
    let outcome =
      command.contains("logins.sql") ? try await Turnstile.grafanaLogins.pass(typed) : try await typed()
    #expect(outcome.code == 0, "\(command): \(outcome.errors)")
    return outcome.output
  }

  /// What a terminal does not forget between two commands.
  private static let prelude = "set -e -o pipefail; [ ! -e .exports ] || . ./.exports"

  /// A command with what is elsewhere on this machine in its place.
  private func used(_ command: String) -> String {
    places.reduce(command) { $0.replacing($1.shown, with: $1.used) }
      .replacing(/postgresql:\/\/[^'" ]*\/(\w+)/) { match in
        database.connectionString.replacing(/dbname=\S+/) { _ in "dbname=\(match.output.1)" }
      }
  }

  /// Starts what stays up, and returns when it is up.
  private func start(_ command: String) async throws {
    let program = try TestProgram(
      ["-c", "\(Self.prelude)\nexec \(used(command))"], environment: environment, directory: folder.path,
      file: "/bin/bash")
    running.append(program)
    if command.hasPrefix("tenure serve") {
      let events = await program.outputLine(containing: "events:")
      guard let ingest = events?.firstMatch(of: /:(\d+)\/v1/),
        let page = await program.outputLine(containing: "reports:"),
        let reports = page.firstMatch(of: /127\.0\.0\.1:(\d+)\/\?token=(\S+)/)
      else {
        Issue.record("\(command): \(await program.ended())")
        return
      }
      places += [(":8080", ":\(ingest.output.1)"), (":8081", ":\(reports.output.1)")]
      environment["TENURE_TOKEN"] = String(reports.output.2)
    } else {
      // The job has been done once; it would hold off the commands that follow.
      #expect(await program.outputLine(containing: "settled") != nil, "\(command)")
      try await end()
    }
  }

  /// Ends the page: what stays up ends in order, and nobody was told of history.
  func leave() async throws {
    try await end()
    let told = (slack.requests + discord.requests + telegram.requests).filter { !$0.path.hasSuffix("/getUpdates") }
    if !hasDigest { #expect(told.count == tried, "history was announced, or the way not tried") }
  }

  /// Ends what stays up, in order.
  private func end() async throws {
    for program in running {
      program.send(SIGTERM)
      let outcome = await program.ended()
      #expect(outcome.code == 0, "\(outcome.errors)")
    }
    running = []
  }

  /// Runs a line of a crontab as cron does: with next to nothing in the environment.
  func schedule(_ line: String) async throws {
    let secrets = environment.filter { $0.key != "PATH" }.map { "export \($0.key)=\"\($0.value)\"\n" }.joined()
    try folder.write(secrets, to: "secrets")
    let fields = line.split(separator: " ", maxSplits: 5, omittingEmptySubsequences: true).map(String.init)
    try #require(fields.count == 6)
    for field in fields.prefix(5) {
      #expect(field.wholeMatch(of: /\*|(\*|\d+(-\d+)?)(\/\d+)?(,\d+)*/) != nil, "\(line)")
    }
    let command = fields[5].replacing("/etc/tenure", with: folder.path)
      .replacing("/usr/local/bin/tenure", with: TestProgram.path)
    let outcome = try await TestProgram.run(["-c", command], directory: "/", file: "/bin/sh")
    #expect(outcome.code == 0, "\(line): \(outcome.errors)")
  }

  /// Stores what a page shows of an input, by the source's own command.
  func ingest(_ text: String, source: String) async throws {
    let file = try folder.write(text + "\n", to: "shown.ndjson")
    let output = try await run("tenure ingest --source \(source) --app video --json \(file)")
    let summary = try JSONDecoder().decode(Installation.Summary.self, from: Data(output.utf8))
    #expect(summary.stored > 0 && summary.rejected == 0 && summary.unrecognised == 0, "\(text.prefix(80)): \(summary)")
  }

  /// Asks the database in psql, as a login of that kind, and returns what psql prints.
  func query(_ sql: String, as reader: Reader) async throws -> String {
    var connectionString = database.connectionString
    if reader != .owner {
      let name = "documentation_\(UUID().uuidString.prefix(8).lowercased())"
      let connection = try await database.connect()
      try await connection.execute("create role \(name) login; grant \(reader.rawValue) to \(name)")
      await connection.close()
      connectionString = database.connectionString(user: name)
    }
    let file = try folder.write(sql, to: "query.sql")
    let outcome = try await TestProgram.run(
      ["--no-psqlrc", "--quiet", "--set", "ON_ERROR_STOP=1", "--file", file, connectionString],
      environment: ["LANG": "C.UTF-8"], file: "/usr/bin/psql")
    #expect(outcome.code == 0, "\(sql)\n\(outcome.errors)")
    return outcome.output
  }
}
