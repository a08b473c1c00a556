@testable import tenure

/// The page `docs/commands.md`, made of what the program says of its commands.
enum CommandsPage {
  /// Its text.
  static var text: String {
    """
    # Commands

    `tenure <command> [options]`. Results go to stdout, logs and progress to stderr. Unknown commands and options suggest the nearest
    known one. Exit codes: 0 done; 1 failed, nothing half done; 2 wrong usage or configuration; 3 done, but some input was rejected
    (`tenure report rejections` says what).

    This page is what `tenure --help` and the help of each command say; a test compares the two.

    Options of every command:

    \(table(OptionSyntax.global.map { ($0.form, $0.help) }, "option"))
    \(Program.commands.map { section($0.syntax) }.joined(separator: "\n"))
    """
  }

  private static func section(_ syntax: CommandSyntax) -> String {
    var text = "## \(syntax.name)\n\n\(sentence(syntax.summary))\n\n`\(syntax.usage)`\n"
    if !syntax.operands.isEmpty { text += "\n" + table(syntax.operands.map { ($0.name, $0.help) }, "word") }
    if !syntax.options.isEmpty { text += "\n" + table(syntax.options.map { ($0.form, $0.help) }, "option") }
    // Paragraphs are divided by an empty line where they are of different things.
    if let notes = syntax.notes { text += "\n\(escaped(notes))\n" }
    return text
  }

  private static func sentence(_ text: String) -> String {
    escaped(text.prefix(1).uppercased() + text.dropFirst()) + "."
  }

  private static func table(_ rows: [(String, String)], _ what: String) -> String {
    "| \(what) | |\n| --- | --- |\n"
      + rows.map { "| `\($0)` | \(escaped($1).replacing("|", with: "\\|")) |\n" }.joined()
  }

  /// A text whose characters stand for themselves.
  private static func escaped(_ text: String) -> String {
    text.replacing("\\", with: "\\\\").replacing("*", with: "\\*").replacing("<", with: "\\<")
  }
}

extension OptionSyntax {
  fileprivate var form: String { "--\(name)" + (value.map { " \($0)" } ?? "") }
}
