import Foundation
import Glibc
import Synchronization

/// What stands between a program and its database on the way over TCP: a firewall, an address that moves, a pooler. It can
/// stop to pass on what comes without closing anything, as a way that is lost does.
public final class DatabaseProxy: Sendable {
  private struct State {
    /// The ways that are open, by their numbers; false for one that passes nothing on any more.
    var ways: [Int: Bool] = [:]
    var isFrozen = false
    /// Whether a new connection is lost once the server has let it in.
    var losesReady = false
    var accepted = 0
    var descriptors: Set<Int32> = []
  }

  private struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  private let state = Mutex(State())
  private let socketPath: String
  private let options: String
  /// It is there as long as there is a way to it.
  private let database: TestDatabase
  /// The port it listens on.
  public let port: UInt16

  /// - Parameters:
  ///   - path: the socket of the database's server.
  ///   - options: what a connection string to the database says beside host and port.
  init(to database: TestDatabase, socket path: String, options: String) throws {
    self.database = database
    socketPath = path
    self.options = options
    guard let (listener, port) = loopbackListener() else {
      throw Failure(description: "no proxy can listen on the loopback interface")
    }
    self.port = port
    state.withLock { _ = $0.descriptors.insert(listener) }
    Thread.detachNewThread { [weak self] in
      while let client = self?.accept(on: listener) { self?.open(client) }
    }
  }

  deinit {
    state.withLock { state in
      for descriptor in state.descriptors { shutdown(descriptor, Int32(SHUT_RDWR)) }
    }
  }

  /// How to connect to the database over it.
  public var connectionString: String { "host=127.0.0.1 port=\(port) \(options)" }

  /// How many connections it has taken.
  public var accepted: Int { state.withLock { $0.accepted } }

  /// From now on what comes over the connections that are open is dropped, in both directions; new ones are passed on.
  public func loseConnections() {
    state.withLock { state in
      for number in state.ways.keys { state.ways[number] = false }
    }
  }

  /// From now on nothing is passed on, of new connections neither: as when the server's processes are stopped.
  public func freeze() {
    loseConnections()
    state.withLock { $0.isFrozen = true }
  }

  /// From now on each new connection is let in, and after that nothing is passed on: as by a pooler whose server hangs.
  public func loseWhenReady() { state.withLock { $0.losesReady = true } }

  /// From now on new connections are passed on again.
  public func thaw() {
    state.withLock { state in
      state.isFrozen = false
      state.losesReady = false
    }
  }

  /// The end of what a server says when it has let one in: that it is ready for a query, outside of a transaction
  /// (PostgreSQL's documentation, "Message Formats").
  private static let ready = [UInt8(ascii: "Z"), 0, 0, 0, 5, UInt8(ascii: "I")]

  private func accept(on listener: Int32) -> Int32? {
    let client = Glibc.accept(listener, nil, nil)
    if client < 0 { close(listener) }
    return client < 0 ? nil : client
  }

  private func open(_ client: Int32) {
    _ = fcntl(client, F_SETFD, FD_CLOEXEC)
    let server = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: socketPath.utf8.prefix($0.count - 1)) }
    let isConnected = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(server, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
      }
    }
    guard isConnected else {
      close(client)
      close(server)
      return
    }
    let number = state.withLock { state in
      state.accepted += 1
      state.ways[state.accepted] = !state.isFrozen
      state.descriptors.formUnion([client, server])
      return state.accepted
    }
    // Both descriptors stay open until the proxy is let go: no number may be another's while a pump still has it.
    for (source, target) in [(client, server), (server, client)] {
      Thread.detachNewThread { [weak self] in
        var bytes = [UInt8](repeating: 0, count: 65_536)
        while true {
          let count = recv(source, &bytes, bytes.count, 0)
          guard let self else { break }
          guard self.state.withLock({ $0.ways[number] == true }) else {
            // The end of one side is lost with all else.
            if count <= 0 { break }
            continue
          }
          guard count > 0 else {
            shutdown(target, Int32(SHUT_WR))
            break
          }
          var offset = 0
          while offset < count {
            let sent = bytes[offset..<count].withUnsafeBytes {
              send(target, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard sent > 0 else { break }
            offset += sent
          }
          if source == server, bytes[..<count].suffix(Self.ready.count).elementsEqual(Self.ready) {
            self.state.withLock { if $0.losesReady { $0.ways[number] = false } }
          }
        }
      }
    }
  }
}
