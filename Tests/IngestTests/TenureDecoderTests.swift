import Ingest
import Testing
import Vocabulary

@Suite("Canonical events as a source")
struct TenureDecoderTests {
  private func decode(_ text: String, app: String? = nil) -> [Decoded] {
    var decoder = TenureDecoder(app: app) { key in key == "video" || key == "music" ? AppConfiguration(key: key) : nil }
    return decoder.decode(Array(text.utf8), receivedAt: noon)
  }

  private func rejection(_ text: String, app: String? = nil) -> Rejection? {
    if case .rejection(let rejection) = decode(text, app: app).first { return rejection }
    return nil
  }

  @Test("an event comes out with its facts, and its text need not be kept")
  func event() throws {
    let results = decode(canonicalEvent("e1", transaction: "2000", isRenewal: true))
    guard case .event(let event, let payload) = try #require(results.first), results.count == 1 else {
      return #expect(Bool(false), "no event")
    }
    #expect(event.app == "video")
    #expect(event.transaction?.price.value == Money(amount: Micros(9_990_000), currency: "USD"))
    #expect(event.renewal?.eligibleWinBackOffers.value == ["b", "a"])
    #expect(event.renewal?.expirationReason == .absent)
    #expect(event.renewal?.graceExpiresAt == .unstated)
    #expect(payload.body.isEmpty)
  }

  @Test("decimals keep all their digits, also those that a floating-point number has not")
  func decimals() throws {
    guard case .event(let event, _) = decode(canonicalEvent("e", transaction: "t", price: "9007199254.740993")).first
    else { return #expect(Bool(false), "no event") }
    #expect(event.transaction?.price.value?.amount.value == 9_007_199_254_740_993)
  }

  @Test(
    "a text that says more than the canonical form is kept as it came",
    arguments: [
      canonicalEvent("e", extra: ", \"more\": 1"),
      canonicalEvent("e", kind: "new_kind", extra: ", \"raw_kind\": \"X\""),
      canonicalEvent("e", extra: ", \"detail\": {\"note\": \"n\"}"),
      canonicalEvent("e", extra: ", \"also\": [\"new\"]"),
    ])
  func keepsText(text: String) throws {
    guard case .event(_, let payload) = decode(text).first else { return #expect(Bool(false), "no event") }
    #expect(payload.body == Array(text.utf8))
  }

  @Test(
    "a store message is any text; a number, alone or as text, is one without a name yet",
    arguments: [
      ("\"billing_issue\"", "billing_issue"), ("\"something new\"", "something new"), ("7", "storekit_7"),
      ("\"7\"", "storekit_7"), ("\"storekit_7\"", "storekit_7"), ("-1", "storekit_-1"),
    ])
  func storeMessage(reported: String, name: String) throws {
    let text = canonicalEvent("e", kind: "store_message", extra: ", \"detail\": {\"message\": \(reported)}")
    guard case .event(let event, let payload) = decode(text).first else { return #expect(Bool(false), "no event") }
    #expect(event.kind == .storeMessage)
    #expect(event.detail.message == name)
    #expect(payload.body.isEmpty)
    #expect(rejection(text.replacing("\(reported)}", with: "true}"))?.reason == .malformed)
  }

  @Test("what is missing or of another form is named with its path")
  func fields() {
    let missing = rejection(canonicalEvent("e").replacing("\"occurred_at\"", with: "\"happened_at\""))
    #expect(missing?.reason == .fieldMissing)
    #expect(missing?.excerpt?.hasPrefix("occurred_at: it is missing") == true)
    let nested = rejection(canonicalEvent("e", transaction: "t").replacing("\"P1M\"", with: "\"a month\""))
    #expect(nested?.reason == .malformed)
    #expect(nested?.excerpt?.hasPrefix("transaction.period: not a duration") == true)
    let typed = rejection(canonicalEvent("e", transaction: "t", price: "\"9.99\""))
    #expect(typed?.reason == .malformed)
    #expect(typed?.excerpt?.hasPrefix("transaction.price: a number is needed") == true)
    let chainless = rejection(
      canonicalEvent("e", transaction: "t").replacing("\"original_transaction_id\": \"1000\"", with: "\"x\": 1"))
    #expect(chainless?.reason == .fieldMissing)
    #expect(chainless?.excerpt?.hasPrefix("original_transaction_id: ") == true)
    #expect(rejection("[1]")?.reason == .malformed)
    #expect(rejection("{\"a\": ")?.reason == .notJSON)
    #expect(rejection("nonsense")?.reason == .notJSON)
  }

  @Test("a text with two meanings is refused: a name twice, U+0000, half a surrogate pair")
  func ambiguous() {
    #expect(rejection(canonicalEvent("e", extra: ", \"kind\": \"refunded\""))?.reason == .malformed)
    #expect(rejection(canonicalEvent("a\\u0000b"))?.reason == .malformed)
    #expect(rejection(canonicalEvent("a\\ud800b"))?.reason == .notJSON)
  }

  @Test("an event belongs to the app that it names or that is given, and to a listed environment")
  func apps() {
    #expect(rejection(canonicalEvent("e", app: "unheard"))?.reason == .unknownApp)
    #expect(rejection(canonicalEvent("e"), app: "music")?.reason == .otherApp)
    #expect(rejection(canonicalEvent("e"), app: "music")?.app == "music")
    #expect(rejection(canonicalEvent("e", environment: "Sandbox"))?.reason == .environmentNotListed)
    let anonymous = canonicalEvent("e").replacing("\"app\": \"video\", ", with: "")
    #expect(rejection(anonymous)?.reason == .unknownApp)
    guard case .event(let event, _) = decode(anonymous, app: "music").first else {
      return #expect(Bool(false), "no event")
    }
    #expect(event.app == "music")
  }

  @Test("excerpts hold neither signed data nor secrets")
  func excerpts() {
    let secret = String(repeating: "s3cr3t", count: 10)
    let text = Excerpt.of(
      Array("{\"id\":\"e1\",\n\"jws\":\"eyJhbGciOiJ.eyJh.x\",\"key\":\"\(secret)\", \"b\": 1}".utf8))
    #expect(text == "{\"id\":\"e1\", \"jws\":\"…\",\"key\":\"…\", \"b\": 1}")
    #expect(Excerpt.of(Array(String(repeating: "a b ", count: 100).utf8)).count == 200)
    #expect(Excerpt.of([0xFF, 0x00, 0x41]) == "\u{FFFD} A")
  }

  @Test("an excerpt ends before what it would break off: it holds the whole of an identifier or nothing")
  func wholeExcerpts() {
    for length in 0..<240 {
      let before = String(String(repeating: "one two, ", count: 30).prefix(length))
      for document in [
        "{\"a\":\"\(before)\",\"subscriber_id\":\"Vic Tim <\\\"7\\\"@example.com>\",\"b\":[\(before)]}",
        "\(before),vic-tim@example.com;\(before)", "\(before) vic:tim@example.com, \(before)",
      ] {
        let excerpt = Excerpt.of(Array(document.utf8))
        #expect(excerpt.count <= 200)
        #expect(document.count <= 200 ? excerpt == document : excerpt.hasSuffix("…"))
        #expect(excerpt.lowercased().contains("tim") == excerpt.contains("example.com"), "\(excerpt)")
      }
    }
  }
}
