import Forward
import Foundation
import Measure
import Server
import Vocabulary

/// The program's configuration: a file of JSON with comments.
///
/// Read whole and checked whole, whatever the command needs of it. Stages have types of their own for what they need.
struct Configuration: Sendable {
  /// How figures are made.
  struct Reporting: Sendable, Equatable {
    /// The time zone of reporting days.
    var timezone = "UTC"
    /// The currency amounts are converted to, by its ISO 4217 code.
    var currency = "USD"
    /// How prices are brought to a month.
    var mrrFactors = MonthlyFactors.calendar
    /// How long a chain is waited for at the end of a period, in seconds.
    var waitForWord: Int64 = 86_400
  }

  /// The HTTP server's settings.
  struct Server: Sendable, Equatable {
    /// Where events are received, as `host:port`.
    var ingest = "127.0.0.1:8080"
    /// Where reports are served, as `host:port`.
    var reports = "127.0.0.1:8081"
    var token: String?
    /// Host names the reports listener answers to, beside loopback.
    var hosts: [String] = []
    /// The largest request body, in bytes.
    var maxBody: Int64 = 1 << 20
  }

  /// Where streams are read from.
  struct Kafka: Sendable, Equatable {
    var brokers: [String] = []
    /// The SASL mechanism; nil for none.
    var mechanism: String?
    var username: String?
    var password: String?
    var isEncrypted = false
    /// A file of certificates to trust, as an absolute path.
    var authorityFile: String?
    /// librdkafka's own options, by their names.
    var otherOptions: [String: String] = [:]

    /// librdkafka's options, all of them.
    var options: [String: String] {
      var options = otherOptions
      options["bootstrap.servers"] = brokers.joined(separator: ",")
      if isEncrypted || username != nil {
        options["security.protocol"] = (username == nil ? "" : "sasl_") + (isEncrypted ? "ssl" : "plaintext")
      }
      options["sasl.mechanism"] = mechanism ?? (username == nil ? nil : "PLAIN")
      options["sasl.username"] = username
      options["sasl.password"] = password
      options["ssl.ca.location"] = authorityFile
      return options.compactMapValues { $0 }
    }

    /// Options that are not to be given: other settings say the same, or reading every event once relies on them.
    static let reservedOptions: Set<String> = [
      "bootstrap.servers", "metadata.broker.list", "security.protocol", "sasl.mechanism", "sasl.mechanisms",
      "sasl.username", "sasl.password", "ssl.ca.location", "group.id", "enable.auto.commit",
      "auto.commit.enable", "enable.auto.offset.store", "enable.partition.eof", "partition.assignment.strategy",
    ]
  }

  /// The database's connection string.
  var database: String?
  var reporting = Reporting()
  var server = Server()
  /// How long raw payloads are kept, in seconds; nil for ever.
  var keepRaw: Int64?
  var kafka: Kafka?
  var apps: [App] = []
  var targets: [TargetConfiguration] = []

  /// A configuration without settings.
  init() {}

  /// Reads a file.
  ///
  /// - Parameters:
  ///   - file: its path.
  ///   - environment: what `${NAME}` is replaced from.
  /// - Throws: ``ConfigurationError`` with every problem the file has.
  init(file path: String, environment: [String: String]) throws(ConfigurationError) {
    guard let data = FileManager.default.contents(atPath: path) else {
      throw ConfigurationError(
        file: path, problems: [.init(path: "", message: "there is no such file, or it cannot be read")])
    }
    let folder = URL(filePath: path).absoluteURL.deletingLastPathComponent().path
    try self.init(data: data, name: path, folder: folder, environment: environment)
  }

  /// Reads the text of a file.
  ///
  /// - Parameters:
  ///   - name: what messages call it.
  ///   - folder: where relative paths in it start from.
  init(data: Data, name: String, folder: String, environment: [String: String]) throws(ConfigurationError) {
    func unreadable(_ message: String) -> ConfigurationError {
      ConfigurationError(file: name, problems: [.init(path: "", message: message)])
    }
    let parsed: ConfigurationValue
    do {
      parsed = try JSON5Parser.parse(data)
    } catch {
      throw unreadable("line \(error.line): \(error.message)")
    }
    guard case .section(let values) = parsed else { throw unreadable("line 1: a section { … } is expected") }
    let file = ConfigurationReader.File(folder: folder, environment: environment)
    self.init(ConfigurationReader(values, path: "", file: file))
    if !file.problems.isEmpty { throw ConfigurationError(file: name, problems: file.problems) }
  }

