internal import CCurl
import Glibc

/// A resolved address of a host, and whether requests of others' making may go there.
///
/// Whoever configures a target names a host; what it resolves to is only known when connecting. An address inside one's
/// own network would let a target reach what is not meant for the outside, such as a cloud's metadata service.
struct NetworkAddress {
  private enum Kind {
    case four(UInt32)
    case six([UInt8])
    case unknown
  }

  private let kind: Kind

  /// Reads the address that a socket is about to connect to.
  init(_ address: UnsafePointer<sockaddr>) {
    let raw = UnsafeRawPointer(address)
    switch Int32(address.pointee.sa_family) {
    case AF_INET:
      let four = raw.loadUnaligned(as: sockaddr_in.self)
      kind = .four(UInt32(bigEndian: four.sin_addr.s_addr))
    case AF_INET6:
      let six = raw.loadUnaligned(as: sockaddr_in6.self)
      kind = .six(withUnsafeBytes(of: six.sin6_addr) { Array($0) })
    default: kind = .unknown
    }
  }

  /// Reads an address as text, such as `10.0.0.1` or `fe80::1`; `nil` when it is none.
  init?(_ text: String) {
    var four = in_addr()
    var six = in6_addr()
    if inet_pton(AF_INET, text, &four) == 1 {
      kind = .four(UInt32(bigEndian: four.s_addr))
    } else if inet_pton(AF_INET6, text, &six) == 1 {
      kind = .six(withUnsafeBytes(of: six) { Array($0) })
    } else {
      return nil
    }
  }

  /// What makes the address one that requests must not go to; `nil` for public addresses.
  ///
  /// The ranges are those of IANA's special-purpose registries (RFC 6890) that are not globally reachable.
  var refusal: String? {
    switch kind {
    case .four(let value): Self.refusal(four: value)
    case .six(let bytes): Self.refusal(six: bytes)
    case .unknown: "it is no internet address"
    }
  }

  private static let rangesFour: [(start: UInt32, bits: UInt32, words: String)] = [
    (0x0000_0000, 8, "it stands for this host"),
    (0x0A00_0000, 8, "it is private"),
    (0x6440_0000, 10, "it is a carrier's own"),
    (0x7F00_0000, 8, "it is loopback"),
    (0xA9FE_0000, 16, "it is link-local"),
    (0xAC10_0000, 12, "it is private"),
    (0xC000_0000, 24, "it is reserved"),
    (0xC000_0200, 24, "it is for documentation"),
    (0xC058_6300, 24, "it is a relay's"),
    (0xC0A8_0000, 16, "it is private"),
    (0xC612_0000, 15, "it is for benchmarks"),
    (0xC633_6400, 24, "it is for documentation"),
    (0xCB00_7100, 24, "it is for documentation"),
    (0xE000_0000, 4, "it is multicast"),
    (0xF000_0000, 4, "it is reserved"),
  ]

  private static func refusal(four value: UInt32) -> String? {
    rangesFour.first { value >> (32 - $0.bits) == $0.start >> (32 - $0.bits) }?.words
  }

  private static func refusal(six bytes: [UInt8]) -> String? {
    func four(at index: Int) -> UInt32 { bytes[index..<index + 4].reduce(0) { $0 << 8 | UInt32($1) } }
    func begins(_ prefix: [UInt8]) -> Bool { bytes.starts(with: prefix) }
    let zeros = bytes.prefix { $0 == 0 }.count
    if zeros == 16 { return "it stands for this host" }
    if zeros == 15, bytes[15] == 1 { return "it is loopback" }
    // Addresses of the fourth version inside: mapped, compatible, translated, NAT64 and 6to4.
    if zeros >= 12 || (zeros == 10 && bytes[10] == 0xFF && bytes[11] == 0xFF) { return refusal(four: four(at: 12)) }
    if zeros == 8, four(at: 8) == 0xFFFF_0000 { return refusal(four: four(at: 12)) }
    if begins([0, 0x64, 0xFF, 0x9B, 0, 0, 0, 0, 0, 0, 0, 0]) { return refusal(four: four(at: 12)) }
    if begins([0x20, 0x02]) { return refusal(four: four(at: 2)) }
    if begins([0, 0x64, 0xFF, 0x9B]) { return "it is a translator's own" }
    if begins([0x20, 0x01, 0, 0]) { return "it is tunnelled" }
    if begins([0x20, 0x01, 0x0D, 0xB8]) || (begins([0x3F, 0xFF]) && bytes[2] >> 4 == 0) {
      return "it is for documentation"
    }
    if begins([0x20, 0x01]), bytes[2] & 0xFE == 0 { return "it is a protocol's own" }
    if begins([0x01, 0, 0, 0, 0, 0, 0, 0]) { return "it discards what it is sent" }
    if bytes[0] & 0xFE == 0xFC { return "it is private" }
    if bytes[0] == 0xFE, bytes[1] & 0x80 == 0x80 { return "it is link-local" }
    if bytes[0] == 0xFF { return "it is multicast" }
    // All that is routed between networks lies in 2000::/3 (RFC 4291, section 2.4).
    return bytes[0] >> 5 == 1 ? nil : "it is reserved"
  }
}

extension NetworkAddress: CustomStringConvertible {
  /// The address as people write it.
  var description: String {
    var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
    switch kind {
    case .four(let value):
      var address = in_addr(s_addr: value.bigEndian)
      inet_ntop(AF_INET, &address, &text, socklen_t(text.count))
    case .six(let bytes):
      bytes.withUnsafeBytes { _ = inet_ntop(AF_INET6, $0.baseAddress, &text, socklen_t(text.count)) }
    case .unknown: return "an unknown address"
    }
    return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}
