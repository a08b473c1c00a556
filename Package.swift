// swift-tools-version: 6.2
import PackageDescription

/// What every Swift target of this package is compiled with: the Swift 6 language mode, its stricter upcoming rules,
/// and no warning left standing.
let strict: [SwiftSetting] = [
  .swiftLanguageMode(.v6),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .treatAllWarnings(as: .error),
]

let package = Package(
  name: "tenure",
  products: [
    .executable(name: "tenure", targets: ["tenure"])
  ],
  traits: [
    .trait(name: "Kafka", description: "tenure consume kafka, with librdkafka")
  ],
  targets: [
    // C libraries of the system, each imported by exactly one module.
    .systemLibrary(name: "CPostgres", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
    .systemLibrary(name: "COpenSSL", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
    .systemLibrary(name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
    .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
    .systemLibrary(
      name: "CMicroHTTPD", pkgConfig: "libmicrohttpd", providers: [.apt(["libmicrohttpd-dev"])]),
    .systemLibrary(name: "CKafka", pkgConfig: "rdkafka", providers: [.apt(["librdkafka-dev"])]),
    // What is variadic in C, which Swift cannot call.
    .target(name: "CurlShim", dependencies: ["CCurl"]),
    .target(name: "MicroHTTPDShim", dependencies: ["CMicroHTTPD"]),

    // The SQL of sql/ and the page of dashboards/web, embedded into the program so that it can be moved anywhere.
    .executableTarget(name: "embed-files", swiftSettings: strict),
    .plugin(name: "EmbedFiles", capability: .buildTool(), dependencies: ["embed-files"]),
    .target(name: "SQL", swiftSettings: strict, plugins: ["EmbedFiles"]),

    // Foundations.
    .target(name: "Postgres", dependencies: ["CPostgres"], swiftSettings: strict),
    .target(name: "Vocabulary", swiftSettings: strict),
    .target(name: "Signatures", dependencies: ["COpenSSL"], swiftSettings: strict),
    .target(name: "HTTP", dependencies: ["Vocabulary", "CCurl", "CurlShim"], swiftSettings: strict),

    // Empty without the trait.
    .target(
      name: "Kafka", dependencies: [.target(name: "CKafka", condition: .when(traits: ["Kafka"]))],
      swiftSettings: strict),

    // The stages. They never import each other: they meet in the database's tables.
    .target(
      name: "Ingest", dependencies: ["Vocabulary", "Signatures", "HTTP", "Postgres", "SQL", "CZlib"],
      swiftSettings: strict),
    .target(name: "Measure", dependencies: ["Vocabulary", "Postgres", "SQL"], swiftSettings: strict),
    .target(name: "Report", dependencies: ["Vocabulary", "Postgres", "SQL"], swiftSettings: strict),
    .target(
      name: "Forward",
      dependencies: ["Vocabulary", "Signatures", "HTTP", "Postgres", "SQL"], swiftSettings: strict),

    // Receives and serves over HTTP: it is on both sides of the tables, before the one stage and behind the other.
    .target(
      name: "Server",
      dependencies: [
        "Ingest", "Report", "Vocabulary", "Signatures", "Postgres", "SQL", "CMicroHTTPD", "MicroHTTPDShim",
      ],
      swiftSettings: strict, plugins: ["EmbedFiles"]),

    // An invented year with books of its own, for the demo. Knows nothing of the stages.
    .target(name: "Demo", dependencies: ["Vocabulary", "Signatures"], swiftSettings: strict),
    .executableTarget(
      name: "tenure",
      dependencies: [
        "Ingest", "Measure", "Report", "Forward", "Server", "Demo", "Signatures", "Vocabulary", "Postgres", "SQL",
        "Kafka",
      ],
      swiftSettings: strict),

    // Measures speed against limits taken in the same run. Nothing depends on it but the test that keeps it alive.
    .executableTarget(
      name: "tenure-bench",
      dependencies: [
        "Forward", "HTTP", "Ingest", "Measure", "Report", "Server", "Signatures", "Vocabulary", "Postgres", "SQL",
        "TestSupport",
      ],
      swiftSettings: strict),

    // Tests.
    .target(name: "SpawnShim", path: "Tests/SpawnShim"),
    .target(
      name: "TestSupport",
      dependencies: ["Vocabulary", "Postgres", "SQL", "Signatures", "SpawnShim"], path: "Tests/TestSupport",
      swiftSettings: strict),
    .testTarget(
      name: "PostgresTests", dependencies: ["Postgres", "SQL", "TestSupport"], exclude: ["Fixtures"],
      swiftSettings: strict),
    .testTarget(name: "VocabularyTests", dependencies: ["Vocabulary"], swiftSettings: strict),
    .testTarget(
      name: "SignaturesTests", dependencies: ["Signatures", "TestSupport"], exclude: ["Fixtures"],
      swiftSettings: strict),
    .testTarget(name: "HTTPTests", dependencies: ["HTTP", "TestSupport"], swiftSettings: strict),
    .testTarget(
      name: "IngestTests", dependencies: ["Ingest", "TestSupport"], exclude: ["Fixtures"], swiftSettings: strict
    ),
    .testTarget(
      name: "MeasureTests", dependencies: ["Measure", "TestSupport"], swiftSettings: strict),
    .testTarget(
      name: "ReportTests", dependencies: ["Report", "Postgres", "Vocabulary", "TestSupport"], swiftSettings: strict),
    .testTarget(
      name: "ForwardTests", dependencies: ["Forward", "HTTP", "TestSupport"], exclude: ["Fixtures"],
      swiftSettings: strict),
    .testTarget(name: "ServerTests", dependencies: ["Server", "Ingest", "TestSupport"], swiftSettings: strict),
    .testTarget(
      name: "DemoTests", dependencies: ["Demo", "Forward", "HTTP", "Signatures", "Vocabulary"], swiftSettings: strict),
    .executableTarget(
      name: "mock-broker", dependencies: ["Kafka"], path: "Tests/MockBroker", swiftSettings: strict),
    .testTarget(
      name: "PipelineTests", dependencies: ["tenure", "tenure-bench", "mock-broker", "TestSupport"],
      swiftSettings: strict),
  ]
)
