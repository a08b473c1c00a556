import Vocabulary

/// What a target's messages say, in words of one's own: text with the service's markup, and `{names}` of values.
///
/// Only the values are escaped. A line whose names all stand for nothing is left out.
struct ChatTemplate {
  private enum Part {
    case text(String)
    case value(ChatMessage.Name)
  }

  private let lines: [[Part]]

  /// Reads a template.
  ///
  /// - Throws: ``TargetProblem`` for a name that there is not.
  init?(_ configuration: TargetConfiguration) throws(TargetProblem) {
    guard let text = configuration.template else { return nil }
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
        parts += [.text(String(rest[..<start])), .value(name)]
        rest = rest[rest.index(after: end)...]
      }
      lines.append(parts + [.text(String(rest))])
    }
    self.lines = lines
  }

  /// The text for a message.
  ///
  /// - Parameter write: a value in the service's markup.
  func text(_ message: ChatMessage, _ write: (ChatMessage.Value) -> String) -> String {
    lines.compactMap { parts -> String? in
      var names = 0
      var known = 0
      let text = parts.map { part in
        switch part {
        case .text(let text): return text
        case .value(let name):
          names += 1
          guard let value = message.values[name] else { return "" }
          known += 1
          return write(value)
        }
      }.joined()
      return names > 0 && known == 0 ? nil : text
    }.joined(separator: "\n")
  }
}
