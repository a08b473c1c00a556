import Foundation
public import HTTP
public import Vocabulary

/// A chat of Telegram, by a bot (https://core.telegram.org/bots/api#sendmessage).
public struct TelegramTarget: Target {
  /// What the configuration says.
  public let configuration: TargetConfiguration
  private let url: String
  /// The bot's token, and of it what follows the bot's number.
  private let secrets: [String]
  private let chatID: String
  private let template: ChatTemplate?

  /// Creates the target.
  ///
  /// - Throws: ``TargetProblem`` when `token` or `chat_id` is missing or of another form.
  public init(_ configuration: TargetConfiguration) throws(TargetProblem) {
    // It becomes a part of the address.
    guard let token = configuration.token, !token.isEmpty,
      token.utf8.allSatisfy({
        $0.isLetterOrDigit || [UInt8(ascii: ":"), UInt8(ascii: "_"), UInt8(ascii: "-")].contains($0)
      })
    else { throw configuration.problem("token", "the bot's token is needed, as BotFather gives it") }
    guard let chatID = configuration.chatID, Int64(chatID) != nil || (chatID.hasPrefix("@") && chatID.utf8.count > 1)
    else { throw configuration.problem("chat_id", "the chat's number is needed, such as -1001234567890, or @channel") }
    let base = try configuration.base("https://api.telegram.org")
    self.configuration = configuration
    secrets = [token] + token.split(separator: ":").dropFirst().filter { $0.count > 5 }.map(String.init)
    self.chatID = chatID
    template = try ChatTemplate(configuration, markup: .html, longest: 4096)
    url = "\(base)/bot\(token)/sendMessage"
  }

  /// A message a second to a person, twenty a minute to a group or a channel.
  public var usualPace: Pace? { Pace(perMinute: (Int64(chatID) ?? -1) > 0 ? 60 : 20) }

  /// The chat: a group that becomes a supergroup gets another number.
  public var address: String? { chatID }

  /// As many as a message can hold.
  public var batchSize: Int { 20 }

  /// One, or when many come at once as many as stay under Telegram's 4096 characters and are of one form.
  public func batch(of parcels: ArraySlice<Parcel>) -> Int {
    guard parcels.count > ChatMessage.many else { return 1 }
    let bodies = parcels.prefix(batchSize).map {
      JSONForm.read(Body.self, from: Array($0.body.utf8))
    }
    let alike = bodies.prefix { $0 != nil && $0?.parseMode == bodies[0]?.parseMode }
    return parcels.prefix(max(alike.count, 1)).fitting(4000, atMost: batchSize) {
      $0.body.utf16.count
    }
  }

  /// The message without its chat, which a request adds: it may have moved by then.
  public func body(for announcement: Announcement) -> String {
    let message = ChatMessage(announcement, subscriberURLs: configuration.subscriberURLs)
    if let text = template?.text(message, { $1 ? ChatMessage.escaped($0.text) : Self.marked($0) }) {
      return JSONForm.text(Body(parseMode: "HTML", text: text))
    }
    let lines =
      ["<b>\(message.title)</b>"] + message.lines.map { "\($0.label): \(Self.marked($0.value))" }
      + [Self.marked(ChatMessage.Value(text: message.footer))]
    return JSONForm.text(Body(parseMode: "HTML", text: lines.joined(separator: "\n")))
  }

  /// A value as HTML. Telegram makes links, mentions and commands of what looks like one, but not in code.
  private static func marked(_ value: ChatMessage.Value) -> String {
    let text = ChatMessage.escaped(value.text)
    if let link = value.link {
      return "<a href=\"\(ChatMessage.escaped(link))\">\(text)</a>"
    }
    return looksActive(value.text) ? "<code>\(text)</code>" : text
  }

  /// Whether there may be something in a text that Telegram makes a link, a mention, a command, a tag or a number to call
  /// of: domains are of any script.
  private static func looksActive(_ text: String) -> Bool {
    text.unicodeScalars.indices.contains { isActive(text.unicodeScalars, at: $0) }
  }

  private static func isActive(_ text: String.UnicodeScalarView, at index: String.Index) -> Bool {
    let next = text.index(after: index)
    let follower = next < text.endIndex ? text[next].properties : nil
    return switch text[index] {
    case "@", "#", "/": true
    case ".": follower?.isAlphabetic == true || isInAddress(text, at: index)
    case "$": follower?.isAlphabetic == true
    case "+": follower?.numericType == .decimal
    default: false
    }
  }

  /// Whether a dot is one of the three of a host's number, such as 192.0.2.1.
  private static func isInAddress(_ text: String.UnicodeScalarView, at index: String.Index) -> Bool {
    func isPart(_ scalar: Unicode.Scalar) -> Bool { scalar == "." || ("0"..."9").contains(scalar) }
    let run = text[..<index].reversed().prefix(while: isPart) + text[index...].prefix(while: isPart)
    return run.count { $0 == "." } == 3
  }

  /// A text without markup in which nothing is active: broken by a character that nobody sees.
  private static func inactive(_ text: String) -> String {
    var result = String.UnicodeScalarView()
    for index in text.unicodeScalars.indices {
      result.append(text.unicodeScalars[index])
      if isActive(text.unicodeScalars, at: index) { result.append("\u{2060}") }
    }
    return String(result)
  }

