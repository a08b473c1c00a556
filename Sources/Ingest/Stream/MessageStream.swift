/// A message of a stream.
public struct StreamMessage: Sendable, Equatable {
  /// Where it stands, for who looks for it: `TOPIC/PARTITION@OFFSET`.
  public let place: String
  /// The partition that it is in.
  public let partition: Int32
  /// What it says; `nil` when that is nothing.
  public let value: [UInt8]?

  /// Creates a message.
  public init(place: String, partition: Int32, value: [UInt8]?) {
    self.place = place
    self.partition = partition
    self.value = value
  }
}

/// How far a partition of a stream was read.
public struct StreamPosition: Sendable, Equatable {
  /// The partition.
  public let partition: Int32
  /// The first message that was not committed.
  public let next: Int64
  /// One more than the last message that is known.
  public let end: Int64

  /// Creates a position.
  public init(partition: Int32, next: Int64, end: Int64) {
    self.partition = partition
    self.next = next
    self.end = end
  }
}

/// A stream of messages that is read in order, partition by partition, and remembers how far when it is told.
public protocol MessageStream: Sendable {
  /// Takes the messages that there are; none after a while without any.
  func take() async throws -> [StreamMessage]

  /// Has it remembered that everything taken so far is stored for good. Also called when nothing was taken.
  ///
  /// - Returns: How far its partitions were read.
  func commit() async -> [StreamPosition]
}
