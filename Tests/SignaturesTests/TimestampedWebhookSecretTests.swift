import Signatures
import Testing

@Suite("Webhook signatures with a timestamp")
struct TimestampedWebhookSecretTests {
  private let body = Array("{\"api_version\":\"1.0\",\"event\":{\"id\":\"c-0001\",\"type\":\"TEST\"}}".utf8)
  private let code = "800834d8147884822a821c591bdd744924f6691874fbe8851ed6446c8e2ec0a4"
  private let now: Int64 = 1_767_225_600

  private func accepts(_ header: String, _ body: [UInt8]? = nil, now: Int64? = nil) throws -> Bool {
    let secret = try #require(TimestampedWebhookSecret("example-revenuecat-signing-secret"))
    return secret.accepts(header, body: body ?? self.body, now: now ?? self.now)
  }

  @Test("a known signature is made and accepted")
  func vector() throws {
    let secret = try #require(TimestampedWebhookSecret("example-revenuecat-signing-secret"))
    #expect(secret.signature(timestamp: now, body: body) == "t=\(now),v1=\(code)")
    #expect(try accepts("t=\(now),v1=\(code)"))
    #expect(try accepts("v1=\(code.uppercased()), t=\(now)"))
  }

  @Test("while a secret is changed there are several signatures, and one of them is enough")
  func several() throws {
    #expect(try accepts("t=\(now),v1=\(String(repeating: "0", count: 64)),v1=\(code),v0=x"))
  }

  @Test("it holds for five minutes either way")
  func age() throws {
    #expect(try accepts("t=\(now),v1=\(code)", now: now + 300))
    #expect(try accepts("t=\(now),v1=\(code)", now: now - 300))
    #expect(try !accepts("t=\(now),v1=\(code)", now: now + 301))
    #expect(try !accepts("t=\(now),v1=\(code)", now: now - 301))
    #expect(try !accepts("t=\(Int64.min),v1=\(code)"))
  }

  @Test(
    "anything else is refused",
    arguments: [
      "", "t=1767225600", "v1=800834d8147884822a821c591bdd744924f6691874fbe8851ed6446c8e2ec0a4", "t=,v1=",
      "t=1767225600,v1=800834d8", "t=1767225600;v1=800834d8147884822a821c591bdd744924f6691874fbe8851ed6446c8e2ec0a4",
      "t=1767225601,v1=800834d8147884822a821c591bdd744924f6691874fbe8851ed6446c8e2ec0a4", "nonsense",
    ])
  func refused(header: String) throws { #expect(try !accepts(header)) }

  @Test("another body, another secret, and a secret of nothing are refused")
  func others() throws {
    #expect(try !accepts("t=\(now),v1=\(code)", body + [0x20]))
    #expect(TimestampedWebhookSecret("other")?.accepts("t=\(now),v1=\(code)", body: body, now: now) == false)
    #expect(TimestampedWebhookSecret("") == nil)
  }
}
