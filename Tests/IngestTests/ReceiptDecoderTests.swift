import Foundation
import Ingest
import Postgres
import TestSupport
import Testing
import Vocabulary

/// A fixture: what came in, and its events, or the reason why it is refused. An expected event that is null stands for a
/// rejection of its entry.
private struct Fixture: CustomTestStringConvertible {
  let name: String
  let data: Data
  var testDescription: String { name }

  static let all: [Fixture] = {
    let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Fixtures/app_store_receipt")
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
    return names.sorted().compactMap { name in
      (try? Data(contentsOf: folder.appending(path: name))).map { Fixture(name: String(name.dropLast(5)), data: $0) }
    }
  }()

  func object() throws -> NSDictionary {
    try #require(try JSONSerialization.jsonObject(with: data) as? NSDictionary)
  }
}

private func app(_ bundleID: String?) -> AppConfiguration? {
  guard bundleID == "com.example.video" else { return nil }
  return AppConfiguration(
    key: "video", bundleID: bundleID, appAppleID: 1_234_567_890, environments: [.production, .sandbox])
}

private func prices() async throws -> CataloguePrices {
  let connection = try await TestDatabase.clone().connect()
  let table = """
    product_id,period,price,currency,country
    monthly,P1M,9.99,USD,
    monthly,P1M,8.99,EUR,DEU
    abroad,P1M,1.5,KWD,KWT
    several,P1M,1,USD,USA
    several,P1M,1,EUR,DEU
    bare,P1M,1,,
    """
  try await CatalogueImporter(connection, apps: [], now: noon).replace(
    with: try Catalogue(reading: Array(table.utf8), app: "video"), app: "video")
  return try await CataloguePrices(reading: connection)
}

@Suite("Old receipts become events")
struct ReceiptDecoderTests {
  @Test("each fixture gives its events or its rejection", arguments: Fixture.all)
  private func fixture(_ fixture: Fixture) async throws {
    let object = try fixture.object()
    var decoder = ReceiptDecoder(
      prices: object["has_prices"] == nil ? CataloguePrices() : try await prices(), apps: app)
    let input = try JSONSerialization.data(withJSONObject: try #require(object["input"]), options: .sortedKeys)
    let results = decoder.decode(Array(input), receivedAt: noon)
    if let reason = object["rejection"] as? String {
      guard case .rejection(let rejection)? = results.first, results.count == 1 else {
        Issue.record("\(results)")
        return
      }
      #expect(rejection.reason.rawValue == reason, "\(rejection)")
      return
    }
    let expected = try #require(object["expected"] as? [Any])
    try #require(results.count == expected.count, "\(results)")
    for (result, expected) in zip(results, expected) {
      guard case .event(let event, let payload) = result else {
        #expect(expected is NSNull, "\(result)")
        continue
      }
      let found = try #require(
        try JSONSerialization.jsonObject(with: Data(event.json.utf8), options: .mutableContainers)
          as? NSMutableDictionary)
      found["event_id"] = nil
      #expect(found == expected as? NSDictionary)
      expectReadsBack(event)
      // The entry that it was made of, and nothing beside it.
      let kept = String(decoding: payload.body, as: UTF8.self)
      #expect(kept.contains(event.originalTransactionID ?? "") || kept.contains("auto_renew_status"))
      #expect(!kept.contains("the-shared-secret") && !kept.contains("bWFkZSB1cA"))
    }
  }

  @Test("there are fixtures")
  func fixturesExist() { #expect(Fixture.all.count >= 20) }

  @Test("a purchase is one event in every answer that repeats it, and its versions are of the answers' moments")
  func repeated() throws {
    func events(at moment: String, refunded: Bool = false, autoRenew: String = "1") throws -> [Event] {
      let cancellation = refunded ? #","cancellation_date_ms":"1737331200000""# : ""
      let answer = """
        {"status":0,"environment":"Production","receipt":{"bundle_id":"com.example.video","request_date_ms":"\(moment)"},
        "latest_receipt_info":[{"transaction_id":"1","original_transaction_id":"1","product_id":"monthly",
        "purchase_date_ms":"1735689600000","expires_date_ms":"1738368000000"\(cancellation)}],
        "pending_renewal_info":[{"original_transaction_id":"1","auto_renew_status":"\(autoRenew)"}]}
        """
      var decoder = ReceiptDecoder(apps: app)
      return decoder.decode(Array(answer.utf8), receivedAt: noon).compactMap {
        if case .event(let event, _) = $0 { event } else { nil }
      }
    }
    let first = try events(at: "1736000000000")
    let again = try events(at: "1736100000000")
    let refunded = try events(at: "1737400000000", refunded: true)
    try #require(first.count == 2 && again.count == 2 && refunded.count == 2)
    #expect(first[0].eventID == again[0].eventID)
    #expect(first[0].eventID != refunded[0].eventID)
    #expect(first[0].transaction?.signedAt == Instant(milliseconds: 1_736_000_000_000))
    #expect(again[0].transaction?.signedAt == Instant(milliseconds: 1_736_100_000_000))
    // A status is a word about its moment.
    #expect(first[1].eventID != again[1].eventID)
  }

  @Test("a price holds where the catalogue has one without a country, or only one, and a currency with it")
  func cataloguePrices() async throws {
    let prices = try await prices()
    #expect(prices.price(of: "monthly", app: "video") == Money(amount: Micros(9_990_000), currency: "USD"))
    #expect(prices.price(of: "abroad", app: "video") == Money(amount: Micros(1_500_000), currency: "KWD"))
    #expect(prices.price(of: "several", app: "video") == nil)
    #expect(prices.price(of: "bare", app: "video") == nil)
    #expect(prices.price(of: "monthly", app: "audio") == nil)
  }
}
