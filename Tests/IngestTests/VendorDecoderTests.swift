import Foundation
import Ingest
import TestSupport
import Testing
import Vocabulary

private let receivedAt = Instant("2026-01-01T00:00:30Z") ?? Instant(microseconds: 0)

private func app(_ source: Source) -> AppConfiguration {
  AppConfiguration(
    key: "video", bundleID: source == .apphud ? "com.apphud.testapplication" : "com.example.video",
    environments: [.production, .sandbox])
}

private func decode(_ body: some Sequence<UInt8>, _ source: Source, app given: AppConfiguration? = nil) -> [Decoded] {
  var decoder = VendorDecoder(source) { bundleID in
    bundleID == nil || bundleID == app(source).bundleID ? given ?? app(source) : nil
  }
  return decoder.decode(Array(body), receivedAt: receivedAt)
}

private func event(_ decoded: [Decoded]) -> Event? {
  if case .event(let event, _)? = decoded.first { event } else { nil }
}

private func rejection(_ decoded: [Decoded]) -> Rejection? {
  if case .rejection(let rejection)? = decoded.first { rejection } else { nil }
}

/// What a vendor sends, and the event or the rejection that it gives.
private struct Fixture: CustomTestStringConvertible {
  let source: Source
  let name: String
  let file: URL
  var testDescription: String { "\(source.rawValue): \(name)" }

  static let all: [Fixture] = [Source.revenueCat, .adapty, .apphud].flatMap { source in
    let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Fixtures/\(source.rawValue)")
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
    return names.filter { $0.hasSuffix(".json") }.sorted().map {
      Fixture(source: source, name: String($0.dropLast(5)), file: folder.appending(path: $0))
    }
  }

  func object() throws -> NSDictionary {
    try #require(try JSONSerialization.jsonObject(with: Data(contentsOf: file)) as? NSDictionary)
  }

