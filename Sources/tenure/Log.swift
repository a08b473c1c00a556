import Foundation
import Glibc
import Synchronization
import Vocabulary

/// The program's log on stderr: one JSON object per line, or readable text where stderr is a terminal.
///
/// Messages are constant; what varies are their fields. On a terminal a line of progress can stand below the log.
final class Log: Sendable {
  enum Level: String, Sendable {
    case info
    case warning
    case error
  }

  /// The value of a field.
  enum Value: Sendable, ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral {
    case text(String)
    case int(Int64)
    case bool(Bool)

    init(stringLiteral value: String) { self = .text(value) }
    init(integerLiteral value: Int64) { self = .int(value) }
    init(booleanLiteral value: Bool) { self = .bool(value) }
    init(_ value: String) { self = .text(value) }
    init(_ value: some BinaryInteger) { self = .int(Int64(value)) }
    init(_ value: Bool) { self = .bool(value) }

    var json: String {
      switch self {
      case .text(let text): Log.quoted(text)
      case .int(let number): String(number)
      case .bool(let flag): String(flag)
      }
    }

    var plain: String {
      switch self {
      case .text(let text): text
      case .int(let number): String(number)
      case .bool(let flag): String(flag)
      }
    }
  }

  private struct ProgressLine: Sendable {
    var text = ""
    var drawnAt: ContinuousClock.Instant?
  }

  private let isTerminal: Bool
  private let descriptor: Int32
  private let progressLine = Mutex(ProgressLine())

  init(descriptor: Int32 = STDERR_FILENO) {
    self.descriptor = descriptor
    isTerminal = isatty(descriptor) == 1
  }

  func info(_ message: String, _ fields: KeyValuePairs<String, Value> = [:]) { write(.info, message, fields) }

  func warning(_ message: String, _ fields: KeyValuePairs<String, Value> = [:]) { write(.warning, message, fields) }

  func error(_ message: String, _ fields: KeyValuePairs<String, Value> = [:]) { write(.error, message, fields) }

  /// Shows how far the work is, where stderr is a terminal; at most ten times a second.
  func progress(_ text: @autoclosure () -> String) {
    guard isTerminal else { return }
    progressLine.withLock { line in
      let now = ContinuousClock.now
      if let drawnAt = line.drawnAt, now - drawnAt < .milliseconds(100) { return }
      line = ProgressLine(text: text(), drawnAt: now)
      put("\r\u{1B}[K\(line.text)")
    }
  }

  /// Takes the line of progress away.
  func endProgress() {
    progressLine.withLock { line in
      if !line.text.isEmpty { put("\r\u{1B}[K") }
      line = ProgressLine()
    }
  }

  private func write(_ level: Level, _ message: String, _ fields: KeyValuePairs<String, Value>) {
    let now = Instant(microseconds: Int64(Date().timeIntervalSince1970 * 1_000) * 1_000)
    progressLine.withLock { line in
      if isTerminal {
        let label = level == .info ? "" : "\(level.rawValue): "
        let tail = fields.map { " \($0.key)=\($0.value.plain)" }.joined()
        let clear = line.text.isEmpty ? "" : "\r\u{1B}[K"
        put("\(clear)\(label)\(message)\(tail)\n\(line.text)")
      } else {
        let tail = fields.map { ",\(Self.quoted($0.key)):\($0.value.json)" }.joined()
        put(
          "{\"at\":\"\(now)\",\"level\":\"\(level.rawValue)\",\"message\":\(Self.quoted(message))\(tail)}\n")
      }
    }
  }

  /// One call of write(2) per line, so that lines of several processes on one pipe do not mix.
  private func put(_ text: String) {
    var bytes = Array(text.utf8)[...]
    while !bytes.isEmpty {
      let written = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if written > 0 {
        bytes = bytes.dropFirst(written)
      } else if errno != EINTR {
        // There is nowhere left to complain.
        return
      }
    }
  }

  /// A JSON string.
  static func quoted(_ text: String) -> String {
    var json = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": json += "\\\""
      case "\\": json += "\\\\"
      case "\n": json += "\\n"
      case "\r": json += "\\r"
      case "\t": json += "\\t"
      case "\u{0}"..<" ":
        let digits = String(scalar.value, radix: 16)
        json += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      default: json.unicodeScalars.append(scalar)
      }
    }
    return json + "\""
  }
}
