import Foundation
import Ingest
import Signatures
import TestSupport
import Testing
import Vocabulary

private let receivedAt = Instant(milliseconds: 1_772_357_401_000) ?? Instant(microseconds: 0)

private func app(_ environments: Set<StoreEnvironment> = [.production, .sandbox]) -> AppConfiguration {
  AppConfiguration(
    key: "video", bundleID: "com.example.video", appAppleID: 1_234_567_890, environments: environments,
    roots: TestCertificateAuthority.shared.roots)
}

private func byBundle(_ bundleID: String?) -> AppConfiguration? {
  bundleID == "com.example.video" ? app() : nil
}

/// A decoder that finds the app by the bundle id inside, or that was given the app.
private func makeDecoder(givenApp: Bool = false, acceptsUnsigned: Bool = false) -> AppStoreDecoder {
  AppStoreDecoder(acceptsUnsigned: acceptsUnsigned) { givenApp ? app() : byBundle($0) }
}

private func event(_ decoded: Decoded?) -> Event? {
  if case .event(let event, _)? = decoded { event } else { nil }
}

private func reason(_ decoded: Decoded?) -> Rejection.Reason? {
  if case .rejection(let rejection)? = decoded { rejection.reason } else { nil }
}

/// JSON in which members have no order.
private func object(_ json: some Sequence<UInt8>) throws -> NSDictionary {
  try #require(try JSONSerialization.jsonObject(with: Data(json)) as? NSDictionary)
}

private func text(_ object: Any) throws -> String {
  String(decoding: try JSONSerialization.data(withJSONObject: object, options: .fragmentsAllowed), as: UTF8.self)
}

/// The signed text of claims; what stands nested in them as an object is signed by itself first.
private func signed(_ claims: NSDictionary) throws -> String {
  let claims = try #require(claims.mutableCopy() as? NSMutableDictionary)
  for form in ["data", "appData"] {
    guard let outer = (claims[form] as? NSDictionary)?.mutableCopy() as? NSMutableDictionary else { continue }
    for name in ["signedTransactionInfo", "signedRenewalInfo", "signedAppTransactionInfo"] {
      if let inner = outer[name] as? NSDictionary { outer[name] = try signed(inner) }
    }
    claims[form] = outer
  }
  return TestCertificateAuthority.shared.sign(try text(claims))
}

/// A fixture: claims, and the event or the rejection that they give.
private struct Fixture: CustomTestStringConvertible {
  let name: String
  let file: URL
  var testDescription: String { name }

  static let all: [Fixture] = {
    let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Fixtures/app_store")
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
    return names.filter { $0.hasSuffix(".json") }.sorted().map {
      Fixture(name: String($0.dropLast(5)), file: folder.appending(path: $0))
    }
  }()

  static func claims(_ name: String) throws -> NSDictionary {
    let fixture = try #require(all.first { $0.name == name })
    return try #require(object(Data(contentsOf: fixture.file))["claims"] as? NSDictionary)
  }
}

@Suite("Signed data of the App Store becomes events")
struct AppStoreDecoderTests {
  @Test("Each fixture gives its event or its rejection", arguments: Fixture.all)
  private func fixture(_ fixture: Fixture) throws {
    let fixtureObject = try object(Data(contentsOf: fixture.file))
    let claims = try #require(fixtureObject["claims"] as? NSDictionary)
    let compact = try signed(claims)
    let decoder = makeDecoder(givenApp: fixtureObject["given_app"] != nil)
    let results = decoder.decode(Array("{\"signedPayload\":\"\(compact)\"}".utf8), receivedAt: receivedAt)
    try #require(results.count == 1)
    if let expected = fixtureObject["rejection"] as? String {
      guard case .rejection(let rejection) = results[0] else {
        Issue.record("\(results[0])")
        return
      }
      #expect(rejection.reason.rawValue == expected, "\(rejection)")
      return
    }
    guard case .event(let event, let payload) = results[0] else {
      Issue.record("\(results[0])")
      return
    }
    let expected = try #require((fixtureObject["expected"] as? NSDictionary)?.mutableCopy() as? NSMutableDictionary)
    if expected["event_id"] == nil {
      let claims = try #require(Base64URL.decode(String(compact.split(separator: ".")[1])))
      expected["event_id"] = SHA256.hexadecimalDigest(claims)
    }
    #expect(try object(event.json.utf8) == expected)
    expectReadsBack(event)
    // A snapshot states every field but those that older versions supply, and those that the store never tells.
    if let transaction = event.transaction {
      let silent = Set(TransactionFact.Field.allCases.filter { transaction.stated & 1 << Int64($0.rawValue) == 0 })
      #expect(silent.isSuperset(of: [.tax, .commission, .proceeds]))
      #expect(silent.isSubset(of: [.tax, .commission, .proceeds, .price, .country, .period]))
    }
    if let renewal = event.renewal {
      #expect(RenewalFact.Field.allCases.allSatisfy { renewal.stated & 1 << Int64($0.rawValue) != 0 })
    }
    // What is stored gives back what came.
    let original = StoredPayload.original(body: payload.body, headers: payload.headers.map(\.bytes))
    #expect(original.map { String(decoding: $0, as: UTF8.self) } == compact)
    #expect(payload.headers.count == 1)
  }

