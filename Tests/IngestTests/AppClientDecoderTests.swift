import Foundation
import Ingest
import TestSupport
import Testing
import Vocabulary

private func app(_ bundleID: String?) -> AppConfiguration? {
  guard bundleID == nil || bundleID == "com.example.video" else { return nil }
  return AppConfiguration(
    key: "video", bundleID: "com.example.video", environments: [.production, .sandbox],
    roots: TestCertificateAuthority.shared.roots)
}

private func signed(_ claims: String) -> String { TestCertificateAuthority.shared.sign(claims) }

private func transaction(_ more: String = "", chain: String = "1") -> String {
  signed(
    """
    {"transactionId":"\(chain)","originalTransactionId":"\(chain)","bundleId":"com.example.video","productId":"monthly",
     "type":"Auto-Renewable Subscription","purchaseDate":1735689600000,"expiresDate":1738368000000,
     "signedDate":1735689700000,"environment":"Sandbox","appAccountToken":"u-17"\(more)}
    """)
}

private func renewalInfo(chain: String = "1") -> String {
  signed(
    """
    {"originalTransactionId":"\(chain)","autoRenewProductId":"monthly","autoRenewStatus":1,"environment":"Sandbox",
     "signedDate":1735689700000}
    """)
}

/// What a document gives: of events kind, raw kind, chain and message, of rejections the reason.
private func read(_ document: String) -> [String] {
  var decoder = AppClientDecoder(apps: app)
  return decoder.decode(Array(document.utf8), receivedAt: noon).map { decoded in
    switch decoded {
    case .rejection(let rejection): return rejection.reason.rawValue
    case .event(let event, _):
      expectReadsBack(event)
      return [
        event.kind.rawValue, event.rawKind, event.originalTransactionID, event.detail.message, event.detail.state,
      ].compactMap { $0 }.joined(separator: " ")
    }
  }
}

@Suite("What an app sends becomes events")
struct AppClientDecoderTests {
  private func message(_ fields: String) -> String { "{\"kind\":\"store_message\",\(fields)}" }

  private let shown = #""message":"billing_issue","occurred_at":"2025-02-03T10:00:00Z""#

  @Test("signed data is taken alone, as a pair, as text and in arrays")
  func signedData() {
    #expect(read(transaction()) == ["ignored transaction 1"])
    #expect(read("\"\(transaction())\"") == ["ignored transaction 1"])
    #expect(
      read("{\"signedTransactionInfo\":\"\(transaction())\",\"signedRenewalInfo\":\"\(renewalInfo())\"}")
        == ["ignored transaction 1", "ignored renewal_info 1"])
    #expect(
      read("[\"\(transaction())\",\"\(transaction(chain: "2"))\"]") == [
        "ignored transaction 1", "ignored transaction 2",
      ])
  }

  @Test("a renewal info names no app, and is taken beside its own transaction alone")
  func renewalInfoAlone() {
    #expect(read(renewalInfo()) == ["unknown_app"])
    #expect(
      read("{\"signedTransactionInfo\":\"\(transaction())\",\"signedRenewalInfo\":\"\(renewalInfo(chain: "2"))\"}")
        == ["ignored transaction 1", "unknown_app"])
  }

  @Test("a consumable is a purchase, also when it is finished")
  func consumable() throws {
    let text = signed(
      """
      {"transactionId":"9","originalTransactionId":"9","bundleId":"com.example.video","productId":"coins",
       "type":"Consumable","purchaseDate":1735689600000,"signedDate":1735689700000,"environment":"Sandbox",
       "price":990,"currency":"USD","quantity":1,"storefront":"USA","transactionReason":"PURCHASE"}
      """)
    var decoder = AppClientDecoder(apps: app)
    guard case .event(let event, _)? = decoder.decode(Array(text.utf8), receivedAt: noon).first else {
      Issue.record("no event")
      return
    }
    #expect(event.transaction?.type.value == .consumable)
    #expect(event.transaction?.price.value == Money(amount: Micros(990_000), currency: "USD"))
  }

  @Test(
    "nothing unsigned is taken, nor what others signed",
    arguments: [
      ("{\"transactionId\":\"1\",\"originalTransactionId\":\"1\",\"environment\":\"Sandbox\"}", "unsigned"),
      ("{\"originalTransactionId\":\"1\",\"autoRenewStatus\":1}", "unsigned"),
      ("{\"event_id\":\"e\",\"kind\":\"subscription_started\"}", "malformed"),
      (
        TestCertificateAuthority().sign("{\"transactionId\":\"1\",\"bundleId\":\"com.example.video\"}"),
        "untrusted_root"
      ),
      (signed("{\"transactionId\":\"1\",\"bundleId\":\"com.example.other\"}"), "unknown_app"),
      ("nonsense", "not_json"),
    ])
  func refused(_ document: String, _ reason: String) {
    #expect(read(document) == [reason])
  }

  @Test("a report belongs to the subscription of the signed transaction with it, which is stored as well")
  func report() {
    let proof = "\"signedTransactionInfo\":\"\(transaction())\""
    #expect(
      read(message("\(shown),\(proof)")) == [
        "ignored transaction 1", "store_message store_message 1 billing_issue shown",
      ])
    #expect(
      read(message("\(shown),\"state\":\"pending\",\(proof),\"signedRenewalInfo\":\"\(renewalInfo())\"")) == [
        "ignored transaction 1", "ignored renewal_info 1", "store_message store_message 1 billing_issue pending",
      ])
  }

  @Test("a report without a subscription is of nobody's; one that names its subscription unsigned is refused")
  func reportWithoutProof() {
    #expect(read(message(shown)) == ["store_message store_message billing_issue shown"])
    #expect(read(message("\(shown),\"original_transaction_id\":\"1\"")) == ["unsigned"])
    let forged = TestCertificateAuthority().sign("{\"transactionId\":\"1\",\"bundleId\":\"com.example.video\"}")
    #expect(read(message("\(shown),\"signedTransactionInfo\":\"\(forged)\"")) == ["untrusted_root"])
  }

  @Test("a message without a name is kept by its number, and a report that says too little is refused")
  func words() {
    let at = #""occurred_at":"2025-02-03T10:00:00Z""#
    #expect(read(message("\"message\":7,\(at)")) == ["store_message store_message storekit_7 shown"])
    #expect(read(message("\"message\":\"storekit_7\",\(at)")) == ["store_message store_message storekit_7 shown"])
    #expect(read(message(at)) == ["field_missing"])
    #expect(read(message("\"message\":\"generic\"")) == ["field_missing"])
    #expect(read(message("\"message\":\"generic\",\"occurred_at\":\"today\"")) == ["malformed"])
    #expect(read(message("\(shown),\"state\":\"seen\"")) == ["malformed"])
    #expect(read(message("\(shown),\"environment\":\"Xcode\"")) == ["environment_not_listed"])
  }

  @Test("a report repeated is the same event, and is of no later moment than its receipt")
  func moments() {
    func event(_ at: String) -> Event? {
      var decoder = AppClientDecoder(apps: app)
      let document = message("\"message\":\"generic\",\"occurred_at\":\"\(at)\"")
      guard case .event(let event, _)? = decoder.decode(Array(document.utf8), receivedAt: noon).first else {
        return nil
      }
      return event
    }
    #expect(event("2025-02-03T10:00:00Z")?.eventID == event("2025-02-03T10:00:00Z")?.eventID)
    #expect(event("2025-02-03T10:00:00Z")?.eventID != event("2025-02-03T10:00:01Z")?.eventID)
    #expect(event("2099-01-01T00:00:00Z")?.occurredAt == noon)
  }
}
