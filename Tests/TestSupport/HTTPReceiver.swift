import Foundation
import Glibc
import Synchronization

/// An HTTP server on the loopback interface for tests: remembers what it is sent and answers as it is told.
public final class HTTPReceiver: Sendable {
  /// One request as it came.
  public struct Request: Sendable {
    /// GET or POST.
    public let method: String
    /// The path and query.
    public let path: String
    /// The headers, names in small letters.
    public let headers: [String: String]
    /// The body.
    public let body: [UInt8]

    /// Creates a request.
    public init(method: String = "POST", path: String, headers: [String: String], body: [UInt8]) {
      self.method = method
      self.path = path
      self.headers = headers
      self.body = body
    }

    /// The body as text.
    public var text: String { String(decoding: body, as: UTF8.self) }
  }

  /// What is done about a request.
  public enum Answer: Sendable {
    /// Answers with a status, headers and a body.
    case status(Int, headers: [String: String] = [:], body: String = "")
    /// Answers so when ``HTTPReceiver/release()`` is called.
    case held(Int)
    /// Never answers.
    case silence
    /// Closes the connection without an answer.
    case close
  }

  private struct State {
    var requests: [Request] = []
    var descriptors: Set<Int32> = []
    var isReleased = false
    var isClosed = false
  }

  private let state = Mutex(State())
  private let released = NSCondition()
  private let answer: @Sendable (Int, Request) -> Answer
  /// The port it listens on.
  public let port: UInt16

  /// Starts a receiver.
  ///
  /// - Parameter answer: says what to do about a request; its first argument counts requests from 0.
  public init(_ answer: @escaping @Sendable (Int, Request) -> Answer = { _, _ in .status(200) }) {
    self.answer = answer
    guard let (listener, port) = loopbackListener() else {
      preconditionFailure("no receiver can listen on the loopback interface")
    }
    self.port = port
    state.withLock { _ = $0.descriptors.insert(listener) }
    start { [weak self] in self?.accept(on: listener) }
  }

  deinit { close() }

  /// Its address, with a path that no error may show.
  public var url: String { "http://127.0.0.1:\(port)/hooks/secret-path?token=secret-token" }

  /// What came so far, in order.
  public var requests: [Request] { state.withLock { $0.requests } }

  /// Waits until so many requests have come.
  ///
  /// - Throws: ``NeverCame`` when they do not come.
  public func received(_ count: Int) async throws {
    try await waiting(for: "request \(count)") { requests.count >= count }
  }

  /// Answers what is held, and from now on at once.
  public func release() {
    released.withLock {
      state.withLock { $0.isReleased = true }
      released.broadcast()
    }
  }

  /// Closes every connection and stops listening.
  public func close() {
    state.withLock { state in
      state.isClosed = true
      for descriptor in state.descriptors { shutdown(descriptor, Int32(SHUT_RDWR)) }
    }
    release()
  }

  private func start(_ body: @escaping @Sendable () -> Void) {
    Thread(block: body).start()
  }

  private func accept(on listener: Int32) {
    while true {
      let connection = Glibc.accept(listener, nil, nil)
      guard connection >= 0 else { break }
      _ = fcntl(connection, F_SETFD, FD_CLOEXEC)
      let isClosed = state.withLock { state in
        state.descriptors.insert(connection)
        return state.isClosed
      }
      if isClosed { shutdown(connection, Int32(SHUT_RDWR)) }
      var enabled: Int32 = 1
      setsockopt(connection, Int32(IPPROTO_TCP), TCP_NODELAY, &enabled, socklen_t(MemoryLayout<Int32>.size))
      start { [weak self] in self?.serve(connection) }
    }
    forget(listener)
  }

  private func forget(_ descriptor: Int32) {
    state.withLock { state in
      state.descriptors.remove(descriptor)
      _ = Glibc.close(descriptor)
    }
  }

  private func serve(_ connection: Int32) {
    defer { forget(connection) }
    var buffer: [UInt8] = []
    while let request = read(from: connection, &buffer) {
      let number = state.withLock { state in
        state.requests.append(request)
        return state.requests.count - 1
      }
      switch answer(number, request) {
      case .status(let status, let headers, let body):
        write(status, headers, body, to: connection)
      case .held(let status):
        released.withLock {
          while !state.withLock({ $0.isReleased }) { released.wait() }
        }
        write(status, [:], "", to: connection)
      case .silence:
        // Until the other side gives up.
        while receive(connection, &buffer) {}
      case .close: return
      }
    }
  }

  private func receive(_ connection: Int32, _ buffer: inout [UInt8]) -> Bool {
    var part = [UInt8](repeating: 0, count: 16_384)
    let count = recv(connection, &part, part.count, 0)
    guard count > 0 else { return false }
    buffer += part[..<count]
    return true
  }

  private func read(from connection: Int32, _ buffer: inout [UInt8]) -> Request? {
    let end = Array("\r\n\r\n".utf8)
    var head = buffer.firstRange(of: end)
    while head == nil {
      guard receive(connection, &buffer) else { return nil }
      head = buffer.firstRange(of: end)
    }
    guard let head else { return nil }
    let lines = String(decoding: buffer[..<head.lowerBound], as: UTF8.self).components(separatedBy: "\r\n")
    let words = lines[0].split(separator: " ")
    guard words.count == 3, ["GET", "POST"].contains(words[0]) else { return nil }
    var headers: [String: String] = [:]
    for line in lines.dropFirst() {
      guard let colon = line.firstIndex(of: ":") else { return nil }
      headers[line[..<colon].lowercased()] = line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces)
    }
    let length = Int(headers["content-length"] ?? "0") ?? 0
    while buffer.count < head.upperBound + length {
      guard receive(connection, &buffer) else { return nil }
    }
    let body = Array(buffer[head.upperBound..<head.upperBound + length])
    buffer.removeFirst(head.upperBound + length)
    return Request(method: String(words[0]), path: String(words[1]), headers: headers, body: body)
  }

  private func write(_ status: Int, _ headers: [String: String], _ body: String, to connection: Int32) {
    let lines = headers.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)\r\n" }.joined()
    let bytes = Array("HTTP/1.1 \(status) -\r\n\(lines)content-length: \(body.utf8.count)\r\n\r\n\(body)".utf8)
    var offset = 0
    while offset < bytes.count {
      let sent = bytes[offset...].withUnsafeBytes {
        send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      guard sent > 0 else { return }
      offset += sent
    }
  }
}