  /// The token is a part of the address.
  public func request(carrying parcels: [Parcel], at now: Instant) -> HTTPRequest {
    let chat = parcels[0].destination ?? chatID
    let chatText = Int64(chat).map { String($0) } ?? JSONForm.text(chat)
    let body = parcels.count == 1 ? parcels[0].body : Self.joined(parcels)
    return HTTPRequest(
      url: url, headers: [.init("content-type", "application/json")],
      body: Array("{\"chat_id\":\(chatText),\(body.dropFirst())".utf8), secrets: secrets)
  }

  /// Several messages as one, an empty line between them.
  private static func joined(_ parcels: [Parcel]) -> String {
    let bodies = parcels.compactMap { JSONForm.read(Body.self, from: Array($0.body.utf8)) }
    return JSONForm.text(
      Body(parseMode: bodies.first?.parseMode, text: bodies.map(\.text).joined(separator: "\n\n")))
  }

  /// What Telegram's answer says, by its own code where it has one.
  public func verdicts(on response: HTTPResponse, carrying parcels: [Parcel], at now: Instant)
    -> [Verdict]
  {
    parcels.map { parcel in
      let verdict = verdict(on: response, carrying: parcel, at: now)
      return parcels.count > 1 ? verdict.dividing : verdict
    }
  }

  private func verdict(on response: HTTPResponse, carrying parcel: Parcel, at now: Instant) -> Verdict {
    let answer = JSONForm.read(Answer.self, from: response.body)
    let isAccepted = (200..<300).contains(response.status)
    if isAccepted, answer?.ok != false {
      // A page or an error of a proxy on the way is no answer of Telegram.
      let isForeign =
        response.body.first == UInt8(ascii: "<")
        || answer == nil && JSONForm.read(ForeignAnswer.self, from: response.body)?.saysError == true
      return isForeign
        ? .retry(reason: "Telegram's address answered \(response.status) with what is no answer of Telegram")
        : .delivered
    }
    let status = isAccepted ? answer?.errorCode ?? 400 : response.status
    let words = answer?.description ?? ""
    let said = ChatMessage.words(words, without: secrets)
    let reason = "Telegram answered \(status)\(said.map { ": \($0)" } ?? "")"
    switch status {
    case 429:
      return .throttled(seconds: answer?.parameters?.seconds ?? response.retryAfter(now: now), reason: reason)
    case 400:
      return verdict(onBadRequest: words.lowercased(), answer?.parameters?.migrateToChatID, reason, carrying: parcel)
    default:
      return Verdict(status: status, retryAfter: nil).saying(reason)
    }
  }

  private func verdict(
    onBadRequest words: String, _ movedTo: Int64?, _ reason: String, carrying parcel: Parcel
  ) -> Verdict {
    if let movedTo, String(movedTo) != parcel.destination ?? chatID {
      return .moved(to: String(movedTo), reason: reason)
    }
    if Self.wordsOfGoneChats.contains(where: words.contains) { return .paused(reason: reason) }
    let isTooLong = words.contains("too long")
    if isTooLong || words.contains("parse entities"),
      let body = JSONForm.read(Body.self, from: Array(parcel.body.utf8)),
      body.parseMode != nil
    {
      // Once: without markup, so that what is to be told is not lost. Values are escaped: every tag is the program's own.
      let plain = ChatMessage.unescaped(
        body.text.replacing(/<[^>]*>/.matchingSemantics(.unicodeScalar), with: ""))
      return .reworded(
        body: JSONForm.text(
          Body(parseMode: nil, text: Self.inactive(isTooLong ? ChatMessage.cut(plain, to: 1000) : plain))),
        reason: reason)
    }
    return .refused(reason: reason)
  }

  /// What a description says when no message can reach the chat, whatever is in it.
  private static let wordsOfGoneChats = [
    "chat not found", "chat was deactivated", "chat_id is empty", "chat_write_forbidden", "have no rights",
    "not enough rights", "peer_id_invalid",
  ]

  private struct Answer: Decodable {
    struct Parameters: Decodable {
      let migrateToChatID: Int64?
      let retryAfter: Double?

      enum CodingKeys: String, CodingKey {
        case migrateToChatID = "migrate_to_chat_id"
        case retryAfter = "retry_after"
      }

      var seconds: Int64? { retryAfter.flatMap { Int64(exactly: $0.rounded(.up)) } }
    }

    let ok: Bool
    let errorCode: Int?
    let description: String?
    let parameters: Parameters?

    enum CodingKeys: String, CodingKey {
      case ok
      case errorCode = "error_code"
      case description, parameters
    }
  }

  /// An object of which Telegram would say whether it is `ok`.
  private struct ForeignAnswer: Decodable {
    let saysError: Bool

    enum CodingKeys: String, CodingKey { case error, errors }

    init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: CodingKeys.self)
      saysError = container.contains(.error) || container.contains(.errors)
    }
  }

  private struct Body: Codable {
    struct LinkPreview: Codable {
      var isDisabled = true

      enum CodingKeys: String, CodingKey { case isDisabled = "is_disabled" }
    }

    var linkPreview = LinkPreview()
    let parseMode: String?
    let text: String

    enum CodingKeys: String, CodingKey {
      case linkPreview = "link_preview_options"
      case parseMode = "parse_mode"
      case text
    }
  }
}

extension UInt8 {
  /// Whether it is a letter or a digit of ASCII.
  var isLetterOrDigit: Bool {
    (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self | 0x20)
      || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self)
  }
}
