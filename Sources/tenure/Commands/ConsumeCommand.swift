import Ingest
import SQL
import Vocabulary

#if Kafka
  import Kafka
#endif

/// `tenure consume kafka`: stores events from a topic.
struct ConsumeCommand: Command {
  static let syntax = CommandSyntax(
    "consume kafka", summary: "stores events from a Kafka topic, until it is ended",
    options: [
      OptionSyntax("topic", value: "T", help: "the topic"),
      OptionSyntax(
        "source", value: "S", help: "what its messages are: \(IngestCommand.sources.joined(separator: ", "))"),
      OptionSyntax("app", value: "KEY", help: "the app they belong to"),
      OptionSyntax(
        "group", value: "NAME", help: "the group of consumers that share the topic (default: tenure-SOURCE-APP)"),
    ],
    notes: """
      Brokers and credentials are in the section kafka of the configuration. Offsets are committed after the database has: ended
      at any moment, it goes on where it stopped, and every event is stored once. What is refused is stored as a rejection and
      passed. Several may be started beside each other: they share the partitions. TERM finishes what is in hand. Lag and
      refusals are in /metrics of tenure serve.
      """)

  static let interruption = Interruption.finishesWork

  private let topic: String
  private let source: Source
  private let app: String
  private let group: String

  init(_ arguments: Arguments) throws(UsageError) {
    func required(_ name: String, _ what: String) throws(UsageError) -> String {
      guard let value = arguments.value(name), !value.isEmpty else {
        throw UsageError("consume kafka: --\(name) is missing: \(what)")
      }
      return value
    }
    topic = try required("topic", "it names the topic")
    let sources = IngestCommand.sources
    let list = sources.joined(separator: ", ")
    guard let name = try arguments.choice("source", among: sources), let source = Source(rawValue: name) else {
      throw UsageError("consume kafka: --source is missing: it says what the messages are, one of \(list)")
    }
    self.source = source
    app = try required("app", "it names the app that the messages are of, by its key in the configuration")
    group = arguments.value("group") ?? "tenure-\(source.rawValue)-\(app)"
  }

  #if Kafka
    func run(_ context: Context) async throws -> ExitCode {
      let configuration = try context.configuration()
      guard let kafka = configuration.kafka else {
        throw Failure(
          "\(context.configurationName) has no section kafka: { brokers: [\"127.0.0.1:9092\"] } is the least")
      }
      let configured = try configuration.ingestApps(source)
      let log = context.log
      return try await context.withDatabase { database in
        let apps = IngestApps(
          configured, given: app, acceptsUnknown: database.isEmbedded && configured.isEmpty, log: log)
        guard apps.app(key: app) != nil else {
          throw Failure(
            "\(context.configurationName) has no app \(app)\(Suggestion.hint(for: app, among: configured.map(\.key)))")
        }
        let consumer = try KafkaConsumer(kafka.options, group: group, topic: topic) { Self.tell($0, log) }
        let announce = SQLFiles.folder("forward").filter { $0.name == "announce" }
        let stream = StreamConsumer(
          .init(group: group, topic: topic), app: app, stream: KafkaStream(consumer, topic: topic),
          decoder: { [source, app] in apps.decoder(source, app: app) }, open: { try await database.open() },
          ingester: { [source] connection in
            Ingester(
              connection, source: source, apps: configured, afterStoring: announce, now: { .now },
              report: { if case .appAdded(let key) = $0 { log.info("app added", ["app": .init(key)]) } })
          }, now: { .now }, report: { Self.tell($0, log) })
        do {
          try await stream.run()
          await consumer.close()
        } catch {
          await consumer.close()
          throw error
        }
        return .done
      }
    }

    private static func tell(_ report: KafkaConsumer.Report, _ log: Log) {
      switch report {
      case .assigned(let partitions):
        let list = partitions.map(String.init).joined(separator: ",")
        log.info("partitions are assigned", ["partitions": .init(list), "count": .init(partitions.count)])
      case .trouble(let words): log.warning("trouble with the broker", ["error": .init(words)])
      }
    }

    private static func tell(_ report: StreamConsumer.Report, _ log: Log) {
      switch report {
      case .stored(let summary, let messages):
        log.progress("consume: \(messages) messages: \(summary.stored) stored, \(summary.duplicates) duplicates")
        if summary.rejected > 0 {
          log.warning("messages were refused; tenure report rejections says why", ["rejected": .init(summary.rejected)])
        }
      case .storingFailed(let error):
        log.error("events cannot be stored now; nothing more is read until they can", ["error": .init(error)])
      case .storingResumed: log.info("events are stored again")
      }
    }
  #else
    func run(_ context: Context) async throws -> ExitCode {
      throw Failure(
        "this tenure was built without Kafka: install librdkafka-dev and build it with: swift build --traits Kafka")
    }
  #endif
}

#if Kafka
  /// A topic as a stream.
  private struct KafkaStream: MessageStream {
    private let consumer: KafkaConsumer
    private let topic: String

    init(_ consumer: KafkaConsumer, topic: String) {
      self.consumer = consumer
      self.topic = topic
    }

    func take() async throws -> [StreamMessage] {
      try await consumer.take(atMost: 2000, bytes: 8 << 20, within: 500).map {
        StreamMessage(place: "\(topic)/\($0.partition)@\($0.offset)", partition: $0.partition, value: $0.value)
      }
    }

    func commit() async -> [StreamPosition] {
      await consumer.commit().map { StreamPosition(partition: $0.partition, next: $0.next, end: $0.end) }
    }
  }
#endif
