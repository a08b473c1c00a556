import CMicroHTTPD
import Dispatch
import Glibc
import MicroHTTPDShim
import Synchronization

/// An HTTP server on one address, with one thread of its own.
final class HTTPListener: Sendable {
  /// What is let in.
  struct Limits: Sendable {
    /// How long a request may take to come whole.
    var requestTime = Duration.seconds(30)
    /// How many connections may be open; further ones wait to be accepted.
    var connections = 4096
    /// How many bytes of bodies are held at once; beyond it requests are told to come again.
    var heldBodies = 256 << 20
    /// How much of the body of a refused request is read, so that its sender sees the answer.
    var droppedBody = 1 << 20
  }

  /// libmicrohttpd's server.
  ///
  /// `@unchecked Sendable`: only functions that may be called from any thread are used on it.
  private struct Daemon: @unchecked Sendable {
    let pointer: OpaquePointer
  }

  private struct State {
    var daemon: Daemon?
    var connections: [ObjectIdentifier: ClientConnection] = [:]
    var exchanges = 0
    var heldBodies = 0
    var isEnding = false
    /// Resumed when no request is in hand.
    var drain: CheckedContinuation<Void, Never>?
  }

  /// The name in metrics.
  let name: String
  /// The address with the port that it got.
  let address: ListenAddress
  let service: any HTTPService
  let limits: Limits
  private let metrics: Metrics
  private let state = Mutex(State())
  private let watch = DispatchQueue(label: "tenure.server.watch")

  /// Begins to listen.
  ///
  /// - Throws: ``ServerError`` when the address cannot be listened on.
  init(
    _ name: String, on address: ListenAddress, limits: Limits, metrics: Metrics, service: any HTTPService
  ) throws(ServerError) {
    self.name = name
    self.service = service
    self.limits = limits
    self.metrics = metrics
    let listening = try address.listen()
    self.address = listening.address
    var settings = microhttpd_shim_settings()
    settings.listen_socket = listening.socket
    settings.connection_limit = UInt32(limits.connections)
    settings.idle_seconds = UInt32(max(1, limits.requestTime.components.seconds))
    settings.connection_memory = 32 << 10
    // Given back when it has stopped.
    settings.context = Unmanaged.passRetained(self).toOpaque()
    settings.begin = beginRequest
    settings.handle = handleRequest
    settings.complete = completeRequest
    settings.notify = notifyConnection
    guard let pointer = microhttpd_shim_start(&settings) else {
      close(listening.socket)
      Unmanaged.passUnretained(self).release()
      throw ServerError("listening on \(address): the server cannot be started")
    }
    let daemon = Daemon(pointer: pointer)
    state.withLock { $0.daemon = daemon }
    endOverdue()
  }

  /// Ends the connections whose requests take too long, now and from time to time.
  private func endOverdue() {
    let (connections, isOver) = state.withLock { (Array($0.connections.values), $0.daemon == nil) }
    if isOver { return }
    for connection in connections { connection.end(ifOlderThan: limits.requestTime) }
    let milliseconds = Int(limits.requestTime / .milliseconds(10))
    watch.asyncAfter(deadline: .now() + .milliseconds(min(1000, max(10, milliseconds)))) { [weak self] in
      self?.endOverdue()
    }
  }

  // MARK: - Ending

  /// Whether no further requests are wanted.
  var isEnding: Bool { state.withLock { $0.isEnding } }

  /// Takes no further connections, finishes the requests in hand, those that are half sent included, and closes the rest.
  ///
  /// - Returns: How many requests were left when the time was up; their connections end with the process then.
  func stop(within time: Duration) async -> Int {
    let daemon = state.withLock { state in
      state.isEnding = true
      return state.daemon
    }
    guard let daemon else { return 0 }
    let socket = MHD_quiesce_daemon(daemon.pointer)
    if socket >= 0 { close(socket) }
    watch.asyncAfter(deadline: .now() + .milliseconds(Int(time / .milliseconds(1)))) { self.endDrain() }
    await withCheckedContinuation { continuation in
      let isDone = state.withLock { state in
        if state.exchanges > 0 { state.drain = continuation }
        return state.exchanges == 0
      }
      if isDone { continuation.resume() }
    }
    let left = state.withLock { $0.exchanges }
    // Requests that are suspended cannot be taken away from those who are making their answers.
    if left > 0 { return left }
    // It waits for its thread: not on one of those that tasks share.
    await withCheckedContinuation { continuation in
      DispatchQueue.global().async {
        MHD_stop_daemon(daemon.pointer)
        continuation.resume()
      }
    }
    state.withLock { $0.daemon = nil }
    Unmanaged.passUnretained(self).release()
    return 0
  }

  private func endDrain() {
    let drained = state.withLock { state in
      defer { state.drain = nil }
      return state.drain
    }
    drained?.resume()
  }

  // MARK: - Requests

