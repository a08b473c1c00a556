import CMicroHTTPD
import Synchronization

/// One request and its answer, as libmicrohttpd calls for it: at its beginning, for its head, for each part of its body and
/// at its end.
///
/// The connection is suspended while the answer is being made, so that its thread can serve others.
///
/// `@unchecked Sendable`: what changes is under the lock. The connection's pointer is used by its own thread, and by others
/// only to resume it, which libmicrohttpd allows.
final class HTTPExchange: @unchecked Sendable {
  private enum Stage {
    /// Only the request line is known.
    case begun
    /// The body is being read.
    case reading(limit: Int)
    /// The body is being dropped; this is answered at its end.
    case refusing(HTTPAnswer)
    /// The answer is being made.
    case inHand(Part)
    /// The answer can be given.
    case answered(HTTPAnswer)
    /// The answer was sent before the request had ended; what follows is dropped.
    case closing
    /// The answer was given to libmicrohttpd.
    case queued
  }

  /// How much of the request there is.
  private enum Part {
    case head
    case someBody
    case all
  }

  private struct State {
    var stage = Stage.begun
    var head: HTTPHead?
    var body: [UInt8] = []
    /// How many bytes of a body were dropped.
    var dropped = 0
    /// Whether the next call is a repetition of the one for the head.
    var isHeadRepeated = false
    var isAnsweredEarly = false
  }

  private let target: String
  private let connection: OpaquePointer
  private let client: ClientConnection
  private let listener: HTTPListener
  private let state = Mutex(State())

  init(target: String, connection: OpaquePointer, client: ClientConnection, listener: HTTPListener) {
    self.target = target
    self.connection = connection
    self.client = client
    self.listener = listener
    client.restart()
  }

  /// What was kept of the body is given back.
  func end() {
    let (kept, isEarly) = state.withLock { ($0.body.count, $0.isAnsweredEarly) }
    listener.release(kept)
    if !isEarly { listener.leave() }
    client.restart()
  }

  /// Answers on the socket, while the request is still on its way; what is left of it is in nobody's hand then. A
  /// connection that is suspended must be resumed before the listener is left: it may be stopped at once.
  private func answerEarly(_ answer: HTTPAnswer, resumes: Bool) {
    listener.count(answer)
    client.answerEarly(answer)
    state.withLock { $0.isAnsweredEarly = true }
    if resumes { MHD_resume_connection(connection) }
    listener.leave()
  }

  // MARK: - Called by the connection's thread

  /// What is to be done after the state was changed, outside of the lock.
  private enum Step {
    case goOn
    case close
    case queue(HTTPAnswer, closes: Bool)
    case answerEarly(HTTPAnswer)
    case handOver(HTTPHead, [UInt8]?)
  }

  /// Goes on with the request.
  ///
  /// - Parameters:
  ///   - method: The request's method.
  ///   - upload: The next part of the body; nil for the head and for the end.
  func call(method: String, upload: UnsafeRawBufferPointer?) -> MHD_Result {
    let step = state.withLock { state in
      if let upload { take(upload, &state) } else { takeMark(method, &state) }
    }
    switch step {
    case .goOn: return .YES
    case .close: return .NO
    case .queue(let answer, let closes): return queue(answer, closes: closes)
    case .answerEarly(let answer):
      answerEarly(answer, resumes: false)
      return .YES
    case .handOver(let head, let body):
      client.setInHand(true)
      MHD_suspend_connection(connection)
      let service = listener.service
      Task { [self] in
        if let body {
          finish(await service.answer(head, body: body))
        } else {
          finish(await service.answerTooLarge(head))
        }
      }
      return .YES
    }
  }

  /// The head, or the end.
  private func takeMark(_ method: String, _ state: inout State) -> Step {
    switch state.stage {
    case .begun: return takeHead(method, &state)
    case .reading:
      state.stage = .inHand(.all)
      return .handOver(state.head ?? HTTPHead(method: method, target: target, headers: []), state.body)
    case .refusing(let answer), .answered(let answer):
      state.stage = .queued
      return .queue(answer, closes: state.isHeadRepeated)
    case .closing:
      defer { state.isHeadRepeated = false }
      return state.isHeadRepeated ? .goOn : .close
    case .inHand: return .goOn
    case .queued: return .close
    }
  }

