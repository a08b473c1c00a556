#if Kafka
  internal import CKafka

  /// Writes messages to a topic: for tests.
  public final class KafkaProducer: Sendable {
    /// `@unchecked Sendable`: both are made once, and librdkafka lets any thread use them.
    private struct Handles: @unchecked Sendable {
      let client: OpaquePointer
      let topic: OpaquePointer
    }

    private let handles: Handles

    /// Creates a producer.
    public init(brokers: String, topic: String) throws(KafkaError) {
      let client = try KafkaClient.make(RD_KAFKA_PRODUCER, ["bootstrap.servers": brokers])
      guard let topic = rd_kafka_topic_new(client, topic, nil) else {
        rd_kafka_destroy(client)
        throw KafkaError("librdkafka could not name the topic")
      }
      handles = Handles(client: client, topic: topic)
    }

    deinit {
      rd_kafka_topic_destroy(handles.topic)
      rd_kafka_destroy(handles.client)
    }

    /// Puts a message into a partition. It is there when ``flush()`` has returned.
    public func put(_ value: [UInt8], partition: Int32) throws(KafkaError) {
      let isQueued = value.withUnsafeBytes { bytes in
        rd_kafka_produce(
          handles.topic, partition, RD_KAFKA_MSG_F_COPY | RD_KAFKA_MSG_F_BLOCK,
          UnsafeMutableRawPointer(mutating: bytes.baseAddress), bytes.count, nil, 0, nil)
      }
      if isQueued != 0 { throw KafkaError("putting a message: \(KafkaClient.words(rd_kafka_last_error()))") }
    }

    /// Returns when the broker has all messages.
    public func flush() throws(KafkaError) {
      let error = rd_kafka_flush(handles.client, 60_000)
      if error != RD_KAFKA_RESP_ERR_NO_ERROR { throw KafkaError("putting messages: \(KafkaClient.words(error))") }
    }
  }
#endif