  @Test("There are fixtures")
  func fixturesExist() {
    #expect(Fixture.all.count > 100)
  }

  @Test("Each fact has the moment at which it was signed itself")
  func versions() throws {
    let claims = try #require(Fixture.claims("did_renew").mutableCopy() as? NSMutableDictionary)
    let data = try #require((claims["data"] as? NSDictionary)?.mutableCopy() as? NSMutableDictionary)
    for (name, date) in [("signedTransactionInfo", 1_772_357_000_000), ("signedRenewalInfo", 1_772_357_100_000)] {
      let inner = try #require((data[name] as? NSDictionary)?.mutableCopy() as? NSMutableDictionary)
      inner["signedDate"] = date
      data[name] = inner
    }
    claims["data"] = data
    let decoded = event(makeDecoder().decode(Array(try signed(claims).utf8), receivedAt: receivedAt).first)
    #expect(decoded?.signedAt == Instant("2026-03-01T09:29:27.482Z"))
    #expect(decoded?.transaction?.signedAt == Instant(milliseconds: 1_772_357_000_000))
    #expect(decoded?.renewal?.signedAt == Instant(milliseconds: 1_772_357_100_000))
  }

  @Test(
    "The money an event moved is the charge, the refund negative, or none",
    arguments: [
      ("did_renew", 9_990_000), ("subscribed_initial_buy_trial", nil), ("refund_full", -9_990_000),
      ("refund_prorated", -6_786_407), ("refund_without_type", -9_990_000), ("refund_of_unknown_type", nil),
      ("refund_prorated_without_percentage", nil), ("refund_advanced_commerce", -3_250_000), ("revoke", nil),
      ("refund_declined", nil), ("auto_renew_disabled", nil), ("price_missing", nil), ("did_fail_to_renew", nil),
      ("one_time_charge_consumable", 5_970_000), ("did_change_renewal_pref_downgrade", nil),
      ("did_change_renewal_pref_upgrade", 99_990_000), ("refund_reversed", 9_990_000),
    ] as [(String, Int64?)])
  func amounts(name: String, micros: Int64?) throws {
    let compact = try signed(Fixture.claims(name))
    let decoded = try #require(event(makeDecoder().decode(Array(compact.utf8), receivedAt: receivedAt).first))
    #expect(decoded.amount?.amount.value == micros)
  }

