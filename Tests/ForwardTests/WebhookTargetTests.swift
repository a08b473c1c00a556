import Forward
import Foundation
import HTTP
import Signatures
import TestSupport
import Testing
import Vocabulary

@Suite("Webhooks")
struct WebhookTargetTests {
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

  private static func vectors() throws -> Vectors {
    let url = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Fixtures/webhook/vectors.json")
    let decoder = JSONDecoder()
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    return try decoder.decode(Vectors.self, from: Data(contentsOf: url))
  }

  private static func request(
    _ target: TargetConfiguration, id: String, timestamp: Int64, body: String
  ) throws -> HTTPRequest {
    try target.makeTarget().request(
      carrying: [Parcel(eventID: id, body: body)], at: Instant(microseconds: timestamp * 1_000_000 + 999_999))
  }

  private static func header(_ name: String, of request: HTTPRequest) -> String? {
    request.headers.first { $0.name == name }?.value
  }

  @Test("a webhook is signed as the published vectors say")
  func signature() throws {
    for vector in try Self.vectors().vectors where vector.valid {
      var target = TargetConfiguration.webhook(url: "https://example.com/hooks")
      target.secret = vector.secret
      let request = try Self.request(target, id: vector.id, timestamp: vector.timestamp, body: vector.body)
      let signature = try #require(Self.header("webhook-signature", of: request))
      #expect(vector.signature.split(separator: " ").contains(Substring(signature)), "\(vector.name)")
      #expect(Self.header("webhook-id", of: request) == vector.id)
      #expect(Self.header("webhook-timestamp", of: request) == "\(vector.timestamp)")
      #expect(request.body == Array(vector.body.utf8))
    }
  }

  @Test("while a secret is changed a webhook is signed with both")
  func rotation() throws {
    var target = TargetConfiguration.webhook(url: "https://example.com/hooks")
    target.secret = "whsec_" + Data((0..<32).map { UInt8($0) }).base64EncodedString()
    target.previousSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    let request = try Self.request(target, id: "a", timestamp: 100, body: "{}")
    let signatures = try #require(Self.header("webhook-signature", of: request))
    #expect(signatures.split(separator: " ").count == 2)
    for text in [target.secret, target.previousSecret] {
      let secret = try #require(StandardWebhookSecret(text ?? ""))
      #expect(secret.accepts(signatures, id: "a", timestamp: 100, body: Array("{}".utf8), now: 100))
    }
  }

  @Test("an empty secret, and one that is no base64, is refused")
  func emptySecret() throws {
    for secret in try Self.vectors().mustRejectSecret + ["whsec_…", "plain words"] {
      var target = TargetConfiguration.webhook(url: "https://example.com/hooks")
      target.secret = secret
      #expect(throws: TargetProblem.self) { try target.makeTarget() }
      target.secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
      target.previousSecret = secret
      let problem = #expect(throws: TargetProblem.self) { try target.makeTarget() }
      #expect(problem?.setting == "previous_secret")
    }
  }

  @Test("a type of target that does not exist is named, with those that do")
  func unknownType() {
    let problem = #expect(throws: TargetProblem.self) {
      try TargetConfiguration(name: "x", type: "pigeon").makeTarget()
    }
    #expect(
      problem?.description
        == "target x: type: this version cannot send to \"pigeon\"; it can to webhook, slack, telegram, discord, amplitude, mixpanel"
    )
  }

  @Test("an event's id is the message's where it can be, else its digest is")
  func messageID() throws {
    let target = TargetConfiguration.webhook(url: "https://example.com/hooks")
    let longest = String(repeating: "a", count: 64)
    for (eventID, id) in [
      ("5e09dcfc-205e-4ea1-9883-96676f394992", "5e09dcfc-205e-4ea1-9883-96676f394992"), (longest, longest),
      ("a.b", nil), (longest + "a", nil), ("é", nil),
    ] as [(String, String?)] {
      let request = try Self.request(target, id: eventID, timestamp: 1, body: "{}")
      let header = try #require(Self.header("webhook-id", of: request))
      if eventID == id { #expect(header == id) } else { #expect(header == SHA256.hexadecimalDigest(eventID.utf8)) }
    }
  }

  @Test("the body says the kind, the moment and the event")
  func body() throws {
    let event = Event(
      eventID: "e", kind: .refunded, occurredAt: try #require(Instant("2026-03-01T09:30:00Z")), app: "video",
      store: .appStore, environment: .production)
    let body = try TargetConfiguration.webhook(url: "https://example.com/hooks").makeTarget().body(
      for: Announcement(event))
    #expect(
      body == """
        {"type":"refunded","timestamp":"2026-03-01T09:30:00.000Z","data":{"app":"video","environment":"Production",\
        "event_id":"e","kind":"refunded","occurred_at":"2026-03-01T09:30:00.000Z",\
        "signed_at":"2026-03-01T09:30:00.000Z","store":"app_store"}}
        """)
  }

  @Test("a request that is shown has neither the address's path nor secrets in it")
  func masked() throws {
    var target = TargetConfiguration.webhook(url: "https://user:password@example.com:8443/hooks/x?token=y")
    target.previousSecret = "whsec_b2xkIHNlY3JldA=="
    let text = try Self.request(target, id: "a", timestamp: 1, body: #"{"type":"x"}"#).masked
    #expect(text.hasPrefix("POST https://example.com:8443/…\n"))
    #expect(text.hasSuffix("\n\n{\"type\":\"x\"}"))
    for secret in ["password", "token", "hooks/x", "MfKQ9", "b2xk"] { #expect(!text.contains(secret)) }
  }
}
