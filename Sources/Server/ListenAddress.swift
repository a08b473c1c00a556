import Glibc

/// Where a listener listens: an address or host name, and a port.
public struct ListenAddress: Sendable, CustomStringConvertible {
  /// The address or name, without brackets.
  public let host: String
  /// The port; 0 for any that is free.
  public let port: UInt16

  /// Reads `127.0.0.1:8080`, `localhost:8080` or `[::1]:8080`; nil when it is none of these.
  public init?(_ text: String) {
    guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else { return nil }
    var host = text[..<colon]
    if host.hasPrefix("["), host.hasSuffix("]") {
      host = host.dropFirst().dropLast()
    } else if host.contains(":") {
      return nil
    }
    guard !host.isEmpty else { return nil }
    self.init(host: String(host), port: port)
  }

  private init(host: String, port: UInt16) {
    self.host = host
    self.port = port
  }

  /// As it is written in a URL.
  public var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }

  /// An address by which this machine itself reaches it: loopback where it stands for every address.
  public var reachable: ListenAddress {
    switch host {
    case "0.0.0.0": ListenAddress(host: "127.0.0.1", port: port)
    case "::": ListenAddress(host: "::1", port: port)
    default: self
    }
  }

  /// Sees whether one can listen there now, so that long work need not be done first to find out.
  ///
  /// - Throws: ``ServerError``.
  public func check() throws(ServerError) { close(try listen().socket) }

  /// Opens a socket that listens there.
  ///
  /// - Returns: The socket, and the address with the port that it got.
  /// - Throws: ``ServerError``.
  func listen() throws(ServerError) -> (socket: Int32, address: ListenAddress) {
    var hints = addrinfo()
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV
    var list: UnsafeMutablePointer<addrinfo>?
    let result = getaddrinfo(host, String(port), &hints, &list)
    guard result == 0, let found = list else {
      throw ServerError("listening on \(self): \(String(cString: gai_strerror(result)))")
    }
    defer { freeaddrinfo(list) }
    let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
    let descriptor = socket(found.pointee.ai_family, kind, 0)
    var enabled: Int32 = 1
    guard descriptor >= 0,
      setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &enabled, socklen_t(MemoryLayout<Int32>.size)) == 0,
      bind(descriptor, found.pointee.ai_addr, found.pointee.ai_addrlen) == 0, Glibc.listen(descriptor, 1024) == 0
    else {
      let reason = String(cString: strerror(errno))
      if descriptor >= 0 { close(descriptor) }
      throw ServerError("listening on \(self): \(reason); another address can be given")
    }
    return (descriptor, ListenAddress(host: host, port: Self.port(of: descriptor) ?? port))
  }

  private static func port(of descriptor: Int32) -> UInt16? {
    var storage = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    let result = withUnsafeMutablePointer(to: &storage) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
    }
    guard result == 0 else { return nil }
    // The port stands at the same place in both families' addresses, in network order.
    return withUnsafeBytes(of: &storage) { UInt16(bigEndian: $0.loadUnaligned(fromByteOffset: 2, as: UInt16.self)) }
  }
}

/// What a server cannot begin after.
public struct ServerError: Error, Sendable, CustomStringConvertible {
  /// What was being done, what went wrong and what to do.
  public let description: String

  init(_ description: String) { self.description = description }
}
