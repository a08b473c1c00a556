import Glibc

/// Whom a request comes from, as far as that can be told: an address of IPv4, or a network of IPv6, of which one person has
/// as many addresses as they like.
///
/// A proxy on this machine or in its network tells the address that it was asked from at the end of `X-Forwarded-For`. What
/// a stranger writes there is not looked at.
struct ClientAddress: Hashable, Sendable {
  /// The address's bytes: 4, or the first 8 of 16. Of what is no address the text's.
  private let bytes: [UInt8]

  init(_ head: HTTPHead) {
    let peer = Self.bytes(of: head.peer)
    let told = head.headers.last { $0.name == "x-forwarded-for" }?.value.split(separator: ",").last
    if let peer, Self.isInside(peer), let told, let address = Self.bytes(of: String(told)) {
      bytes = Self.network(of: address)
    } else {
      bytes = peer.map(Self.network) ?? Array(head.peer.utf8)
    }
  }

  /// The 4 or 16 bytes of an address, perhaps with a port, brackets or a zone.
  private static func bytes(of text: String) -> [UInt8]? {
    var text = text.drop { $0 == " " }.prefix { $0 != " " && $0 != "%" }
    if text.hasPrefix("[") {
      text = text.dropFirst().prefix { $0 != "]" }
    } else if text.count(where: { $0 == ":" }) == 1 {
      text = text.prefix { $0 != ":" }
    }
    var four = in_addr()
    if inet_pton(AF_INET, String(text), &four) == 1 { return withUnsafeBytes(of: &four) { Array($0) } }
    var sixteen = in6_addr()
    guard inet_pton(AF_INET6, String(text), &sixteen) == 1 else { return nil }
    let bytes = withUnsafeBytes(of: &sixteen) { Array($0) }
    // ::ffff:192.0.2.1 is 192.0.2.1 (RFC 4291 section 2.5.5.2).
    return bytes.starts(with: [UInt8](repeating: 0, count: 10) + [0xFF, 0xFF]) ? Array(bytes[12...]) : bytes
  }

  private static func network(of address: [UInt8]) -> [UInt8] { Array(address.prefix(address.count == 4 ? 4 : 8)) }

  /// Whether an address is this machine's or of its own network (RFC 1918, RFC 4193, link-local ones).
  private static func isInside(_ address: [UInt8]) -> Bool {
    if address.count == 4 {
      return address[0] == 127 || address[0] == 10 || (address[0] == 172 && address[1] & 0xF0 == 16)
        || (address[0] == 192 && address[1] == 168) || (address[0] == 169 && address[1] == 254)
    }
    return address == [UInt8](repeating: 0, count: 15) + [1] || address[0] & 0xFE == 0xFC
      || (address[0] == 0xFE && address[1] & 0xC0 == 0x80)
  }
}
