/// `/healthz`: alive; `/readyz`: able to store. On both listeners, without a token.
struct Health: Sendable {
  private let readiness: Readiness

  init(readiness: Readiness) { self.readiness = readiness }

  private static let paths = ["/healthz", "/readyz"]

  /// What is done about a request for one of these paths; nil for any other.
  func admission(of head: HTTPHead) -> Admission? {
    guard Self.paths.contains(head.path) else { return nil }
    return ["GET", "HEAD"].contains(head.method) ? .read(limit: 0) : .refuse(.wrongMethod(allowed: "GET, HEAD"))
  }

  /// The answer for one of these paths; nil for any other.
  func answer(_ head: HTTPHead) async -> HTTPAnswer? {
    switch head.path {
    case "/healthz": .json("{\"status\":\"alive\"}")
    case "/readyz":
      await readiness.isReady()
        ? .json("{\"status\":\"ready\"}") : .tryAgain("the database cannot be reached or written to", after: 5)
    default: nil
    }
  }
}
