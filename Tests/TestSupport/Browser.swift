import Foundation
import Glibc
import Synchronization

/// A real browser without a window, Chromium, driven by its DevTools protocol over two pipes.
///
/// It does not outlive the value: the end of the pipe that it reads ends it.
public final class Browser: Sendable {
  /// What the browser refused, or how it ended.
  public struct Failure: Error, CustomStringConvertible {
    /// What it said.
    public let description: String

    /// Creates a failure that says so.
    public init(description: String) { self.description = description }
  }

  private struct State {
    var number = 0
    var waiting: [Int: CheckedContinuation<Data, any Error>] = [:]
    var listeners: [String: @Sendable (String, Data) -> Void] = [:]
    var isEnded = false
  }

  private let state = Mutex(State())
  private let process: Process
  private let commands = Pipe()
  private let profile: TestFolder

  /// Starts it, with a profile of its own.
  public init() throws {
    profile = try TestFolder()
    process = Process()
    process.executableURL = URL(filePath: "/bin/sh")
    // Root has no sandbox, nor has a container: what is opened here is the project's own.
    process.arguments =
      [
        "-c", "exec chromium \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>&1", "sh", "--headless=new",
        "--remote-debugging-pipe",
        "--user-data-dir=\(profile.path)", "--no-first-run", "--disable-gpu", "--disable-dev-shm-usage",
        "--disable-background-networking", "--disable-component-update", "--no-sandbox", "about:blank",
      ]
    process.environment = ["PATH": "/usr/bin:/bin", "HOME": profile.path, "LANG": "C.UTF-8"]
    let answers = Pipe()
    process.standardInput = commands
    process.standardOutput = answers
    process.standardError = FileHandle.nullDevice
    try process.run()
    let descriptor = answers.fileHandleForReading.fileDescriptor
    Thread.detachNewThread { [self] in
      var rest = Data()
      var part = [UInt8](repeating: 0, count: 1 << 16)
      while true {
        let count = read(descriptor, &part, part.count)
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { break }
        rest += part[..<count]
        while let end = rest.firstIndex(of: 0) {
          take(Data(rest[rest.startIndex..<end]))
          rest = Data(rest[(end + 1)...])
        }
      }
      withExtendedLifetime(answers) { end() }
    }
  }

  /// Ends it.
  public func close() {
    try? commands.fileHandleForWriting.close()
    process.terminate()
    process.waitUntilExit()
  }

  private struct Message: Decodable {
    struct Problem: Decodable { let message: String }
    let id: Int?
    let method: String?
    let sessionId: String?
    let error: Problem?
  }

  private func take(_ data: Data) {
    guard let message = try? JSONDecoder().decode(Message.self, from: data) else { return }
    if let id = message.id {
      let waiting = state.withLock { $0.waiting.removeValue(forKey: id) }
      if let error = message.error {
        waiting?.resume(throwing: Failure(description: error.message))
      } else {
        waiting?.resume(returning: data)
      }
    } else if let method = message.method, let session = message.sessionId {
      state.withLock { $0.listeners[session] }?(method, data)
    }
  }

  private func end() {
    let waiting = state.withLock { state in
      state.isEnded = true
      defer { state.waiting = [:] }
      return state.waiting.values.map { $0 }
    }
    for continuation in waiting {
      continuation.resume(throwing: Failure(description: "the browser has ended; the tests need the package chromium"))
    }
  }

  /// Sends a command with parameters as JSON and returns the answer as it came.
  @discardableResult
  func send(_ method: String, _ parameters: String = "{}", session: String? = nil) async throws -> Data {
    try await withCheckedThrowingContinuation { continuation in
      let number: Int? = state.withLock { state in
        guard !state.isEnded else { return nil }
        state.number += 1
        state.waiting[state.number] = continuation
        return state.number
      }
      guard let number else {
        continuation.resume(
          throwing: Failure(description: "the browser has ended; the tests need the package chromium"))
        return
      }
      let addressed = session.map { ",\"sessionId\":\"\($0)\"" } ?? ""
      let text = "{\"id\":\(number),\"method\":\"\(method)\",\"params\":\(parameters)\(addressed)}\0"
      signal(SIGPIPE, SIG_IGN)
      try? commands.fileHandleForWriting.write(contentsOf: Data(text.utf8))
    }
  }

  func listen(to session: String, _ listener: @escaping @Sendable (String, Data) -> Void) {
    state.withLock { $0.listeners[session] = listener }
  }

  /// Opens an empty page of that size.
  public func page(width: Int, height: Int) async throws -> BrowserPage {
    struct Made: Decodable {
      struct Result: Decodable { let targetId: String }
      let result: Result
    }
    struct Attached: Decodable {
      struct Result: Decodable { let sessionId: String }
      let result: Result
    }
    let made = try JSONDecoder().decode(
      Made.self, from: try await send("Target.createTarget", "{\"url\":\"about:blank\"}"))
    let attached = try JSONDecoder().decode(
      Attached.self,
      from: try await send(
        "Target.attachToTarget", "{\"targetId\":\"\(made.result.targetId)\",\"flatten\":true}"))
    let page = BrowserPage(self, session: attached.result.sessionId)
    try await page.prepare(width: width, height: height)
    return page
  }
}
