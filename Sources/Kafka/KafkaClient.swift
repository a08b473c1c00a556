#if Kafka
  internal import CKafka

  /// What consumers and producers are made of: one client of librdkafka.
  enum KafkaClient {
    /// Makes a client. Who made it destroys it.
    ///
    /// - Parameter configure: What else is to be set.
    static func make(
      _ kind: rd_kafka_type_t, _ options: [String: String], configure: (OpaquePointer) -> Void = { _ in }
    ) throws(KafkaError) -> OpaquePointer {
      guard let configuration = rd_kafka_conf_new() else { throw KafkaError("out of memory") }
      for (name, value) in options.sorted(by: { $0.key < $1.key }) {
        // librdkafka's words repeat the value, which may be a secret.
        let result = rd_kafka_conf_set(configuration, name, value, nil, 0)
        guard result != RD_KAFKA_CONF_OK else { continue }
        rd_kafka_conf_destroy(configuration)
        throw KafkaError(
          result == RD_KAFKA_CONF_UNKNOWN
            ? "librdkafka has no option \(name)" : "librdkafka does not take the value of the option \(name)")
      }
      // It has its own words for its own log; what matters comes as an event.
      rd_kafka_conf_set_log_cb(configuration, nil)
      configure(configuration)
      var words = [CChar](repeating: 0, count: 512)
      guard let client = rd_kafka_new(kind, configuration, &words, words.count) else {
        rd_kafka_conf_destroy(configuration)
        let text = String(decoding: words.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        throw KafkaError("setting up librdkafka: \(text)")
      }
      return client
    }

    /// librdkafka's words for an error.
    static func words(_ error: rd_kafka_resp_err_t) -> String { String(cString: rd_kafka_err2str(error)) }
  }
#endif
