import Foundation
import Signatures
import Testing

private func bytes(_ hexadecimal: String) -> [UInt8] {
  let digits = Array(hexadecimal)
  return stride(from: 0, to: digits.count, by: 2).compactMap { UInt8(String(digits[$0...($0 + 1)]), radix: 16) }
}

@Suite("Digests and codes")
struct DigestTests {
  @Test("SHA-256 gives the digests of its standard")
  func sha256() {
    #expect(
      SHA256.hexadecimalDigest("".utf8) == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
    #expect(SHA256.digest("abc") == bytes("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"))
    #expect(
      SHA256.digest([UInt8](repeating: 0x61, count: 1_000_000).lazy.map { $0 })
        == bytes(
          "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"))
  }

  @Test("HMAC-SHA-256 gives the codes of RFC 4231, and those of an empty key")
  func hmac() {
    let code = HMACSHA256.code(Array("what do ya want for nothing?".utf8), key: Array("Jefe".utf8))
    #expect(code == bytes("5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"))
    let long = HMACSHA256.code(
      Array("Test Using Larger Than Block-Size Key - Hash Key First".utf8), key: [UInt8](repeating: 0xAA, count: 131))
    #expect(long == bytes("60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"))
    #expect(HMACSHA256.code([], key: []) == bytes("b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad"))
    #expect(HMACSHA256.isValid(code, message: Array("what do ya want for nothing?".utf8), key: Array("Jefe".utf8)))
    #expect(
      !HMACSHA256.isValid(
        Array(code.dropLast()), message: Array("what do ya want for nothing?".utf8), key: Array("Jefe".utf8)))
  }

  @Test("Secrets are equal only when all their bytes are")
  func constantTime() {
    #expect(ConstantTime.areEqual("token", "token"))
    #expect(!ConstantTime.areEqual("token", "tokem"))
    #expect(!ConstantTime.areEqual("token", "toke"))
    #expect(!ConstantTime.areEqual([1, 2], [1, 2, 3]))
    #expect(ConstantTime.areEqual([UInt8](), []))
    // One letter or two code points look alike, and are not the same secret.
    #expect(!ConstantTime.areEqual("\u{E9}", "e\u{301}"))
  }

  @Test("Random bytes are as many as asked for, and others each time")
  func random() {
    #expect(RandomBytes.make(count: 0).isEmpty)
    let first = RandomBytes.make(count: 32)
    #expect(first.count == 32)
    #expect(first != RandomBytes.make(count: 32))
  }

  @Test("base64 of any length goes there and back")
  func base64RoundTrip() {
    for count in 0..<67 {
      let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 151 &+ count) }
      #expect(Base64.encode(bytes) == Data(bytes).base64EncodedString())
      #expect(Base64.decode(Base64.encode(bytes)) == bytes)
      #expect(Base64URL.decode(Base64URL.encode(bytes)) == bytes)
    }
    #expect(Base64URL.decode("-_-_") == [0xFB, 0xFF, 0xBF])
    #expect(Base64.decode("+/+/") == [0xFB, 0xFF, 0xBF])
  }

  @Test(
    "base64url that is not canonical is refused",
    arguments: ["A", "AAAAA", "AA==", "AAA=", "AB", "AAB", "A A", "AAAA\n", "+/+/", "AAA\u{E9}", "AA.A", "=", "===="])
  func notCanonicalURL(text: String) {
    #expect(Base64URL.decode(text) == nil)
  }

  @Test(
    "base64 that is not canonical is refused",
    arguments: ["A", "AA", "AAA", "AB==", "AAB=", "AA=A", "A===", "====", "=", "-_-_", "AAAA\n", "AA==\n", "AAA=AAAA"])
  func notCanonical(text: String) {
    #expect(Base64.decode(text) == nil)
  }

  @Test("Of a two-character group exactly the sixteen with unused bits of zero are read")
  func spareBits() {
    let alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    #expect(alphabet.filter { Base64URL.decode("A\($0)") != nil } == "AQgw")
    #expect(alphabet.filter { Base64URL.decode("AA\($0)") != nil } == "AEIMQUYcgkosw048")
  }
}

@Suite("Standard Webhooks")
struct StandardWebhookSecretTests {
  private struct Vectors: Decodable {
    struct Vector: Decodable {
      let name: String
      let secret: String
      let id: String
      let timestamp: Int64
      let body: String
      let signature: String
      let valid: Bool
    }
    let mustRejectSecret: [String]
    let vectors: [Vector]
  }

  private func vectors() throws -> Vectors {
    let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Fixtures/standard_webhooks.json")
    let decoder = JSONDecoder()
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    return try decoder.decode(Vectors.self, from: Data(contentsOf: file))
  }

  @Test("Each vector is accepted or refused as it says, and a single valid signature is what we would send")
  func accepts() throws {
    let vectors = try vectors().vectors
    #expect(vectors.count == 13)
    for vector in vectors {
      let secret = try #require(StandardWebhookSecret(vector.secret))
      let body = Array(vector.body.utf8)
      let isAccepted = secret.accepts(
        vector.signature, id: vector.id, timestamp: vector.timestamp, body: body, now: vector.timestamp)
      #expect(isAccepted == vector.valid, "\(vector.name)")
      if vector.valid {
        let own = secret.signature(id: vector.id, timestamp: vector.timestamp, body: body)
        #expect(vector.signature.split(separator: " ").contains(Substring(own)), "\(vector.name)")
      }
    }
  }

  @Test("A message is accepted within five minutes either way")
  func tolerance() throws {
    let secret = try #require(StandardWebhookSecret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"))
    let signature = secret.signature(id: "m", timestamp: 1000, body: [])
    for (now, expected) in [(700, true), (699, false), (1300, true), (1301, false), (Int64.min, false)]
      as [(Int64, Bool)]
    {
      #expect(secret.accepts(signature, id: "m", timestamp: 1000, body: [], now: now) == expected)
    }
  }

  @Test("A secret without a key is none")
  func emptySecrets() throws {
    for secret in try vectors().mustRejectSecret + ["whsec_!", "not base64"] {
      #expect(StandardWebhookSecret(secret) == nil)
    }
  }
}
