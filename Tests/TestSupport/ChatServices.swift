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
      case "section":
        let text = block["text"] as? [String: Any]
        (limit, texts) = text.map { (3000, [$0]) } ?? (2000, block["fields"] as? [[String: Any]] ?? [])
      case "divider": continue
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
    // What Slack would make a mention or a link of must have been written by the program itself: a link with its text.
    let link = /<https:\/\/admin\.example\.com\/[!-;=?-{}~]*\|([^<>|]*)>/
    let plain = shown.map { $0.replacing(link) { String($0.output.1) } }
    // What joins a bracket for the eye leaves it one.
    for text in plain + [text] where text.unicodeScalars.contains(where: { ["<", ">"].contains($0) }) {
      return refuse("invalid_payload")
    }
    return (.status(200, body: "ok"), ChatPost(chat: "", text: unescaped(plain.joined(separator: "\n"))))
  }

  fileprivate static func unescaped(_ text: String) -> String {
    [("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&")].reduce(text) {
      $0.replacingOccurrences(of: $1.0, with: $1.1, options: .literal)
    }
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
      let pattern =
        /<\/?(?:b|code)>|<a href="https:\/\/admin\.example\.com\/[^"<>]*">|<\/a>|&(?:lt|gt|amp|quot);|[<>&]/
        .matchingSemantics(.unicodeScalar)
      for match in raw.matches(of: pattern) where ["<", ">", "&"].contains(match.output) {
        return refuse(400, "Bad Request: can't parse entities: Unsupported start tag at byte offset 8")
      }
      if refusesMarkup {
        return refuse(400, "Bad Request: can't parse entities: Can't find end of the entity starting at byte offset 8")
      }
      // What a client would make a link, a mention or a command of stands in code, or in a link of the program's own.
      let bare = raw.replacing(/<code>[^<]*<\/code>|<a [^<]*<\/a>|<\/?b>/.matchingSemantics(.unicodeScalar), with: "")
      if Self.isActive(bare) { return refuse(400, "Bad Request: a link or a mention") }
      text = SlackService.unescaped(raw.replacing(/<[^>]*>/.matchingSemantics(.unicodeScalar), with: ""))
    case nil:
      if Self.isActive(raw) { return refuse(400, "Bad Request: a link or a mention") }
    default: return refuse(400, "Bad Request: unsupported parse_mode")
    }
    guard !text.isEmpty else { return refuse(400, "Bad Request: message text is empty") }
    guard text.utf16.count <= 4096 else { return refuse(400, "Bad Request: message is too long") }
    return (.status(200, body: #"{"ok":true,"result":{"message_id":42}}"#), ChatPost(chat: chat, text: text))
  }

  /// Whether a client makes a link, a mention, a tag, a command or a number to call of something in a text.
  private static func isActive(_ text: String) -> Bool {
    text.contains(
      /[@#]\w|:\/\/|\/[A-Za-z]|\.\p{L}|\$\p{L}|\+\d|\d+\.\d+\.\d+\.\d+/.matchingSemantics(.unicodeScalar))
  }
}

/// Webhooks of Discord as the real ones behave: limits, mentions, and a message back when one waits for it.
public enum DiscordService {
  /// What it answers to a request, and the text people read when it takes it.
  public static func answer(_ request: HTTPReceiver.Request) -> (answer: HTTPReceiver.Answer, post: ChatPost?) {
    func refuse(_ place: String, _ words: String) -> (HTTPReceiver.Answer, ChatPost?) {
      (.status(400, body: #"{"\#(place)":["\#(words)"]}"#), nil)
    }
    guard request.path.contains("wait=true") else { return (.status(204), nil) }
    guard request.headers["content-type"]?.hasPrefix("application/json") == true,
      let body = try? JSONSerialization.jsonObject(with: Data(request.body)) as? [String: Any]
    else { return (.status(400, body: #"{"message":"The request body contains invalid JSON.","code":50109}"#), nil) }
    let content = body["content"] as? String ?? ""
    let embeds = body["embeds"] as? [[String: Any]] ?? []
    guard !content.isEmpty || !embeds.isEmpty else {
      return (.status(400, body: #"{"message":"Cannot send an empty message","code":50006}"#), nil)
    }
    guard content.count <= 2000 else { return refuse("content", "Must be 2000 or fewer in length.") }
    guard embeds.count <= 10 else { return refuse("embeds", "Must be 10 or fewer in length.") }
    var shown: [String] = content.isEmpty ? [] : [content]
    var total = 0
    for embed in embeds {
      let fields = embed["fields"] as? [[String: Any]] ?? []
      let title = embed["title"] as? String ?? ""
      let description = embed["description"] as? String ?? ""
      let footer = (embed["footer"] as? [String: Any])?["text"] as? String ?? ""
      guard title.count <= 256, description.count <= 4096, footer.count <= 2048, fields.count <= 25 else {
        return refuse("embeds", "Must be fewer in length.")
      }
      total += title.count + description.count + footer.count
      shown += [title, description].filter { !$0.isEmpty }
      for field in fields {
        guard let name = field["name"] as? String, (1...256).contains(name.count),
          let value = field["value"] as? String, (1...1024).contains(value.count)
        else { return refuse("embeds", "This field is required") }
        total += name.count + value.count
        shown += [name, value]
      }
    }
    guard total <= 6000 else { return refuse("embeds", "Embed size exceeds maximum size of 6000") }
    // Nobody may be called by a value: neither by name nor by what only looks like one.
    guard (body["allowed_mentions"] as? [String: [String]])?["parse"] == [] else {
      return refuse("allowed_mentions", "mentions are not switched off")
    }
    let plain = shown.map { text in
      text.replacing(
        /\[((?:[^\]\\]|\\.)*)\]\(https:\/\/admin\.example\.com\/[!-'*-~]*\)/.matchingSemantics(.unicodeScalar)
      ) {
        String($0.output.1)
      }
    }
    let escaped = /\\[^0-9A-Za-z\s]/.matchingSemantics(.unicodeScalar)
    for text in plain
    where text.replacing(escaped, with: "").contains(/[<>@*_~`|#\[\]]|:\/\//.matchingSemantics(.unicodeScalar)) {
      return refuse("embeds", "a mention, a link or markup")
    }
    let text = plain.joined(separator: "\n").replacing(/\\([^0-9A-Za-z\s])/.matchingSemantics(.unicodeScalar)) {
      String($0.output.1)
    }
    return (.status(200, body: #"{"id":"1","content":""}"#), ChatPost(chat: "", text: text))
  }
}
