// A broker, or who writes to one, in a process of its own.
//
//   mock-broker serve TOPIC PARTITIONS     prints its address and serves until who started it has ended
//   mock-broker produce BROKERS TOPIC      writes the lines of standard input, each to its partition: NUMBER, TAB, VALUE
#if Kafka
  import Glibc
  import Kafka

  let words = CommandLine.arguments
  switch words.count == 4 ? words[1] : "" {
  case "serve":
    let cluster = try MockCluster()
    try cluster.addTopic(words[2], partitions: Int32(words[3]) ?? 1)
    let line = Array("brokers \(cluster.brokers)\n".utf8)
    // Not by way of a buffer, which a pipe would have.
    _ = write(STDOUT_FILENO, line, line.count)
    let parent = getppid()
    while getppid() == parent { sleep(1) }
    withExtendedLifetime(cluster) {}
  case "produce":
    let producer = try KafkaProducer(brokers: words[2], topic: words[3])
    while let line = readLine() {
      let parts = line.split(separator: "\t", maxSplits: 1, omittingEmptySubsequences: false)
      try producer.put(Array(parts[1].utf8), partition: Int32(parts[0]) ?? 0)
    }
    try producer.flush()
  default:
    print("usage: mock-broker serve TOPIC PARTITIONS, or mock-broker produce BROKERS TOPIC")
    exit(2)
  }
#endif
