import Foundation
public import HTTP
public import Vocabulary

/// A chat of Telegram, by a bot (https://core.telegram.org/bots/api#sendmessage).
public struct TelegramTarget: Target {
  /// What the configuration says.
  public let configuration: TargetConfiguration
  private let url: String
  private let token: String
  private let chatID: String

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
    self.token = token
    self.chatID = chatID
    url = "\(base)/bot\(token)/sendMessage"
  }

  /// A message a second to a person, twenty a minute to a group or a channel.
  public var interval: Int64? { (Int64(chatID) ?? -1) > 0 ? 1 : 3 }

  /// The chat: a group that becomes a supergroup gets another number.
  public var address: String? { chatID }

  /// The message without its chat, which a request adds: it may have moved by then.
  public func body(for announcement: Announcement) -> String {
    let message = ChatMessage(announcement)
    let lines =
      ["<b>\(message.title)</b>"] + message.lines.map { "\($0.label): \(ChatMessage.escaped($0.value))" }
      + [ChatMessage.escaped(message.footer)]
    return JSONForm.text(Body(parseMode: "HTML", text: lines.joined(separator: "\n")))
  }

  /// The token is a part of the address.
  public func request(carrying parcels: [Parcel], at now: Instant) -> HTTPRequest {
    let chat = parcels[0].destination ?? chatID
    let chatText = Int64(chat).map { String($0) } ?? JSONForm.text(chat)
    return HTTPRequest(
      url: url, headers: [.init("content-type", "application/json")],
      body: Array("{\"chat_id\":\(chatText),\(parcels[0].body.dropFirst())".utf8), secrets: [token])
  }

  /// What Telegram's answer says, by its own code where it has one.
  public func verdicts(on response: HTTPResponse, carrying parcels: [Parcel], at now: Instant) -> [Verdict] {
    [verdict(on: response, carrying: parcels[0], at: now)]
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
    let said = HTTPRequest.masking([token], in: ChatMessage.line(words, longest: 200))
    let reason = "Telegram answered \(status)\(said.isEmpty ? "" : ": \(said)")"
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
      // Once: without markup, so that what is to be told is not lost. It has none but this, whose values are escaped.
      let plain = ChatMessage.unescaped(body.text.replacing("<b>", with: "").replacing("</b>", with: ""))
      return .reworded(
        body: JSONForm.text(Body(parseMode: nil, text: isTooLong ? ChatMessage.cut(plain, to: 1000) : plain)),
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