  @Test(
    "A price in what is no currency is not known, of a purchase and of the renewal to come",
    arguments: ["usd", "USDT", "US", "US$", "€", "ＵＳＤ", "840", ""])
  func noCurrency(code: String) throws {
    for name in ["signedTransactionInfo", "signedRenewalInfo"] {
      let claims = try #require(Fixture.claims("did_renew").mutableCopy() as? NSMutableDictionary)
      let data = try #require((claims["data"] as? NSDictionary)?.mutableCopy() as? NSMutableDictionary)
      let inner = try #require((data[name] as? NSDictionary)?.mutableCopy() as? NSMutableDictionary)
      #expect(inner["currency"] as? String == "USD")
      inner["currency"] = code
      data[name] = inner
      claims["data"] = data
      let decoded = try #require(
        event(makeDecoder().decode(Array(try signed(claims).utf8), receivedAt: receivedAt).first))
      let isTransaction = name == "signedTransactionInfo"
      #expect(decoded.transaction?.price.isStated == !isTransaction)
      #expect(decoded.amount?.currency == (isTransaction ? nil : "USD"))
      #expect(decoded.renewal?.renewalPrice.value?.currency == (isTransaction ? "USD" : nil))
      expectReadsBack(decoded)
    }
  }

  // MARK: Forms

  @Test("A notification is the same event in every form that it comes in")
  func forms() throws {
    let compact = try signed(Fixture.claims("did_renew"))
    let expected = event(makeDecoder().decode(Array(compact.utf8), receivedAt: receivedAt).first)
    #expect(expected?.kind == .subscriptionRenewed)
    let escaped = compact.replacingOccurrences(of: ".", with: "\\u002e")
    for form in [
      " \(compact)\r\n", "\"\(compact)\"", "{\"signedPayload\":\"\(compact)\"}", "{\"signedPayload\":\"\(escaped)\"}",
      "[\"\(compact)\"]", "[{\"signedPayload\":\"\(compact)\"}]",
      "{\"notificationHistory\":[{\"signedPayload\":\"\(compact)\",\"sendAttempts\":[]}],\"hasMore\":false}",
    ] {
      let results = makeDecoder().decode(Array(form.utf8), receivedAt: receivedAt)
      #expect(results.count == 1)
      #expect(event(results.first) == expected)
    }
  }

  @Test("An answer of the API gives each signed thing in it, refused ones among them")
  func answers() throws {
    let transaction = try signed(Fixture.claims("bare_transaction"))
    let renewal = try signed(Fixture.claims("bare_renewal_info"))
    let history = makeDecoder().decode(
      Array("{\"revision\":\"x\",\"hasMore\":true,\"signedTransactions\":[\"\(transaction)\",\"a.b.c\",7]}".utf8),
      receivedAt: receivedAt)
    #expect(history.map { event($0)?.rawKind } == ["transaction", nil, nil])
    #expect(history.map(reason) == [nil, .malformed, .malformed])

    let item = "{\"status\":1,\"signedTransactionInfo\":\"\(transaction)\",\"signedRenewalInfo\":\"\(renewal)\"}"
    let statuses = makeDecoder().decode(
      Array(
        "{\"environment\":\"Production\",\"data\":[{\"lastTransactions\":[\(item)]},{\"lastTransactions\":[\(item)]}]}"
          .utf8), receivedAt: receivedAt)
    #expect(statuses.map { event($0)?.rawKind } == ["transaction", "renewal_info", "transaction", "renewal_info"])
    #expect(statuses.allSatisfy { event($0)?.app == "video" && event($0)?.kind == .ignored })

    #expect(makeDecoder().decode(Array("{\"notificationHistory\":[]}".utf8), receivedAt: receivedAt).isEmpty)
    let empty = makeDecoder().decode(Array("{\"notificationHistory\":[{}]}".utf8), receivedAt: receivedAt)
    #expect(empty.map(reason) == [.fieldMissing])
  }

  @Test("A renewal info takes the app of the transaction beside it only when both are of one chain")
  func renewalInfoBeside() throws {
    let transaction = try signed(Fixture.claims("bare_transaction"))
    let claims = try #require(Fixture.claims("bare_renewal_info").mutableCopy() as? NSMutableDictionary)
    claims["originalTransactionId"] = "1"
    let item = "{\"signedTransactionInfo\":\"\(transaction)\",\"signedRenewalInfo\":\"\(try signed(claims))\"}"
    let results = makeDecoder().decode(Array(item.utf8), receivedAt: receivedAt)
    #expect(results.map(reason) == [nil, .unknownApp])
  }

  @Test("The same claims signed again are the same bare event, other claims another")
  func bareIDs() throws {
    let claims = try text(Fixture.claims("bare_transaction"))
    let authority = TestCertificateAuthority.shared
    let ids = [authority.sign(claims), authority.sign(claims), authority.sign(claims + " ")].map {
      event(makeDecoder().decode(Array($0.utf8), receivedAt: receivedAt).first)?.eventID
    }
    #expect(ids[0] != nil)
    #expect(ids[0] == ids[1])
    #expect(ids[0] != ids[2])
  }

  // MARK: What is refused

  @Test(
    "What is neither JSON nor signed data is refused as such",
    arguments: [
      ("", .notJSON), ("hello", .notJSON), ("{", .notJSON), ("{\"a\":1,}", .notJSON), ("nothing at all", .notJSON),
      ("a.b.c", .malformed), ("1", .malformed), ("null", .malformed), ("{}", .malformed), ("{\"a\":1}", .malformed),
      ("{\"signedPayload\":7}", .malformed), ("{\"signedPayload\":\"\"}", .malformed),
      ("{\"signedPayload\":\"a.b.c\",\"signedPayload\":\"a.b.c\"}", .malformed), ("{\"a\":\"\\u0000\"}", .malformed),
      ("{\"signedPayload\":null}", .malformed), ("[1]", .malformed), ("\"x\"", .malformed),
      ("{\"notificationType\":\"TEST\",\"notificationUUID\":\"a\"}", .unsigned),
      ("{\"transactionId\":\"1\"}", .unsigned),
    ] as [(String, Rejection.Reason)])
  func refused(text: String, expected: Rejection.Reason) {
    let results = makeDecoder().decode(Array(text.utf8), receivedAt: receivedAt)
    #expect(results.map(reason) == [expected])
  }

  @Test("Bytes that are not UTF-8 are refused")
  func notUTF8() {
    let results = makeDecoder().decode(Array("{\"a\":\"".utf8) + [0xFF] + Array("\"}".utf8), receivedAt: receivedAt)
    #expect(results.map(reason) == [.notJSON])
  }

  @Test("Nested data is verified by itself, however truly what is around it was signed")
  func nestedForgery() throws {
    let other = TestCertificateAuthority()
    let claims = try #require(Fixture.claims("did_renew").mutableCopy() as? NSMutableDictionary)
    let data = try #require((claims["data"] as? NSDictionary)?.mutableCopy() as? NSMutableDictionary)
    let transaction = try text(try #require(data["signedTransactionInfo"] as? NSDictionary))
    func reasonOf(_ nested: Any) throws -> Rejection.Reason? {
      data["signedTransactionInfo"] = nested
      claims["data"] = data
      let compact = try signed(claims)
      return reason(makeDecoder().decode(Array(compact.utf8), receivedAt: receivedAt).first)
    }
    let good = TestCertificateAuthority.shared.sign(transaction)
    #expect(try reasonOf(good) == nil)
    #expect(try reasonOf(other.sign(transaction)) == .untrustedRoot)
    #expect(try reasonOf(good.dropLast(8) + "AAAAAAAA") == .signature)
    #expect(try reasonOf("a.b.c") == .malformed)
    #expect(try reasonOf(7) == .malformed)
    let xcode = TestCertificateAuthority.header(x5c: [Base64.encode(other.leaf.der)])
    #expect(try reasonOf(other.sign(transaction, header: xcode)) == .chain)
    // A transaction's place holds something else.
    let renewal = try text(Fixture.claims("bare_renewal_info"))
    #expect(try reasonOf(TestCertificateAuthority.shared.sign(renewal)) == .fieldMissing)
  }

  @Test("Nested data under another header than what is around it is stored and given back as well")
  func severalHeaders() throws {
    let authority = TestCertificateAuthority.shared
    let claims = try #require(Fixture.claims("did_renew").mutableCopy() as? NSMutableDictionary)
    let data = try #require((claims["data"] as? NSDictionary)?.mutableCopy() as? NSMutableDictionary)
    let header = String(decoding: authority.header.dropLast(), as: UTF8.self) + ",\"typ\":\"JWT\"}"
    data["signedRenewalInfo"] = authority.sign(
      try text(try #require(data["signedRenewalInfo"] as? NSDictionary)), header: header)
    data["note"] = "#1. and \"#0.x"
    data["#0."] = "##"
    claims["data"] = data
    let compact = try signed(claims)
    guard case .event(_, let payload)? = makeDecoder().decode(Array(compact.utf8), receivedAt: receivedAt).first else {
      Issue.record("not decoded")
      return
    }
    #expect(payload.headers.map(\.bytes) == [authority.header, Array(header.utf8)])
    #expect(payload.body.count < compact.utf8.count / 2)
    let original = StoredPayload.original(body: payload.body, headers: payload.headers.map(\.bytes))
    #expect(original.map { String(decoding: $0, as: UTF8.self) } == compact)
    #expect(StoredPayload.original(body: payload.body, headers: []) == nil)
  }

  @Test("A rejection says enough to find it, and nothing of the signed data")
  func excerpts() throws {
    let compact = try signed(Fixture.claims("refused_other_app_apple_id"))
    guard case .rejection(let rejection)? = makeDecoder().decode(Array(compact.utf8), receivedAt: receivedAt).first
    else {
      Issue.record("not refused")
      return
    }
    #expect(rejection.app == "video")
    #expect(rejection.excerpt == "DID_RENEW 1a7cdc3d-9360-49c3-ae37-0423e4c6e7c7: 99")
  }

  @Test("Decoded claims are taken only where they are allowed, and then give the same event")
  func unsigned() throws {
    let claims = try Fixture.claims("did_renew")
    let json = Array(try text(claims).utf8)
    #expect(makeDecoder().decode(json, receivedAt: receivedAt).map(reason) == [.unsigned])
    let results = makeDecoder(acceptsUnsigned: true).decode(json, receivedAt: receivedAt)
    #expect(
      event(results.first) == event(makeDecoder().decode(Array(try signed(claims).utf8), receivedAt: receivedAt).first))
    guard case .event(_, let payload)? = results.first else { return }
    #expect(payload == StoredPayload(plain: json))
    // What is signed is verified all the same.
    let forged = TestCertificateAuthority().sign(try text(claims))
    #expect(
      makeDecoder(acceptsUnsigned: true).decode(Array(forged.utf8), receivedAt: receivedAt).map(reason) == [
        .untrustedRoot
      ])
  }

  @Test("An environment is taken only when it is listed")
  func environments() throws {
    let compact = Array(try signed(Fixture.claims("sandbox_app_apple_id_not_checked")).utf8)
    for (listed, expected) in [
      ([.production], .environmentNotListed), ([.sandbox], nil), ([], .environmentNotListed),
    ] as [(Set<StoreEnvironment>, Rejection.Reason?)] {
      let decoder = AppStoreDecoder { _ in app(listed) }
      #expect(decoder.decode(compact, receivedAt: receivedAt).map(reason) == [expected])
    }
  }
}

