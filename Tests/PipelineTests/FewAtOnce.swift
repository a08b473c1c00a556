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
    await Self.turnstile.enter()
    do {
      try await function()
    } catch {
      await Self.turnstile.leave()
      throw error
    }
    await Self.turnstile.leave()
  }
}

extension Trait where Self == FewAtOnce {
  /// Lets only as many tests run at a time as there are processors.
  static var fewAtOnce: FewAtOnce { FewAtOnce() }
}

private actor Turnstile {
  private var free: Int
  private var waiting: [CheckedContinuation<Void, Never>] = []

  init(_ places: Int) { free = places }

  func enter() async {
    guard free == 0 else {
      free -= 1
      return
    }
    await withCheckedContinuation { waiting.append($0) }
  }

  func leave() {
    if waiting.isEmpty { free += 1 } else { waiting.removeFirst().resume() }
  }
}
