import Foundation
import Signatures
import TestSupport
import Testing
import Vocabulary

@testable import tenure

/// What the documentation has people type, ask, write and read, done as they would do it.
@Suite("Documentation", .fewAtOnce)
struct DocumentationTests {
  /// What cannot be run here, and why: each says so to people in its first line. Nothing else is left out, so that whoever adds
  /// to this list does it knowingly.
  private static let notRun: [String: [String]] = [
    "CONTRIBUTING.md": ["needs a Swift toolchain and some minutes"],
    "README.md": ["needs a Swift toolchain and some minutes"],
    // Read as Swift all the same.
    "docs/app-client.md": ["needs StoreKit"],
    "docs/guides/app-store.md": ["needs nginx"],
    "docs/guides/grafana.md": ["needs root and Grafana"],
    "docs/guides/running.md": ["needs root and systemd", "needs Docker"],
    // The consumer's own tests have a broker, and run this page.
    "docs/kafka.md": ["needs a Swift toolchain and some minutes", "needs a broker"],
  ]

  @Test("nothing is left out but what is listed here")
  func leftOut() {
    var found: [String: [String]] = [:]
    for page in DocumentationPage.all {
      let needs = page.blocks.compactMap(\.need)
      if !needs.isEmpty { found[page.path] = needs }
    }
    #expect(found == Self.notRun)
    #expect(DocumentationPage.all.map(\.path).contains("docs/guides/own-sql.md"))
  }

  @Test(
    "what a page shows can be done as it is shown, from its first command to its last",
    arguments: DocumentationPage.all.filter { !$0.blocks.isEmpty })
  func followed(page: DocumentationPage) async throws {
    let terminal = try await DocumentationTerminal()
    // Where a page begins: before there is anything, with an empty database, or where the README ends.
    if page.blocks.contains(where: { $0.text.contains("tenure demo ") }) {
      await terminal.haveDatabase()
    } else if page.configuration == nil,
      page.blocks.contains(where: { ["sh", "console", "sql", "cron"].contains($0.language) })
    {
      try await terminal.install()
    }
    var answer: String?
    for block in page.blocks where block.need == nil || block.language == "swift" {
      let place = "\(page.path):\(block.line)"
      switch block.language {
      case "sh": try await terminal.follow(block.text)
      case "cron": for line in block.text.split(separator: "\n") { try await terminal.schedule(String(line)) }
      case "console": try await Self.compare(block.text, terminal, place)
      case "sql":
        answer = try await terminal.query(block.text, as: Self.reader(of: block.text))
        #expect(answer?.contains("(0 rows)") == false, "\(place) finds nothing")
      case "text" where block.followsBlock:
        #expect(
          Self.trimmed(try #require(answer, "\(place) is the answer to nothing")) == Self.trimmed(block.text),
          "\(place)")
      case "text":
        // The one drawing, for people alone.
        #expect(page.path == "README.md" && block.line < 20, "\(place): an answer stands right below its query")
      case "json5" where block.text.hasPrefix("// tenure.json\n"):
        try Self.checkConfiguration(block.text, place)
        try await terminal.configure(block.text)
      case "json5" where block.text.contains("\"event_id\""): try await Self.checkEvent(block.text, terminal, place)
      case "json5": try Self.checkConfiguration(block.text, place)
      case "json":
        for line in block.text.split(separator: "\n") {
          try await terminal.ingest(Self.signed(String(line)), source: "app_client")
        }
      case "swift": try await Self.checkSwift(block.text, place)
      default: Issue.record("\(place): there is no way yet to run what is fenced as \"\(block.language)\"")
      }
    }
    try await terminal.leave()
  }

