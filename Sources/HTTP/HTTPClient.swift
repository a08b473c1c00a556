internal import CCurl
internal import CurlShim
import Foundation
import Glibc
import Synchronization

/// Sends requests, many at once, on one thread of its own.
///
/// libcurl does the work: it keeps connections open and says every resolved address before it connects. Redirects are not
/// followed and no proxy is used: either would reach hosts that nobody named. A client that may connect to private
/// addresses shares no connection with one that may not.
public final class HTTPClient: Sendable {
  /// How much of an answer's body is kept, in bytes, unless a client is made for longer ones.
  public static let bodyLimit = 1_048_576

  /// What is called with the answer, on the client's thread.
  public typealias Completion = @Sendable (Result<HTTPResponse, HTTPFailure>) -> Void

  private let engine: Engine

  /// Creates a client.
  ///
  /// - Parameters:
  ///   - allowsPrivateNetwork: whether requests may go to addresses that are not public, and without TLS.
  ///   - timeout: how long a request may take from its start to the end of its answer.
  ///   - bodyLimit: how much of an answer's body is kept, in bytes; what is longer is cut.
  public init(
    allowsPrivateNetwork: Bool, timeout: Duration = .seconds(20), bodyLimit: Int = HTTPClient.bodyLimit
  ) {
    engine = Engine(allowsPrivateNetwork: allowsPrivateNetwork, timeout: timeout, bodyLimit: bodyLimit)
    let thread = Thread { @Sendable [engine] in engine.work() }
    thread.name = "http"
    thread.start()
  }

  deinit { engine.end() }

  /// Starts a request and returns at once.
  public func start(_ request: HTTPRequest, then completion: @escaping Completion) {
    engine.add(Transfer(request, completion))
  }

  /// Sends a request and waits for its answer.
  public func send(_ request: HTTPRequest) async -> Result<HTTPResponse, HTTPFailure> {
    await withCheckedContinuation { continuation in
      start(request) { continuation.resume(returning: $0) }
    }
  }

  /// Gives what is under way so much longer; what has no answer by then fails as stopped, and so does what is started
  /// later.
  public func finish(within grace: Duration) { engine.finish(within: grace) }
}

/// One request under way.
///
/// `@unchecked Sendable`: after it was handed to the engine only the engine's thread touches it.
private final class Transfer: @unchecked Sendable {
  let request: HTTPRequest
  let completion: HTTPClient.Completion
  var headers: [String: String] = [:]
  var body: [UInt8] = []
  var list: UnsafeMutablePointer<curl_slist>?
  var allowsPrivateNetwork = false
  var bodyLimit = HTTPClient.bodyLimit
  var refusal: String?
  var isCut = false

  init(_ request: HTTPRequest, _ completion: @escaping HTTPClient.Completion) {
    self.request = request
    self.completion = completion
  }

  static func at(_ context: UnsafeMutableRawPointer) -> Transfer {
    Unmanaged<Transfer>.fromOpaque(context).takeUnretainedValue()
  }

  /// Takes one header line as it came.
  func take(header line: UnsafeRawBufferPointer) {
    let text = String(decoding: line, as: UTF8.self)
    guard let colon = text.firstIndex(of: ":") else {
      // A status line: of several answers (100, then the real one) the last counts.
      if text.hasPrefix("HTTP/") { headers = [:] }
      return
    }
    let value = text[text.index(after: colon)...]
    headers[text[..<colon].lowercased()] = value.trimmingCharacters(in: .whitespacesAndNewlines)
  }

  /// Takes a part of the body; false when there is more than is kept.
  func take(body part: UnsafeRawBufferPointer) -> Bool {
    let room = bodyLimit - body.count
    body.append(contentsOf: part.prefix(room))
    isCut = part.count > room
    return !isCut
  }

  /// Whether a socket to the address may be opened.
  func allows(_ address: UnsafePointer<sockaddr>) -> Bool {
    if allowsPrivateNetwork { return true }
    let address = NetworkAddress(address)
    if let words = address.refusal {
      refusal = "\(address): \(words), and allow_private_network is not set"
    } else if !request.url.lowercased().hasPrefix("https://") {
      refusal = "it has no TLS (https), and allow_private_network is not set"
    }
    return refusal == nil
  }
}

