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
  /// When it wants each day's figures; `nil` for never.
  public var digest: Digest?
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

  /// A time of day.
  public struct Digest: Sendable, Equatable {
    /// Hour and minute, as `09:00`.
    public var at: String
    /// The IANA name of the time zone whose clock that is.
    public var timezone: String

    /// Creates a time of day.
    public init(at: String, timezone: String) {
      self.at = at
      self.timezone = timezone
    }
  }

  /// Creates the configuration of a target with every default.
  public init(name: String, type: String) {
    self.name = name
    self.type = type
  }

  private typealias Maker = @Sendable (TargetConfiguration) throws(TargetProblem) -> any Target

  /// What makes a target of each type there is.
  private static let makers: [(type: String, make: Maker)] = [
    ("webhook", { configuration throws(TargetProblem) in try WebhookTarget(configuration) }),
    ("slack", { configuration throws(TargetProblem) in try SlackTarget(configuration) }),
    ("telegram", { configuration throws(TargetProblem) in try TelegramTarget(configuration) }),
    ("discord", { configuration throws(TargetProblem) in try DiscordTarget(configuration) }),
    ("amplitude", { configuration throws(TargetProblem) in try AmplitudeTarget(configuration) }),
    ("mixpanel", { configuration throws(TargetProblem) in try MixpanelTarget(configuration) }),
  ]

  /// The types of target there are.
  public static let types = makers.map(\.type)

  /// The target.
  ///
  /// - Throws: ``TargetProblem`` for a type there is none of, or a setting that is missing or of the wrong form.
  public func makeTarget() throws(TargetProblem) -> any Target {
    guard let maker = Self.makers.first(where: { $0.type == type }) else {
      throw problem("type", "this version cannot send to \"\(type)\"; it can to \(Self.types.joined(separator: ", "))")
    }
    return try maker.make(self)
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
