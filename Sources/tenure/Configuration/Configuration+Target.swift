import Forward
import Foundation
import HTTP
import Vocabulary

extension Configuration {
  /// A target that events are forwarded to.
  struct Target: Sendable, Equatable {
    enum Service: Sendable, Equatable {
      case slack(url: String)
      case discord(url: String)
      case telegram(token: String, chatID: String)
      case amplitude(apiKey: String, region: String, endpoint: String)
      case mixpanel(projectToken: String, region: String)
      case webhook(url: String, secret: String, previousSecret: String?)
    }

    /// The day's figures in one message.
    struct Digest: Sendable, Equatable {
      /// The time of day, as `09:00`.
      var at = "09:00"
      var timezone = "UTC"
    }

    /// Which events a new target gets.
    enum Beginning: Sendable, Equatable {
      /// Those first received after the target was added.
      case now
      /// Those first received after a moment.
      case moment(Instant)
    }

    var name = ""
    /// Nil only while there are problems.
    var service: Service?
    /// The kinds of events; nil for the usual ones.
    var events: [EventKind]?
    /// The keys of apps; nil for all.
    var apps: [String]?
    var environments = ["Production"]
    /// Country codes; nil for all.
    var countries: [String]?
    /// The smallest amount, in units of its currency, of events that move money; nil for any.
    var minimumAmount: Decimal?
    /// How long before it was first received an event may have happened, in seconds.
    var maxAge: Int64 = 86_400
    var from = Beginning.now
    var digest: Digest?
    /// How fast it is sent to; nil for the service's own pace.
    var pace: Pace?
    /// How many requests it may get in a day; nil for any number.
    var dailyQuota: Int64?
    /// Whether what is told of one subscription is sent one after the other.
    var isOrdered = false
    /// What messages to people say; nil for the usual lines.
    var template: String?
    /// Whom it believes, and whom it is shown.
    var tls = TLSOptions()
    /// Replaces scheme, host and port of the service.
    var baseURL: String?
    /// Whether it may be posted to loopback and private addresses.
    var allowsPrivateNetwork = false
  }
}

extension Configuration.Target {
  private static let types = ["slack", "discord", "telegram", "amplitude", "mixpanel", "webhook"]

  init(_ reader: ConfigurationReader, apps known: [String]) {
    name = reader.requiredText("name")
    if !name.isEmpty, !Configuration.isAppKey(name) {
      reader.problem("name", "must consist of letters, digits, dots, dashes and underscores, at most 64")
    }
    if reader.requiredText("type").isEmpty == false, let type = reader.choice("type", among: Self.types) {
      service = Self.service(type, reader)
      if ["slack", "discord", "telegram"].contains(type), let section = reader.section("digest") {
        digest = Digest(section)
      }
      if ["slack", "discord", "telegram"].contains(type) { template = reader.text("template") }
    } else {
      // Which settings belong to it cannot be known: only those of every target are looked at.
      for name in [
        "url", "token", "chat_id", "api_key", "region", "endpoint", "project_token", "secret",
        "previous_secret",
        "digest", "template",
      ] {
        reader.ignore(name)
      }
    }
    events = reader.choices("events", among: EventKind.allCases.map(\.rawValue))?.compactMap(EventKind.init)
    apps = reader.choices("apps", among: known)
    environments =
      reader.choices("environments", among: ["Production", "Sandbox", "Xcode", "LocalTesting"]) ?? environments
    countries = reader.texts("countries")
    minimumAmount = reader.decimal("minimum_amount")
    maxAge = reader.duration("max_age") ?? maxAge
    if reader.text("from") != "now", let moment = reader.instant("from") { from = .moment(moment) }
    if let section = reader.section("pace") {
      pace = Self.pace(section)
      dailyQuota = section.count("per_day", atMost: 1_000_000_000)
      section.finish()
    }
    isOrdered = reader.bool("ordered") ?? isOrdered
    tls.authorityFile = reader.existingFile("ca_file")
    tls.certificateFile = reader.existingFile("certificate_file")
    tls.keyFile = reader.existingFile("key_file")
    if (tls.certificateFile == nil) != (tls.keyFile == nil), !reader.hasProblem("key_file") {
      reader.problem("key_file", "certificate_file and key_file are needed together")
    }
    baseURL = reader.url("base_url")
    allowsPrivateNetwork = reader.bool("allow_private_network") ?? allowsPrivateNetwork
    check(reader)
    reader.finish()
  }

  private static func service(_ type: String, _ reader: ConfigurationReader) -> Service {
    switch type {
    case "slack": .slack(url: reader.url("url", isRequired: true) ?? "")
    case "discord": .discord(url: reader.url("url", isRequired: true) ?? "")
    case "telegram":
      .telegram(token: reader.requiredText("token"), chatID: chatID(reader))
    case "amplitude":
      .amplitude(
        apiKey: reader.requiredText("api_key"),
        region: reader.choice("region", among: AmplitudeTarget.regions) ?? "us",
        endpoint: reader.choice("endpoint", among: AmplitudeTarget.endpoints) ?? "httpapi")
    case "mixpanel":
      .mixpanel(
        projectToken: reader.requiredText("project_token"),
        region: reader.choice("region", among: MixpanelTarget.regions) ?? "us")
    default:
      .webhook(
        url: reader.url("url", isRequired: true) ?? "", secret: reader.requiredText("secret"),
        previousSecret: reader.text("previous_secret"))
    }
  }

  private static func pace(_ reader: ConfigurationReader) -> Pace? {
    let perMinute = reader.count("per_minute", atMost: 60_000)
    let burst = reader.count("burst", atMost: 1000)
    if burst != nil, perMinute == nil { reader.problem("burst", "needs per_minute") }
    return perMinute.map { Pace(perMinute: $0, burst: burst ?? 1) }
  }

  private static func chatID(_ reader: ConfigurationReader) -> String {
    guard let id = reader.integerOrText("chat_id") else {
      reader.problem("chat_id", "is missing")
      return ""
    }
    return id
  }
}

extension Configuration.Target.Digest {
  fileprivate init(_ reader: ConfigurationReader) {
    if let text = reader.text("at") {
      let parts = text.split(separator: ":", omittingEmptySubsequences: false)
      if parts.count == 2, parts.allSatisfy({ $0.count == 2 }), let hour = UInt8(parts[0]), hour < 24,
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
