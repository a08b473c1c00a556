import Dispatch
import Vocabulary

/// Reads and decodes input, a batch at a time, on a queue of its own: files and pipes block, and decoding takes a core.
actor BatchReader {
  /// A batch that was read.
  struct Batch: Sendable {
    var items: [BatchItem]
    var receivedAt: Instant
    /// The batch's rows; nil when it names an app whose number the reader does not know.
    var staged: StagedBatch?
  }

  private let queue = ReaderQueue()
  nonisolated var unownedExecutor: UnownedSerialExecutor { queue.asUnownedSerialExecutor() }

  private let paths: [String]
  private let limits: Ingester.Limits
  private let now: @Sendable () -> Instant
  private let makeDecoder: @Sendable () -> any EventDecoder
  private var reader: InputReader?
  private var decoder: (any EventDecoder)?
  private var appIDs: [String: Int64] = [:]
  private var failure: (any Error)?
  /// What the last document held beyond the batch.
  private var rest: ArraySlice<BatchItem> = []

  private let source: Source

  init(
    _ paths: [String], source: Source, limits: Ingester.Limits, now: @escaping @Sendable () -> Instant,
    decoder: @escaping @Sendable () -> any EventDecoder
  ) {
    self.paths = paths
    self.source = source
    self.limits = limits
    self.now = now
    makeDecoder = decoder
  }

  /// The next batch; nil when there is none left. An input that cannot be read ends it after what was read before.
  func next(_ appIDs: [String: Int64], _ erased: ErasedIdentifiers) throws -> Batch? {
    if self.appIDs.count != appIDs.count { self.appIDs = appIDs }
    if let failure { throw failure }
    var decoder = decoder ?? makeDecoder()
    let receivedAt = now()
    var items: [BatchItem] = []
    var size = 0
    do {
      let reader = try self.reader ?? InputReader(paths, maximumLength: limits.documentLength)
      self.reader = reader
      while items.count < limits.batchItems, size < limits.batchBytes {
        if let item = rest.popFirst() {
          items.append(item)
          continue
        }
        guard let document = try reader.next() else {
          items += decoder.finish().map { BatchItem($0, place: "end") }
          break
        }
        switch document {
        case .document(let text, let place):
          size += text.count
          let place = place.description
          rest = decoder.decode(text, receivedAt: receivedAt).map { BatchItem($0, place: place) }[...]
        case .tooLarge(let place):
          items.append(
            BatchItem(
              .rejection(Rejection(.tooLarge, excerpt: "longer than \(limits.documentLength) bytes")),
              place: place.description))
        case .brokenArray(let place):
          items.append(
            BatchItem(
              .rejection(Rejection(.notJSON, excerpt: "the array is not closed, or a comma is missing or too many")),
              place: place.description))
        case .damagedGzip(let place):
          items.append(
            BatchItem(
              .rejection(Rejection(.malformed, excerpt: "the gzip data is damaged or ends early; the rest is lost")),
              place: place.description))
        }
      }
    } catch {
      // What was read before belongs to the input that could be read.
      if items.isEmpty { throw error }
      failure = error
    }
    self.decoder = decoder
    guard !items.isEmpty else { return nil }
    let isKnown = items.appKeys.union(items.rejectedAppKeys).allSatisfy { self.appIDs[$0] != nil }
    return Batch(
      items: items, receivedAt: receivedAt,
      staged: isKnown
        ? StagedBatch(items, source: source, appIDs: self.appIDs, erased: erased, receivedAt: receivedAt) : nil)
  }
}

/// Runs a reader's work one after another, outside of the threads that everything else shares.
private final class ReaderQueue: SerialExecutor {
  private let queue = DispatchQueue(label: "tenure.ingest.reader")

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    let executor = asUnownedSerialExecutor()
    queue.async { job.runSynchronously(on: executor) }
  }

  func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }
}
