import Foundation
import Testing

/// A table of a page of the documentation, so that what it promises is what is tested.
struct DocumentTable {
  /// The cells of its rows, without its head.
  let rows: [[String]]

  /// - Parameters:
  ///   - page: The file in `docs/`.
  ///   - beginning: How the table's first line begins.
  init(_ page: String, beginning: String) throws {
    let file = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().appending(path: "docs/\(page)")
    let lines = try String(contentsOf: file, encoding: .utf8).components(separatedBy: "\n")
    let first = try #require(lines.firstIndex { $0.hasPrefix(beginning) }, "\(page) has no table \(beginning)")
    rows = lines[(first + 2)...].prefix { $0.hasPrefix("|") }.map { line in
      line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
    }
  }
}
