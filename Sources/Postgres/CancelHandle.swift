import CPostgres
import Synchronization

/// What is needed to cancel a connection's statement from any thread.
///
/// `@unchecked Sendable`: the pointer is only used under the lock, and libpq promises that `PQcancel` may be called from
/// any thread.
final class CancelHandle: @unchecked Sendable {
  private let pointer: Mutex<UInt?>

  init(of connection: OpaquePointer) {
    pointer = Mutex(PQgetCancel(connection).map { UInt(bitPattern: $0) })
  }

  /// Asks the server to stop what the connection is running; does nothing when it runs nothing.
  func cancel() {
    pointer.withLock { address in
      guard let address, let pointer = OpaquePointer(bitPattern: address) else { return }
      var message = [CChar](repeating: 0, count: 256)
      // A request that does not reach the server has nothing to stop: the connection is then gone, and its own call fails.
      _ = PQcancel(pointer, &message, Int32(message.count))
    }
  }

  /// Gives the memory back; later requests do nothing.
  func free() {
    pointer.withLock { address in
      if let pointer = address.flatMap({ OpaquePointer(bitPattern: $0) }) { PQfreeCancel(pointer) }
      address = nil
    }
  }

  /// The handles of the connections that are open in this process.
  private static let open = Mutex<[ObjectIdentifier: CancelHandle]>([:])

  func enlist() {
    Self.open.withLock { $0[ObjectIdentifier(self)] = self }
  }

  func delist() {
    Self.open.withLock { $0[ObjectIdentifier(self)] = nil }
  }

  static func cancelAll() {
    for handle in open.withLock({ Array($0.values) }) { handle.cancel() }
  }
}
