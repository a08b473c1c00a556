public import Postgres
public import Vocabulary

/// Stores what a stream of messages brings: takes some, stores them in one transaction, has the stream remember that, and
/// takes the next.
///
/// What is refused is stored as a rejection and passed. Ended at any moment, messages are read again whose events are there
/// already; several may read one stream, each its own partitions. While the database is away nothing more is taken.
public struct StreamConsumer: Sendable {
  /// What is told while it works.
  public enum Report: Sendable {
    /// Messages were stored; the stream is about to be told.
    case stored(IngestSummary, messages: Int)
    /// The database does not take them now; it is asked again.
    case storingFailed(String)
    /// It takes them again.
    case storingResumed
  }

  /// Who reads which topic, in the database.
  public struct Name: Sendable {
    /// The group of consumers that share the topic.
    public let group: String
    /// The topic.
    public let topic: String

    /// Creates a name.
    public init(group: String, topic: String) {
      self.group = group
      self.topic = topic
    }
  }

  private let name: Name
  private let app: String
  private let stream: any MessageStream
  private let decoder: @Sendable () -> any EventDecoder
  private let open: @Sendable () async throws -> Connection
  private let ingester: @Sendable (Connection) -> Ingester
  private let now: @Sendable () -> Instant
  private let pause: @Sendable (Duration) async throws -> Void
  private let report: @Sendable (Report) -> Void

  /// - Parameters:
  ///   - app: The key of the app that the messages are of: refusals are put down as its own.
  ///   - decoder: Makes the decoder of the messages.
  ///   - open: Connects to the database.
  ///   - ingester: Makes an ingester with a connection of its own.
  ///   - now: The clock.
  ///   - pause: Waits for the database. A test does something else.
  ///   - report: Told of progress, from any thread.
  public init(
    _ name: Name, app: String, stream: any MessageStream, decoder: @escaping @Sendable () -> any EventDecoder,
    open: @escaping @Sendable () async throws -> Connection, ingester: @escaping @Sendable (Connection) -> Ingester,
    now: @escaping @Sendable () -> Instant,
    pause: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) },
    report: @escaping @Sendable (Report) -> Void
  ) {
    self.name = name
    self.app = app
    self.stream = stream
    self.decoder = decoder
    self.open = open
    self.ingester = ingester
    self.now = now
    self.pause = pause
    self.report = report
  }

  /// Works until its task is cancelled; what is in hand then is stored first.
  ///
  /// - Throws: what the stream throws when it is of no more use.
  public func run() async throws {
    let database = StreamDatabase(name, open: open, ingester: ingester)
    var decoder = decoder()
    while !Task.isCancelled {
      let messages = try await stream.take()
      var counts: [Int32: StreamDatabase.Counts] = [:]
      if !messages.isEmpty {
        let receivedAt = now()
        let items = messages.map { self.items($0, &decoder, receivedAt) }
        guard let stored = await store(items.flatMap { $0 }, in: database) else { return }
        var left = stored[...]
        for (message, items) in zip(messages, items) {
          let refused = left.prefix(items.count).count { if case .rejected = $0 { true } else { false } }
          left = left.dropFirst(items.count)
          counts[message.partition, default: .init()].messages += 1
          counts[message.partition, default: .init()].rejections += refused
        }
        report(.stored(IngestSummary(stored), messages: messages.count))
      }
      await database.note(counts, await stream.commit(), at: now())
    }
  }

  /// What a message holds: the documents in it as those of a file, at least one thing.
  private func items(
    _ message: StreamMessage, _ decoder: inout any EventDecoder, _ receivedAt: Instant
  ) -> [BatchItem] {
    func refused(_ reason: Rejection.Reason, _ excerpt: String?) -> BatchItem {
      BatchItem(.rejection(Rejection(reason, app: app, excerpt: excerpt)), place: message.place)
    }
    let items = InputDocument.all(in: message.value ?? []).flatMap { document -> [BatchItem] in
      switch document {
      case .document(let text, _):
        decoder.decode(text, receivedAt: receivedAt).map { decoded in
          guard case .rejection(let rejection) = decoded else { return BatchItem(decoded, place: message.place) }
          return refused(rejection.reason, rejection.excerpt)
        }
      case .tooLarge: [refused(.tooLarge, "\(message.value?.count ?? 0) bytes")]
      case .brokenArray: [refused(.notJSON, "the array is not closed, or a comma is missing or too many")]
      case .damagedGzip: [refused(.malformed, "the gzip data is damaged or ends early")]
      }
    }
    return items.isEmpty ? [refused(.notJSON, "there is nothing in the message")] : items
  }

  /// Stores items, however long the database is away; nil when it was away until the end.
  private func store(_ items: [BatchItem], in database: StreamDatabase) async -> [StoredItem]? {
    var wait = 1
    while true {
      do {
        let stored = try await database.store(items)
        if wait > 1 { report(.storingResumed) }
        return stored
      } catch {
        report(.storingFailed("\(error)"))
        do { try await pause(.seconds(wait)) } catch { return nil }
        wait = min(wait * 2, 30)
      }
    }
  }
}
