// Built with the package's trait Kafka alone: librdkafka is not needed otherwise.
#if Kafka
  internal import CKafka
  import Dispatch

  /// Reads a topic as a member of a consumer group.
  ///
  /// Whoever uses it takes messages, stores them for good, and then has their offsets committed: a process that ends in between
  /// leaves them to be read again. Partitions that another member of the group is to have are kept until what was taken from
  /// them has been committed.
  ///
  /// librdkafka blocks while it waits. So all of it happens on a thread of this consumer's own.
  public actor KafkaConsumer {
    /// What is told while it works.
    public enum Report: Sendable, Equatable {
      /// It has these partitions now.
      case assigned([Int32])
      /// Something is wrong for the moment: librdkafka goes on trying. Its own words.
      case trouble(String)
    }

    private final class Executor: SerialExecutor {
      let queue = DispatchQueue(label: "tenure.kafka.consumer")

      func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
      }
    }

    /// What librdkafka gave, until nobody needs it any more.
    private final class Membership: @unchecked Sendable {
      let client: OpaquePointer
      let queue: OpaquePointer

      init(of client: OpaquePointer) {
        self.client = client
        queue = rd_kafka_queue_get_consumer(client)
      }

      deinit {
        rd_kafka_queue_destroy(queue)
        // Without leaving the group, which could take long: a group that was not left notices.
        rd_kafka_destroy_flags(client, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE)
      }
    }

    private nonisolated let executor = Executor()
    /// The consumer's own thread.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    private let topic: String
    private let report: @Sendable (Report) -> Void
    private let membership: Membership
    private var isClosed = false
    /// The partitions that it has.
    private var assigned: [Int32] = []
    /// The first offset of each partition whose message was not taken since the last commit.
    private var taken: [Int32: Int64] = [:]
    /// What is known to be committed, of each partition.
    private var committed: [Int32: Int64] = [:]
    /// Whether its partitions are asked back, and what was taken from them is not committed yet.
    private var isAskedBack = false
    private var lastTrouble: String?

    /// What the consumer relies on, whatever else is set.
    private static let fixed = [
      "enable.auto.commit": "false", "enable.auto.offset.store": "false", "enable.partition.eof": "false",
      // Partitions are given up and taken all at once.
      "partition.assignment.strategy": "range,roundrobin",
    ]

    /// Joins a group.
    ///
    /// - Parameters:
    ///   - options: librdkafka's, such as `bootstrap.servers`
    ///     (https://github.com/confluentinc/librdkafka/blob/v2.0.2/CONFIGURATION.md). Those that this consumer relies on are not
    ///     changed by them.
    ///   - report: Told of what happens, from the consumer's thread.
    /// - Throws: ``KafkaError``.
    public init(
      _ options: [String: String], group: String, topic: String, report: @escaping @Sendable (Report) -> Void
    ) throws(KafkaError) {
      // A group that is new reads what there is, and nothing in memory grows with what waits.
      let usual = ["auto.offset.reset": "earliest", "queued.max.messages.kbytes": "16384", "client.id": "tenure"]
      let all = usual.merging(options) { $1 }.merging(Self.fixed) { $1 }.merging(["group.id": group]) { $1 }
      let client = try KafkaClient.make(RD_KAFKA_CONSUMER, all) { configuration in
        rd_kafka_conf_set_events(configuration, RD_KAFKA_EVENT_REBALANCE | RD_KAFKA_EVENT_ERROR)
      }
      rd_kafka_poll_set_consumer(client)
      membership = Membership(of: client)
      self.topic = topic
      self.report = report
      let topics = rd_kafka_topic_partition_list_new(1)
      defer { rd_kafka_topic_partition_list_destroy(topics) }
      rd_kafka_topic_partition_list_add(topics, topic, RD_KAFKA_PARTITION_UA)
      let error = rd_kafka_subscribe(client, topics)
      if error != RD_KAFKA_RESP_ERR_NO_ERROR {
        throw KafkaError("subscribing to the topic \(topic): \(KafkaClient.words(error))")
      }
    }

    private var client: OpaquePointer { membership.client }
    private var queue: OpaquePointer { membership.queue }

    // MARK: - Reading

    /// Takes messages: waits for the first, and then takes what is there. Returns none when there are none in time, and no
    /// more when partitions are asked back.
    ///
    /// - Parameters:
    ///   - count: At most so many.
    ///   - bytes: At most so many bytes, but for the last message.
    ///   - milliseconds: How long it waits for the first.
    /// - Throws: ``KafkaError`` after which this consumer is of no more use.
    public func take(atMost count: Int, bytes: Int, within milliseconds: Int32) throws(KafkaError) -> [KafkaMessage] {
      var messages: [KafkaMessage] = []
      var size = 0
      while messages.count < count, size < bytes, !isAskedBack {
        guard let event = rd_kafka_queue_poll(queue, messages.isEmpty ? milliseconds : 0) else { break }
        defer { rd_kafka_event_destroy(event) }
        switch rd_kafka_event_type(event) {
        case RD_KAFKA_EVENT_FETCH:
          while let message = rd_kafka_event_message_next(event) {
            if let one = try read(message.pointee) {
              messages.append(one)
              size += one.value?.count ?? 0
            }
          }
        case RD_KAFKA_EVENT_REBALANCE: rebalance(event)
        case RD_KAFKA_EVENT_ERROR:
          try note(rd_kafka_event_error(event), isFatal: rd_kafka_event_error_is_fatal(event) != 0)
        default: break
        }
      }
      return messages
    }

    private func read(_ message: rd_kafka_message_t) throws(KafkaError) -> KafkaMessage? {
      guard message.err == RD_KAFKA_RESP_ERR_NO_ERROR else {
        try note(message.err, isFatal: false)
        return nil
      }
      lastTrouble = nil
      taken[message.partition] = message.offset + 1
      let value = message.payload.map { Array(UnsafeRawBufferPointer(start: $0, count: message.len)) }
      return KafkaMessage(partition: message.partition, offset: message.offset, value: value)
    }

    /// Tells of trouble once, until something goes well.
    private func note(_ error: rd_kafka_resp_err_t, isFatal: Bool) throws(KafkaError) {
      let words = KafkaClient.words(error)
      if isFatal { throw KafkaError("reading the topic \(topic): \(words)") }
      guard words != lastTrouble else { return }
      lastTrouble = words
      report(.trouble(words))
    }

    // MARK: - Offsets

    /// Commits the offsets of all messages that were taken, and then gives up partitions that are asked back.
    ///
    /// An offset that cannot be committed is no error: its message is read again, by this or another member of the group.
    ///
    /// - Returns: How far each partition was read, those included that are given up now.
    public func commit() -> [KafkaPosition] {
      if !taken.isEmpty {
        let list = rd_kafka_topic_partition_list_new(Int32(taken.count))
        defer { rd_kafka_topic_partition_list_destroy(list) }
        for (partition, offset) in taken {
          rd_kafka_topic_partition_list_add(list, topic, partition).pointee.offset = offset
        }
        let error = rd_kafka_commit(client, list, 0)
        if error == RD_KAFKA_RESP_ERR_NO_ERROR {
          committed.merge(taken) { $1 }
          taken = [:]
        } else {
          report(
            .trouble("offsets were not committed, and their messages may be read again: \(KafkaClient.words(error))"))
        }
      }
      let read = positions
      if isAskedBack { giveUp() }
      return read
    }

    /// How far each partition that it has was read.
    private var positions: [KafkaPosition] {
      assigned.compactMap { partition in
        var low: Int64 = -1
        var high: Int64 = -1
        let error = rd_kafka_get_watermark_offsets(client, topic, partition, &low, &high)
        guard error == RD_KAFKA_RESP_ERR_NO_ERROR, high >= 0 else { return nil }
        return KafkaPosition(partition: partition, next: committed[partition] ?? max(low, 0), end: high)
      }
    }

    // MARK: - Partitions

    private func rebalance(_ event: OpaquePointer) {
      guard rd_kafka_event_error(event) == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS else {
        // What was taken from them is committed first, by whoever took it.
        if taken.isEmpty { giveUp() } else { isAskedBack = true }
        return
      }
      let list = rd_kafka_event_topic_partition_list(event)
      rd_kafka_assign(client, list)
      assigned = Self.partitions(list).map(\.partition)
      if let known = rd_kafka_topic_partition_list_copy(list) {
        defer { rd_kafka_topic_partition_list_destroy(known) }
        if rd_kafka_committed(client, known, 10_000) == RD_KAFKA_RESP_ERR_NO_ERROR {
          for one in Self.partitions(known) where one.offset >= 0 { committed[one.partition] = one.offset }
        }
      }
      report(.assigned(assigned))
    }

    private func giveUp() {
      rd_kafka_assign(client, nil)
      assigned = []
      taken = [:]
      committed = [:]
      isAskedBack = false
      report(.assigned([]))
    }

    private static func partitions(
      _ list: UnsafeMutablePointer<rd_kafka_topic_partition_list_t>?
    ) -> [rd_kafka_topic_partition_t] {
      guard let list, let first = list.pointee.elems else { return [] }
      return (0..<Int(list.pointee.cnt)).map { first[$0] }
    }

    // MARK: - The end

    /// Leaves the group, so that the other members have its partitions at once. What was taken and not committed is read again.
    public func close() {
      guard !isClosed else { return }
      isClosed = true
      if let error = rd_kafka_consumer_close_queue(client, queue) { rd_kafka_error_destroy(error) }
      let limit = DispatchTime.now() + .seconds(10)
      while rd_kafka_consumer_closed(client) == 0, DispatchTime.now() < limit {
        guard let event = rd_kafka_queue_poll(queue, 100) else { continue }
        if rd_kafka_event_type(event) == RD_KAFKA_EVENT_REBALANCE { rd_kafka_assign(client, nil) }
        rd_kafka_event_destroy(event)
      }
    }
  }
#endif
