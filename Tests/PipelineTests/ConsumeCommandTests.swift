import Foundation
import Glibc
import Postgres
import TestSupport
import Testing

#if Kafka
  /// `tenure consume kafka` with a broker that librdkafka plays in a process of its own.
  @Suite("Consume command", .fewAtOnce)
  struct ConsumeCommandTests {
    private let folder: TestFolder
    private let database: TestDatabase
    private let broker: MockBroker

    init() async throws {
      folder = try TestFolder()
      database = try await TestDatabase.clone()
      broker = try await MockBroker(topic: "sales", partitions: 4)
      try configure(broker.address)
    }

    private func configure(_ brokers: String) throws {
      // A member that was killed is missed after six seconds, the least that librdkafka's broker takes.
      try folder.write(
        """
        { kafka: { brokers: ["\(brokers)"], options: { "session.timeout.ms": "6000", "heartbeat.interval.ms": "500" } },
          server: { token: "\(Serving.token)" }, apps: [{ key: "video", sources: { tenure: {} } }] }
        """, to: "tenure.json")
    }

    private var environment: [String: String] { ["DATABASE_URL": database.connectionString] }

    private func consumer() throws -> TestProgram {
      try TestProgram(
        [
          "consume", "kafka", "--topic", "sales", "--source", "tenure", "--app", "video", "--config",
          folder.file("tenure.json"),
        ], environment: environment)
    }

    private func event(_ number: Int) -> String {
      """
      {"event_id": "e\(number)", "kind": "subscription_started", "occurred_at": "2026-03-01T09:30:00Z", \
      "store": "app_store", "environment": "Production", "original_transaction_id": "\(number)"}
      """
    }

    /// Puts events into the topic, spread over its partitions.
    private func produce(_ numbers: Range<Int>) async throws {
      try await broker.produce(numbers.map { (partition: $0 % 4, text: event($0)) })
    }

    private func number(_ sql: String) async throws -> Int {
      let connection = try await database.connect()
      let rows = try await connection.query("select (\(sql)) as number")
      await connection.close()
      return Int(try rows[0].int("number"))
    }

    private func stored() async throws -> Int { try await number("select count(*) from ingest.event") }

    private func waitUntilStored(_ count: Int) async throws {
      try await waiting(for: "\(count) events") { try await stored() >= count }
    }

    /// Ends a consumer in order.
    private func end(_ program: TestProgram) async {
      program.send(SIGTERM)
      let outcome = await program.ended()
      #expect(outcome.code == 0, "\(outcome.errors)")
    }

    @Test(
      "a topic is stored once, what is refused is listed and passed, and the next consumer goes on where the last stopped"
    )
    func drains() async throws {
      try await produce(0..<40)
      try await broker.produce([(partition: 1, text: "poison"), (partition: 1, text: event(40))])
      let first = try consumer()
      try await waitUntilStored(41)
      try await waiting(for: "the refusal") { try await number("select count(*) from ingest.rejection") == 1 }
      await end(first)
      try await produce(41..<50)
      let second = try consumer()
      try await waitUntilStored(50)
      await end(second)
      #expect(try await stored() == 50)
      #expect(try await number("select sum(messages) from ingest.stream_partition") == 51, "none was read twice")
      #expect(try await number("select count(*) from ingest.rejection") == 1)
      let connection = try await database.connect()
      let rejection = try await connection.query("select reason, place from report.rejections")
      #expect(rejection.map { $0["reason"] } == ["not_json"])
      #expect(rejection.map { $0["place"] } == ["sales/1@10"])
      await connection.close()

      let serving = try await Serving(environment: environment)
      let metrics = try await serving.get("/metrics")
      let labels = "{group=\"tenure-tenure-video\",partition=\"1\",topic=\"sales\"}"
      #expect(metrics.text.contains("tenure_stream_lag_messages\(labels) 0\n"))
      #expect(metrics.text.contains("tenure_stream_rejections_total\(labels) 1\n"))
      #expect(metrics.text.contains("# TYPE tenure_stream_messages_total counter\n"))
      await serving.end()
    }

    @Test("killed again and again while a topic is drained, every event is stored exactly once")
    func killed() async throws {
      let total = 8000
      try await produce(0..<total)
      var generator = SystemRandomNumberGenerator()
      for part in 0..<3 {
        let program = try consumer()
        // At some moment of a stretch of the topic, whatever it is doing.
        let limit = Int.random(in: (part * total / 4 + 1)...((part + 1) * total / 4), using: &generator)
        try await waitUntilStored(limit)
        program.send(SIGKILL)
        #expect(await program.ended().code == 128 + SIGKILL)
      }
      let last = try consumer()
      try await waitUntilStored(total)
      await end(last)
      #expect(try await stored() == total)
      #expect(try await number("select count(distinct event_id) from ingest.event") == total)
      #expect(try await number("select count(*) from ingest.rejection") == 0)
    }

    @Test("killed with messages in hand that are not stored yet, the next one has them")
    func killedWhileStoring() async throws {
      let holder = try await database.connect()
      try await holder.execute("begin; lock table ingest.event in share row exclusive mode")
      try await produce(0..<100)
      let first = try consumer()
      try await waiting(for: "messages to be in hand") {
        try await !holder.query(
          """
          select from pg_locks
          where relation = 'ingest.event'::regclass and not granted
            and database = (select oid from pg_database where datname = current_database())
          """
        ).isEmpty
      }
      first.send(SIGKILL)
      #expect(await first.ended().code == 128 + SIGKILL)
      try await holder.execute("rollback")
      await holder.close()
      #expect(try await stored() == 0)
      let second = try consumer()
      try await waitUntilStored(100)
      await end(second)
      #expect(try await stored() == 100)
    }

    @Test("several share the partitions; when one ends the other takes over, and every event is stored once")
    func shares() async throws {
      let first = try consumer()
      _ = try #require(await first.errorLine(containing: "\"count\":4"))
      let second = try consumer()
      _ = try #require(await second.errorLine(containing: "\"count\":2"))
      _ = try #require(await first.errorLine(containing: "\"count\":2"))
      try await produce(0..<400)
      try await waitUntilStored(400)
      // Both may have messages in hand when the partitions are asked back.
      try await produce(400..<2000)
      await end(second)
      try await waitUntilStored(2000)
      try await waiting(for: "the whole topic in one hand") {
        try await number("select sum(next_offset) from ingest.stream_partition") == 2000
      }
      await end(first)
      #expect(try await stored() == 2000)
      // More where the broker took no offsets while the group changed, as librdkafka's does not: those were read again.
      #expect(try await number("select sum(messages) from ingest.stream_partition") >= 2000)
    }

    @Test("without a broker it says so and goes on trying, until it is ended")
    func absent() async throws {
      try configure("127.0.0.1:1")
      let program = try consumer()
      _ = try #require(await program.errorLine(containing: "trouble with the broker"))
      await end(program)
    }

    @Test("the configuration and the commands that docs/kafka.md shows are taken as they are shown")
    func documentation() async throws {
      let page = try DocumentationPage("docs/kafka.md")
      let shown = try #require(page.configuration)
      // The tests' broker knows no encryption and no credentials.
      #expect(shown.contains("brokers: [\"kafka-1.example.com:9093\"],"))
      let lines = shown.split(separator: "\n").filter { !$0.contains("mechanism:") && !$0.contains("tls:") }
      try folder.write(
        lines.joined(separator: "\n").replacing("kafka-1.example.com:9093", with: broker.address), to: "tenure.json")
      try await produce(0..<4)
      let commands = try #require(page.blocks.first { $0.need == "needs a broker" }).text.split(separator: "\n")
        .dropFirst()
      #expect(commands.count == 2)
      for command in commands {
        let words = command.split(separator: " ").map(String.init)
        let program = try TestProgram(Array(words.dropFirst()), environment: environment, directory: folder.path)
        if words[1] == "consume" {
          try await waitUntilStored(4)
          await end(program)
        } else {
          let outcome = await program.ended()
          #expect(outcome.code == 0, "\(outcome.errors)")
        }
      }
    }
  }

  /// A broker of its own for one test, ended with it.
  private final class MockBroker: Sendable {
    private static let path = URL(filePath: TestProgram.path).deletingLastPathComponent().appending(path: "mock-broker")
      .path

    private let program: TestProgram
    private let topic: String
    /// Where clients find it.
    let address: String

    init(topic: String, partitions: Int) async throws {
      self.topic = topic
      program = try TestProgram(["serve", topic, "\(partitions)"], file: Self.path)
      let line = try #require(await program.outputLine(containing: "brokers"))
      address = String(line.dropFirst("brokers ".count))
    }

    deinit { program.send(SIGKILL) }

    /// Puts messages into the topic; returns when it has them.
    func produce(_ messages: [(partition: Int, text: String)]) async throws {
      let lines = messages.map { "\($0.partition)\t\($0.text)\n" }.joined()
      let outcome = try await TestProgram.run(
        ["produce", address, topic], input: Data(lines.utf8), file: Self.path)
      #expect(outcome.code == 0, "\(outcome.errors)")
    }
  }
#else
  /// `tenure consume kafka` of a program without it.
  @Suite("Consume command")
  struct ConsumeCommandTests {
    @Test("a program that was built without Kafka says how to build one with it")
    func without() async throws {
      let outcome = try await TestProgram.run(
        ["consume", "kafka", "--topic", "sales", "--source", "tenure", "--app", "video"])
      #expect(outcome.code == 1)
      #expect(outcome.errors.contains("swift build --traits Kafka"))
    }
  }
#endif
