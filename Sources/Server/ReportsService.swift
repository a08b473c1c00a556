import Foundation
import Postgres
import Report

/// What the reports listener serves: reports, metrics, the page, and health.
struct ReportsService: HTTPService {
  private let token: AccessToken
  private let hosts: Set<String>
  private let health: Health
  private let open: @Sendable () async throws -> Connection
  private let metrics: @Sendable () async -> String
  private let report: @Sendable (ServerReport) -> Void
  /// Each report in hand has a connection.
  private let turnstile = Turnstile(4)

  init(
    token: String, hosts: [String], health: Health, open: @escaping @Sendable () async throws -> Connection,
    metrics: @escaping @Sendable () async -> String, report: @escaping @Sendable (ServerReport) -> Void
  ) {
    self.token = AccessToken(token)
    self.hosts = Set(hosts.map { $0.lowercased() })
    self.health = health
    self.open = open
    self.metrics = metrics
    self.report = report
  }

  // MARK: - Who may ask

  func admission(of head: HTTPHead) -> Admission {
    guard isHostKnown(head.header("host") ?? "") else {
      return .refuse(.problem(421, "this server is not known by that name: list it under server.hosts"))
    }
    if let admission = health.admission(of: head) { return admission }
    // The page's address with the token in it: answered with the cookie.
    let isExchange = head.path == "/" && head.query.contains { $0.name == "token" && token.isToken($0.value) }
    guard isExchange || token.isProven(by: head) else {
      let detail = "the token is missing or wrong: send it as Authorization: Bearer, or open the address with it"
      return .refuse(.problem(401, detail, headers: [("WWW-Authenticate", "Bearer")]))
    }
    guard ["GET", "HEAD"].contains(head.method) else { return .refuse(.wrongMethod(allowed: "GET, HEAD")) }
    return .read(limit: 0)
  }

  /// Whether a request is meant for this server: a page of someone else's whose name leads here must get nothing.
  private func isHostKnown(_ host: String) -> Bool {
    let host = host.lowercased()
    var name = host[...]
    if let colon = host.lastIndex(of: ":"), host[host.index(after: colon)...].allSatisfy({ $0.isASCII && $0.isNumber })
    {
      name = host[..<colon]
    }
    if name == "localhost" || name == "[::1]" || hosts.contains(host) || hosts.contains(String(name)) { return true }
    let parts = name.split(separator: ".", omittingEmptySubsequences: false)
    return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
  }

  // MARK: - Answers

  func answer(_ head: HTTPHead, body: [UInt8]) async -> HTTPAnswer {
    if let answer = await health.answer(head) { return answer }
    var answer = await answer(head)
    // Figures are not for caches.
    if !answer.headers.contains(where: { $0.name == "Cache-Control" }) {
      answer.headers.append(("Cache-Control", "no-store"))
    }
    answer.headers.append(("X-Content-Type-Options", "nosniff"))
    return answer
  }

  func answerTooLarge(_ head: HTTPHead) async -> HTTPAnswer { .problem(413, "this path takes no body") }

  private func answer(_ head: HTTPHead) async -> HTTPAnswer {
    if head.path == "/", head.query.contains(where: { $0.name == "token" }) { return exchanged }
    if let page = WebPage.answer(to: head.path) { return page }
    switch head.path {
    case "/metrics": return HTTPAnswer(200, type: "text/plain; version=0.0.4; charset=utf-8", await metrics())
    case "/v1/reports": return await list()
    default:
      let segments = head.segments
      guard segments.count == 3, segments[0] == "v1" else { return .unknownPath }
      do throws(QueryParameters.Problem) {
        switch segments[1] {
        case "reports": return await show(try ReportRequest(name: segments[2], head.query))
        case "explain": return await explain(try ExplainRequest(report: segments[2], head.query))
        default: return .unknownPath
        }
      } catch {
        return .problem(400, error.description)
      }
    }
  }

  /// The token is exchanged for a cookie, and is gone from the address.
  private var exchanged: HTTPAnswer {
    HTTPAnswer(
      303, type: "text/plain; charset=utf-8", "",
      headers: [
        ("Location", "/"), ("Referrer-Policy", "no-referrer"),
        ("Set-Cookie", "\(AccessToken.cookie)=\(token.session); Path=/; HttpOnly; SameSite=Strict"),
      ])
  }

  private func list() async -> HTTPAnswer {
    do {
      let shapes = try await withConnection { try await Reporter(connection: $0).shapes() }
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
      return .json(String(decoding: try encoder.encode(shapes), as: UTF8.self) + "\n")
    } catch {
      return failed(error)
    }
  }

  private func withConnection<T: Sendable>(_ body: (Connection) async throws -> T) async throws -> T {
    await turnstile.enter()
    do {
      let connection = try await open()
      let value = try await body(connection)
      await connection.close()
      await turnstile.leave()
      return value
    } catch {
      await turnstile.leave()
      throw error
    }
  }

  private func show(_ request: ReportRequest) async -> HTTPAnswer {
    let type = request.format == .csv ? "text/csv; charset=utf-8" : "application/json"
    return await write(type, app: request.query.app) { connection, write in
      try await Reporter(connection: connection).write(request.query, as: request.format, to: write)
    }
  }

  private func explain(_ request: ExplainRequest) async -> HTTPAnswer {
    await write("application/json", app: request.query.app) { connection, write in
      try await Explainer(connection: connection).write(request.query, as: .json, to: write)
    }
  }

  /// Answers with a text of that type when there is enough of it to send, or when writing has failed before that.
  private func write(
    _ type: String, app: String?,
    _ body: @escaping @Sendable (Connection, @Sendable (String) throws -> Void) async throws -> Void
  ) async -> HTTPAnswer {
    let (readiness, ready) = AsyncStream.makeStream(of: Result<Void, any Error>.self)
    let stream = AnswerStream { ready.yield($0) }
    Task {
      do {
        try await withConnection { connection in
          if let app {
            let known = try await connection.query("select 1 as one from ingest.app where app_key = $1", [.text(app)])
            if known.isEmpty { throw UnknownApp() }
          }
          try await body(connection) { try stream.write($0) }
        }
        stream.finish(.success(()))
      } catch {
        // An answer that has begun can only be broken off.
        if !stream.finish(.failure(error)), !(error is AnswerStream.Abandoned) {
          report(.reportFailed(error: "\(error)"))
        }
      }
    }
    for await result in readiness {
      if case .failure(let error) = result { return failed(error) }
      break
    }
    return HTTPAnswer(type: type, stream)
  }

  private struct UnknownApp: Error {}

  private func failed(_ error: any Error) -> HTTPAnswer {
    switch error {
    case let error as ReportError:
      switch error {
      case .unknownReport, .noRow: return .problem(404, error.description)
      case .notAddedUp:
        report(.reportFailed(error: "\(error)"))
        return .problem(500, error.description)
      default: return .problem(400, error.description)
      }
    case is UnknownApp: return .problem(404, "there is no app of that key")
    default:
      report(.reportFailed(error: "\(error)"))
      return .tryAgain("the report cannot be read now; the server's log says why", after: 5)
    }
  }
}
