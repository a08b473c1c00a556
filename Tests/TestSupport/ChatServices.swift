import Foundation
import Synchronization

/// What a chat service of a test was sent, and what it took.
public struct ChatPost: Sendable {
  /// Where it went: Telegram's chat, empty for Slack.
  public let chat: String
  /// What people read, without markup.
  public let text: String
}

/// Incoming webhooks of Slack as the real ones behave: limits, words for errors, plain text for them.
public enum SlackService {
  /// What it answers to a request, and the text people read when it takes it.
  public static func answer(_ request: HTTPReceiver.Request) -> (answer: HTTPReceiver.Answer, post: ChatPost?) {
    func refuse(_ word: String) -> (HTTPReceiver.Answer, ChatPost?) { (.status(400, body: word), nil) }
    guard request.headers["content-type"]?.hasPrefix("application/json") == true,
      let body = try? JSONSerialization.jsonObject(with: Data(request.body)) as? [String: Any]
    else { return refuse("invalid_payload") }
    guard let text = body["text"] as? String, !text.isEmpty else { return refuse("no_text") }
    guard let blocks = body["blocks"] as? [[String: Any]], blocks.count <= 50 else { return refuse("invalid_blocks") }
    var total = 0
    var shown: [String] = []
    for block in blocks {
      let limit: Int
      let texts: [[String: Any]]
      switch block["type"] as? String {
      case "header": (limit, texts) = (150, [block["text"] as? [String: Any] ?? [:]])
      case "section": (limit, texts) = (2000, block["fields"] as? [[String: Any]] ?? [])
      case "context": (limit, texts) = (2000, block["elements"] as? [[String: Any]] ?? [])
      default: return refuse("invalid_blocks")
      }
      guard (1...10).contains(texts.count) else { return refuse("invalid_blocks") }
      for object in texts {
        guard let text = object["text"] as? String, !text.isEmpty, text.utf16.count <= limit,
          ["plain_text", "mrkdwn"].contains(object["type"] as? String ?? "")
        else { return refuse("invalid_blocks") }
        total += text.utf16.count
        shown.append(text)
      }
    }
    guard total <= 13_000, text.utf16.count <= 4000 else { return refuse("msg_blocks_too_long") }
    // What Slack would make a mention or a link of must have been written by the program itself, and it writes none.
    for text in shown + [text] where text.contains("<") || text.contains(">") { return refuse("invalid_payload") }
    return (.status(200, body: "ok"), ChatPost(chat: "", text: unescaped(shown.joined(separator: "\n"))))
  }

  fileprivate static func unescaped(_ text: String) -> String {
    text.replacingOccurrences(of: "&lt;", with: "<").replacingOccurrences(of: "&gt;", with: ">")
      .replacingOccurrences(of: "&amp;", with: "&")
  }
}

/// The bot interface of Telegram as the real one behaves: chats it knows, markup it reads, its limit for a text.
public final class TelegramService: Sendable {
  private struct State {
    var chats: Set<String>
    var moved: [String: String] = [:]
    var refusesMarkup = false
  }

  private let token: String
  private let state: Mutex<State>

  /// Creates the service with the chats that a bot can reach.
  public init(token: String, chats: Set<String>) {
    self.token = token
    state = Mutex(State(chats: chats))
  }

  /// Makes a group a supergroup with another number.
  public func move(_ chat: String, to other: String) {
    state.withLock { state in
      state.chats.remove(chat)
      state.chats.insert(other)
      state.moved[chat] = other
    }
  }

  /// Lets it find fault with every markup.
  public func refuseMarkup() { state.withLock { $0.refusesMarkup = true } }

  /// What it answers to a request, and the text people read when it takes it.
  public func answer(_ request: HTTPReceiver.Request) -> (answer: HTTPReceiver.Answer, post: ChatPost?) {
    func refuse(_ code: Int, _ words: String, _ parameters: String = "") -> (HTTPReceiver.Answer, ChatPost?) {
      (.status(code, body: #"{"ok":false,"error_code":\#(code),"description":"\#(words)"\#(parameters)}"#), nil)
    }
    guard request.path == "/bot\(token)/sendMessage" else { return refuse(404, "Not Found") }
    guard let body = try? JSONSerialization.jsonObject(with: Data(request.body)) as? [String: Any],
      let raw = body["text"] as? String
    else { return refuse(400, "Bad Request: message text is empty") }
    let chat = (body["chat_id"] as? Int64).map { String($0) } ?? body["chat_id"] as? String ?? ""
    let (isKnown, movedTo, refusesMarkup) = state.withLock { state in
      (state.chats.contains(chat), state.moved[chat], state.refusesMarkup)
    }
    if let movedTo {
      return refuse(
        400, "Bad Request: group chat was upgraded to a supergroup chat",
        #","parameters":{"migrate_to_chat_id":\#(movedTo)}"#)
    }
    guard isKnown else { return refuse(400, "Bad Request: chat not found") }
    var text = raw
    switch body["parse_mode"] as? String {
    case "HTML":
      let pattern = /<\/?b>|&(?:lt|gt|amp|quot);|[<>&]/
      for match in raw.matches(of: pattern) where ["<", ">", "&"].contains(match.output) {
        return refuse(400, "Bad Request: can't parse entities: Unsupported start tag at byte offset 8")
      }
      if refusesMarkup {
        return refuse(400, "Bad Request: can't parse entities: Can't find end of the entity starting at byte offset 8")
      }
      text = SlackService.unescaped(
        raw.replacingOccurrences(of: "<b>", with: "").replacingOccurrences(of: "</b>", with: ""))
    case nil: break
    default: return refuse(400, "Bad Request: unsupported parse_mode")
    }
    guard !text.isEmpty else { return refuse(400, "Bad Request: message text is empty") }
    guard text.utf16.count <= 4096 else { return refuse(400, "Bad Request: message is too long") }
    return (.status(200, body: #"{"ok":true,"result":{"message_id":42}}"#), ChatPost(chat: chat, text: text))
  }
}