  /// The payload as it stands in the file, digit for digit.
  func payload() throws -> [UInt8] {
    let bytes = Array(try Data(contentsOf: file))
    let text = String(decoding: bytes, as: UTF8.self)
    let start = try #require(text.range(of: "\"payload\": ")?.upperBound)
    let ends = [",\n \"expected\": ", ",\n \"rejection\": "].compactMap { text.range(of: $0)?.lowerBound }
    return Array(text[start..<(try #require(ends.first))].utf8)
  }

  static func payload(_ source: Source, _ name: String) throws -> String {
    let fixture = try #require(all.first { $0.source == source && $0.name == name })
    return String(decoding: try fixture.payload(), as: UTF8.self)
  }
}

@Suite("Webhooks of RevenueCat, Adapty and Apphud become events")
struct VendorDecoderTests {
  @Test("Each fixture gives its event or its rejection", arguments: Fixture.all)
  private func fixture(_ fixture: Fixture) throws {
    let object = try fixture.object()
    let payload = try fixture.payload()
    let results = decode(payload, fixture.source)
    try #require(results.count == 1)
    if let expected = object["rejection"] as? String {
      #expect(rejection(results)?.reason.rawValue == expected, "\(results[0])")
      #expect(rejection(results)?.app == "video")
      return
    }
    guard case .event(let event, let kept) = results[0] else {
      Issue.record("\(results[0])")
      return
    }
    let found = try #require(
      try JSONSerialization.jsonObject(with: Data(event.json.utf8)) as? NSDictionary, "\(event.json)")
    #expect(found == object["expected"] as? NSDictionary, "\(event.json)")
    #expect(event.fault == nil || event.environment.rawValue == "Nowhere")
    // A test belongs to no environment, and is announced to nobody.
    if event.environment.rawValue != "Nowhere" { expectReadsBack(event) }
    // What came is kept as it came.
    #expect(kept.body == payload)
    let identity = object["identity"] as? [String: Any]
    #expect(event.identity?.aliases ?? [] == identity?["aliases"] as? [String] ?? [])
    #expect(event.identity?.original == identity?["original"] as? String)
    #expect(event.identity?.transferredFrom ?? [] == identity?["transferred_from"] as? [String] ?? [])
    #expect(event.identity?.transferredTo == identity?["transferred_to"] as? String)
  }

  @Test("There are fixtures for every vendor")
  func fixturesExist() {
    for source in [Source.revenueCat, .adapty, .apphud] {
      #expect(Fixture.all.filter { $0.source == source }.count > 40, "\(source)")
    }
  }

  @Test("Money is read from its digits: what no floating-point number holds keeps all of them")
  func digits() throws {
    let text = try Fixture.payload(.revenueCat, "initial_purchase")
      .replacing("\"price_in_purchased_currency\": 9.99", with: "\"price_in_purchased_currency\": 9007199254.740993")
    #expect(event(decode(text.utf8, .revenueCat))?.transaction?.price.value?.amount == Micros(9_007_199_254_740_993))
  }

  @Test("A currency that is none leaves the price unknown: the amount in dollars beside it is a conversion")
  func noCurrency() throws {
    for (source, name, price) in [
      (Source.revenueCat, "initial_purchase", "\"price\": "), (.adapty, "subscription_started", "\"price_usd\": "),
      (.apphud, "subscription_started", "\"usd_price\": "),
    ] {
      let text = try Fixture.payload(source, name)
      #expect(text.contains(price) && event(decode(text.utf8, source))?.transaction?.price.value?.currency == "EUR")
      for code in ["eur", "EURO", "€"] {
        let other = text.replacing("\"currency\": \"EUR\"", with: "\"currency\": \"\(code)\"")
        let fact = event(decode(other.utf8, source))?.transaction
        #expect(fact != nil && fact?.price.isStated == false, "\(source) \(code)")
      }
    }
  }

  @Test("Two percentages of the price are both taken from the whole price")
  func percentages() throws {
    let text = try Fixture.payload(.revenueCat, "initial_purchase")
      .replacing("\"price_in_purchased_currency\": 9.99", with: "\"price_in_purchased_currency\": 100")
      .replacing("\"tax_percentage\": 0.1597", with: "\"tax_percentage\": 0.1442")
      .replacing("\"commission_percentage\": 0.126", with: "\"commission_percentage\": 0.3")
    let transaction = event(decode(text.utf8, .revenueCat))?.transaction
    #expect(transaction?.tax.value == Micros(14_420_000))
    #expect(transaction?.commission.value == Micros(30_000_000))
    #expect(transaction?.proceeds.value == Micros(55_580_000))
  }

  @Test(
    "The money an event moved is the charge, the refund negative, or none",
    arguments: [
      (.revenueCat, "renewal_jpy", Money(amount: Micros(980_000_000), currency: "JPY")),
      (.revenueCat, "refund_eur", Money(amount: Micros(-9_990_000), currency: "EUR")),
      (.revenueCat, "refund_reversed", Money(amount: Micros(9_990_000), currency: "EUR")),
      (.revenueCat, "cancellation_unsubscribe", nil), (.revenueCat, "family_share", nil),
      (.revenueCat, "trial_started", nil), (.revenueCat, "product_change", nil),
      (.adapty, "subscription_refunded", Money(amount: Micros(-9_990_000), currency: "EUR")),
      (.adapty, "subscription_refunded_upgraded_not_a_refund", nil),
      (.adapty, "trial_started_with_the_future_price", nil), (.adapty, "billing_issue_detected", nil),
      (.apphud, "subscription_renewed", Money(amount: Micros(9_990_000), currency: "EUR")),
      (.apphud, "promo_refunded", Money(amount: Micros(-9_990_000), currency: "EUR")),
      (.apphud, "billing_issue", nil),
    ] as [(Source, String, Money?)])
  func amounts(source: Source, name: String, amount: Money?) throws {
    #expect(try event(decode(Fixture.payload(source, name).utf8, source))?.amount == amount)
  }

  @Test("A document that cannot be read is refused with its reason", arguments: [Source.revenueCat, .adapty, .apphud])
  func unreadable(source: Source) throws {
    let good = try Fixture.payload(source, source == .apphud ? "subscription_renewed" : "trial_started")
    #expect(event(decode(good.utf8, source)) != nil)
    let deep = String(repeating: "[", count: 100_000) + String(repeating: "]", count: 100_000)
    let cases: [(String, Rejection.Reason)] = [
      ("", .notJSON), ("{", .notJSON), ("nonsense", .notJSON), ("[]", .malformed), ("\"text\"", .malformed),
      ("null", .malformed), ("{\"a\": \(deep)}", .malformed),
      // The same name twice, in the event itself.
      (good.replacing("\"id\": ", with: "\"id\": \"other\", \"id\": "), .malformed),
      (good.replacing("\"store\": ", with: "\"store\": \"x\", \"store\": "), .malformed),
      (good.replacing("\"store\": \"", with: "\"store\": \"\\u0000"), .malformed),
      (good.replacing("\"store\": \"", with: "\"store\": \"\\ud800"), .notJSON),
    ]
    for (text, reason) in cases where text != good {
      #expect(rejection(decode(text.utf8, source))?.reason == reason, "\(text.prefix(60))")
    }
    var bytes = Array(good.utf8)
    bytes[try #require(bytes.firstIndex(of: UInt8(ascii: "s")))] = 0xFF
    #expect(rejection(decode(bytes, source))?.reason == .notJSON)
    var nul = Array(good.utf8)
    nul.insert(0, at: nul.count - 1)
    #expect(rejection(decode(nul, source))?.reason == .notJSON)
  }

  @Test("The empty object with which Adapty tries an address out is no event and no rejection")
  func verification() {
    #expect(decode("{}".utf8, .adapty).isEmpty)
    #expect(decode(" { } ".utf8, .adapty).isEmpty)
    #expect(rejection(decode("{}".utf8, .revenueCat))?.reason == .fieldMissing)
    #expect(rejection(decode("{}".utf8, .apphud))?.reason == .fieldMissing)
  }

  @Test("An event that names no app needs one to be given; one that names it is found by it")
  func apps() throws {
    func decode(_ source: Source, _ name: String) throws -> [Decoded] {
      var decoder = VendorDecoder(source) { $0 == nil ? nil : $0 == app(source).bundleID ? app(source) : nil }
      return decoder.decode(Array(try Fixture.payload(source, name).utf8), receivedAt: receivedAt)
    }
    #expect(try rejection(decode(.revenueCat, "trial_started"))?.reason == .unknownApp)
    #expect(try rejection(decode(.adapty, "trial_started"))?.reason == .unknownApp)
    #expect(try event(decode(.apphud, "trial_started"))?.app == "video")
    #expect(try rejection(decode(.apphud, "refused_other_bundle"))?.reason == .unknownApp)
  }

  @Test("An environment that the app does not list is refused, but for RevenueCat's test of the connection")
  func environments() throws {
    let production = AppConfiguration(key: "video")
    let sandbox = try Fixture.payload(.revenueCat, "google_base_plan_sandbox")
    #expect(rejection(decode(sandbox.utf8, .revenueCat, app: production))?.reason == .environmentNotListed)
    let test = sandbox.replacing("INITIAL_PURCHASE", with: "TEST")
    #expect(event(decode(test.utf8, .revenueCat, app: production))?.kind == .ignored)
    #expect(event(decode(test.utf8, .revenueCat, app: production))?.transaction == nil)
  }

  @Test("Countries have their three letters by their two")
  func countries() {
    #expect(Country.threeLetters("DE") == "DEU")
    #expect(Country.threeLetters("GB") == "GBR")
    #expect(Country.threeLetters("XX") == nil)
    #expect(Country.threeLetters("DEU") == nil)
  }
}
