import Foundation
import Glibc

/// Where results go: stdout.
struct Output: Sendable {
  /// Whoever read the results does not want more of them: no failure, but a reason to stop.
  struct Closed: Error {}

  /// Whether a person looks at it.
  var isTerminal: Bool { isatty(STDOUT_FILENO) == 1 }

  /// Writes text.
  ///
  /// - Throws: ``Closed`` when the other end of a pipe was closed, ``Failure`` when it cannot be written.
  func write(_ text: String) throws {
    var bytes = Array(text.utf8)[...]
    while !bytes.isEmpty {
      let written = bytes.withUnsafeBytes { Glibc.write(STDOUT_FILENO, $0.baseAddress, $0.count) }
      if written > 0 {
        bytes = bytes.dropFirst(written)
      } else if errno == EPIPE {
        throw Closed()
      } else if errno != EINTR {
        throw Failure("writing the result to stdout: \(String(cString: strerror(errno)))")
      }
    }
  }

  /// Writes a line of text.
  func line(_ text: String) throws { try write(text + "\n") }

  /// Writes a value as one line of JSON, its properties in snake_case.
  func json(_ value: some Encodable) throws {
    let encoder = JSONEncoder()
    encoder.keyEncodingStrategy = .convertToSnakeCase
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    try line(String(decoding: try encoder.encode(value), as: UTF8.self))
  }

  /// Writes rows as a table with lined-up columns.
  func table(_ header: [String], _ rows: [[String]]) throws {
    let widths = header.indices.map { column in ([header] + rows).map { $0[column].count }.max() ?? 0 }
    for row in [header] + rows {
      var text = zip(row, widths).map { $0 + String(repeating: " ", count: $1 - $0.count) }.joined(separator: "  ")
      while text.last == " " { text.removeLast() }
      try line(text)
    }
  }
}
