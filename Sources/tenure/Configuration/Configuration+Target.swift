import Forward
import Foundation
import HTTP
import Signatures
import Vocabulary

extension TargetConfiguration {
  /// Reads a target that events are forwarded to.
  ///
  /// - Parameter known: the apps there are.
  init(_ reader: ConfigurationReader, apps known: [Configuration.App]) {
    self.init(name: reader.requiredText("name"), type: Self.type(reader))
    if !name.isEmpty, !Configuration.isAppKey(name) {
      reader.problem("name", "must consist of letters, digits, dots, dashes and underscores, at most 64")
    }
    readService(reader)
    events = reader.choices("events", among: EventKind.allCases.map(\.rawValue))?.compactMap(EventKind.init)
    apps = reader.choices("apps", among: known.map(\.key))
    if let names = reader.choices("environments", among: ["Production", "Sandbox", "Xcode", "LocalTesting"]) {
      environments = names.map(StoreEnvironment.init(rawValue:))
    }
    countries = Self.countries(reader)
    minimumAmount = Self.amount(reader)
    if let age = reader.duration("max_age") {
      if age > Self.longestAge { reader.problem("max_age", "must be at most \(Self.longestAge / 86_400)d") }
      maximumAge = age
    }
    if let text = reader.text("from"), text != "now" { from = reader.instant("from") }
    if let section = reader.section("pace") { readPace(section) }
    isOrdered = reader.bool("ordered") ?? isOrdered
    tls = Self.tls(reader)
    baseURL = reader.url("base_url")
    allowsPrivateNetwork = reader.bool("allow_private_network") ?? allowsPrivateNetwork
    subscriberURLs = Dictionary(
      known.compactMap { app in app.subscriberURL.map { (app.key, $0) } }, uniquingKeysWith: { first, _ in first })
    if !type.isEmpty { check(reader) }
    reader.finish()
  }

  /// A hundred years, in seconds: what is subtracted from the moment of a receipt must leave a moment.
  private static let longestAge: Int64 = 36_600 * 86_400

  /// The type; empty for none that there is.
  private static func type(_ reader: ConfigurationReader) -> String {
    reader.requiredText("type").isEmpty ? "" : reader.choice("type", among: types) ?? ""
  }

  /// Reads the settings that belong to the type alone.
  private mutating func readService(_ reader: ConfigurationReader) {
    switch type {
    case "slack", "discord":
      url = reader.url("url", isRequired: true)
      readMessages(reader)
    case "telegram":
      token = reader.requiredText("token")
      chatID = reader.integerOrText("chat_id")
      if chatID == nil, !reader.hasProblem("chat_id") { reader.problem("chat_id", "is missing") }
      readMessages(reader)
    case "amplitude":
      projectKey = reader.requiredText("api_key")
      region = reader.choice("region", among: AmplitudeTarget.regions)
      endpoint = reader.choice("endpoint", among: AmplitudeTarget.endpoints)
    case "mixpanel":
      projectKey = reader.requiredText("project_token")
      region = reader.choice("region", among: MixpanelTarget.regions)
    case "webhook":
      url = reader.url("url", isRequired: true)
      secret = reader.requiredText("secret")
      previousSecret = reader.text("previous_secret")
    default:
      // Which settings belong to it cannot be known: only those of every target are looked at.
      reader.ignoreUnknown()
    }
  }

  /// Reads what messages to people may be told.
  private mutating func readMessages(_ reader: ConfigurationReader) {
    if let section = reader.section("digest") { digest = Digest(section) }
    template = reader.text("template")
  }

  private static func countries(_ reader: ConfigurationReader) -> [String]? {
    let countries = reader.texts("countries")
    for (index, country) in (countries ?? []).enumerated() where !Country.isThreeLetters(country) {
      let meant = Country.threeLetters(country.uppercased()) ?? country.uppercased()
      let hint = Country.isThreeLetters(meant) ? "; did you mean \"\(meant)\"?" : ""
      reader.problem("countries[\(index)]", "must be a storefront's three letters, such as \"DEU\"\(hint)")
    }
    return countries
  }

  private static func amount(_ reader: ConfigurationReader) -> Micros? {
    guard let units = reader.decimal("minimum_amount") else { return nil }
    guard let amount = Micros(units: units), amount.value >= 0 else {
      reader.problem("minimum_amount", "must be an amount in units of a currency, such as 9.99, and not negative")
      return nil
    }
    return amount
  }