  private func takeHead(_ method: String, _ state: inout State) -> Step {
    var head = HTTPHead(method: method, target: target, headers: Self.headers(of: connection))
    head.peer = client.peer
    state.head = head
    if head.isAmbiguous {
      state.stage = .queued
      return .queue(listener.service.answerAmbiguous(head), closes: true)
    }
    switch listener.admission(of: head) {
    case .read(let limit):
      guard (head.declaredLength ?? 0) <= limit else {
        state.stage = .inHand(.head)
        state.isHeadRepeated = true
        return .handOver(head, nil)
      }
      state.stage = .reading(limit: limit)
      return .goOn
    case .refuse(let answer):
      if !head.hasBody || head.waitsToContinue {
        state.stage = .queued
        return .queue(answer, closes: head.hasBody)
      }
      if (head.declaredLength ?? 0) > listener.limits.droppedBody {
        state.stage = .closing
        return .answerEarly(answer)
      }
      state.stage = .refusing(answer)
      return .goOn
    }
  }

  private func take(_ upload: UnsafeRawBufferPointer, _ state: inout State) -> Step {
    switch state.stage {
    case .reading(let limit):
      guard state.body.count + upload.count <= limit, let head = state.head else {
        state.stage = .inHand(.someBody)
        // Nobody reads it, and its sender may take long to end.
        listener.release(state.body.count)
        state.body = []
        return .handOver(state.head ?? HTTPHead(method: "", target: target, headers: []), nil)
      }
      if state.body.isEmpty, let length = head.declaredLength { state.body.reserveCapacity(length) }
      state.body.append(contentsOf: upload)
      listener.retain(upload.count)
      return .goOn
    case .refusing(let answer):
      state.dropped += upload.count
      guard state.dropped > listener.limits.droppedBody else { return .goOn }
      state.stage = .closing
      return .answerEarly(answer)
    case .begun, .inHand, .answered, .closing, .queued: return .goOn
    }
  }

  // MARK: - The answer

  /// Takes the answer and lets the connection's thread go on with it.
  private func finish(_ answer: HTTPAnswer) {
    let isEarly = state.withLock { state in
      guard case .inHand(let part) = state.stage else { return false }
      if case .all = part {
        state.stage = .answered(answer)
        return false
      }
      // A client that waits to be told has not sent its body, and can be answered in order.
      if case .head = part, state.head?.waitsToContinue == true {
        state.stage = .answered(answer)
        return false
      }
      state.stage = .closing
      return true
    }
    if isEarly { answerEarly(answer, resumes: true) } else { MHD_resume_connection(connection) }
  }

  private func queue(_ answer: HTTPAnswer, closes: Bool) -> MHD_Result {
    listener.count(answer)
    client.setInHand(true)
    let response: OpaquePointer?
    switch answer.body {
    case .bytes(let bytes):
      response = bytes.withUnsafeBytes { bytes in
        // It is copied.
        MHD_create_response_from_buffer(
          bytes.count, UnsafeMutableRawPointer(mutating: bytes.baseAddress), .RESPMEM_MUST_COPY)
      }
    case .stream(let stream): response = Self.response(of: stream, for: connection)
    }
    guard let response else { return .NO }
    defer { MHD_destroy_response(response) }
    for header in answer.headers { MHD_add_response_header(response, header.name, header.value) }
    if closes || listener.isEnding { MHD_add_response_header(response, "Connection", "close") }
    return MHD_queue_response(connection, UInt32(answer.status), response)
  }

  /// The connection that a stream's text goes to, for libmicrohttpd to hand back.
  private final class Reading {
    let stream: AnswerStream
    let connection: OpaquePointer

    init(_ stream: AnswerStream, _ connection: OpaquePointer) {
      self.stream = stream
      self.connection = connection
    }
  }

  private static func response(of stream: AnswerStream, for connection: OpaquePointer) -> OpaquePointer? {
    let context = Unmanaged.passRetained(Reading(stream, connection)).toOpaque()
    let response = MHD_create_response_from_callback(
      UInt64.max, 1 << 15,
      { context, _, buffer, capacity in
        guard let context, let buffer else { return -2 }
        let reading = Unmanaged<Reading>.fromOpaque(context).takeUnretainedValue()
        return reading.stream.read(
          into: UnsafeMutableRawBufferPointer(start: buffer, count: capacity), for: reading.connection)
      }, context,
      { context in
        guard let context else { return }
        Unmanaged<Reading>.fromOpaque(context).takeRetainedValue().stream.abandon()
      })
    if response == nil { Unmanaged<Reading>.fromOpaque(context).release() }
    return response
  }

  private final class Headers {
    var all: [(name: String, value: String)] = []
  }

  private static func headers(of connection: OpaquePointer) -> [(name: String, value: String)] {
    let headers = Headers()
    MHD_get_connection_values(
      connection, .HEADER_KIND,
      { context, _, name, value in
        guard let context, let name else { return .YES }
        Unmanaged<Headers>.fromOpaque(context).takeUnretainedValue().all.append(
          (String(cString: name).lowercased(), value.map { String(cString: $0) } ?? ""))
        return .YES
      }, Unmanaged.passUnretained(headers).toOpaque())
    return headers.all
  }
}
