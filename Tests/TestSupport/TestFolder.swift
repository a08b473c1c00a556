import Foundation
import Glibc
import Synchronization

/// A folder of its own for one test, removed when the value is let go, or else when the process ends in order. Every user
/// can pass through it.
public final class TestFolder: Sendable {
  /// Its path.
  public let path: String

  /// Makes the folder. Its path is short enough for sockets.
  public init() throws {
    var template = Array("/tmp/tenure-test-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw CocoaError(.fileWriteUnknown) }
    path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    chmod(path, 0o755)
    Self.made.withLock { made in
      // Values that live as long as the process are never let go.
      if made.isEmpty { atexit { TestFolder.removeAll() } }
      made.insert(path)
    }
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  private static let made = Mutex<Set<String>>([])

  private static func removeAll() {
    for path in made.withLock({ $0 }) { try? FileManager.default.removeItem(atPath: path) }
  }

  /// The path of something in it.
  public func file(_ name: String) -> String { "\(path)/\(name)" }

  /// Writes a file into it and returns its path.
  @discardableResult
  public func write(_ text: String, to name: String) throws -> String {
    try text.write(toFile: file(name), atomically: true, encoding: .utf8)
    return file(name)
  }
}
