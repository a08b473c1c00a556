internal import CCurl

/// What an address says by itself, before anyone is asked where its host is.
public struct HTTPAddress: Sendable {
  private let isSecure: Bool
  private let host: String

  /// Reads an address as requests are sent to it; `nil` for one that none can be sent to: of another scheme than http and
  /// https, with a port there is not, or a host that is not written in ASCII.
  public init?(_ text: String) {
    guard let parts = curl_url() else { return nil }
    defer { curl_url_cleanup(parts) }
    guard curl_url_set(parts, CURLUPART_URL, text, 0) == CURLUE_OK, let scheme = Self.part(CURLUPART_SCHEME, of: parts),
      ["http", "https"].contains(scheme), let host = Self.part(CURLUPART_HOST, of: parts),
      host.utf8.allSatisfy({ $0 < 0x80 })
    else { return nil }
    isSecure = scheme == "https"
    self.host = host
  }

  private static func part(_ part: CURLUPart, of parts: OpaquePointer) -> String? {
    var text: UnsafeMutablePointer<CChar>?
    guard curl_url_get(parts, part, &text, 0) == CURLUE_OK, let text else { return nil }
    defer { curl_free(text) }
    return String(cString: text).lowercased()
  }

  /// Why a request may not go there that must go to a public address with TLS; `nil` where that is only known when the
  /// host's address is.
  public var refusal: String? {
    let literal = host.hasPrefix("[") ? String(host.dropFirst().prefix { $0 != "]" && $0 != "%" }) : host
    // What this name stands for is not asked for (RFC 6761, section 6.3).
    if host == "localhost" || host.hasSuffix(".localhost") { return "\(host): it is loopback" }
    if let words = NetworkAddress(literal)?.refusal { return "\(literal): \(words)" }
    return isSecure ? nil : "it has no TLS (https)"
  }
}
