import Vocabulary

/// A command line taken apart by the syntax of its command.
struct Arguments: Sendable {
  private let syntax: CommandSyntax
  private var values: [String: [String]] = [:]
  /// The words that are no options, in order.
  private(set) var operands: [String] = []

  /// Takes words apart: `--name`, `--name value`, `--name=value`; after `--` everything is an operand, and a lone `-` is
  /// one everywhere.
  ///
  /// - Throws: ``UsageError`` for unknown options, missing or superfluous values, and a wrong number of operands.
  init(_ words: some Sequence<String>, syntax: CommandSyntax) throws(UsageError) {
    self.syntax = syntax
    let known = syntax.options + OptionSyntax.global
    var words = Array(words)[...]
    while let word = words.popFirst() {
      if word == "--" {
        operands += words
        break
      }
      if word == "-h" {
        values["help", default: []].append("")
        continue
      }
      guard word.hasPrefix("-"), word != "-" else {
        operands.append(word)
        continue
      }
      let parts = word.drop { $0 == "-" }.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      let name = parts.first.map(String.init) ?? ""
      guard word.hasPrefix("--"), let option = known.first(where: { $0.name == name }) else {
        let shown = word.prefix { $0 != "=" }
        let hint = Suggestion.hint(for: name, among: known.map(\.name), prefix: "--")
        throw UsageError("\(syntax.name): unknown option \"\(shown)\"\(hint)")
      }
      if values[name] != nil, !option.isRepeatable, option.value != nil {
        throw UsageError("\(syntax.name): --\(name) is given twice")
      }
      if let placeholder = option.value {
        if parts.count == 2 {
          values[name, default: []].append(String(parts[1]))
        } else if let value = words.first, !value.hasPrefix("--") {
          values[name, default: []].append(value)
          words.removeFirst()
        } else {
          throw UsageError("\(syntax.name): --\(name) needs a value: --\(name) \(placeholder)")
        }
      } else {
        guard parts.count == 1 else { throw UsageError("\(syntax.name): --\(name) takes no value") }
        values[name, default: []].append("")
      }
    }
    // Help is given whatever else is wrong with the operands.
    if flag("help") { return }
    let required = syntax.operands.filter { $0.count == .one }
    if operands.count < required.count {
      throw UsageError("\(syntax.name): \(required[operands.count].name) is missing; usage: \(syntax.usage)")
    }
    if operands.count > syntax.operands.count, !syntax.operands.contains(where: { $0.count == .many }) {
      throw UsageError(
        "\(syntax.name): unexpected \"\(operands[syntax.operands.count])\"; usage: \(syntax.usage)")
    }
  }

  /// Whether an option without a value is given.
  func flag(_ name: String) -> Bool { given(name) != nil }

  /// The value of an option, or nil when it is not given.
  func value(_ name: String) -> String? { given(name)?.last }

  /// The values of an option that may be repeated, each of which may be a list with commas.
  func list(_ name: String) -> [String] {
    (given(name) ?? []).flatMap { $0.split(separator: ",").map(String.init) }
  }

  /// The value of an option that is one of a few words.
  func choice(_ name: String, among words: [String]) throws(UsageError) -> String? {
    guard let value = value(name) else { return nil }
    guard words.contains(value) else {
      throw UsageError(
        "\(syntax.name): --\(name) is one of \(words.joined(separator: ", "))"
          + Suggestion.hint(for: value, among: words))
    }
    return value
  }

  /// The value of an option that is a day, written `2026-01-31`.
  func day(_ name: String) throws(UsageError) -> String? {
    guard let value = value(name) else { return nil }
    let parts = value.split(separator: "-", omittingEmptySubsequences: false)
    guard parts.count == 3, parts[0].count == 4, parts[1].count == 2, parts[2].count == 2,
      Instant("\(value)T00:00:00Z") != nil
    else { throw UsageError("\(syntax.name): --\(name) is a day, such as 2026-01-31") }
    return value
  }

  /// The value of an option that is a moment: RFC 3339, or a day, which stands for its first moment in UTC.
  func instant(_ name: String) throws(UsageError) -> Instant? {
    guard let value = value(name) else { return nil }
    guard let instant = Instant(value) ?? Instant("\(value)T00:00:00Z") else {
      throw UsageError("\(syntax.name): --\(name) is a moment, such as 2026-01-31T12:00:00Z or 2026-01-31")
    }
    return instant
  }

  /// The value of an option that is a length of time, such as `15m`, in seconds.
  func duration(_ name: String) throws(UsageError) -> Int64? {
    guard let value = value(name) else { return nil }
    guard let seconds = Quantity.seconds(value) else {
      throw UsageError("\(syntax.name): --\(name) is a length of time, such as 30s, 15m, 24h or 7d")
    }
    return seconds
  }

  private func given(_ name: String) -> [String]? {
    precondition(
      (syntax.options + OptionSyntax.global).contains { $0.name == name }, "\(syntax.name) has no option \(name)")
    return values[name]
  }
}
