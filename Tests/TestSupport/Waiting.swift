/// What a test waited for never came.
public struct NeverCame: Error, CustomStringConvertible {
  /// What it waited for.
  public let description: String
}

/// Returns when something has become so.
///
/// The limit is no measure of anything: it is there so that a test whose program has failed ends, and says what it was
/// waiting for, where it would otherwise wait for ever and take the whole run with it.
///
/// - Parameters:
///   - what: what is waited for, for the error.
///   - isSo: whether it has come.
/// - Throws: ``NeverCame`` when it has not come in ten minutes, and what `isSo` throws.
public func waiting(for what: String, until isSo: () async throws -> Bool) async throws {
  let deadline = ContinuousClock.now + .seconds(600)
  while try await !isSo() {
    guard ContinuousClock.now < deadline else { throw NeverCame(description: "waited in vain for \(what)") }
    try await Task.sleep(for: .milliseconds(5))
  }
}
