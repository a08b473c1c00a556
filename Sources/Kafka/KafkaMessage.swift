/// One message of a topic.
public struct KafkaMessage: Sendable, Equatable {
  /// The partition that it is in.
  public let partition: Int32
  /// Its number in the partition.
  public let offset: Int64
  /// What it says; `nil` of one that only has a key.
  public let value: [UInt8]?

  /// Creates a message.
  public init(partition: Int32, offset: Int64, value: [UInt8]?) {
    self.partition = partition
    self.offset = offset
    self.value = value
  }
}

/// How far a partition has been read.
public struct KafkaPosition: Sendable, Equatable {
  /// The partition.
  public let partition: Int32
  /// The first message whose offset has not been committed by this consumer's group.
  public let next: Int64
  /// One more than the last message that the broker is known to have.
  public let end: Int64
}
