import Foundation
import Glibc
import Signatures
import Synchronization

/// A small HTTP server on the loopback interface that takes signed webhooks, for the demo to have somewhere to send to.
///
/// It knows a POST with a length and no more of HTTP, and serves one connection per thread.
public final class DemoReceiver: Sendable {
  /// What it was sent.
  public struct Taken: Sendable {
    /// How many webhooks came whose signature is right.
    public var accepted = 0
    /// How many came whose signature is not.
    public var refused = 0
    /// The body of the last one.
    public var last = ""
  }

  /// What is signed with, in the form of Standard Webhooks.
  public let secret: String
  /// Its port.
  public let port: UInt16
  private let state = Mutex((taken: Taken(), descriptors: Set<Int32>(), isClosed: false))
  private let checker: StandardWebhookSecret

  /// Starts to listen.
  ///
  /// - Returns: nil when there is no port to be had.
  public init?() {
    secret = "whsec_" + Base64.encode(RandomBytes.make(count: 32))
    guard let checker = StandardWebhookSecret(secret) else { return nil }
    self.checker = checker
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard listener >= 0 else { return nil }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let port = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer -> UInt16? in
        guard bind(listener, pointer, length) == 0, listen(listener, 64) == 0,
          getsockname(listener, pointer, &length) == 0
        else { return nil }
        return UnsafeRawPointer(pointer).loadUnaligned(as: sockaddr_in.self).sin_port.bigEndian
      }
    }
    guard let port else {
      Glibc.close(listener)
      return nil
    }
    self.port = port
    state.withLock { _ = $0.descriptors.insert(listener) }
    Thread { @Sendable [weak self] in
      while case let connection = accept(listener, nil, nil), connection >= 0 {
        _ = fcntl(connection, F_SETFD, FD_CLOEXEC)
        guard let self, self.keeps(connection) else {
          Glibc.close(connection)
          break
        }
        Thread { @Sendable [weak self] in self?.serve(connection) }.start()
      }
      Glibc.close(listener)
    }.start()
  }

  /// Its address.
  public var url: String { "http://127.0.0.1:\(port)/webhooks" }

  /// What came so far.
  public var taken: Taken { state.withLock { $0.taken } }

  /// Stops listening and closes every connection.
  public func close() {
    state.withLock { state in
      state.isClosed = true
      for descriptor in state.descriptors { shutdown(descriptor, Int32(SHUT_RDWR)) }
      state.descriptors = []
    }
  }

  deinit { close() }

  private func keeps(_ connection: Int32) -> Bool {
    state.withLock { state in
      if !state.isClosed { state.descriptors.insert(connection) }
      return !state.isClosed
    }
  }

  private func serve(_ connection: Int32) {
    defer {
      state.withLock { _ = $0.descriptors.remove(connection) }
      Glibc.close(connection)
    }
    var buffer: [UInt8] = []
    while let (headers, body) = read(connection, &buffer) {
      let isRight = isSigned(headers, body)
      state.withLock { state in
        if isRight { state.taken.accepted += 1 } else { state.taken.refused += 1 }
        state.taken.last = String(decoding: body, as: UTF8.self)
      }
      let answer = "HTTP/1.1 \(isRight ? "204 No Content" : "401 Unauthorized")\r\ncontent-length: 0\r\n\r\n"
      guard send(connection, answer, answer.utf8.count, Int32(MSG_NOSIGNAL)) == answer.utf8.count else { return }
    }
  }

  private func isSigned(_ headers: [String: String], _ body: [UInt8]) -> Bool {
    guard let id = headers["webhook-id"], let time = headers["webhook-timestamp"].flatMap({ Int64($0) }),
      let signatures = headers["webhook-signature"]
    else { return false }
    return checker.accepts(
      signatures, id: id, timestamp: time, body: body, now: Int64(Date().timeIntervalSince1970))
  }

  /// The next request's headers and body; nil at the end, or when it is none.
  private func read(_ connection: Int32, _ buffer: inout [UInt8]) -> ([String: String], [UInt8])? {
    func receive() -> Bool {
      var part = [UInt8](repeating: 0, count: 16_384)
      let count = recv(connection, &part, part.count, 0)
      if count > 0 { buffer += part[..<count] }
      return count > 0 && buffer.count < 1 << 20
    }
    let mark = Array("\r\n\r\n".utf8)
    var head = buffer.firstRange(of: mark)
    while head == nil {
      guard receive() else { return nil }
      head = buffer.firstRange(of: mark)
    }
    guard let head else { return nil }
    var headers: [String: String] = [:]
    for line in String(decoding: buffer[..<head.lowerBound], as: UTF8.self).components(separatedBy: "\r\n").dropFirst()
    {
      guard let colon = line.firstIndex(of: ":") else { return nil }
      headers[line[..<colon].lowercased()] = line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces)
    }
    guard let length = headers["content-length"].flatMap({ Int($0) }), (0...1 << 20).contains(length) else {
      return nil
    }
    while buffer.count < head.upperBound + length {
      guard receive() else { return nil }
    }
    let body = Array(buffer[head.upperBound..<head.upperBound + length])
    buffer.removeFirst(head.upperBound + length)
    return (headers, body)
  }
}
