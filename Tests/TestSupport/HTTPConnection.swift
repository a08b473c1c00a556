import Foundation
import Glibc

/// A client's connection to a server on the loopback interface that sends exactly what it is told, however wrong, and reads
/// answers.
///
/// What waits does so on a thread of its own.
public final class HTTPConnection: Sendable {
  /// An answer.
  public struct Answer: Sendable {
    /// The status.
    public let status: Int
    /// The headers, names in small letters.
    public let headers: [String: String]
    /// The body.
    public let body: [UInt8]

    /// The body as text.
    public var text: String { String(decoding: body, as: UTF8.self) }
    /// The body as a JSON object.
    public var json: [String: Any] { (try? JSONSerialization.jsonObject(with: Data(body))) as? [String: Any] ?? [:] }
  }

  private let descriptor: Int32

  /// Connects.
  ///
  /// - Throws: when nobody listens there.
  public init(port: UInt16) throws {
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    let result = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard descriptor >= 0, result == 0 else {
      let code = errno
      if descriptor >= 0 { Glibc.close(descriptor) }
      throw POSIXError(POSIXErrorCode(rawValue: code) ?? .EIO)
    }
  }

  deinit { Glibc.close(descriptor) }

  /// Sends bytes; false when the server takes no more.
  @discardableResult
  public func send(_ bytes: [UInt8]) async -> Bool {
    await Self.onThread { self.put(bytes) }
  }

  /// Sends text; false when the server takes no more.
  @discardableResult
  public func send(_ text: String) async -> Bool { await send(Array(text.utf8)) }

  private func put(_ bytes: [UInt8]) -> Bool {
    var offset = 0
    while offset < bytes.count {
      let count = bytes[offset...].withUnsafeBytes {
        Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      guard count > 0 else { return false }
      offset += count
    }
    return true
  }

  /// Sends a byte again and again, at a small distance, until the server answers or ends the connection.
  public func trickle(_ byte: UInt8) async {
    await Self.onThread {
      while true {
        var event = pollfd(fd: self.descriptor, events: Int16(POLLIN), revents: 0)
        if poll(&event, 1, 10) > 0 || !self.put([byte]) { return }
      }
    }
  }

  /// The next answer, without its body for `HEAD`; nil when the server ends the connection without one.
  public func answer(hasBody: Bool = true) async -> Answer? {
    await Self.onThread { self.read(hasBody: hasBody) }
  }

  private func read(hasBody: Bool) -> Answer? {
    var bytes: [UInt8] = []
    var part = [UInt8](repeating: 0, count: 1 << 16)
    func more(_ limit: Int) -> Bool {
      let count = recv(descriptor, &part, min(limit, part.count), 0)
      guard count > 0 else { return false }
      bytes += part[..<count]
      return true
    }
    // Not a byte more than the head, so that the next answer is left where it is.
    while !bytes.suffix(4).elementsEqual(Array("\r\n\r\n".utf8)) {
      guard more(1) else { return nil }
    }
    let lines = String(decoding: bytes, as: UTF8.self).components(separatedBy: "\r\n")
    let words = lines[0].split(separator: " ", maxSplits: 2)
    guard words.count >= 2, let status = Int(words[1]) else { return nil }
    var headers: [String: String] = [:]
    for line in lines.dropFirst() {
      guard let colon = line.firstIndex(of: ":") else { continue }
      headers[line[..<colon].lowercased()] = line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces)
    }
    bytes = []
    if status == 100 || !hasBody { return Answer(status: status, headers: headers, body: []) }
    if headers["transfer-encoding"] == "chunked" {
      var body: [UInt8] = []
      while true {
        bytes = []
        while !bytes.suffix(2).elementsEqual(Array("\r\n".utf8)) {
          guard more(1) else { return nil }
        }
        guard let size = Int(String(decoding: bytes.dropLast(2), as: UTF8.self), radix: 16) else { return nil }
        bytes = []
        while bytes.count < size + 2 {
          guard more(size + 2 - bytes.count) else { return nil }
        }
        if size == 0 { return Answer(status: status, headers: headers, body: body) }
        body += bytes.dropLast(2)
      }
    }
    let length = headers["content-length"].flatMap { Int($0) } ?? 0
    while bytes.count < length {
      guard more(length - bytes.count) else { return nil }
    }
    return Answer(status: status, headers: headers, body: bytes)
  }

  /// Sends one request on a connection of its own and returns its answer; nil when the server ends the connection.
  ///
  /// - Parameter headers: beside `Host` and `Content-Length`; a `Host` replaces the usual one.
  public static func request(
    _ method: String, _ target: String, port: UInt16, headers: [String: String] = [:], body: [UInt8]? = nil
  ) async throws -> Answer? {
    let connection = try HTTPConnection(port: port)
    var all = ["Host": "127.0.0.1:\(port)"].merging(headers) { $1 }
    if let body { all["Content-Length"] = String(body.count) }
    let lines = all.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)\r\n" }.joined()
    await connection.send(Array("\(method) \(target) HTTP/1.1\r\n\(lines)\r\n".utf8) + (body ?? []))
    return await connection.answer(hasBody: method != "HEAD")
  }

  private static func onThread<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
    await withCheckedContinuation { continuation in
      Thread.detachNewThread { continuation.resume(returning: body()) }
    }
  }
}