/// The thread's side of a client.
///
/// `@unchecked Sendable`: the multi handle is used by the engine's thread alone but for `curl_multi_wakeup`, which
/// libcurl lets any thread call until the handle is cleaned up; `isOver` is set under the lock before that. The idle
/// handles and the transfers are the thread's own.
private final class Engine: @unchecked Sendable {
  private struct State {
    var added: [Transfer] = []
    var deadline: ContinuousClock.Instant?
    var isEnding = false
    var isOver = false
  }

  private static let isReady: Bool = curl_global_init(Int(CURL_GLOBAL_ALL)) == CURLE_OK

  private let multi: UnsafeMutableRawPointer
  private let state = Mutex(State())
  private let allowsPrivateNetwork: Bool
  private let timeout: Duration
  private let bodyLimit: Int
  private var idle: [UnsafeMutableRawPointer] = []
  private var active: [UnsafeMutableRawPointer: Transfer] = [:]

  init(allowsPrivateNetwork: Bool, timeout: Duration, bodyLimit: Int) {
    guard Self.isReady, let multi = curl_multi_init() else { preconditionFailure("libcurl could not be set up") }
    self.multi = multi
    self.allowsPrivateNetwork = allowsPrivateNetwork
    self.timeout = timeout
    self.bodyLimit = bodyLimit
  }

  func add(_ transfer: Transfer) {
    change { $0.added.append(transfer) }
  }

  func finish(within grace: Duration) {
    change { $0.deadline = min($0.deadline ?? .now + grace, .now + grace) }
  }

  func end() {
    change { $0.isEnding = true }
  }

  private func change(_ body: (inout sending State) -> Void) {
    state.withLock { state in
      body(&state)
      if !state.isOver { curl_multi_wakeup(multi) }
    }
  }

  /// Works until the client is let go and everything has an answer.
  func work() {
    while true {
      let (added, deadline, isEnding) = state.withLock { state in
        defer { state.added = [] }
        return (state.added, state.deadline, state.isEnding)
      }
      let isLate = deadline.map { $0 <= .now } ?? false
      for transfer in added {
        if deadline != nil { transfer.completion(.failure(.stopped)) } else { begin(transfer) }
      }
      if isLate {
        for handle in Array(active.keys) { close(handle, .failure(.stopped)) }
      }
      var running: Int32 = 0
      curl_multi_perform(multi, &running)
      takeFinished()
      if isEnding, active.isEmpty { break }
      let left = deadline.map { max(0, Int32((($0 - .now) / .milliseconds(1)).rounded(.up))) }
      curl_multi_poll(multi, nil, 0, active.isEmpty ? 60_000 : min(left ?? 1000, 1000), nil)
    }
    let left = state.withLock { state in
      state.isOver = true
      return state.added
    }
    for transfer in left { transfer.completion(.failure(.stopped)) }
    for handle in idle { curl_easy_cleanup(handle) }
    curl_multi_cleanup(multi)
  }

  private func takeFinished() {
    var left: Int32 = 0
    while let message = curl_multi_info_read(multi, &left) {
      guard message.pointee.msg == CURLMSG_DONE, let handle = message.pointee.easy_handle,
        let transfer = active[handle]
      else { continue }
      let code = curl_shim_result(message)
      close(handle, result(of: transfer, on: handle, code))
    }
  }

  private func result(
    of transfer: Transfer, on handle: UnsafeMutableRawPointer, _ code: CURLcode
  ) -> Result<HTTPResponse, HTTPFailure> {
    if code == CURLE_OK || (code == CURLE_WRITE_ERROR && transfer.isCut) {
      var status = 0
      _ = curl_shim_get_long(handle, CURLINFO_RESPONSE_CODE, &status)
      return .success(HTTPResponse(status: status, headers: transfer.headers, body: transfer.body))
    }
    if let refusal = transfer.refusal { return .failure(.addressNotAllowed(refusal)) }
    switch code {
    case CURLE_OPERATION_TIMEDOUT: return .failure(.timedOut)
    case CURLE_URL_MALFORMAT, CURLE_UNSUPPORTED_PROTOCOL: return .failure(.unusableURL)
    case CURLE_PEER_FAILED_VERIFICATION: return .failure(.untrusted)
    default: return .failure(.network(String(cString: curl_easy_strerror(code))))
    }
  }

  private func close(_ handle: UnsafeMutableRawPointer, _ result: Result<HTTPResponse, HTTPFailure>) {
    guard let transfer = active.removeValue(forKey: handle) else { return }
    curl_multi_remove_handle(multi, handle)
    curl_slist_free_all(transfer.list)
    curl_easy_reset(handle)
    idle.append(handle)
    transfer.completion(result)
  }

