import Vocabulary

/// What a target's messages say, in words of one's own: text with the service's markup, and `{names}` of values.
///
/// Only the values are escaped, and where the text would be too long only they are cut: markup that is cut in two, or
/// taken out again, could leave a value's own for the service to read. A line whose names all stand for nothing is left out.
struct ChatTemplate {
  /// A service's way to write links, as far as it decides where a value stands.
  enum Markup {
    /// `<a href="address">words</a>`
    case html
    /// `<address|words>`
    case mrkdwn
    /// `[words](address)`
    case markdown
  }

  /// Where a value stands.
  private enum Position {
    case text
    /// In the words of a link: no link is in another.
    case linkText
    /// In an address or a tag: nothing that ends it may come from a value.
    case address
  }

  private enum Part {
    case text(String)
    case value(ChatMessage.Name, Position)
  }

  private let lines: [[Part]]
  private let longest: Int

  /// Reads a template.
  ///
  /// - Parameters:
  ///   - markup: how the service writes links.
  ///   - longest: how long a text the service takes, in UTF-16 units with its markup.
  /// - Throws: ``TargetProblem`` for a name that there is not, or a template that is longer than a text may be.
  init?(_ configuration: TargetConfiguration, markup: Markup, longest: Int) throws(TargetProblem) {
    guard let text = configuration.template else { return nil }
    // A value can be cut to a character, which is shorter than its name in braces.
    guard text.utf16.count <= longest else {
      throw configuration.problem("template", "at most \(longest) characters are sent in a message; make it shorter")
    }
    self.longest = longest
    var lines: [[Part]] = []
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      var parts: [Part] = []
      var rest = line
      while let start = rest.firstIndex(of: "{"), let end = rest[start...].firstIndex(of: "}") {
        let word = String(rest[rest.index(after: start)..<end])
        guard let name = ChatMessage.Name(rawValue: word) else {
          let known = ChatMessage.Name.allCases.map(\.rawValue).joined(separator: ", ")
          throw configuration.problem("template", "there is no {\(word)}; there is \(known)")
        }
        let before = line[..<start]
        parts += [
          .text(String(rest[..<start])), .value(name, Self.position(after: before, before: line[end...], markup)),
        ]
        rest = rest[rest.index(after: end)...]
      }
      lines.append(parts + [.text(String(rest))])
    }
    self.lines = lines
  }

  /// Where a value stands that has these words of its line before and after it.
  private static func position(after words: Substring, before rest: Substring, _ markup: Markup) -> Position {
    /// What follows the last of some words, unless they are not there or closed again.
    func opened(_ start: String, _ end: String) -> Substring? {
      words.ranges(of: start).last.map { words[$0.upperBound...] }.flatMap { $0.contains(end) ? nil : $0 }
    }
    switch markup {
    case .html:
      if opened("<", ">") != nil { return .address }
      return opened("<a ", "</a>") != nil ? .linkText : .text
    case .mrkdwn:
      return opened("<", ">").map { $0.contains("|") ? .linkText : .address } ?? .text
    case .markdown:
      if opened("](", ")") != nil { return .address }
      return opened("[", "]") != nil && rest.contains("](") ? .linkText : .text
    }
  }

  /// The text for a message; `nil` for one of which the template says nothing, as of a digest: it says its usual lines.
  ///
  /// - Parameter write: a value in the service's markup; `isLinkText` where it must not become a link, or code, of its own.
  func text(_ message: ChatMessage, _ write: (ChatMessage.Value, _ isLinkText: Bool) -> String) -> String? {
    guard !message.values.isEmpty else { return nil }
    var longestValue = ChatMessage.longestValue
    var text = self.text(message, values: write)
    while text.utf16.count > longest, longestValue > 1 {
      longestValue /= 2
      // A link is longer than any value.
      text = self.text(
        message, values: { write(ChatMessage.Value(text: ChatMessage.cut($0.text, to: longestValue)), $1) })
    }
    return text.allSatisfy(\.isWhitespace) ? nil : text
  }

  private func text(_ message: ChatMessage, values write: (ChatMessage.Value, Bool) -> String) -> String {
    lines.compactMap { parts -> String? in
      var names = 0
      var known = 0
      let text = parts.map { part in
        switch part {
        case .text(let text): return text
        case .value(let name, let position):
          names += 1
          guard let value = message.values[name] else { return "" }
          known += 1
          switch position {
          case .text: return write(value, false)
          case .linkText: return write(ChatMessage.Value(text: value.text), true)
          case .address: return ChatMessage.addressPart(value.text)
          }
        }
      }.joined()
      return names > 0 && known == 0 ? nil : text
    }.joined(separator: "\n")
  }
}
