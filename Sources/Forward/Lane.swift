import HTTP
import Synchronization
import Vocabulary

/// One target's way out: what waits to be sent, and so many requests under way at once.
///
/// The next request starts when one ends, on the client's thread, without waiting for the database. After an answer that
/// holds or pauses the target nothing more starts until ``reopen()``.
final class Lane: Sendable {
  /// The end of one request.
  struct Answer: Sendable {
    let deliveries: [HeldDelivery]
    let verdicts: [Verdict]
    let status: Int?
    let at: Instant
    /// Nothing more may be sent before, in microseconds from then.
    var rest: Int64?
  }

  private struct State {
    /// The deliveries of each request that is still to be made.
    var queue: [[HeldDelivery]] = []
    var underWay = 0
    var isStopped = false
    /// How many deliveries a request may carry after requests were too large; `nil` while none was.
    var limit: Int?
  }

  /// Where it leads.
  let target: any Target
  /// How many requests it may have under way.
  let width: Int
  private let client: HTTPClient
  private let mailbox: Mailbox<Answer>
  private let now: @Sendable () -> Instant
  private let state = Mutex(State())

  init(
    _ target: any Target, width: Int, client: HTTPClient, mailbox: Mailbox<Answer>,
    now: @escaping @Sendable () -> Instant
  ) {
    self.target = target
    // A target with a pace is sent one request at a time.
    self.width = target.isMetered ? 1 : width
    self.client = client
    self.mailbox = mailbox
    self.now = now
  }

  /// The target's name.
  var name: String { target.configuration.name }

  /// How many deliveries it takes in hand: enough that it need not wait for the database, and no more than it can send
  /// in a few rounds; of a target with a pace what one request can carry.
  var capacity: Int {
    if target.pace != nil { return target.batchSize }
    return target.batchSize == 1 ? width * 16 : 2 * target.batchSize
  }

  /// What it takes when it has so many deliveries in hand; `nil` for nothing.
  func room(beside inHand: Int) -> Room? {
    // Its pace is kept when a request is taken, so one is taken when it can leave at once: what gathered behind a slow
    // answer would go in a burst.
    if target.pace != nil {
      return inHand == 0 ? Room(target: target, count: capacity, limit: limit, requests: 1) : nil
    }
    // Whole requests, and not a few at a time: each taking costs the database the same, however many there are.
    let count = (capacity - inHand) / target.batchSize * target.batchSize
    return count < (capacity + 1) / 2 ? nil : Room(target: target, count: count, limit: limit)
  }

  /// How many deliveries a request may carry at most.
  var limit: Int { state.withLock { $0.limit ?? .max } }

  /// Puts requests at the end of the queue.
  func send(_ requests: [[HeldDelivery]]) {
    state.withLock { $0.queue += requests }
    advance()
  }

  /// Starts nothing more; what is under way goes on.
  func stop() {
    state.withLock { $0.isStopped = true }
  }

  /// Whether it was stopped, by an answer or otherwise.
  var isStopped: Bool { state.withLock { $0.isStopped } }

  /// Takes back what has not been sent.
  func takeBack() -> [HeldDelivery] {
    state.withLock { state in
      defer { state.queue = [] }
      return Array(state.queue.joined())
    }
  }

  /// Lets requests start again.
  func reopen() {
    state.withLock { $0.isStopped = false }
    advance()
  }

  private func advance() {
    while let batch = next() {
      let request = target.outgoing(batch.map(\.parcel), at: now())
      client.start(request) { [self] result in
        finish(batch, result)
        advance()
      }
    }
  }

  private func next() -> [HeldDelivery]? {
    state.withLock { state in
      guard !state.isStopped, state.underWay < width, var batch = state.queue.first else { return nil }
      state.underWay += 1
      state.queue.removeFirst()
      if let limit = state.limit, batch.count > limit {
        // Requests have turned out to be too large since it was taken.
        let count = target.batch(of: batch.prefix(limit).map(\.parcel)[...])
        state.queue.insert(Array(batch.dropFirst(count)), at: 0)
        batch = Array(batch.prefix(count))
      }
      return batch
    }
  }

  private func finish(_ batch: [HeldDelivery], _ result: Result<HTTPResponse, HTTPFailure>) {
    let now = now()
    let answer: Answer
    switch result {
    case .success(let response):
      let verdicts = target.verdicts(on: response, carrying: batch.map(\.parcel), at: now)
      answer = Answer(
        deliveries: batch, verdicts: verdicts, status: response.status, at: now,
        rest: verdicts.contains(.delivered) ? target.rest(after: response) : nil)
    case .failure(let failure):
      answer = Answer(deliveries: batch, verdicts: batch.map { _ in Verdict(failure) }, status: nil, at: now)
    }
    let isHeld = answer.verdicts.contains { verdict in
      switch verdict {
      case .throttled, .paused: true
      case .delivered, .retry, .refused, .doubtful, .reworded, .again, .delayed, .divided, .moved: false
      }
    }
    state.withLock { state in
      state.underWay -= 1
      if isHeld { state.isStopped = true }
      if answer.verdicts.contains(where: { if case .divided = $0 { true } else { false } }) {
        state.limit = max(1, min(batch.count, state.limit ?? .max) / 2)
      } else if let limit = state.limit, answer.verdicts.contains(.delivered) {
        // Slowly: what was too large once may have been one delivery.
        state.limit = limit + (limit + 3) / 4 >= target.batchSize ? nil : limit + (limit + 3) / 4
      }
    }
    mailbox.post(answer)
  }
}
