import Postgres
import Vocabulary

/// The database as a consumer of a stream uses it: through connections that are made anew when they are lost.
actor StreamDatabase {
  /// What came from a partition.
  struct Counts: Sendable, Equatable {
    var messages = 0
    var rejections = 0
  }

  /// How often a stream that brings nothing is told of all the same, in seconds.
  private static let interval: Int64 = 10

  private let name: StreamConsumer.Name
  private let open: @Sendable () async throws -> Connection
  private let makeIngester: @Sendable (Connection) -> Ingester
  private var ingester: Ingester?
  private var connection: Connection?
  private var notedAt: Instant?
  /// Counts that are not put down yet.
  private var counts: [Int32: Counts] = [:]

  init(
    _ name: StreamConsumer.Name, open: @escaping @Sendable () async throws -> Connection,
    ingester: @escaping @Sendable (Connection) -> Ingester
  ) {
    self.name = name
    self.open = open
    makeIngester = ingester
  }

  /// Stores items in one transaction.
  func store(_ items: [BatchItem]) async throws -> [StoredItem] {
    let current: Ingester
    if let ingester { current = ingester } else { current = makeIngester(try await open()) }
    // Only one with which all went well is used again.
    ingester = nil
    let stored = try await current.storeEach(items)
    ingester = current
    return stored
  }

  /// Puts down how far the stream was read, for who watches it. What cannot be put down now is with the next.
  func note(_ more: [Int32: Counts], _ positions: [StreamPosition], at now: Instant) async {
    for (partition, count) in more {
      counts[partition, default: Counts()].messages += count.messages
      counts[partition, default: Counts()].rejections += count.rejections
    }
    if more.isEmpty, let notedAt, now < notedAt.adding(seconds: Self.interval) { return }
    let told = positions.map { ($0, counts[$0.partition] ?? Counts()) }
    do {
      let current: Connection
      if let connection { current = connection } else { current = try await open() }
      connection = nil
      try await current.query(
        """
        insert into ingest.stream_partition as known
          (consumer_group, topic, partition, next_offset, end_offset, messages, rejections, seen_at)
        select $1, $2, told.partition, told.next_offset, told.end_offset, told.messages, told.rejections, $8
        from unnest($3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[])
          as told (partition, next_offset, end_offset, messages, rejections)
        order by told.partition
        on conflict (consumer_group, topic, partition) do update set
          next_offset = excluded.next_offset, end_offset = excluded.end_offset,
          messages = known.messages + excluded.messages, rejections = known.rejections + excluded.rejections,
          seen_at = excluded.seen_at
        """,
        [
          .text(name.group), .text(name.topic), .ints(told.map { Int64($0.0.partition) }), .ints(told.map(\.0.next)),
          .ints(told.map(\.0.end)), .ints(told.map { Int64($0.1.messages) }),
          .ints(told.map { Int64($0.1.rejections) }), .timestamp(microseconds: now.microseconds),
        ])
      connection = current
      for (position, _) in told { counts[position.partition] = nil }
      notedAt = now
    } catch {
      // Storing tells of the database's absence.
    }
  }
}
