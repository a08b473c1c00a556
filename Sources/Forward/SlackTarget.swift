import Foundation
public import HTTP
public import Vocabulary

/// A channel of Slack, by an incoming webhook (https://api.slack.com/messaging/webhooks).
public struct SlackTarget: Target {
  /// What the configuration says.
  public let configuration: TargetConfiguration
  private let url: String
  private let template: ChatTemplate?

  /// Creates the target.
  ///
  /// - Throws: ``TargetProblem`` when `url` is missing.
  public init(_ configuration: TargetConfiguration) throws(TargetProblem) {
    guard let url = configuration.url, url.contains("://") else {
      throw configuration.problem(
        "url", "the address of an incoming webhook is needed, like https://hooks.slack.com/services/…")
    }
    self.configuration = configuration
    self.url = url
    template = try ChatTemplate(configuration, markup: .mrkdwn, longest: 3000)
  }

  /// Slack takes a message a second from a webhook.
  public var usualPace: Pace? { Pace(perMinute: 60) }

  /// As many as stay under Slack's fifty blocks.
  public var batchSize: Int { 12 }

  /// One, or when many come at once as many as stay under Slack's limit for all blocks.
  public func batch(of parcels: ArraySlice<Parcel>) -> Int {
    parcels.count > ChatMessage.many
      ? parcels.fitting(12_000, atMost: batchSize) { $0.body.utf16.count } : 1
  }

  /// Blocks, and beside them the text that notifications show.
  public func body(for announcement: Announcement) -> String {
    let message = ChatMessage(announcement, subscriberURLs: configuration.subscriberURLs)
    let values = message.lines.map(\.value.text).joined(separator: ", ")
    let title = ChatMessage.cut(message.title, to: 150)
    let text = values.isEmpty ? title : "\(title): \(ChatMessage.escaped(values))"
    if let marked = template?.text(message, { $1 ? linkText($0) : self.marked($0) }) {
      return JSONForm.text(Body(blocks: [Block(type: "section", text: Text(marked: marked))], text: text))
    }
    var blocks = [Block(type: "header", text: Text(type: "plain_text", text: title, emoji: true))]
    let fields = message.lines.map { Text(marked: "*\($0.label)*\n\(marked($0.value))") }
    if !fields.isEmpty { blocks.append(Block(type: "section", fields: fields)) }
    blocks.append(
      Block(type: "context", elements: [Text(marked: ChatMessage.escaped(message.footer))]))
    return JSONForm.text(Body(blocks: blocks, text: text))
  }

  private func marked(_ value: ChatMessage.Value) -> String {
    value.link.map { "<\(ChatMessage.escaped($0))|\(linkText(value))>" } ?? ChatMessage.escaped(value.text)
  }

  private func linkText(_ value: ChatMessage.Value) -> String {
    ChatMessage.rewriting(ChatMessage.escaped(value.text), [("|", "¦")])
  }

  /// The address is the secret.
  public func request(carrying parcels: [Parcel], at now: Instant) -> HTTPRequest {
    HTTPRequest(
      url: url, headers: [.init("content-type", "application/json; charset=utf-8")],
      body: Array(parcels.count == 1 ? parcels[0].body.utf8 : joined(parcels).utf8))
  }

  /// Several messages as one, a line between them.
  private func joined(_ parcels: [Parcel]) -> String {
    let bodies = parcels.compactMap { JSONForm.read(Body.self, from: Array($0.body.utf8)) }
    let blocks = bodies.map(\.blocks).joined(separator: [Block(type: "divider")])
    let text =
      "\(bodies.count) events: "
      + bodies.map { $0.text.prefix { $0 != ":" } }.joined(separator: ", ")
    return JSONForm.text(Body(blocks: Array(blocks), text: text))
  }

  /// What the status and Slack's word for it say. The word is shown where it can be nothing else.
  public func verdicts(on response: HTTPResponse, carrying parcels: [Parcel], at now: Instant)
    -> [Verdict]
  {
    let verdict = verdict(on: response, at: now)
    return parcels.map { _ in parcels.count > 1 ? verdict.dividing : verdict }
  }

  private func verdict(on response: HTTPResponse, at now: Instant) -> Verdict {
    let body = String(decoding: response.body, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
    let answer = JSONForm.read(Answer.self, from: response.body)
    let word = [answer?.error, body].compactMap { $0 }.first(where: isWord)
    let reason = "Slack answered \(response.status)\(word.map { ": \($0)" } ?? "")"
    switch response.status {
    case 200..<300:
      if answer?.ok == false || answer?.error != nil || (word != nil && word?.lowercased() != "ok") {
        // The same words mean the same under whatever status.
        return Self.gone.contains(word ?? "") ? .paused(reason: reason) : .refused(reason: reason)
      }
      return body.hasPrefix("<") ? .retry(reason: "\(reason) with a page instead of Slack's word") : .delivered
    case 429:
      return .throttled(seconds: response.retryAfter(now: now) ?? answer?.seconds, reason: reason)
    case 404 where word == "no_service":
      // Seen now and then from webhooks that are in order.
      return .doubtful(reason: reason)
    case 400..<500 where Self.gone.contains(word ?? ""):
      return .paused(reason: reason)
    default:
      return Verdict(status: response.status, retryAfter: nil).saying(reason)
    }
  }

  /// Words that say that the webhook or its channel is not what it was.
  private static let gone: Set<String> = [
    "account_inactive", "action_prohibited", "channel_is_archived", "channel_not_found", "invalid_token",
    "no_active_hooks", "no_team", "posting_to_general_channel_denied", "team_disabled", "token_revoked",
  ]

  /// Whether a text is one of Slack's words for an error, which are small letters and underscores; never one that is a
  /// part of the address.
  private func isWord(_ text: String) -> Bool {
    (1...60).contains(text.utf8.count) && !url.contains(text)
      && text.utf8.allSatisfy { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0 | 0x20) || $0 == UInt8(ascii: "_") }
  }

  private struct Answer: Decodable {
    let ok: Bool?
    let error: String?
    let retryAfter: Double?

    enum CodingKeys: String, CodingKey {
      case ok, error
      case retryAfter = "retry_after"
    }

    var seconds: Int64? { retryAfter.flatMap { Int64(exactly: $0.rounded(.up)) } }
  }

  private struct Body: Codable {
    let blocks: [Block]
    let text: String
  }

  private struct Block: Codable {
    let type: String
    var text: Text?
    var fields: [Text]?
    var elements: [Text]?
  }

  private struct Text: Codable {
    let type: String
    let text: String
    var emoji: Bool?
    var verbatim: Bool?

    init(type: String, text: String, emoji: Bool) {
      self.type = type
      self.text = text
      self.emoji = emoji
    }

    /// Text with markup of our own. Verbatim: Slack makes no link and no mention of what only looks like one.
    init(marked text: String) {
      type = "mrkdwn"
      self.text = text
      verbatim = true
    }
  }
}
