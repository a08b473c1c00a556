import Vocabulary

/// What a message to people says about an event: the same for every chat, before its own markup.
///
/// Labels and titles are the program's own words. Values come from outside: they are one line each, cut, and must be
/// escaped by the rules of the service they are sent to.
struct ChatMessage {
  /// One thing it says.
  struct Line {
    let label: String
    let value: String
  }

  /// The longest a value may become, in UTF-16 units once `&`, `<` and `>` are escaped.
  ///
  /// With the ten values that there can be at most, a message stays under every limit there is: Slack's 2000 for a
  /// field, 3000 for a section and about 13 000 for all blocks, Telegram's 4096.
  static let longestValue = 300

  /// What happened, in words.
  let title: String
  /// What is known about it, in order.
  let lines: [Line]
  /// Where and when.
  let footer: String

  init(_ announcement: Announcement) {
    let event = announcement.event
    title = ([event.kind] + event.also).map(Self.words).enumerated()
      .map { $0.offset == 0 ? $0.element : $0.element.lowercased() }.joined(separator: ", ")
    var lines: [Line] = []
    func say(_ label: String, _ value: String?) {
      guard let value, !value.isEmpty else { return }
      lines.append(Line(label: label, value: Self.line(value)))
    }
    let isPlanned = event.kind == .productChanged && event.detail.effective == "next_period"
    let products = [announcement.product, isPlanned ? announcement.nextProduct : nil].compactMap { $0?.title }
    // Cut here, so that neither pushes the other out.
    let longestProduct = Self.longestValue / max(products.count, 1) - " → ".count
    say("Product", products.map { Self.line($0, longest: longestProduct) }.joined(separator: " → "))
    say("Amount", event.amount?.description)
    say("Change", event.detail.direction.map { isPlanned ? "\($0), at the next renewal" : $0 })
    say("Reason", event.detail.reason)
    say("Message", event.detail.message)
    say("Country", event.transaction?.country.value)
    say("Subscriber", event.subscriberID ?? event.appTransactionID ?? event.originalTransactionID)
    if event.environment != .production { say("Environment", event.environment.rawValue) }
    self.lines = lines
    let moment = event.occurredAt.description
    footer = [
      event.app.map { Self.line($0) }, event.store.rawValue,
      "\(moment.prefix(10)) \(moment.dropFirst(11).prefix(5)) UTC",
    ]
    .compactMap { $0 }.joined(separator: " · ")
  }

  /// A kind in words: `subscription_renewed` is "Subscription renewed".
  private static func words(_ kind: EventKind) -> String {
    let text = kind.rawValue.replacing("_", with: " ")
    return text.prefix(1).uppercased() + text.dropFirst()
  }

  /// A value as one line that is not too long. Characters that steer a terminal, end a line or turn the direction of what
  /// follows are spaces in it.
  static func line(_ value: String, longest: Int = longestValue) -> String {
    let scalars = value.unicodeScalars.map { scalar -> Unicode.Scalar in
      switch scalar.properties.generalCategory {
      case .control, .lineSeparator, .paragraphSeparator: " "
      case .format where (0x202A...0x202E).contains(scalar.value) || (0x2066...0x2069).contains(scalar.value): " "
      default: scalar
      }
    }
    var text = String.UnicodeScalarView()
    text.append(contentsOf: scalars)
    return cut(String(text), to: longest)
  }

  /// A text, cut with `…` where it would be longer than so many UTF-16 units once escaped. Never within a surrogate pair,
  /// and within what people see as one character only where that alone is too long.
  static func cut(_ text: String, to longest: Int) -> String {
    func length(_ text: some StringProtocol) -> Int {
      text.utf16.reduce(0) { $0 + (Self.entities[$1]?.utf16.count ?? 1) }
    }
    if length(text) <= longest { return text }
    var left = longest - 1
    var kept = ""
    for character in text {
      let needed = length(String(character))
      if needed > left {
        if kept.isEmpty {
          for scalar in String(character).unicodeScalars {
            let needed = length(String(scalar))
            if needed > left { break }
            kept.unicodeScalars.append(scalar)
            left -= needed
          }
        }
        break
      }
      kept.append(character)
      left -= needed
    }
    return kept + "…"
  }

  private static let entities: [UInt16: String] = [
    UInt16(UInt8(ascii: "&")): "&amp;", UInt16(UInt8(ascii: "<")): "&lt;", UInt16(UInt8(ascii: ">")): "&gt;",
  ]

  /// A text in which `&`, `<` and `>` stand for themselves: what Slack asks for, and Telegram's HTML.
  static func escaped(_ text: String) -> String {
    text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
  }

  /// The text that ``escaped(_:)`` was made of.
  static func unescaped(_ text: String) -> String {
    text.replacing("&lt;", with: "<").replacing("&gt;", with: ">").replacing("&amp;", with: "&")
  }
}