  private mutating func readPace(_ reader: ConfigurationReader) {
    let perMinute = reader.count("per_minute", atMost: 60_000)
    let burst = reader.count("burst", atMost: 1000)
    if burst != nil, perMinute == nil, !reader.hasProblem("per_minute") { reader.problem("burst", "needs per_minute") }
    pace = perMinute.map { Pace(perMinute: $0, burst: burst ?? 1) }
    dailyQuota = reader.count("per_day", atMost: 1_000_000_000)
    reader.finish()
  }

  private static func tls(_ reader: ConfigurationReader) -> TLSOptions {
    var tls = TLSOptions()
    tls.authorityFile = reader.certificateFile("ca_file")
    tls.certificateFile = reader.certificateFile("certificate_file")
    tls.keyFile = reader.keyFile("key_file")
    let names = ["certificate_file", "key_file"]
    if (tls.certificateFile == nil) != (tls.keyFile == nil), !names.contains(where: reader.hasProblem) {
      reader.problem("key_file", "certificate_file and key_file are needed together")
    }
    if let certificate = tls.certificateFile, let key = tls.keyFile {
      reader.check(key, isKeyOf: certificate, "key_file")
    }
    return tls
  }

  /// Puts down what is wrong with settings that are there but cannot be used, such as a secret that is none.
  private func check(_ reader: ConfigurationReader) {
    for (setting, address) in [("url", url), ("base_url", baseURL)] {
      guard let address, HTTPAddress(address) == nil else { continue }
      reader.problem(
        setting, "no request can be sent there: a port is at most 65535, and a host is written in ASCII (xn--…)")
    }
    do {
      _ = try makeTarget()
    } catch {
      // What is missing or unreadable has been said already.
      if !reader.hasProblem(error.setting) { reader.problem(error.setting, error.message) }
    }
  }
}

extension TargetConfiguration.Digest {
  /// Reads a time of day: nine o'clock of UTC unless it says otherwise.
  fileprivate init(_ reader: ConfigurationReader) {
    self.init(at: "09:00", timezone: "UTC")
    if let text = reader.text("at") {
      let parts = text.split(separator: ":", omittingEmptySubsequences: false)
      // UInt8 would read a sign, too.
      if parts.count == 2,
        parts.allSatisfy({ $0.count == 2 && $0.utf8.allSatisfy((UInt8(ascii: "0")...UInt8(ascii: "9")).contains) }),
        let hour = UInt8(parts[0]), hour < 24,
        let minute = UInt8(parts[1]), minute < 60
      {
        at = text
      } else {
        reader.problem("at", "must be a time of day such as \"09:00\"")
      }
    }
    timezone = reader.timezone("timezone") ?? timezone
    reader.finish()
  }
}

extension ConfigurationReader {
  /// A file of certificates in PEM, which the client takes no other of.
  fileprivate func certificateFile(_ name: String) -> String? {
    guard let path = existingFile(name) else { return nil }
    let bytes = contents(path)
    guard Certificate(der: bytes) == nil, !Certificate.certificates(inFile: bytes).isEmpty else {
      problem(name, "\(path) holds no certificate in PEM (\"-----BEGIN CERTIFICATE-----\")")
      return nil
    }
    return path
  }

  /// A file of a private key in PEM; one with a password would be asked for at a terminal that nobody watches.
  fileprivate func keyFile(_ name: String) -> String? {
    guard let path = existingFile(name) else { return nil }
    let text = String(decoding: contents(path), as: UTF8.self)
    guard text.contains("PRIVATE KEY-----"), !text.contains("ENCRYPTED") else {
      problem(name, "\(path) holds no private key in PEM (\"-----BEGIN PRIVATE KEY-----\") without a password")
      return nil
    }
    return path
  }

  /// Puts down when a key is another's than the certificate's that is shown with it: every request would fail.
  fileprivate func check(_ key: String, isKeyOf certificate: String, _ name: String) {
    // Of a chain the first is the one that is shown as one's own.
    guard let own = Certificate.certificates(inFile: contents(certificate)).first, !own.isFor(keyInFile: contents(key))
    else { return }
    problem(name, "\(key) is not the key of the certificate in certificate_file")
  }

  private func contents(_ path: String) -> [UInt8] {
    FileManager.default.contents(atPath: path).map { Array($0) } ?? []
  }
}
