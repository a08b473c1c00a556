/// A command line whose command has been found.
struct Call {
  let type: any Command.Type
  let arguments: Arguments
  /// What to print instead of running the command: its help text, or the version.
  let text: String?

  /// Finds the command and takes its options apart. Options of every command may stand before the command's name.
  ///
  /// - Returns: nil when the help text of the program as a whole is asked for.
  /// - Throws: ``UsageError``.
  init?(_ words: [String], commands: [any Command.Type]) throws(UsageError) {
    var rest = words[...]
    var leading: [String] = []
    while let word = rest.first, word.hasPrefix("-") {
      leading.append(word)
      rest.removeFirst()
      if word == "--config", let value = rest.popFirst() { leading.append(value) }
    }
    if rest.first == "help" {
      rest.removeFirst()
      leading.append("--help")
    }
    let syntaxes = commands.map { $0.syntax }
    guard let first = rest.first else {
      let options = try Arguments(
        leading.filter { $0 != "--version" }, syntax: CommandSyntax("tenure", summary: ""))
      if leading.contains("--version") {
        type = commands[0]
        arguments = options
        text = "tenure \(Program.version)\n"
        return
      }
      if options.flag("help") { return nil }
      throw UsageError("no command is given; tenure --help lists them")
    }
    let matches = commands.filter { $0.syntax.words[0] == first }
    if matches.isEmpty {
      let names = Set(syntaxes.map { $0.words[0] }).sorted()
      throw UsageError(
        "unknown command \"\(first)\" (tenure --help lists them)\(Suggestion.hint(for: first, among: names))")
    }
    let second = rest.dropFirst().first
    let subcommands = matches.filter { $0.syntax.words.count == 2 }
    let subnames = subcommands.map { $0.syntax.words[1] }
    if let second, let match = subcommands.first(where: { $0.syntax.words[1] == second }) {
      type = match
      rest = rest.dropFirst(2)
    } else if let match = matches.first(where: { $0.syntax.words.count == 1 }) {
      if let second, !second.hasPrefix("-"), match.syntax.operands.isEmpty, !subcommands.isEmpty {
        throw UsageError(
          "unknown command \"\(first) \(second)\"\(Suggestion.hint(for: second, among: subnames, prefix: first + " "))")
      }
      type = match
      rest = rest.dropFirst()
    } else {
      let known = subnames.map { "\(first) \($0)" }.joined(separator: ", ")
      if leading.contains("--help") || leading.contains("-h") || second == "--help" || second == "-h" { return nil }
      guard let second, !second.hasPrefix("-") else { throw UsageError("\"\(first)\" needs another word: \(known)") }
      throw UsageError(
        "unknown command \"\(first) \(second)\"\(Suggestion.hint(for: second, among: subnames, prefix: first + " "))")
    }
    arguments = try Arguments(leading + rest, syntax: type.syntax)
    let name = type.syntax.name
    text =
      arguments.flag("help")
      ? type.syntax.help(subcommands: syntaxes.filter { $0.name.hasPrefix(name + " ") }) : nil
  }
}
