import Foundation
import Testing

/// A Markdown file of the project.
struct DocumentationPage: Sendable, CustomTestStringConvertible {
  /// What stands between two fences.
  struct Block: Sendable {
    /// The first word behind the fence; empty where there is none.
    let language: String
    let text: String
    /// The line of the page that its fence is on.
    let line: Int
    /// Whether nothing stands between it and the block before.
    let followsBlock: Bool

    /// What a machine must have to run it, where the tests' has not: the first line says so to people.
    var need: String? {
      text.prefixMatch(of: /(?:#|\/\/) (needs [^\n]+)/).map { String($0.output.1) }
    }
  }

  /// The folder of the project.
  static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent()

  /// Every page there is.
  static let all: [DocumentationPage] = {
    let files = FileManager.default.enumerator(
      at: root, includingPropertiesForKeys: nil, options: [.skipsHiddenFiles])
    let paths = (files?.compactMap { ($0 as? URL)?.path } ?? []).filter { $0.hasSuffix(".md") }
    return paths.sorted().compactMap { try? DocumentationPage(String($0.dropFirst(root.path.count + 1))) }
  }()

  /// Where it lies below the project's folder.
  let path: String
  let text: String
  let blocks: [Block]

  var testDescription: String { path }

  /// Reads a page.
  init(_ path: String) throws {
    self.path = path
    text = try String(contentsOf: Self.root.appending(path: path), encoding: .utf8)
    blocks = Self.blocks(of: text)
  }

  /// The text below a heading of the second level, up to the next one.
  func section(_ heading: String) throws -> String {
    try #require(
      text.components(separatedBy: "\n## ").first { $0.hasPrefix(heading + "\n") }, "\(path) has no \(heading)")
  }

  /// The configuration that a page has people write.
  var configuration: String? { blocks.first { $0.text.hasPrefix("// tenure.json\n") }?.text }

  private static func blocks(of text: String) -> [Block] {
    var blocks: [Block] = []
    var open: (language: String, indent: Int, line: Int)?
    var lines: [String] = []
    var isBeside = false
    for (index, line) in text.components(separatedBy: "\n").enumerated() {
      let fence = line.wholeMatch(of: /( *)```(\w*).*/)
      if let (language, indent, number) = open {
        guard fence != nil else {
          lines.append(String(line.dropFirst(min(indent, line.prefix { $0 == " " }.count))))
          continue
        }
        blocks.append(
          Block(language: language, text: lines.joined(separator: "\n"), line: number, followsBlock: isBeside))
        (open, lines, isBeside) = (nil, [], true)
      } else if let fence {
        open = (String(fence.output.2), fence.output.1.count, index + 1)
      } else if !line.isEmpty {
        isBeside = false
      }
    }
    return blocks
  }
}
