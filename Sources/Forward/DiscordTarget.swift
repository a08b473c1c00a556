import Foundation
public import HTTP
public import Vocabulary

/// A channel of Discord, by a webhook (https://discord.com/developers/docs/resources/webhook#execute-webhook).
public struct DiscordTarget: Target {
  /// What the configuration says.
  public let configuration: TargetConfiguration
  private let url: String
  private let template: ChatTemplate?
  /// The parts of the address that nobody may see.
  private let secrets: [String]

  /// Creates the target.
  ///
  /// - Throws: ``TargetProblem`` when `url` is missing.
  public init(_ configuration: TargetConfiguration) throws(TargetProblem) {
    guard let url = configuration.url, url.contains("://") else {
      throw configuration.problem(
        "url", "the address of a webhook is needed, like https://discord.com/api/webhooks/…")
    }
    self.configuration = configuration
    template = try ChatTemplate(configuration, markup: .markdown, longest: 4000)
    // Without it Discord answers before the message is kept, and does not say when it is not.
    self.url =
      url.split(separator: "?").dropFirst().contains { $0.contains("wait=") }
      ? url : url + (url.contains("?") ? "&wait=true" : "?wait=true")
    let origin = HTTPRequest.origin(of: url)
    secrets = url.dropFirst(origin.count).split { "/?&=".contains($0) }.map(String.init).filter { $0.count > 5 }
  }

  /// Discord takes about thirty messages a minute for a channel, a few at once; its answers say more exactly.
  public var usualPace: Pace? { Pace(perMinute: 30, burst: 3) }

  /// What Discord's headers say of its own bucket (https://discord.com/developers/docs/topics/rate-limits).
  public func rest(after response: HTTPResponse) -> Int64? {
    guard response.headers["x-ratelimit-remaining"] == "0",
      let seconds = response.headers["x-ratelimit-reset-after"].flatMap(Double.init), seconds > 0
    else { return nil }
    // A longer one is for the answer 429 to ask for.
    return Int64((min(seconds, 60) * 1_000_000).rounded(.up))
  }

  /// As many embeds as a message takes.
  public var batchSize: Int { 10 }

  /// One, or when many come at once as many as stay under Discord's 6000 characters for all embeds.
  public func batch(of parcels: ArraySlice<Parcel>) -> Int {
    parcels.count > ChatMessage.many
      ? parcels.fitting(6000, atMost: batchSize) { $0.body.utf16.count } : 1
  }

  /// An embed, in which nothing is a mention.
  public func body(for announcement: Announcement) -> String {
    let message = ChatMessage(announcement, subscriberURLs: configuration.subscriberURLs)
    var embed = Embed(footer: Footer(text: message.footer))
    if let text = template?.text(message, { value, _ in Self.marked(value) }) {
      embed.description = text
    } else {
      embed.title = ChatMessage.cut(message.title, to: 256)
      embed.fields = message.lines.map { Field(name: $0.label, value: Self.marked($0.value)) }
    }
    return JSONForm.text(Body(embeds: [embed]))
  }

  private static func marked(_ value: ChatMessage.Value) -> String {
    let text = escaped(ChatMessage.cut(value.text, to: longestValue))
    return value.link.map { "[\(text)](\($0))" } ?? text
  }

  /// The longest value, before it is escaped: ten of them, each character escaped, stay under the 6000 characters that a
  /// message's embeds may have.
  private static let longestValue = 250

  /// The address is the secret.
  public func request(carrying parcels: [Parcel], at now: Instant) -> HTTPRequest {
    HTTPRequest(
      url: url, headers: [.init("content-type", "application/json")],
      body: Array(parcels.count == 1 ? parcels[0].body.utf8 : joined(parcels).utf8),
      secrets: secrets)
  }

  /// Several messages as one.
  private func joined(_ parcels: [Parcel]) -> String {
    let bodies = parcels.compactMap { JSONForm.read(Body.self, from: Array($0.body.utf8)) }
    return JSONForm.text(Body(embeds: bodies.flatMap(\.embeds)))
  }

  /// What the status says, with Discord's words where they are any.
  public func verdicts(on response: HTTPResponse, carrying parcels: [Parcel], at now: Instant) -> [Verdict] {
    let answer = JSONForm.read(Answer.self, from: response.body)
    let words = ChatMessage.words(answer?.message, without: secrets)
    let reason = "Discord answered \(response.status)\(words.map { ": \($0)" } ?? "")"
    let verdict: Verdict =
      switch response.status {
      case 200..<300:
        response.body.first == UInt8(ascii: "<") ? .retry(reason: "\(reason) with a page") : .delivered
      case 429: .throttled(seconds: response.retryAfter(now: now) ?? answer?.seconds, reason: reason)
      default: Verdict(status: response.status, retryAfter: nil).saying(reason)
      }
    return parcels.map { _ in parcels.count > 1 ? verdict.dividing : verdict }
  }

  /// A text of which Discord makes no markup, mention or link. A backslash before a character that is neither a letter nor
  /// a digit makes it stand for itself.
  static func escaped(_ text: String) -> String {
    // By scalars: an accent after a `*` joins it for the eye, and leaves it markup.
    var result = String.UnicodeScalarView()
    for scalar in text.unicodeScalars {
      if markup.contains(scalar) { result.append("\\") }
      result.append(scalar)
    }
    return String(result)
  }

  private static let markup = Set(#"\*_~`|<>@#[]():-+"#.unicodeScalars)

  private struct Answer: Decodable {
    let message: String?
    let retryAfter: Double?

    enum CodingKeys: String, CodingKey {
      case message
      case retryAfter = "retry_after"
    }

    var seconds: Int64? { retryAfter.flatMap { Int64(exactly: $0.rounded(.up)) } }
  }

  private struct Body: Codable {
    var allowedMentions = Mentions()
    var embeds: [Embed]

    enum CodingKeys: String, CodingKey {
      case allowedMentions = "allowed_mentions"
      case embeds
    }
  }

  private struct Mentions: Codable {
    var parse: [String] = []
  }

  private struct Embed: Codable {
    var title: String?
    var description: String?
    var fields: [Field]?
    let footer: Footer
  }

  private struct Field: Codable {
    let name: String
    let value: String
    var inline = true
  }

  private struct Footer: Codable {
    let text: String
  }
}
