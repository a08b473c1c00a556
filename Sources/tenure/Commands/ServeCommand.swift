import Glibc
import SQL
import Server
import Vocabulary

/// `tenure serve`: receives events over HTTP and serves reports.
struct ServeCommand: Command {
  static let syntax = CommandSyntax(
    "serve", summary: "receives events over HTTP, serves reports, health, metrics and a page that shows them",
    options: [
      OptionSyntax("listen", value: "HOST:PORT", help: "where events are received (default: 127.0.0.1:8080)"),
      OptionSyntax("reports-listen", value: "HOST:PORT", help: "where reports are served (default: 127.0.0.1:8081)"),
    ],
    notes: """
      Events are received at POST /v1/ingest/SOURCE/APP for the sources that the configuration lists for the app: app_store,
      whose signatures are verified; app_client, which apps send to themselves with their public key (docs/app-client.md); tenure
      where it has a secret (Standard Webhooks); revenuecat, adapty and apphud where they have theirs. 200 means that the
      database has
      committed; duplicates and unknown kinds are answered so too. What cannot be stored now gets 503 and is to be sent again.
      Reports are served at /v1/reports, /v1/reports/NAME, /metrics and / (the page) with a token: server.token of the
      configuration, or one that is made, kept in TENURE_HOME and printed with the page's address. /healthz and /readyz of both
      listeners need none. TERM finishes the requests in hand, then stops. TLS is left to a proxy in front.
      The configuration's section server has the same settings and more: ingest, reports, token, hosts, max_body. Port 0 is any
      that is free.
      """)

  static let interruption = Interruption.finishesWork

  private let listen: ListenAddress?
  private let reportsListen: ListenAddress?

  init(_ arguments: Arguments) throws(UsageError) {
    listen = try Self.address("listen", arguments)
    reportsListen = try Self.address("reports-listen", arguments)
  }

  private static func address(_ name: String, _ arguments: Arguments) throws(UsageError) -> ListenAddress? {
    guard let text = arguments.value(name) else { return nil }
    guard let address = ListenAddress(text) else {
      throw UsageError("serve: --\(name) is an address and a port, such as 127.0.0.1:8080 or [::]:8080")
    }
    return address
  }

  private struct Listening: Encodable {
    let ingest: String
    let reports: String
    let page: String
  }

  func run(_ context: Context) async throws -> ExitCode {
    let configuration = try context.configuration()
    let endpoints = try configuration.ingestEndpoints()
    return try await context.withDatabase { database in
      let log = context.log
      let given = configuration.server.token
      let token = try given ?? TokenFile.token(in: context.home())
      guard let ingest = listen ?? ListenAddress(configuration.server.ingest),
        let reports = reportsListen ?? ListenAddress(configuration.server.reports)
      else { throw Failure("reading the addresses of the configuration's section server: they are none") }
      var settings = Server.Settings(ingest: ingest, reports: reports, token: token)
      settings.hosts = configuration.server.hosts
      settings.maximumBody = Int(configuration.server.maxBody)
      settings.endpoints = endpoints
      settings.afterStoring = SQLFiles.folder("forward").filter { $0.name == "announce" }
      settings.connections = Self.raisedConnectionLimit(upTo: settings.connections)
      let server = try Server(settings, open: { try await database.open() }, now: { .now }) { Self.tell($0, log) }
      if endpoints.isEmpty {
        log.warning("no app of the configuration lists a source that can be received: only reports are served")
      }
      // Whoever set a token knows it; the one that was made is told here only.
      let page = "http://\(server.reportsAddress.reachable)/" + (given == nil ? "?token=\(token)" : "")
      if context.isJSON {
        try context.output.json(
          Listening(ingest: "\(server.ingestAddress)", reports: "\(server.reportsAddress)", page: page))
      } else {
        try context.output.line("events:  http://\(server.ingestAddress)/v1/ingest/{source}/{app}")
        try context.output.line("reports: \(page)")
      }
      await Self.untilCancelled()
      let left = await server.stop()
      if left > 0 { log.warning("stopped; requests were left unanswered", ["requests": .init(left)]) }
      return .done
    }
  }

  /// Returns when a signal has asked for the end.
  static func untilCancelled() async {
    let (end, source) = AsyncStream.makeStream(of: Never.self)
    for await _ in end {}
    source.finish()
  }

  /// Raises the number of files the process may have open, as far as it may, and returns how many connections of each
  /// listener that leaves room for.
  private static func raisedConnectionLimit(upTo wanted: Int) -> Int {
    var limit = rlimit()
    let reserve = 100
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return wanted }
    limit.rlim_cur = max(limit.rlim_cur, min(limit.rlim_max, rlim_t(2 * wanted + reserve)))
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    return max(16, min(wanted, (Int(min(limit.rlim_cur, 1 << 20)) - reserve) / 2))
  }

  /// Turns what the server tells into log lines: single requests are in the metrics.
  static func tell(_ report: ServerReport, _ log: Log) {
    switch report {
    case .appAdded(let key): log.info("app added", ["app": .init(key)])
    case .storingFailed(let source, let error):
      log.error(
        "events cannot be stored; their senders are told to come again",
        ["source": .init(source), "error": .init(error)])
    case .storingResumed(let source): log.info("events are stored again", ["source": .init(source)])
    case .reportFailed(let error): log.error("a report could not be read", ["error": .init(error)])
    }
  }
}
