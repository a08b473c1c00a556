#if Kafka
  internal import CKafka

  /// A broker that librdkafka plays, on the loopback interface: for tests. It keeps about 5 MB of each partition.
  public final class MockCluster: Sendable {
    /// `@unchecked Sendable`: both are made once, and librdkafka lets any thread use them.
    private struct Handles: @unchecked Sendable {
      let client: OpaquePointer
      let cluster: OpaquePointer
    }

    private let handles: Handles

    /// Starts one broker.
    public init() throws(KafkaError) {
      let client = try KafkaClient.make(RD_KAFKA_PRODUCER, [:])
      guard let cluster = rd_kafka_mock_cluster_new(client, 1) else {
        rd_kafka_destroy(client)
        throw KafkaError("librdkafka could not start its mock broker")
      }
      handles = Handles(client: client, cluster: cluster)
    }

    deinit {
      rd_kafka_mock_cluster_destroy(handles.cluster)
      rd_kafka_destroy(handles.client)
    }

    /// The brokers' addresses, as clients are told them.
    public var brokers: String { String(cString: rd_kafka_mock_cluster_bootstraps(handles.cluster)) }

    /// Makes a topic.
    public func addTopic(_ name: String, partitions: Int32) throws(KafkaError) {
      let error = rd_kafka_mock_topic_create(handles.cluster, name, partitions, 1)
      if error != RD_KAFKA_RESP_ERR_NO_ERROR { throw KafkaError("making a topic: \(KafkaClient.words(error))") }
    }
  }
#endif
