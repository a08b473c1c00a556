import Foundation

// Usage: embed-files OUTPUT [NAME FILE]…
// Writes OUTPUT, a Swift source that holds the text of each FILE under its NAME as a raw string literal.

let arguments = CommandLine.arguments

var source = "enum EmbeddedFiles {\n  static let texts: [(path: String, text: String)] = [\n"
for index in stride(from: 2, to: arguments.count - 1, by: 2) {
  let text = try String(contentsOf: URL(filePath: arguments[index + 1]), encoding: .utf8)
  // More hash signs than any run in the text: nothing in it can end the literal or be taken for an escape.
  var hashes = "#"
  while text.contains("\"" + hashes) || text.contains("\\" + hashes) { hashes += "#" }
  source += "    (\n      \"\(arguments[index])\",\n      \(hashes)\"\"\"\n\(text)\n\"\"\"\(hashes)\n    ),\n"
}
source += "  ]\n}\n"
try source.write(to: URL(filePath: arguments[1]), atomically: true, encoding: .utf8)