  /// Whether a text can be an app's key: it stands in addresses and file names.
  static func isAppKey(_ text: String) -> Bool {
    (1...64).contains(text.utf8.count)
      && text.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
        case UInt8(ascii: "0")...UInt8(ascii: "9"): true
        case UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"): true
        default: false
        }
      }
  }

  // MARK: -

  /// Reads a file's sections; what is wrong with them is gathered by the reader's file.
  init(_ reader: ConfigurationReader) {
    database = reader.text("database")
    if let section = reader.section("reporting") { reporting = Reporting(section) }
    if let section = reader.section("server") { server = Server(section) }
    if let section = reader.section("ingest") {
      keepRaw = section.duration("keep_raw")
      section.finish()
    }
    kafka = reader.section("kafka").map { Kafka($0) }
    let appSections = reader.sections("apps")
    apps = appSections.map { App($0) }
    Self.report(duplicatesOf: apps.map(\.key), as: "key", in: appSections, "an app")
    Self.report(duplicatesOf: apps.map { $0.bundleID ?? "" }, as: "bundle_id", in: appSections, "an app")
    let targetSections = reader.sections("targets")
    targets = targetSections.map { TargetConfiguration($0, apps: apps) }
    Self.report(duplicatesOf: targets.map(\.name), as: "name", in: targetSections, "a target")
    reader.finish()
  }

  private static func report(
    duplicatesOf values: [String], as name: String, in sections: [ConfigurationReader], _ what: String
  ) {
    var seen: Set<String> = []
    for (value, section) in zip(values, sections) where !value.isEmpty && !seen.insert(value).inserted {
      section.problem(name, "there is already \(what) with this \(name)")
    }
  }
}

extension Configuration.Reporting {
  fileprivate init(_ reader: ConfigurationReader) {
    timezone = reader.timezone("timezone") ?? timezone
    if let text = reader.text("currency") {
      if text.utf8.count == 3, text.utf8.allSatisfy({ (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) }) {
        currency = text
      } else {
        reader.problem("currency", "must be an ISO 4217 code such as \"EUR\"")
      }
    }
    let factors = reader.choice("mrr_factors", among: MonthlyFactors.allCases.map(\.rawValue))
    mrrFactors = factors.flatMap(MonthlyFactors.init) ?? mrrFactors
    waitForWord = reader.duration("wait_for_word") ?? waitForWord
    reader.finish()
  }
}

extension Configuration.Server {
  fileprivate init(_ reader: ConfigurationReader) {
    ingest = Self.address(reader, "ingest") ?? ingest
    reports = Self.address(reader, "reports") ?? reports
    token = reader.text("token")
    hosts = reader.texts("hosts") ?? hosts
    maxBody = reader.size("max_body") ?? maxBody
    if !(1...(256 << 20)).contains(maxBody) { reader.problem("max_body", "must be from 1 byte to 256 MiB") }
    reader.finish()
  }

  private static func address(_ reader: ConfigurationReader, _ name: String) -> String? {
    guard let text = reader.text(name) else { return nil }
    guard ListenAddress(text) != nil else {
      reader.problem(name, "must be an address and a port, such as \"127.0.0.1:8080\" or \"[::]:8080\"")
      return nil
    }
    return text
  }
}

extension Configuration.Kafka {
  fileprivate init(_ reader: ConfigurationReader) {
    brokers = reader.texts("brokers") ?? []
    if brokers.isEmpty { reader.problem("brokers", "at least one broker is needed, such as \"127.0.0.1:9092\"") }
    mechanism = reader.choice("mechanism", among: ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
    username = reader.text("username")
    password = reader.text("password")
    if (username == nil) != (password == nil) { reader.problem("username", "and password are needed together") }
    isEncrypted = reader.bool("tls") ?? isEncrypted
    authorityFile = reader.existingFile("ca_file")
    if let section = reader.section("options") {
      for name in section.names {
        if Self.reservedOptions.contains(name) {
          section.problem(name, "is not to be set here: it follows from the other settings, or is relied on")
        }
        otherOptions[name] = section.integerOrText(name)
      }
      section.finish()
    }
    reader.finish()
  }
}