@Suite("Apple's own payloads", .enabled(if: !GenuinePayload.all.isEmpty, Comment(rawValue: GenuinePayload.absence)))
struct GenuinePayloadTests {
  private let decoder = AppStoreDecoder { bundleID in
    AppConfiguration(key: bundleID ?? "given", bundleID: bundleID, environments: [.sandbox])
  }

  @Test("Each genuine payload gives its event, and what is stored gives back what came")
  func decodes() throws {
    let events = try GenuinePayload.all.map { genuine -> Event in
      let results = decoder.decode(Array(genuine.compact.utf8), receivedAt: receivedAt)
      guard case .event(let event, let payload)? = results.first, results.count == 1 else {
        throw Rejection(.malformed, excerpt: genuine.name)
      }
      let original = StoredPayload.original(body: payload.body, headers: payload.headers.map(\.bytes))
      #expect(original.map { String(decoding: $0, as: UTF8.self) } == genuine.compact)
      return event
    }
    #expect(
      events.map(\.kind) == [
        .ignored, .ignored, .subscriptionRenewed, .subscriptionReactivated, .autoRenewDisabled, .subscriptionExpired,
      ])
    #expect(
      events.map(\.rawKind) == [
        "renewal_info", "TEST", "DID_RENEW", "SUBSCRIBED.RESUBSCRIBE", "DID_CHANGE_RENEWAL_STATUS.AUTO_RENEW_DISABLED",
        "EXPIRED.VOLUNTARY",
      ])
    #expect(events.dropFirst(2).allSatisfy { $0.originalTransactionID == "2000001024993299" })
    #expect(events[2].amount == Money(amount: Micros(1_990_000), currency: "AUD"))
    #expect(events[2].occurredAt == Instant(milliseconds: 1_759_302_552_000))
    #expect(events[4].renewal?.autoRenew == .value(false))
    #expect(events[4].renewal?.renewalPrice == .absent)
    #expect(events[5].detail.reason == "voluntary")
    #expect(events[5].occurredAt == Instant(milliseconds: 1_759_388_947_000))
  }

  @Test("A genuine payload is refused in an installation that takes Production only")
  func sandboxInProduction() throws {
    let decoder = AppStoreDecoder { _ in AppConfiguration(key: "app") }
    for genuine in GenuinePayload.all {
      let results = decoder.decode(Array(genuine.compact.utf8), receivedAt: receivedAt)
      #expect(results.map(reason) == [.environmentNotListed])
    }
  }
}
