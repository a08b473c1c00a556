import Synchronization

/// What a callback was given, in order.
final class Collected: Sendable {
  private let items = Mutex<[String]>([])
  var values: [String] { items.withLock { $0 } }
  func append(_ value: String) { items.withLock { $0.append(value) } }
}
