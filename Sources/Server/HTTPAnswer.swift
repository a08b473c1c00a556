import Foundation

/// What is answered to a request.
struct HTTPAnswer: Sendable {
  enum Body: Sendable {
    case bytes([UInt8])
    /// A text that is still being written.
    case stream(AnswerStream)
  }

  var status: Int
  var headers: [(name: String, value: String)]
  var body: Body

  init(_ status: Int, type: String, _ text: String, headers: [(name: String, value: String)] = []) {
    self.status = status
    self.headers = [("Content-Type", type)] + headers
    body = .bytes(Array(text.utf8))
  }

  /// A text that is still being written.
  init(type: String, _ stream: AnswerStream) {
    status = 200
    headers = [("Content-Type", type)]
    body = .stream(stream)
  }

  /// JSON.
  static func json(_ text: String) -> HTTPAnswer {
    HTTPAnswer(200, type: "application/json", text)
  }

  /// An error (RFC 9457).
  ///
  /// - Parameter detail: What is wrong and what to do, without secrets.
  static func problem(
    _ status: Int, _ detail: String, headers: [(name: String, value: String)] = []
  ) -> HTTPAnswer {
    struct Problem: Encodable {
      let type = "about:blank"
      let title: String
      let status: Int
      let detail: String
    }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    let problem = Problem(title: reason(status), status: status, detail: detail)
    let text = (try? encoder.encode(problem)).map { String(decoding: $0, as: UTF8.self) } ?? "{}"
    return HTTPAnswer(status, type: "application/problem+json", text, headers: headers)
  }

  /// The same answer for a client that is to come again after so many seconds.
  static func tryAgain(_ detail: String, after seconds: Int) -> HTTPAnswer {
    problem(503, detail, headers: [("Retry-After", String(seconds))])
  }

  static let unknownPath = problem(404, "there is nothing at this path")

  static func wrongMethod(allowed: String) -> HTTPAnswer {
    problem(405, "this path takes \(allowed)", headers: [("Allow", allowed)])
  }

  /// The whole answer as it goes over a socket that is closed after it.
  var serialized: [UInt8] {
    guard case .bytes(let bytes) = body else { return [] }
    let lines = (headers + [("Content-Length", String(bytes.count)), ("Connection", "close")])
      .map { "\($0.name): \($0.value)\r\n" }.joined()
    return Array("HTTP/1.1 \(status) \(Self.reason(status))\r\n\(lines)\r\n".utf8) + bytes
  }

  private static func reason(_ status: Int) -> String {
    switch status {
    case 200: "OK"
    case 303: "See Other"
    case 400: "Bad Request"
    case 401: "Unauthorized"
    case 404: "Not Found"
    case 405: "Method Not Allowed"
    case 413: "Content Too Large"
    case 415: "Unsupported Media Type"
    case 421: "Misdirected Request"
    case 422: "Unprocessable Content"
    case 429: "Too Many Requests"
    case 500: "Internal Server Error"
    case 503: "Service Unavailable"
    default: "Error"
    }
  }
}
