import Foundation

/// What a request says before its body.
struct HTTPHead: Sendable {
  /// The method, such as `GET`.
  var method: String
  /// The path as it stood in the request line, not decoded.
  var path: String
  /// What followed the question mark, names and values decoded, in order.
  var query: [(name: String, value: String)]
  /// The headers in their order, names in small letters.
  var headers: [(name: String, value: String)]
  /// Where the connection comes from, an IP address; empty where that is not known.
  var peer = ""

  /// A head.
  ///
  /// - Parameter target: Path and query as in the request line, or a whole address: its authority then stands for the Host
  ///   header (RFC 9112 section 3.2.2).
  init(method: String, target: String, headers: [(name: String, value: String)]) {
    self.method = method
    self.headers = headers
    var target = target
    if let scheme = target.range(of: "://"), ["http", "https"].contains(target[..<scheme.lowerBound].lowercased()) {
      let rest = target[scheme.upperBound...]
      let authority = rest.prefix { $0 != "/" && $0 != "?" }
      let path = rest.dropFirst(authority.count)
      self.headers.removeAll { $0.name == "host" }
      self.headers.append((name: "host", value: String(authority)))
      target = path.hasPrefix("/") ? String(path) : "/" + path
    }
    let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    path = parts.first.map(String.init) ?? ""
    query = parts.count == 2 ? Self.decodedQuery(parts[1]) : []
  }

  /// The value of a header; the first where it is repeated.
  func header(_ name: String) -> String? { headers.first { $0.name == name }?.value }

  /// The token of `Authorization: Bearer` (RFC 6750); nil where there is none.
  var bearer: String? {
    guard let parts = header("authorization")?.split(separator: " ", maxSplits: 1), parts.count == 2,
      parts[0].lowercased() == "bearer"
    else { return nil }
    return String(parts[1])
  }

  /// The segments of the path.
  var segments: [String] { path.dropFirst().split(separator: "/", omittingEmptySubsequences: false).map(String.init) }

  /// How long the body is said to be; nil where that is not said.
  var declaredLength: Int? { header("content-length").flatMap { Int($0) } }

  /// Whether there is a body.
  var hasBody: Bool { header("transfer-encoding") != nil || (declaredLength ?? 0) > 0 }

  /// Whether the client waits to be told that its body is wanted.
  var waitsToContinue: Bool { header("expect")?.lowercased() == "100-continue" }

  /// Whether two readers could disagree about where the body ends, or whom it is for: such a request must not be read on
  /// (RFC 9112 section 6.3). The library lets it pass.
  var isAmbiguous: Bool {
    func count(_ name: String) -> Int { headers.count { $0.name == name } }
    let hasEncoding = count("transfer-encoding") > 0
    if count("content-length") > 1 || count("host") > 1 || count("transfer-encoding") > 1 { return true }
    if hasEncoding, count("content-length") > 0 || header("transfer-encoding")?.lowercased() != "chunked" {
      return true
    }
    guard let length = header("content-length") else { return false }
    return length.isEmpty || length.utf8.count > 18 || !length.utf8.allSatisfy { (48...57).contains($0) }
  }

  private static func decodedQuery(_ text: Substring) -> [(name: String, value: String)] {
    text.split(separator: "&").map { pair in
      let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      return (decoded(parts[0]), parts.count == 2 ? decoded(parts[1]) : "")
    }
  }

  /// A name or value of a query without its escapes; one that is broken stays as it is.
  private static func decoded(_ text: Substring) -> String {
    var bytes: [UInt8] = []
    var rest = text.utf8[...]
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "%"), let high = rest.first.flatMap(hexadecimal),
        let low = rest.dropFirst().first.flatMap(hexadecimal)
      {
        bytes.append(high << 4 | low)
        rest = rest.dropFirst(2)
      } else {
        bytes.append(byte == UInt8(ascii: "+") ? UInt8(ascii: " ") : byte)
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  private static func hexadecimal(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
    default: nil
    }
  }
}