  /// What the service says, unless there is no room.
  func admission(of head: HTTPHead) -> Admission {
    let admission = service.admission(of: head)
    // What is longer than is read is not held, and gets its own answer.
    guard case .read(let limit) = admission, head.hasBody, let length = Optional(head.declaredLength ?? 0),
      length <= limit
    else { return admission }
    let isFull = state.withLock { $0.heldBodies + length > limits.heldBodies }
    return isFull ? .refuse(.tryAgain("too many requests are in hand", after: 1)) : admission
  }

  /// A part of a body is held, and released.
  func retain(_ count: Int) { state.withLock { $0.heldBodies += count } }

  func release(_ count: Int) { state.withLock { $0.heldBodies -= count } }

  /// Counts an answer.
  func count(_ answer: HTTPAnswer) {
    metrics.add(1, to: .requests, ["listener": name, "status": String(answer.status)])
  }

  fileprivate func begin(_ target: String, _ pointer: OpaquePointer) -> UnsafeMutableRawPointer? {
    guard let context = microhttpd_shim_connection_context(pointer) else { return nil }
    let client = Unmanaged<ClientConnection>.fromOpaque(context).takeUnretainedValue()
    state.withLock { $0.exchanges += 1 }
    metrics.add(1, to: .requestsInHand, ["listener": name])
    let exchange = HTTPExchange(target: target, connection: pointer, client: client, listener: self)
    return Unmanaged.passRetained(exchange).toOpaque()
  }

  /// A request has been answered, or has ended without an answer.
  func leave() {
    metrics.add(-1, to: .requestsInHand, ["listener": name])
    let drained = state.withLock { state -> CheckedContinuation<Void, Never>? in
      state.exchanges -= 1
      guard state.exchanges == 0 else { return nil }
      defer { state.drain = nil }
      return state.drain
    }
    drained?.resume()
  }

  fileprivate func add(_ client: ClientConnection) {
    state.withLock { $0.connections[ObjectIdentifier(client)] = client }
    metrics.add(1, to: .connections, ["listener": name])
  }

  fileprivate func remove(_ client: ClientConnection) {
    client.forget()
    state.withLock { $0.connections[ObjectIdentifier(client)] = nil }
    metrics.add(-1, to: .connections, ["listener": name])
  }
}

// MARK: - libmicrohttpd's calls

private func listener(_ context: UnsafeMutableRawPointer?) -> HTTPListener? {
  context.map { Unmanaged<HTTPListener>.fromOpaque($0).takeUnretainedValue() }
}

private func beginRequest(
  context: UnsafeMutableRawPointer?, uri: UnsafePointer<CChar>?, connection: OpaquePointer?
) -> UnsafeMutableRawPointer? {
  guard let connection else { return nil }
  return listener(context)?.begin(uri.map { String(cString: $0) } ?? "", connection)
}

private func handleRequest(
  context: UnsafeMutableRawPointer?, connection: OpaquePointer?, url: UnsafePointer<CChar>?,
  method: UnsafePointer<CChar>?, version: UnsafePointer<CChar>?, upload: UnsafePointer<CChar>?,
  uploadCount: UnsafeMutablePointer<Int>?, exchange: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
) -> MHD_Result {
  guard let pointer = exchange?.pointee, let method else { return .NO }
  let exchange = Unmanaged<HTTPExchange>.fromOpaque(pointer).takeUnretainedValue()
  let count = uploadCount?.pointee ?? 0
  // All of it is taken.
  uploadCount?.pointee = 0
  return exchange.call(
    method: String(cString: method), upload: count > 0 ? UnsafeRawBufferPointer(start: upload, count: count) : nil)
}

private func completeRequest(
  context: UnsafeMutableRawPointer?, connection: OpaquePointer?,
  exchange: UnsafeMutablePointer<UnsafeMutableRawPointer?>?, code: MHD_RequestTerminationCode
) {
  guard let pointer = exchange?.pointee else { return }
  exchange?.pointee = nil
  Unmanaged<HTTPExchange>.fromOpaque(pointer).takeRetainedValue().end()
}

private func notifyConnection(
  context: UnsafeMutableRawPointer?, connection: OpaquePointer?,
  client: UnsafeMutablePointer<UnsafeMutableRawPointer?>?, code: MHD_ConnectionNotificationCode
) {
  guard let listener = listener(context), let connection, let client else { return }
  switch code {
  case .CONNECTION_NOTIFY_STARTED:
    let new = ClientConnection(descriptor: microhttpd_shim_socket(connection))
    client.pointee = Unmanaged.passRetained(new).toOpaque()
    listener.add(new)
  case .CONNECTION_NOTIFY_CLOSED:
    guard let pointer = client.pointee else { return }
    client.pointee = nil
    listener.remove(Unmanaged<ClientConnection>.fromOpaque(pointer).takeRetainedValue())
  @unknown default: break
  }
}
