/// One request.
public struct HTTPRequest: Sendable, Equatable {
  /// What is done with what the address names.
  public enum Method: String, Sendable {
    /// It is fetched; the body is not sent.
    case get = "GET"
    /// The body is posted to it.
    case post = "POST"
  }

  /// One header's name and value.
  public struct Header: Sendable, Equatable {
    /// The name, in small letters.
    public var name: String
    /// The value, one line.
    public var value: String

    /// Creates a header.
    public init(_ name: String, _ value: String) {
      self.name = name
      self.value = value
    }
  }

  /// What is done there.
  public var method: Method
  /// Where it goes. Its path and query may hold secrets and are never shown.
  public var url: String
  /// The headers, beside those that every request has.
  public var headers: [Header]
  /// The body's bytes.
  public var body: [UInt8]
  /// What must not be shown of the headers and the body.
  public var secrets: [String]
  /// Whom the other side's certificate must come from.
  public var tls = TLSOptions()

  /// Creates a request.
  public init(_ method: Method = .post, url: String, headers: [Header], body: [UInt8], secrets: [String] = []) {
    self.method = method
    self.url = url
    self.headers = headers
    self.body = body
    self.secrets = secrets
  }

  /// Scheme, host and port of the address; what follows and who is named before the host is left out.
  public var origin: String { Self.origin(of: url) }

  /// Scheme, host and port of an address.
  public static func origin(of url: String) -> String {
    guard let colon = url.firstRange(of: "://") else { return "…" }
    let authority = url[colon.upperBound...].prefix { !"/?#".contains($0) }
    let host = authority.split(separator: "@", omittingEmptySubsequences: false).last ?? ""
    return String(url[..<colon.upperBound]) + host
  }

  /// The request as text, the body as it is, with secrets masked: what a dry run shows.
  public var masked: String {
    let hasPath = url != origin && url != origin + "/"
    var lines = ["\(method.rawValue) \(origin)\(hasPath ? "/…" : "/")"]
    lines += headers.map { "\($0.name): \($0.value)" }
    let text = lines.joined(separator: "\n") + "\n\n" + String(decoding: body, as: UTF8.self)
    return Self.masking(secrets, in: text)
  }
}
