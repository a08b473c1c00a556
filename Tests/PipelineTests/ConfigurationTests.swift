import Forward
import Foundation
import HTTP
import Measure
import Signatures
import TestSupport
import Testing
import Vocabulary

@testable import tenure

@Suite("Configuration")
struct ConfigurationTests {
  private func read(_ text: String, _ environment: [String: String] = [:], folder: String = "/nowhere") throws
    -> Configuration
  {
    try Configuration(data: Data(text.utf8), name: "tenure.json", folder: folder, environment: environment)
  }

  private func problems(_ text: String, _ environment: [String: String] = [:]) -> [ConfigurationError.Problem] {
    let error = #expect(throws: ConfigurationError.self) { try read(text, environment) }
    return error?.problems ?? []
  }

  @Test("every setting there is can be read, with comments and values from the environment")
  func wholeShape() throws {
    let folder = try TestFolder()
    try folder.write("", to: "extra-root.pem")
    try folder.write("", to: "key.p8")
    let secret = "whsec_" + String(repeating: "A", count: 32)
    let configuration = try read(
      """
      {
        database: "${DATABASE_URL}", // where the figures live
        reporting: { timezone: "Europe/Berlin", currency: "EUR", mrr_factors: "revenuecat", wait_for_word: "36h" },
        server: { ingest: "0.0.0.0:8080", reports: "127.0.0.1:8081", token: "${TOKEN}", hosts: ["r.example.com"],
                  max_body: "2MiB" },
        ingest: { keep_raw: "400d" },
        kafka: { brokers: ["127.0.0.1:9092"], mechanism: "PLAIN", username: "u", password: "${TOKEN}", tls: true,
                 options: { "session.timeout.ms": 6000, "socket.keepalive.enable": "true" } },
        apps: [{
          key: "video", bundle_id: "com.example.video", app_apple_id: 1234567890, commission: 0.15,
          subscriber_url: "https://admin.example.com/users/{subscriber_id}",
          app_store_server: { issuer_id: "i", key_id: "k", private_key_file: "key.p8", base_url: "https://a.example.com",
                              sandbox_base_url: "http://127.0.0.1:9", allow_private_network: true },
          sources: {
            app_store: { environments: ["Production", "Sandbox"], roots: ["extra-root.pem"] },
            revenuecat: { authorization: "${TOKEN}", signing_secret: "s" },
            adapty: { authorization: "a" }, apphud: { token: "t" }, app_client: { key: "k" },
            tenure: { secret: "${SECRET}" }, app_store_receipt: {},
          },
        }],
        targets: [
          { name: "team", type: "slack", url: "https://hooks.example.com/x", events: ["refunded", "trial_converted"],
            apps: ["video"], environments: ["Production"], countries: null, minimum_amount: 9.99, max_age: "48h",
            from: "now" },
          { name: "phone", type: "telegram", token: "t", chat_id: -1001234567890,
            digest: { at: "09:30", timezone: "Europe/Berlin" } },
          { name: "chat", type: "discord", url: "https://discord.example.com/x", countries: ["DEU"] },
          { name: "product", type: "amplitude", api_key: "k", region: "eu" },
          { name: "growth", type: "mixpanel", project_token: "t", from: "2026-01-01" },
          { name: "backend", type: "webhook", url: "https://example.com/hooks", secret: "${SECRET}", previous_secret: "${SECRET}",
            base_url: "http://127.0.0.1:9", allow_private_network: true },
        ],
      }
      """, ["DATABASE_URL": "host=/x", "TOKEN": "secret", "SECRET": secret], folder: folder.path)
    #expect(configuration.database == "host=/x")
    #expect(
      configuration.reporting
        == .init(timezone: "Europe/Berlin", currency: "EUR", mrrFactors: .revenuecat, waitForWord: 129_600))
    #expect(configuration.server.token == "secret")
    #expect(configuration.server.maxBody == 2 << 20)
    #expect(configuration.keepRaw == 34_560_000)
    #expect(
      configuration.kafka?.options == [
        "bootstrap.servers": "127.0.0.1:9092", "security.protocol": "sasl_ssl", "sasl.mechanism": "PLAIN",
        "sasl.username": "u", "sasl.password": "secret",
        "session.timeout.ms": "6000", "socket.keepalive.enable": "true",
      ])
    let app = try #require(configuration.apps.first)
    #expect(app.appAppleID == 1_234_567_890)
    #expect(app.commission == .share(try #require(Decimal(string: "0.15"))))
    #expect(app.appStoreServer?.privateKeyFile == folder.file("key.p8"))
    #expect(app.appStoreServer?.sandboxBaseURL == "http://127.0.0.1:9")
    #expect(app.appStoreServer?.allowsPrivateNetwork == true)
    #expect(app.sources[.appStore]?.environments == ["Production", "Sandbox"])
    #expect(app.sources[.appStore]?.roots == [folder.file("extra-root.pem")])
    #expect(app.sources[.revenueCat] == .init(authorization: "secret", secret: "s"))
    #expect(app.sources.count == 7)
    #expect(configuration.targets.map(\.name) == ["team", "phone", "chat", "product", "growth", "backend"])
    #expect(configuration.targets[0].events == [.refunded, .trialConverted])
    #expect(configuration.targets[0].minimumAmount == Micros(9_990_000))
    #expect(configuration.targets[0].maximumAge == 172_800)
    #expect(configuration.targets[1].token == "t")
    #expect(configuration.targets[1].chatID == "-1001234567890")
    #expect(configuration.targets[1].digest == .init(at: "09:30", timezone: "Europe/Berlin"))
    #expect(configuration.targets[2].url == "https://discord.example.com/x")
    #expect(configuration.targets[2].countries == ["DEU"])
    #expect(configuration.targets[3].projectKey == "k")
    #expect(configuration.targets[3].region == "eu")
    #expect(configuration.targets[4].projectKey == "t")
    #expect(configuration.targets[4].from?.description == "2026-01-01T00:00:00.000Z")
    #expect(configuration.targets[5].url == "https://example.com/hooks")
    #expect(configuration.targets[5].secret == secret)
    #expect(configuration.targets[5].previousSecret == secret)
    #expect(configuration.targets[5].baseURL == "http://127.0.0.1:9")
    #expect(configuration.targets[5].allowsPrivateNetwork)
    let types = Set(configuration.targets.map(\.type))
    #expect(types == Set(TargetConfiguration.types))
    for target in configuration.targets {
      #expect(target.subscriberURLs == ["video": "https://admin.example.com/users/{subscriber_id}"])
    }
  }

  @Test("what is not said has its default")
  func defaults() throws {
    let configuration = try read(
      #"{ apps: [{ key: "a", sources: { app_store: {} } }], targets: [{ name: "t", type: "slack", url: "https://x.example" }] }"#
    )
    #expect(
      configuration.reporting == .init(timezone: "UTC", currency: "USD", mrrFactors: .calendar, waitForWord: 86_400))
    #expect(configuration.server.maxBody == 1_048_576)
    #expect(configuration.keepRaw == nil)
    #expect(configuration.apps[0].commission == .standard)
    #expect(configuration.apps[0].sources[.appStore]?.environments == ["Production"])
    var usual = TargetConfiguration(name: "t", type: "slack")
    usual.url = "https://x.example"
    #expect(configuration.targets == [usual])
    #expect(usual.environments == [.production])
    #expect(usual.events == nil)
    #expect(usual.maximumAge == 86_400)
    #expect(usual.from == nil)
    #expect(!usual.allowsPrivateNetwork)
  }

  @Test("every problem is told at once, with its path and without secrets")
  func allProblems() throws {
    let found = problems(
      """
      {
        databse: "postgresql://u:s3cr3t@h/d",
        reporting: { timezone: "Europe/Berln", currency: "euro", mrr_factors: "calender", wait_for_word: "1 day" },
        server: { ingest: "8080", max_body: "lots", token: 12 },
        ingest: { keep_raw: 400 },
        kafka: { options: { "group.id": "g", "enable.auto.commit": "true" } },
        apps: [
          { key: "a b", commission: 15, app_apple_id: "x", subscriber_url: "https://x.example",
            sources: { app_store: { environments: ["production"], roots: ["nothing.pem"] }, revenucat: {},
              tenure: { secret: "s3cr3t" } } },
          { bundle_id: "b" }, { key: "c", bundle_id: "b" }, "d",
        ],
        targets: [
          { name: "t", type: "slak", url: "s3cr3t" }, { name: "t", type: "webhook", url: "s3cr3t", secret: "${MISSING}" },
          { type: "telegram", digest: { at: "9", timezone: "UTC" } },
          { name: "u", type: "amplitude", api_key: "${MISSING", region: "mars", events: ["refund"], apps: ["cc"],
            digest: {} },
        ],
      }
      """)
    let paths = Set(found.map(\.path))
    let expected: Set = [
      "databse", "reporting.timezone", "reporting.currency", "reporting.mrr_factors", "reporting.wait_for_word",
      "server.ingest", "server.max_body", "server.token", "ingest.keep_raw", "kafka.brokers",
      "kafka.options.group.id", "kafka.options.enable.auto.commit", "apps[0].key",
      "apps[0].commission", "apps[0].app_apple_id", "apps[0].subscriber_url",
      "apps[0].sources.app_store.environments[0]", "apps[0].sources.app_store.roots[0]", "apps[0].sources.revenucat",
      "apps[0].sources.tenure.secret",
      "apps[1].key", "apps[2].bundle_id", "apps[3]", "targets[0].type", "targets[1].name", "targets[1].url",
      "targets[1].secret", "targets[2].name", "targets[2].token", "targets[2].chat_id", "targets[2].digest.at",
      "targets[3].api_key", "targets[3].region", "targets[3].events[0]", "targets[3].apps[0]", "targets[3].digest",
    ]
    #expect(paths == expected)
    #expect(found.count == expected.count)
    let text = found.map(\.message).joined(separator: "\n")
    #expect(!text.contains("s3cr3t"))
    for words in [
      "did you mean \"database\"?", "did you mean \"calendar\"?", "did you mean \"revenuecat\"?",
      "did you mean \"slack\"?",
      "did you mean \"refunded\"?", "did you mean \"Production\"?", "the environment has no MISSING",
    ] { #expect(text.contains(words), "\(words)") }
  }

  // MARK: - Targets

  /// A target of a type with settings, and all that the type needs.
  private func target(_ settings: String, type: String = "slack") -> String {
    let needed = [
      "slack": #"url: "https://hooks.example.com/s3cr3t""#, "discord": #"url: "https://discord.example.com/s3cr3t""#,
      "telegram": #"token: "1:s3cr3t", chat_id: 17"#, "amplitude": #"api_key: "s3cr3t""#,
      "mixpanel": #"project_token: "s3cr3t""#,
      "webhook": #"url: "https://example.com/s3cr3t", secret: "whsec_\#(String(repeating: "A", count: 32))""#,
    ]
    return """
      { apps: [{ key: "video", sources: { app_store: {} } }],
        targets: [{ name: "t", type: "\(type)", \(needed[type] ?? ""), \(settings) }] }
      """
  }

  @Test("what a target may be told is read")
  func targetSettings() throws {
    func one(_ settings: String, type: String = "slack") throws -> TargetConfiguration {
      try #require(try read(target(settings, type: type)).targets.first)
    }
    let paced = try one("pace: { per_minute: 20, burst: 5, per_day: 1000 }, ordered: true")
    #expect(paced.pace == Pace(interval: 3_000_000, burst: 5))
    #expect(paced.dailyQuota == 1000)
    #expect(paced.isOrdered)
    let limited = try one("pace: { per_day: 7 }")
    #expect(limited.pace == nil && limited.dailyQuota == 7 && !limited.isOrdered)
    for type in ["slack", "discord", "telegram"] {
      let told = try one(#"template: "{event} {amount}", digest: {}"#, type: type)
      #expect(told.template == "{event} {amount}")
      #expect(told.digest == .init(at: "09:00", timezone: "UTC"))
    }
    #expect(
      try one(#"digest: { at: "23:59", timezone: "pacific" }"#).digest
        == .init(at: "23:59", timezone: "America/Los_Angeles"))
    #expect(
      try one(#"base_url: "https://gateway.example.com/x""#, type: "mixpanel").baseURL
        == "https://gateway.example.com/x")
    #expect(try one(#"region: "in""#, type: "mixpanel").region == "in")
    #expect(try one(#"region: "eu", endpoint: "batch""#, type: "amplitude").endpoint == "batch")
  }

  @Test(
    "a setting of a target that cannot be used is a problem that says what to write, and shows no secret",
    arguments: [
      ("pace: { per_minute: 0 }", "pace.per_minute", "from 1 to 60000"),
      ("pace: { per_minute: 2.5 }", "pace.per_minute", "a whole number"),
      ("pace: { burst: 5 }", "pace.burst", "needs per_minute"),
      ("pace: { per_minute: 5, burst: 1001 }", "pace.burst", "from 1 to 1000"),
      ("pace: { per_day: -1 }", "pace.per_day", "from 1 to"),
      ("pace: { per_hour: 5 }", "pace.per_hour", "unknown setting"),
      ("pace: 20", "pace", "a section { … }"), ("ordered: \"yes\"", "ordered", "true or false"),
      ("template: 7", "template", "must be text"), ("template: \"\"", "template", "must not be empty"),
      ("template: \"{prise}\"", "template", "there is no {prise}; there is event, product"),
      ("template: \"\(String(repeating: "w", count: 3001))\"", "template", "at most 3000 characters"),
      ("digest: { at: \"9:00\" }", "digest.at", "such as \"09:00\""),
      ("digest: { at: \"24:00\" }", "digest.at", "such as"), ("digest: { at: \"+9:00\" }", "digest.at", "such as"),
      ("digest: { at: \"09:-0\" }", "digest.at", "such as"),
      ("digest: { timezone: \"GMT+2\" }", "digest.timezone", "Europe/Berlin"),
      ("digest: { timezone: \"IST\" }", "digest.timezone", "Europe/Berlin"),
      ("digest: { hour: 9 }", "digest.hour", "unknown setting"),
      ("countries: [\"USA\", \"DE\"]", "countries[1]", "did you mean \"DEU\"?"),
      ("countries: [\"usa\"]", "countries[0]", "did you mean \"USA\"?"),
      ("countries: [\"Germany\"]", "countries[0]", "such as \"DEU\""), ("countries: []", "countries", "at least one"),
      ("minimum_amount: -1", "minimum_amount", "not negative"),
      ("minimum_amount: 1e30", "minimum_amount", "such as 9.99"),
      ("minimum_amount: \"9.99\"", "minimum_amount", "must be a number"),
      ("max_age: \"36601d\"", "max_age", "at most 36600d"), ("max_age: 24", "max_age", "must be text"),
      ("from: \"yesterday\"", "from", "must be a moment such as"),
      ("environments: [\"production\"]", "environments[0]", "did you mean \"Production\"?"),
      ("events: [\"refund\"]", "events[0]", "did you mean \"refunded\"?"), ("apps: [\"vidoe\"]", "apps[0]", "video"),
      ("base_url: \"gateway.example.com/s3cr3t\"", "base_url", "begins with https://"),
      ("allow_private_network: 1", "allow_private_network", "true or false"),
      ("ca_file: \"nothing.pem\"", "ca_file", "there is no file /nowhere/nothing.pem"),
      ("chat_id: 17", "chat_id", "unknown setting"), ("region: \"eu\"", "region", "unknown setting"),
    ])
  func targetProblem(settings: String, path: String, words: String) {
    let found = problems(target(settings))
    #expect(found.map(\.path) == ["targets[0].\(path)"], "\(found)")
    #expect(found.first?.message.contains(words) == true, "\(found)")
    #expect(found.allSatisfy { !"\($0)".contains("s3cr3t") })
  }

  @Test(
    "what a service needs is a problem where it is missing or of another form, and is not repeated",
    arguments: [
      ("slack", "", ["url"]), ("slack", #"url: "s3cr3t""#, ["url"]), ("discord", #"url: "ftp://x/s3cr3t""#, ["url"]),
      ("telegram", "", ["token", "chat_id"]), ("telegram", #"token: "a/s3cr3t", chat_id: 1"#, ["token"]),
      ("telegram", #"token: "1:s3cr3t", chat_id: "s3cr3t""#, ["chat_id"]),
      ("telegram", #"token: "1:s3cr3t", chat_id: true"#, ["chat_id"]), ("amplitude", "", ["api_key"]),
      ("amplitude", #"api_key: "s3cr3t\n""#, ["api_key"]),
      ("mixpanel", #"project_token: "s3cr3t ""#, ["project_token"]),
      ("amplitude", #"api_key: "s3cr3t", region: "in""#, ["region"]),
      ("amplitude", #"api_key: "s3cr3t", endpoint: "v1""#, ["endpoint"]), ("mixpanel", "", ["project_token"]),
      ("mixpanel", #"project_token: "s3cr3t", digest: {}"#, ["digest"]), ("webhook", "", ["url", "secret"]),
      ("webhook", #"url: "https://x.example/s3cr3t", secret: "s3cr3t""#, ["secret"]),
      (
        "webhook", #"url: "https://x.example/s3cr3t", secret: "${GOOD}", previous_secret: "s3cr3t""#,
        ["previous_secret"]
      ),
    ])
  func serviceProblem(type: String, settings: String, paths: [String]) {
    let found = problems(
      #"{ targets: [{ name: "t", type: "\#(type)", \#(settings) }] }"#,
      ["GOOD": "whsec_" + String(repeating: "A", count: 32)])
    #expect(found.map(\.path) == paths.map { "targets[0].\($0)" }, "\(found)")
    #expect(found.allSatisfy { !"\($0)".contains("s3cr3t") && !$0.message.isEmpty })
  }

  @Test("an address that no request can be sent to is a problem of its target, and is not shown")
  func unusableAddresses() {
    for address in [
      "https://127.0.0.1:99999/s3cr3t", "https://münchen.example/s3cr3t", "https://exa mple.com/s3cr3t",
      "https://[::1/s3cr3t", "ftp://example.com/s3cr3t",
    ] {
      for (type, setting, more) in [
        ("webhook", "url", #"secret: "${GOOD}""#), ("slack", "url", ""), ("discord", "url", ""),
        ("mixpanel", "base_url", #"project_token: "t""#), ("telegram", "base_url", #"token: "1:a", chat_id: 1"#),
      ] {
        let found = problems(
          #"{ targets: [{ name: "t", type: "\#(type)", \#(setting): "\#(address)", \#(more) }] }"#,
          ["GOOD": "whsec_" + String(repeating: "A", count: 32)])
        #expect(found.map(\.path) == ["targets[0].\(setting)"], "\(type) \(address): \(found)")
        #expect(found.allSatisfy { !"\($0)".contains("s3cr3t") })
      }
    }
  }

  @Test("files of certificates and keys are those that the client can use, and a key has its certificate")
  func certificateFiles() throws {
    let folder = try TestFolder()
    let authority = TLSAuthority()
    let identity = authority.identity("tenure")
    try folder.write(identity.certificate, to: "own.pem")
    try folder.write(identity.key, to: "own.key")
    try folder.write(authority.identity("other").key, to: "other.key")
    try folder.write("no certificate", to: "words.pem")
    try folder.write(identity.key.replacing("BEGIN PRIVATE", with: "BEGIN ENCRYPTED PRIVATE"), to: "locked.key")
    try Data(authority.certificate.der).write(to: URL(filePath: folder.file("authority.der")))
    try folder.write(authority.certificate.pem, to: "authority.pem")
    func read(_ settings: String) throws(ConfigurationError) -> TLSOptions? {
      try Configuration(
        data: Data(target(settings, type: "webhook").utf8), name: "tenure.json", folder: folder.path, environment: [:]
      ).targets.first?.tls
    }
    let tls = try read(#"ca_file: "authority.pem", certificate_file: "own.pem", key_file: "own.key""#)
    #expect(tls?.authorityFile == folder.file("authority.pem"))
    #expect(tls?.certificateFile == folder.file("own.pem"))
    #expect(tls?.keyFile == folder.file("own.key"))
    for (settings, path, words) in [
      (#"ca_file: "authority.der""#, "ca_file", "no certificate in PEM"),
      (#"ca_file: "words.pem""#, "ca_file", "no certificate in PEM"),
      (#"certificate_file: "own.key", key_file: "own.key""#, "certificate_file", "no certificate in PEM"),
      (#"certificate_file: "own.pem", key_file: "own.pem""#, "key_file", "no private key in PEM"),
      (#"certificate_file: "own.pem", key_file: "locked.key""#, "key_file", "without a password"),
      (#"certificate_file: "own.pem", key_file: "other.key""#, "key_file", "is not the key of the certificate"),
      (#"certificate_file: "own.pem""#, "key_file", "needed together"),
      (#"key_file: "own.key""#, "key_file", "needed together"),
    ] {
      let error = #expect(throws: ConfigurationError.self) { try read(settings) }
      #expect(error?.problems.map(\.path) == ["targets[0].\(path)"], "\(settings)")
      #expect(error?.problems.first?.message.contains(words) == true, "\(error?.problems ?? [])")
    }
  }

  @Test("a server without a token to ask for, or with a body of no size, is none")
  func serverSettings() {
    #expect(
      problems(#"{ server: { token: "", max_body: 0, ingest: "::1:80", reports: "[::1]:80" } }"#).map(\.path)
        == ["server.ingest", "server.token", "server.max_body"])
  }

  @Test("a secret that comes in a header has no space and no line break around it: it could never come")
  func headerTexts() throws {
    let settings = [
      ("revenuecat", "authorization"), ("adapty", "authorization"), ("apphud", "token"), ("app_client", "key"),
    ]
    for (source, name) in settings {
      for value in ["s3cr3t ", " s3cr3t", "s3cr3t\n", "s3\r\ncr3t", "\u{A0}s3cr3t"] {
        let found = problems(#"{ apps: [{ key: "a", sources: { \#(source): { \#(name): "${S}" } } }] }"#, ["S": value])
        #expect(found.map(\.path) == ["apps[0].sources.\(source).\(name)"], "\(source) \(value.debugDescription)")
        #expect(found.first?.message.contains("s3cr3t") == false)
      }
      #expect(try read(#"{ apps: [{ key: "a", sources: { \#(source): { \#(name): "a b" } } }] }"#).apps.count == 1)
    }
  }

  @Test("a variable may stand within a text, and an empty one is a missing one")
  func variables() throws {
    #expect(try read(#"{ database: "host=${A} user=${B}" }"#, ["A": "/a", "B": "b"]).database == "host=/a user=b")
    #expect(
      problems(#"{ database: "${A}${B}" }"#, ["A": ""]) == [
        .init(path: "database", message: "the environment has no A"),
        .init(path: "database", message: "the environment has no B"),
      ])
    #expect(try read(#"{ apps: [{ key: "a", app_apple_id: "${ID}" }] }"#, ["ID": "7"]).apps[0].appAppleID == 7)
  }

  @Test(
    "a file that is no JSON5 says where and what",
    arguments: [
      ("{ database: }", "line 1: a value is expected"),
      ("{\n a: 1,\n b: 'x\n}", "line 3: a text has no end on its line"),
      ("{ apps: [1,,] }", "line 1: a value"), ("", "line 1: a value is expected at the end"),
      ("// c\n{ a: 1 b: 2 }", "line 2: a \",\" or \"}\""), ("[]", "line 1: a section"), ("{} {}", "line 1: something"),
      ("{ database: hello }", "line 1: text needs quotes"), ("{ /* a: 1 }", "line 1: a comment has no end"),
      ("{ a: 1,\n a: 2 }", "line 2: \"a\" stands there twice"), ("{ a: 1.2.3 }", "not a number"),
      ("{ a: NaN }", "text needs quotes"), ("{ a: '\\ud800' }", "no character"), ("{ 1: 2 }", "a name is expected"),
      ("{ a: " + String(repeating: "[", count: 100_000), "nested too deeply"),
    ])
  func notJSON(text: String, message: String) {
    let found = problems(text)
    #expect(found.count == 1)
    #expect(found.first?.path == "")
    #expect(found.first?.message.contains(message) == true, "\(found)")
  }

  @Test("what JSON5 allows is read")
  func json5() throws {
    let text = #"""
      /* a */ { 'single': "d\u0041\uD83D\uDE00\x42\t", $un_quoted1: +0x1F, list: [ .5, 5., -1e3, true, null, ], // end
      "continued": 'a\
      b\'c', }
      """#
    let parsed = try JSON5Parser.parse(Data("\u{FEFF}\(text)".utf8))
    guard case .section(let values) = parsed, case .list(let list)? = values["list"] else {
      Issue.record("no section")
      return
    }
    if case .text(let text)? = values["single"] { #expect(text == "dA😀B\t") } else { Issue.record("no text") }
    if case .number(let number)? = values["$un_quoted1"] { #expect(number == 31) } else { Issue.record("no number") }
    if case .text(let text)? = values["continued"] { #expect(text == "ab'c") } else { Issue.record("no text") }
    let numbers = list.compactMap { if case .number(let number) = $0 { number } else { nil } }
    #expect(numbers == [Decimal(sign: .plus, exponent: -1, significand: 5), 5, -1000])
    #expect(list.count == 5)
  }

  @Test("a file that is not there is a problem of the configuration")
  func missingFile() {
    #expect(throws: ConfigurationError.self) { try Configuration(file: "/nowhere/tenure.json", environment: [:]) }
  }
}