  @Test("the systemd units start commands that there are, and systemd takes them where it is there")
  func units() async throws {
    let examples = DocumentationPage.root.appending(path: "examples/systemd")
    let folder = try TestFolder()
    var files: [String] = []
    var commands: [String] = []
    for name in try FileManager.default.contentsOfDirectory(atPath: examples.path).sorted() {
      let text = try String(contentsOf: examples.appending(path: name), encoding: .utf8)
      for command in text.matches(of: /(?m)^ExecStart=\/usr\/local\/bin\/tenure (.*)$/) {
        commands.append(String(command.output.1))
        _ = try Call(command.output.1.split(separator: " ").map(String.init), commands: Program.commands)
      }
      // It also looks whether the program is installed.
      files.append(try folder.write(text.replacing("/usr/local/bin/tenure", with: "/bin/true"), to: name))
    }
    #expect(commands == ["run", "serve"])
    guard FileManager.default.isExecutableFile(atPath: "/usr/bin/systemd-analyze") else { return }
    let outcome = try await TestProgram.run(["verify"] + files, file: "/usr/bin/systemd-analyze")
    #expect(outcome.code == 0, "\(outcome.errors)")
  }

  @Test("docker-compose takes its file, where it is there, and says which secrets are missing")
  func compose() async throws {
    guard FileManager.default.isExecutableFile(atPath: "/usr/bin/docker-compose") else { return }
    let words = ["config", "--quiet"]
    let secrets = ["POSTGRES_PASSWORD": "a", "TENURE_TOKEN": "b", "GRAFANA_PASSWORD": "c"]
    let outcome = try await TestProgram.run(
      words, environment: secrets, directory: DocumentationPage.root.path, file: "/usr/bin/docker-compose")
    #expect(outcome.code == 0, "\(outcome.errors)")
    let without = try await TestProgram.run(
      words, directory: DocumentationPage.root.path, file: "/usr/bin/docker-compose")
    #expect(without.code != 0 && without.errors.contains("is not set"), "\(without.errors)")
  }

  // MARK: -

  /// A login that reads people, or the database's owner, is asked for by the query's first line.
  private static func reader(of sql: String) -> DocumentationTerminal.Reader {
    if sql.hasPrefix("-- as tenure_support\n") { return .people }
    return sql.hasPrefix("-- as the owner\n") ? .owner : .figures
  }

  /// A text without what cannot be seen at the ends of its lines.
  private static func trimmed(_ text: String) -> String {
    text.split(separator: "\n", omittingEmptySubsequences: false)
      .map { String($0.reversed().drop { $0 == " " }.reversed()) }.joined(separator: "\n")
      .trimmingCharacters(in: .newlines)
  }

