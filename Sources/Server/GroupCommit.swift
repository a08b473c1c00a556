import Ingest
import Postgres

/// Stores what waiting requests of one source brought, all that wait in one transaction: while it is being committed, the
/// next ones gather. Each is answered when its own transaction has been committed.
actor GroupCommit {
  private struct Waiting {
    let number: Int
    let items: [BatchItem]
  }

  /// The database has neither stored nor refused in time.
  struct NoAnswer: Error, CustomStringConvertible {
    let description = "the database does not answer"
  }

  /// A transaction takes at most so many events and refusals, but for those of one request.
  private static let itemLimit = 2000

  private let open: @Sendable () async throws -> Ingester
  private let report: @Sendable (Result<Int, any Error>) -> Void
  private var ingester: Ingester?
  private let patience: Duration
  private let answerTime: Duration
  private var waiting: [Waiting] = []
  private var unanswered: [Int: CheckedContinuation<[StoredItem], any Error>] = [:]
  private var lastNumber = 0
  private var isStoring = false

  /// - Parameters:
  ///   - patience: How long a request waits for the database at least; at most it is twice that.
  ///   - answerTime: How long a connection may take for a transaction. One that has not answered by then is left and what
  ///     waits stored over a new one, before its senders are told to come again.
  ///   - open: Makes an ingester with a new connection.
  ///   - report: Told of each transaction: how many requests it stored, or why it failed.
  init(
    patience: Duration = .seconds(10), answerTime: Duration = .seconds(8),
    open: @escaping @Sendable () async throws -> Ingester,
    report: @escaping @Sendable (Result<Int, any Error>) -> Void
  ) {
    self.patience = patience
    self.answerTime = answerTime
    self.open = open
    self.report = report
  }

  /// Stores what a request brought; returns when that has been committed.
  ///
  /// - Throws: when the database cannot store it, or does not answer; nothing of it is stored then, or it cannot be known.
  func store(_ items: [BatchItem]) async throws -> [StoredItem] {
    try await withCheckedThrowingContinuation { continuation in
      lastNumber += 1
      unanswered[lastNumber] = continuation
      waiting.append(Waiting(number: lastNumber, items: items))
      guard !isStoring else { return }
      isStoring = true
      Task { await storeWaiting() }
    }
  }

  /// How many requests wait for the transaction that is being committed.
  var waitingCount: Int { waiting.count }

  private func storeWaiting() async {
    let watch = Task {
      var last = lastNumber
      while true {
        try await Task.sleep(for: patience)
        giveUp(upTo: last)
        last = lastNumber
      }
    }
    defer { watch.cancel() }
    while !waiting.isEmpty {
      var count = 0
      var taken = 0
      while taken < waiting.count, taken == 0 || count + waiting[taken].items.count <= Self.itemLimit {
        count += waiting[taken].items.count
        taken += 1
      }
      let group = Array(waiting[..<taken])
      waiting.removeFirst(taken)
      await store(group)
    }
    isStoring = false
  }

  private func store(_ group: [Waiting]) async {
    do {
      let stored = try await attempt(group.flatMap(\.items))
      report(.success(group.count))
      var position = 0
      for one in group {
        answer(one.number, .success(Array(stored[position..<position + one.items.count])))
        position += one.items.count
      }
    } catch {
      // One request that cannot be stored must not keep the others from it. Without a connection all fail alike, and are
      // told so at once.
      if group.count == 1 || ingester == nil { return fail(group[...], error) }
      for (index, one) in group.enumerated() {
        if ingester == nil { return fail(group[index...], error) }
        await store([one])
      }
    }
  }

  private func fail(_ group: ArraySlice<Waiting>, _ error: any Error) {
    report(.failure(error))
    for one in group { answer(one.number, .failure(error)) }
  }

  private func answer(_ number: Int, _ result: Result<[StoredItem], any Error>) {
    unanswered.removeValue(forKey: number)?.resume(with: result)
  }

  /// Answers the requests that have waited for so long: their senders are to come again. What is being stored may be stored
  /// all the same, which does no harm.
  private func giveUp(upTo last: Int) {
    let late = unanswered.keys.filter { $0 <= last }
    guard !late.isEmpty else { return }
    waiting.removeAll { $0.number <= last }
    report(.failure(NoAnswer()))
    for number in late { answer(number, .failure(NoAnswer())) }
  }

  /// Stores items, and tries once more on a new connection when the one there was is lost or does not answer: storing again
  /// what was stored does no harm.
  private func attempt(_ items: [BatchItem]) async throws -> [StoredItem] {
    if let ingester {
      do {
        return try await ingester.storeEach(items, within: answerTime)
      } catch let error as PostgresError where error.isConnectionLost {
        self.ingester = nil
      }
    }
    let opened = try await open()
    ingester = opened
    do {
      return try await opened.storeEach(items, within: answerTime)
    } catch let error as PostgresError where error.isConnectionLost {
      ingester = nil
      throw error
    }
  }
}
