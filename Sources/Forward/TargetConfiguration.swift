public import HTTP
public import Vocabulary

/// What the configuration says of one target.
public struct TargetConfiguration: Sendable, Equatable {
  /// Its name, unique among targets.
  public var name: String
  /// What it is, such as `webhook`.
  public var type: String
  /// Where it goes. May hold secrets: never shown.
  public var url: String?
  /// The secret that requests are signed with.
  public var secret: String?
  /// The secret before a change: requests are signed with both.
  public var previousSecret: String?
  /// What a bot sends with. Never shown.
  public var token: String?
  /// The chat a bot sends to: a number, or `@channel`.
  public var chatID: String?
  /// What an analytics service knows the project by. Never shown.
  public var projectKey: String?
  /// Where an analytics service keeps the project, such as `eu`; `nil` for its usual place.
  public var region: String?
  /// Which of a service's ways in is used; `nil` for the usual one.
  public var endpoint: String?
  /// Replaces scheme, host and port of a named service.
  public var baseURL: String?
  /// The kinds it wants; `nil` for all but ignored, unrecognised, invoice_issued and entitlement_changed.
  public var events: [EventKind]?
  /// The keys of the apps it wants; `nil` for all.
  public var apps: [String]?
  /// The environments it wants.
  public var environments: [StoreEnvironment] = [.production]
  /// The storefronts it wants, in three letters; `nil` for all.
  public var countries: [String]?
  /// The least money an event must move, in or out, in whatever currency; `nil` when it need not move any.
  public var minimumAmount: Micros?
  /// How long before its receipt an event may have happened, in seconds.
  public var maximumAge: Int64 = 86_400
  /// Events before this moment are not sent; `nil` for the moment when the target was added.
  public var from: Instant?
  /// How fast it is sent to; `nil` for the service's own pace.
  public var pace: Pace?
  /// How many requests it may get in a day of UTC; `nil` for any number.
  public var dailyQuota: Int64?
  /// Whether what is told of one subscription is sent one after the other, in the order it happened.
  public var isOrdered = false
  /// What messages to people say, in place of the usual lines; `nil` for those.
  public var template: String?
  /// Where each app shows a subscriber: its key, and an address with `{subscriber_id}` in it.
  public var subscriberURLs: [String: String] = [:]
  /// Whom it believes, and whom it is shown.
  public var tls = TLSOptions()
  /// Whether requests may go to addresses that are not public, and without TLS.
  public var allowsPrivateNetwork = false

  /// Creates the configuration of a target with every default.
  public init(name: String, type: String) {
    self.name = name
    self.type = type
  }

  /// The types of target there are.
  public static let types = ["webhook", "slack", "telegram", "discord", "amplitude", "mixpanel"]

  /// The target.
  ///
  /// - Throws: ``TargetProblem`` for a type there is none of, or a setting that is missing or of the wrong form.
  public func makeTarget() throws(TargetProblem) -> any Target {
    switch type {
    case "webhook": try WebhookTarget(self)
    case "slack": try SlackTarget(self)
    case "telegram": try TelegramTarget(self)
    case "discord": try DiscordTarget(self)
    case "amplitude": try AmplitudeTarget(self)
    case "mixpanel": try MixpanelTarget(self)
    default:
      throw TargetProblem(
        target: name, setting: "type",
        message: "this version cannot send to \"\(type)\"; it can to \(Self.types.joined(separator: ", "))")
    }
  }
}

extension TargetConfiguration {
  /// What is wrong with one of its settings.
  func problem(_ setting: String, _ message: String) -> TargetProblem {
    TargetProblem(target: name, setting: setting, message: message)
  }

  /// The beginning of a named service's address without a slash at its end: `base_url`, else the usual one.
  func base(_ usual: String) throws(TargetProblem) -> String {
    var base = baseURL ?? usual
    while base.hasSuffix("/") { base.removeLast() }
    guard base.contains("://") else {
      throw problem("base_url", "an address like https://gateway.example.com is needed")
    }
    return base
  }
}

/// What is wrong with a target's configuration. Never contains a value that may be secret.
public struct TargetProblem: Error, Sendable, Equatable, CustomStringConvertible {
  /// The target's name.
  public let target: String
  /// The setting, as the configuration spells it.
  public let setting: String
  /// What is wrong and what is needed.
  public let message: String

  /// One line for people.
  public var description: String { "target \(target): \(setting): \(message)" }
}