  private func begin(_ transfer: Transfer) {
    guard let handle = idle.popLast() ?? curl_easy_init() else {
      transfer.completion(.failure(.network("out of memory")))
      return
    }
    transfer.allowsPrivateNetwork = allowsPrivateNetwork
    transfer.bodyLimit = bodyLimit
    let context = Unmanaged.passUnretained(transfer).toOpaque()
    let request = transfer.request
    // "Expect" without a value: no pause before the body for a "100 Continue" that few servers send.
    for line in ["expect:", "user-agent: tenure"] + request.headers.map({ "\($0.name): \($0.value)" }) {
      transfer.list = curl_slist_append(transfer.list, line)
    }
    let milliseconds = Int((timeout / .milliseconds(1)).rounded(.up))
    // Options fail only when memory or libcurl's features run out; the transfer then fails by itself or does without.
    _ = curl_shim_set_text(handle, CURLOPT_URL, request.url)
    _ = curl_shim_allow_http_only(handle)
    _ = curl_shim_set_text(handle, CURLOPT_PROXY, "")
    _ = curl_shim_set_long(handle, CURLOPT_FOLLOWLOCATION, 0)
    _ = curl_shim_set_long(handle, CURLOPT_NOSIGNAL, 1)
    _ = curl_shim_set_long(handle, CURLOPT_TIMEOUT_MS, milliseconds)
    _ = curl_shim_set_long(handle, CURLOPT_CONNECTTIMEOUT_MS, min(milliseconds, 10_000))
    // The connections that are kept are told apart by these, so none is used for a request that believes others.
    for (option, path) in [
      (CURLOPT_CAINFO, request.tls.authorityFile), (CURLOPT_SSLCERT, request.tls.certificateFile),
      (CURLOPT_SSLKEY, request.tls.keyFile),
    ] {
      if let path { _ = curl_shim_set_text(handle, option, path) }
    }
    // libcurl is built with a folder of the system's authorities, which it would believe beside the file.
    if request.tls.authorityFile != nil { _ = curl_shim_set_pointer(handle, CURLOPT_CAPATH, nil) }
    _ = curl_shim_set_pointer(handle, CURLOPT_HTTPHEADER, transfer.list)
    switch request.method {
    case .get: _ = curl_shim_set_long(handle, CURLOPT_HTTPGET, 1)
    case .post: Self.post(request.body, on: handle)
    }
    _ = curl_shim_set_pointer(handle, CURLOPT_WRITEDATA, context)
    _ = curl_shim_set_receive(handle, CURLOPT_WRITEFUNCTION) { bytes, size, count, context in
      guard let bytes, let context else { return 0 }
      let part = UnsafeRawBufferPointer(start: bytes, count: size * count)
      return Transfer.at(context).take(body: part) ? part.count : 0
    }
    _ = curl_shim_set_pointer(handle, CURLOPT_HEADERDATA, context)
    _ = curl_shim_set_receive(handle, CURLOPT_HEADERFUNCTION) { bytes, size, count, context in
      guard let bytes, let context else { return 0 }
      Transfer.at(context).take(header: UnsafeRawBufferPointer(start: bytes, count: size * count))
      return size * count
    }
    _ = curl_shim_set_pointer(handle, CURLOPT_OPENSOCKETDATA, context)
    _ = curl_shim_set_open_socket(handle) { context, _, address in
      guard let context, let address else { return -1 }
      let isAllowed = withUnsafePointer(to: &address.pointee.addr) { Transfer.at(context).allows($0) }
      guard isAllowed else { return -1 }
      // A child process must not inherit it.
      return socket(
        address.pointee.family, address.pointee.socktype | Int32(SOCK_CLOEXEC.rawValue), address.pointee.protocol)
    }
    active[handle] = transfer
    let added = curl_multi_add_handle(multi, handle)
    if added != CURLM_OK { close(handle, .failure(.network("libcurl refused the request"))) }
  }

  private static func post(_ body: [UInt8], on handle: UnsafeMutableRawPointer) {
    _ = curl_shim_set_long(handle, CURLOPT_POST, 1)
    _ = curl_shim_set_offset(handle, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(body.count))
    body.withUnsafeBytes { bytes in
      var none: UInt8 = 0
      withUnsafePointer(to: &none) { empty in
        _ = curl_shim_set_pointer(handle, CURLOPT_COPYPOSTFIELDS, bytes.baseAddress ?? UnsafeRawPointer(empty))
      }
    }
  }
}
