import CMicroHTTPD
import Foundation

/// The text of an answer on its way from who writes it to the client: memory does not grow with it.
///
/// The writer waits while the client is slow; the connection is suspended while the writer is.
///
/// `@unchecked Sendable`: everything is used under the condition's lock. libmicrohttpd lets a connection be resumed from
/// any thread.
final class AnswerStream: @unchecked Sendable {
  /// The client does not want more, or has gone.
  struct Abandoned: Error {}

  /// Writing waits when so much has not been sent yet.
  private static let capacity = 1 << 18

  private let condition = NSCondition()
  private var text: [UInt8] = []
  private var start = 0
  private var isFinished = false
  private var isFailed = false
  private var isAbandoned = false
  private var suspended: OpaquePointer?
  /// Told once: when there is something to answer with, or the text ended or failed before.
  private var onReady: ((Result<Void, any Error>) -> Void)?

  init(onReady: @escaping @Sendable (Result<Void, any Error>) -> Void) { self.onReady = onReady }

  // MARK: - The writer

  /// Adds text; waits while much is left to send.
  ///
  /// - Throws: ``Abandoned``.
  func write(_ piece: String) throws {
    condition.lock()
    while text.count - start > Self.capacity, !isAbandoned {
      // Enough to begin with: an error from here on can only break the answer off.
      ready(.success(()))
      condition.wait()
    }
    if isAbandoned {
      condition.unlock()
      throw Abandoned()
    }
    text.append(contentsOf: piece.utf8)
    wake()
    condition.unlock()
  }

  /// Ends the text.
  ///
  /// - Returns: Whether it ended before anything was sent of it, so that the result is what is answered.
  @discardableResult
  func finish(_ result: Result<Void, any Error>) -> Bool {
    condition.lock()
    defer { condition.unlock() }
    let isUnsent = onReady != nil
    switch result {
    case .success: isFinished = true
    case .failure: isFailed = true
    }
    ready(result)
    wake()
    return isUnsent
  }

  private func ready(_ result: Result<Void, any Error>) {
    onReady?(result)
    onReady = nil
  }

  private func wake() {
    guard let connection = suspended else { return }
    suspended = nil
    MHD_resume_connection(connection)
  }

  // MARK: - The connection

  /// Fills a buffer of the connection: the number of bytes, or one of libmicrohttpd's words for an end. With nothing to
  /// send yet the connection is suspended.
  func read(into buffer: UnsafeMutableRawBufferPointer, for connection: OpaquePointer) -> Int {
    condition.lock()
    defer { condition.unlock() }
    let left = text.count - start
    guard left > 0 else {
      if isFailed { return -2 }
      if isFinished { return -1 }
      suspended = connection
      MHD_suspend_connection(connection)
      return 0
    }
    let count = min(left, buffer.count)
    text.withUnsafeBytes { buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[start..<start + count])) }
    start += count
    if start == text.count {
      text.removeAll(keepingCapacity: true)
      start = 0
    }
    condition.signal()
    return count
  }

  /// Nothing more is sent: the writer is stopped.
  func abandon() {
    condition.lock()
    isAbandoned = true
    suspended = nil
    condition.broadcast()
    condition.unlock()
  }
}
