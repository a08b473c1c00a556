import Foundation

// Usage: embed-files ROOT OUTPUT FILE…
// Writes OUTPUT, a Swift source that holds the text of each FILE (a path below ROOT) as a raw string literal.

let arguments = CommandLine.arguments
let root = URL(filePath: arguments[1])
let output = URL(filePath: arguments[2])

var source = "enum EmbeddedFiles {\n  static let texts: [(path: String, text: String)] = [\n"
for path in arguments.dropFirst(3) {
  let text = try String(contentsOf: root.appending(path: path), encoding: .utf8)
  // More hash signs than any run in the text: nothing in it can end the literal or be taken for an escape.
  var hashes = "#"
  while text.contains("\"" + hashes) || text.contains("\\" + hashes) { hashes += "#" }
  source += "    (\n      \"\(path)\",\n      \(hashes)\"\"\"\n\(text)\n\"\"\"\(hashes)\n    ),\n"
}
source += "  ]\n}\n"
try source.write(to: output, atomically: true, encoding: .utf8)
