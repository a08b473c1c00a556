import Synchronization

/// Keeps the server's notices of one connection, at most the last hundred.
final class NoticeLog: Sendable {
  private let messages = Mutex<[String]>([])

  func append(_ message: String) {
    messages.withLock { messages in
      if messages.count == 100 { messages.removeFirst() }
      messages.append(message)
    }
  }

  func take() -> [String] {
    messages.withLock { messages in
      defer { messages = [] }
      return messages
    }
  }
}
