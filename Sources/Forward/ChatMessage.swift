import Foundation
import HTTP
import Vocabulary

/// What a message to people says about an event: the same for every chat, before its own markup.
///
/// Labels and titles are the program's own words. Values come from outside: they are one line each, cut, and must be
/// escaped by the rules of the service they are sent to.
struct ChatMessage {
  /// What a value is of, as templates name it.
  enum Name: String, CaseIterable {
    case event, product, plan, amount, converted, change, reason, message, offer, country,
      subscriber, environment, app,
      store, time
  }

  /// One value.
  struct Value {
    let text: String
    /// Where it leads; `nil` for nowhere. Made of the configuration's address, with nothing in it that is markup anywhere.
    var link: String?
  }

  /// One thing it says.
  struct Line {
    let label: String
    let value: Value
  }

  /// The longest a value may become, in UTF-16 units once `&`, `<` and `>` are escaped.
  ///
  /// With the ten values that there can be at most, a message stays under every limit there is: Slack's 2000 for a
  /// field, 3000 for a section and about 13 000 for all blocks, Telegram's 4096.
  static let longestValue = 300

  /// More than so many events at once go into one message, as many as it can hold.
  static let many = 5

  /// What happened, in words.
  let title: String
  /// What is known about it, in order.
  let lines: [Line]
  /// Where and when.
  let footer: String
  /// All of it by its names.
  let values: [Name: Value]

  /// A message of these parts.
  init(title: String, lines: [Line], footer: String, values: [Name: Value]) {
    self.title = title
    self.lines = lines
    self.footer = footer
    self.values = values
  }

  /// - Parameter subscriberURLs: where each app shows a subscriber, as in ``TargetConfiguration/subscriberURLs``.
  init(_ announcement: Announcement, subscriberURLs: [String: String] = [:]) {
    let event = announcement.event
    if let digest = event.detail.digest {
      self.init(digest, of: event.environment)
      return
    }
    let title = ([event.kind] + event.also).map(Self.words).enumerated()
      .map { $0.offset == 0 ? $0.element : $0.element.lowercased() }.joined(separator: ", ")
    var lines: [Line] = []
    var values: [Name: Value] = [:]
    func say(
      _ name: Name, _ label: String?, _ text: String?, link: String? = nil, shown: String? = nil
    ) {
      guard let text, !text.isBlank else { return }
      values[name] = Value(text: Self.line(text), link: link)
      if let label {
        lines.append(Line(label: label, value: Value(text: Self.line(shown ?? text), link: link)))
      }
    }
    let isPlanned = event.kind == .productChanged && event.detail.effective == "next_period"
    let products = [announcement.product, isPlanned ? announcement.nextProduct : nil].compactMap { $0?.title }
      .filter { !$0.isBlank }
    // Cut here, so that neither pushes the other out.
    let longestProduct = Self.longestValue / max(products.count, 1) - " → ".count
    say(.event, nil, title)
    say(
      .product, "Product",
      products.map { Self.line($0, longest: longestProduct) }.joined(separator: " → "))
    say(.plan, "Plan", announcement.plan?.description)
    let converted = announcement.converted.flatMap {
      $0.currency == event.amount?.currency ? nil : $0.description
    }
    say(.converted, nil, converted)
    say(
      .amount, "Amount", event.amount?.description,
      shown: event.amount.map { amount in "\(amount)" + (converted.map { " (≈ \($0))" } ?? "") })
    say(
      .change, "Change",
      event.detail.direction.map { isPlanned ? "\($0), at the next renewal" : $0 })
    say(.reason, "Reason", event.detail.reason.map(Self.reason))
    say(.message, "Message", event.detail.message)
    if let offer = event.transaction?.offer.value {
      say(
        .offer, "Offer",
        [offer.type.rawValue.replacing("_", with: " "), offer.id].compactMap { $0 }.filter { !$0.isBlank }
          .joined(separator: " "))
    }
    say(.country, "Country", event.transaction?.country.value)
    let subscriberID = event.subscriberID.flatMap { $0.isBlank ? nil : $0 }
    say(
      .subscriber, "Subscriber", subscriberID ?? event.appTransactionID ?? event.originalTransactionID,
      link: subscriberID.flatMap { id in
        event.app.flatMap { subscriberURLs[$0] }.flatMap { Self.link($0, to: id) }
      })
    say(
      .environment, event.environment == .production ? nil : "Environment",
      event.environment.rawValue)
    let moment = event.occurredAt.description
    say(.app, nil, event.app)
    say(.store, nil, event.store.rawValue)
    say(.time, nil, "\(moment.prefix(10)) \(moment.dropFirst(11).prefix(5)) UTC")
    self.init(
      title: title, lines: lines,
      footer: [Name.app, .store, .time].compactMap { values[$0]?.text }.joined(separator: " · "),
      values: values)
  }

  /// A reason in words: `price_increase` is "price increase".
  private static func reason(_ word: String) -> String {
    word.utf8.allSatisfy { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) || $0 == UInt8(ascii: "_") }
      ? word.replacing("_", with: " ") : word
  }

  /// A text as a part of an address: every character but letters, digits and `-._~` percent-encoded.
  static func addressPart(_ text: String) -> String {
    text.utf8.map { byte in
      byte.isLetterOrDigit || "-._~".utf8.contains(byte)
        ? String(UnicodeScalar(byte))
        : "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
    }.joined()
  }

  /// An address with a subscriber's id in it; `nil` for an address that could be read as markup.
  private static func link(_ address: String, to id: String) -> String? {
    let url = address.replacing("{subscriber_id}", with: addressPart(id))
    guard url.utf16.count <= 500, url.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }),
      !url.contains(where: { "<>|\"()[]\\`".contains($0) })
    else { return nil }
    return url
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

  /// What a service says in an answer, as one line in which no secret is shown; `nil` where it says nothing. Masked before
  /// it is cut: what is left of a secret could be enough.
  static func words(_ text: String?, without secrets: [String]) -> String? {
    guard let text, !text.isBlank else { return nil }
    return line(HTTPRequest.masking(secrets, in: text), longest: 200)
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
    rewriting(text, [("&", "&amp;"), ("<", "&lt;"), (">", "&gt;")])
  }

  /// The text that ``escaped(_:)`` was made of.
  static func unescaped(_ text: String) -> String {
    rewriting(text, [("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&")])
  }

  /// A text in which some words stand for others, one replacement after the other.
  ///
  /// Literally, not by what people see as one character: an accent after a `<` joins it for the eye, and leaves it a `<`
  /// for a service.
  static func rewriting(_ text: String, _ words: [(String, String)]) -> String {
    words.reduce(text) { $0.replacingOccurrences(of: $1.0, with: $1.1, options: .literal) }
  }
}
