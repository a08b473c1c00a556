import Foundation
import Testing

/// Lets only as many tests of a suite run at a time as there are processors.
///
/// For tests that each have a database and start programs: all at once they would keep each other waiting until
/// connections time out.
struct FewAtOnce: SuiteTrait, TestTrait, TestScoping {
  /// Applies to every test of a suite.
  let isRecursive = true

  private static let turnstile = Turnstile(ProcessInfo.processInfo.activeProcessorCount)

  /// Runs one case when its turn has come.
  func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    // A suite is no case of its own.
    guard testCase != nil else { return try await function() }
    try await Self.turnstile.pass(function)
  }
}

extension Trait where Self == FewAtOnce {
  /// Lets only as many tests run at a time as there are processors.
  static var fewAtOnce: FewAtOnce { FewAtOnce() }
}

/// Lets only so many in at a time.
actor Turnstile {
  /// For who makes the logins of Grafana, which all databases of a server share.
  static let grafanaLogins = Turnstile(1)

  private var free: Int
  private var waiting: [CheckedContinuation<Void, Never>] = []

  init(_ places: Int) { free = places }

  /// Does something when its turn has come.
  func pass<Value: Sendable>(_ body: @Sendable () async throws -> Value) async rethrows -> Value {
    await enter()
    defer { leave() }
    return try await body()
  }

  private func enter() async {
    guard free == 0 else {
      free -= 1
      return
    }
    await withCheckedContinuation { waiting.append($0) }
  }

  private func leave() {
    if waiting.isEmpty { free += 1 } else { waiting.removeFirst().resume() }
  }
}
