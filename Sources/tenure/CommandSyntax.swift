/// An option of a command: `--name`, or `--name VALUE`.
struct OptionSyntax: Sendable {
  /// Its name without the dashes.
  let name: String
  /// What stands for its value in the help text; nil when it takes none.
  let value: String?
  /// What it does, in a few words.
  let help: String
  /// Whether it may be given more than once.
  let isRepeatable: Bool

  init(_ name: String, value: String? = nil, isRepeatable: Bool = false, help: String) {
    self.name = name
    self.value = value
    self.isRepeatable = isRepeatable
    self.help = help
  }

  /// The options every command has.
  static let global = [
    OptionSyntax("json", help: "print the result as JSON"),
    OptionSyntax(
      "config", value: "FILE", help: "the configuration (default: TENURE_CONFIG, else ./tenure.json if there)"),
    OptionSyntax("help", help: "print this help"),
  ]
}

/// A word of a command line that is no option, such as a file.
struct OperandSyntax: Sendable {
  enum Count: Sendable {
    case one
    case optional
    case many
  }

  /// What stands for it in the help text, such as `FILE`.
  let name: String
  let count: Count
  /// What it is, in a few words.
  let help: String

  init(_ name: String, _ count: Count = .one, help: String) {
    self.name = name
    self.count = count
    self.help = help
  }

  var usage: String {
    switch count {
    case .one: name
    case .optional: "[\(name)]"
    case .many: "[\(name)…]"
    }
  }
}

/// How a command is written.
struct CommandSyntax: Sendable {
  /// Its one or two words, such as `migrate` or `apps rename`.
  let name: String
  /// What it does, in a sentence without an end.
  let summary: String
  let operands: [OperandSyntax]
  let options: [OptionSyntax]
  /// More about it, printed at the end of its help text.
  let notes: String?

  init(
    _ name: String, summary: String, operands: [OperandSyntax] = [], options: [OptionSyntax] = [], notes: String? = nil
  ) {
    self.name = name
    self.summary = summary
    self.operands = operands
    self.options = options
    self.notes = notes
  }

  var words: [String] { name.split(separator: " ").map(String.init) }

  /// The line that shows how the command is written.
  var usage: String { (["tenure", name, "[options]"] + operands.map(\.usage)).joined(separator: " ") }

  /// The command's help text.
  ///
  /// - Parameter subcommands: the commands whose names begin with this one's.
  func help(subcommands: [CommandSyntax]) -> String {
    var text = "\(summary)\n\nUsage: \(usage)\n"
    if !operands.isEmpty { text += "\n" + Self.table(operands.map { ($0.usage, $0.help) }) }
    if !options.isEmpty { text += "\nOptions:\n" + Self.table(options.map { (Self.form($0), $0.help) }) }
    text += "\nOptions of every command:\n" + Self.table(OptionSyntax.global.map { (Self.form($0), $0.help) })
    if !subcommands.isEmpty {
      text += "\nSee also:\n" + Self.table(subcommands.map { ("tenure \($0.name)", $0.summary) })
    }
    if let notes { text += "\n\(notes)\n" }
    return text
  }

  private static func form(_ option: OptionSyntax) -> String {
    "--\(option.name)" + (option.value.map { " \($0)" } ?? "")
  }

  /// Lines of two columns, the second lined up.
  static func table(_ rows: [(String, String)]) -> String {
    let width = rows.map(\.0.count).max() ?? 0
    return rows.map { "  \($0)\(String(repeating: " ", count: width - $0.count))  \($1)\n" }.joined()
  }
}
