import TestSupport
import Testing

@testable import HTTP

@Suite("Addresses")
struct AddressTests {
  @Test(
    "addresses that are not public are refused",
    arguments: [
      "127.0.0.1", "127.255.255.255", "0.0.0.0", "10.1.2.3", "100.64.0.1", "100.127.255.255", "169.254.169.254",
      "172.16.0.1", "172.31.255.255", "192.168.1.1", "192.0.0.8", "198.18.0.1", "224.0.0.1", "239.1.1.1", "240.0.0.1",
      "255.255.255.255", "::", "::1", "::127.0.0.1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254",
      "64:ff9b::127.0.0.1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::1", "2002:7f00:1::", "2001:0:1::1", "fc00::1",
      "fd00:ec2::254", "fe80::1", "fec0::1", "ff02::1", "2001:db8::1", "192.88.99.1", "::ffff:0:127.0.0.1",
      "::ffff:0:169.254.169.254", "::5efe:10.0.0.1", "::1:0:0:1", "100:0:0:1::1", "2001:2::1", "2001:10::1",
      "2001:1ff::1",
      "3fff::1", "3fff:fff::1", "4000::1", "5f00::1", "1fff::1", "fbff::1",
    ])
  func refused(text: String) throws {
    #expect(try #require(NetworkAddress(text)).refusal != nil)
  }

  @Test(
    "public addresses are not refused",
    arguments: [
      "1.1.1.1", "9.255.255.255", "11.0.0.1", "100.63.255.255", "100.128.0.1", "126.1.1.1", "128.0.0.1",
      "169.253.1.1", "172.15.0.1", "172.32.0.1", "192.167.1.1", "223.255.255.255", "2606:4700::1111",
      "::ffff:1.1.1.1", "64:ff9b::1.1.1.1", "2002:101:101::", "2000::1", "2001:200::1", "2001:4860:4860::8888",
      "2a00:1450::1", "3ffe::1", "3fff:1000::1", "192.88.98.255", "192.88.100.1",
    ])
  func allowed(text: String) throws {
    #expect(try #require(NetworkAddress(text)).refusal == nil)
  }

  @Test(
    "a request to this machine is refused before it connects, however it is spelled",
    arguments: [
      "127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "2130706433", "0x7f.1", "0.0.0.0", "[::ffff:7f00:1]",
    ])
  func loopback(host: String) async throws {
    let receiver = HTTPReceiver()
    let client = HTTPClient(allowsPrivateNetwork: false)
    let url = "http://\(host):\(receiver.port)/hooks/secret-path?token=secret-token"
    let result = await client.send(HTTPRequest(url: url, headers: [], body: []))
    guard case .failure(.addressNotAllowed(let reason)) = result else {
      Issue.record("\(host) gave \(result)")
      return
    }
    #expect(!reason.contains("secret"))
    #expect(reason.contains("allow_private_network"))
    #expect(receiver.requests.isEmpty)
  }

  @Test("a public address without TLS is refused before it connects", arguments: ["1.1.1.1", "[2606:4700::1111]"])
  func withoutTLS(host: String) async throws {
    let client = HTTPClient(allowsPrivateNetwork: false)
    let result = await client.send(HTTPRequest(url: "http://\(host)/hooks/secret-path", headers: [], body: []))
    guard case .failure(.addressNotAllowed(let reason)) = result else {
      Issue.record("\(host) gave \(result)")
      return
    }
    #expect(reason.contains("https") && reason.contains("allow_private_network"))
    #expect(!reason.contains("secret"))
  }

  @Test(
    "an address that is none is refused, and not repeated in the error",
    arguments: ["nonsense", "ftp://x/y", "http://", "https://exa mple/"])
  func unusable(url: String) async throws {
    let client = HTTPClient(allowsPrivateNetwork: true)
    let result = await client.send(HTTPRequest(url: url, headers: [], body: []))
    guard case .failure(let failure) = result else {
      Issue.record("\(url) gave \(result)")
      return
    }
    #expect(!failure.description.contains(url))
    if url != "nonsense" { #expect(failure == .unusableURL) }
  }

  @Test("what an address says by itself is known before anything is sent")
  func addresses() {
    for (text, refusal) in [
      ("https://example.com/a", nil), ("https://example.com:8443", nil), ("https://1.1.1.1/", nil),
      ("https://xn--mnchen-3ya.example/", nil), ("http://example.com/", "it has no TLS (https)"),
      ("https://127.0.0.1/", "127.0.0.1: it is loopback"), ("https://[fd00::1]:8443/", "fd00::1: it is private"),
      ("https://0x7f.1/", "127.0.0.1: it is loopback"), ("http://LOCALHOST/", "localhost: it is loopback"),
    ] as [(String, String?)] {
      #expect(HTTPAddress(text)?.refusal == refusal, "\(text)")
      #expect(HTTPAddress(text) != nil, "\(text)")
    }
    for text in [
      "", "example", "ftp://example.com/", "https://", "https://example.com:65536/", "https://m\u{FC}nchen.example/",
      "https://a b/", "https://[::1/",
    ] {
      #expect(HTTPAddress(text) == nil, "\(text)")
    }
  }

  @Test("a secret is masked wherever it stands, however it is spelled, and nothing else is")
  func masking() {
    let secrets = ["1:a/b\"c", "", "a/b\"c"]
    for (text, masked) in [
      ("nothing", "nothing"), ("x 1:a/b\"c y a/b\"c", "x … y …"), (#"1:a\/b\"c"#, "…"), ("1%3Aa%2fb%22c.", "…."),
      ("%31:a/b\"c%", "…%"), ("1%253Aa/b\"c", "…"), (#"\u0031:a/b\u0022c"#, "…"), (#"1%3Aa\/b%22c"#, "…"),
      ("1%3Aa%2fb", "1%3Aa%2fb"), ("é…%%zz\\", "é…%%zz\\"), ("1:a/b\"c1:a/b\"c", "……"),
    ] {
      #expect(HTTPRequest.masking(secrets, in: text) == masked, "\(text)")
    }
  }
}