  /// Runs each command of a transcript and expects what stands below it.
  private static func compare(_ transcript: String, _ terminal: DocumentationTerminal, _ place: String) async throws {
    let steps = ("\n" + transcript).components(separatedBy: "\n$ ").dropFirst()
    #expect(!steps.isEmpty, "\(place): a command begins with $")
    for step in steps {
      let lines = step.split(separator: "\n", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
      let output = try await terminal.run(lines[0])
      #expect(trimmed(output) == trimmed(lines.count > 1 ? lines[1] : ""), "\(place): \(lines[0])")
    }
  }

  /// Has the program read a configuration, or the part of one that is shown.
  private static func checkConfiguration(_ shown: String, _ place: String) throws {
    let app = "key: \"video\", bundle_id: \"com.example.video\""
    let text =
      switch shown.prefixMatch(of: /\{ name:|sources:|reporting:|\/\/ tenure.json\n|\{/)?.output {
      case "{ name:": "{ apps: [{ \(app) }], targets: [\(shown)] }"
      case "sources:": "{ apps: [{ \(app), \(shown) }] }"
      case "reporting:": "{ \(shown) }"
      default: shown
      }
    let folder = try TestFolder()
    for file in shown.matches(of: /"([\w.-]+\.(pem|p8|key))"/) {
      let authority = TestCertificateAuthority.shared
      // What is shown as one's own goes with the key.
      let certificate = shown.contains("certificate_file: \"\(file.output.1)\"") ? authority.leaf : authority.root
      try folder.write(
        file.output.2 == "pem" ? certificate.pem : authority.leafKey.pem, to: String(file.output.1))
    }
    var environment: [String: String] = [:]
    for name in shown.matches(of: /\$\{(\w+)\}/).map({ String($0.output.1) }) {
      environment[name] = name.hasSuffix("_URL") ? "https://hooks.example.com/x" : Serving.secret
    }
    do {
      _ = try Configuration(data: Data(text.utf8), name: place, folder: folder.path, environment: environment)
    } catch {
      Issue.record("\(place): \(error.problems)")
    }
  }

  /// An event as it is shown: one that is stored as it stands, or a day's digest, which runs make.
  private static func checkEvent(_ shown: String, _ terminal: DocumentationTerminal, _ place: String) async throws {
    let value = try JSON5Parser.parse(Data(shown.utf8))
    guard case .section(let event) = value, case .section(let detail)? = event["detail"] else {
      Issue.record("\(place) is no event")
      return
    }
    guard let digest = detail["digest"] else {
      return try await terminal.ingest(value.json, source: "tenure")
    }
    // Every name is one that digests have, and none is missing.
    let read = try JSONDecoder().decode(DailyDigest.self, from: Data(digest.json.utf8))
    let again = try JSON5Parser.parse(JSONEncoder().encode(read))
    #expect(again.paths() == digest.paths(), "\(place)")
  }

  /// What StoreKit would have signed, in the place of `"eyJ…"`.
  private static func signed(_ line: String) -> String {
    let bought = Notification(
      "DID_RENEW", signed: "2026-02-27", id: "22", from: "2026-02-27", until: "2026-03-27", chain: "21",
      transaction: ["appTransactionId": "704897"])
    let renewal = Notification.sign([
      "originalTransactionId": "21", "productId": "monthly", "autoRenewProductId": "monthly", "autoRenewStatus": 1,
      "signedDate": Notification.milliseconds("2026-02-28"), "environment": "Production",
    ])
    return line.replacing(/"signedRenewalInfo": "eyJ[^"]*"/, with: "\"signedRenewalInfo\": \"\(renewal)\"")
      .replacing(/"eyJ[^"]*…"/, with: "\"\(bought.signedTransaction)\"")
  }

  /// Reads Swift without what it imports.
  private static func checkSwift(_ text: String, _ place: String) async throws {
    let folder = try TestFolder()
    let file = try folder.write(text, to: "Shown.swift")
    let paths = ProcessInfo.processInfo.environment["PATH"] ?? ""
    let compiler = try #require(
      paths.split(separator: ":").map { "\($0)/swiftc" }.first { FileManager.default.isExecutableFile(atPath: $0) },
      "there is no swiftc on the path")
    let outcome = try await TestProgram.run(
      ["-frontend", "-parse", file], environment: ["PATH": paths], file: compiler)
    #expect(outcome.code == 0 && outcome.errors.isEmpty, "\(place): \(outcome.errors)")
  }
}

extension ConfigurationValue {
  /// As JSON.
  var json: String {
    switch self {
    case .null: "null"
    case .bool(let value): "\(value)"
    case .number(let value): "\(value)"
    case .text(let value): "\"\(value.replacing("\\", with: "\\\\").replacing("\"", with: "\\\""))\""
    case .list(let values): "[\(values.map(\.json).joined(separator: ","))]"
    case .section(let values):
      "{\(values.sorted { $0.key < $1.key }.map { "\"\($0.key)\":\($0.value.json)" }.joined(separator: ","))}"
    }
  }

  /// The names of all settings in it, each with those it stands in.
  func paths(below path: String = "") -> Set<String> {
    switch self {
    case .list(let values): return values.reduce(into: []) { $0.formUnion($1.paths(below: path + "[]")) }
    case .section(let values):
      return values.reduce(into: []) { paths, entry in
        let name = path.isEmpty ? entry.key : "\(path).\(entry.key)"
        paths.insert(name)
        paths.formUnion(entry.value.paths(below: name))
      }
    default: return []
    }
  }
}
