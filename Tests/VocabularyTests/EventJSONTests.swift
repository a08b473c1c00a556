import Foundation
import Testing
import Vocabulary

@Suite struct EventJSONTests {
  private func event(_ json: String) throws -> Event { try JSONDecoder().decode(Event.self, from: Data(json.utf8)) }

  private let full = """
    {"app":"video","app_transaction_id":"7048974","detail":{"direction":"upgrade","effective":"immediate"},\
    "environment":"Production","event_id":"e1","kind":"product_changed","occurred_at":"2026-03-01T09:30:00.000Z",\
    "original_transaction_id":"20001","raw_kind":"DID_RENEW","renewal":{"auto_renew":true,\
    "eligible_win_back_offers":["b","a"],"expiration_reason":null},"signed_at":"2026-03-01T09:29:27.482Z",\
    "store":"app_store","subscriber_id":"u-17","transaction":{"country":"USA","currency":"USD",\
    "expires_at":"2026-04-01T09:30:00.000Z","offer":{"discount":"free_trial","period":"P1W","type":"introductory"},\
    "price":9.99,"product_id":"premium.monthly","purchased_at":"2026-03-01T09:30:00.000Z","revoked_at":null,\
    "transaction_id":"20002"}}
    """

  @Test("canonical JSON is written as it was read: sorted keys, no spaces, null for none and nothing for unsaid")
  func roundTrip() throws {
    #expect(try event(full).json == full)
  }

  @Test("a field left out says nothing, null says that there is none")
  func statements() throws {
    let transaction = try #require(try event(full).transaction)
    #expect(transaction.revokedAt == .absent)
    #expect(transaction.refund == .unstated)
    #expect(transaction.price == .value(Money(amount: Micros(9_990_000), currency: "USD")))
    #expect(transaction.stated & (1 << 11) != 0)
    #expect(transaction.stated & (1 << 13) == 0)
  }

  @Test("an unknown kind is kept in its own word")
  func unknownKind() throws {
    let event = try event(
      #"{"event_id":"1","kind":"teleported","occurred_at":"2026-01-01T00:00:00Z","store":"web","environment":"Sandbox"}"#
    )
    #expect(event.kind == .unrecognised)
    #expect(event.rawKind == "teleported")
    #expect(event.signedAt == event.occurredAt)
  }

  @Test(
    "what is wrong is refused with the field's name",
    arguments: [
      (#""price":1"#, "currency"), (#""price":1,"currency":"usd""#, "currency"), (#""period":"1 month""#, "period"),
      (#""purchased_at":"yesterday""#, "purchased_at"), (#""price":1e40,"currency":"USD""#, "price"),
    ])
  func wrong(member: String, field: String) throws {
    let json = """
      {"event_id":"1","kind":"ignored","occurred_at":"2026-01-01T00:00:00Z","store":"app_store","environment":"Production",
      "original_transaction_id":"o","transaction":{"transaction_id":"t",\(member)}}
      """
    do {
      _ = try event(json)
      Issue.record("accepted")
    } catch let error as DecodingError {
      #expect("\(error)".contains(field))
    }
  }

  @Test("a charge is positive, a refund negative, a trial moves no money")
  func amounts() throws {
    var event = try event(full)
    #expect(event.amount?.amount == Micros(9_990_000))
    event.kind = .refunded
    #expect(event.amount?.amount == Micros(-9_990_000))
    event.transaction?.refund = .value(Micros(1_000_000))
    event.transaction?.revocation = .value(.prorated)
    #expect(event.amount?.amount == Micros(-1_000_000))
    event.transaction?.revocation = .value(.family)
    #expect(event.amount == nil)
    event.kind = .trialStarted
    #expect(event.amount == nil)
  }

  @Test(
    "what cannot be right whatever the source is named",
    arguments: [
      (#""product_id":"\#(String(repeating: "x", count: 501))""#, "transaction.product_id"),
      (#""purchased_at":"0001-01-01T00:00:00Z""#, "transaction.purchased_at"),
      (#""revoked_at":"1999-12-31T23:59:59Z""#, "transaction.revoked_at"),
      (#""price":-5,"currency":"USD""#, "transaction.price"), (#""refund":-1"#, "transaction.refund"),
      (#""country":"US""#, "transaction.country"), (#""country":"usa""#, "transaction.country"),
      (#""offer":{"type":"code","id":"\#(String(repeating: "é", count: 251))"}"#, "transaction.offer.id"),
    ])
  func faults(member: String, field: String) throws {
    let json = """
      {"event_id":"1","kind":"ignored","occurred_at":"2026-01-01T00:00:00Z","store":"app_store","environment":"Production",
      "original_transaction_id":"o","transaction":{"transaction_id":"t",\(member)}}
      """
    #expect(try event(json).fault?.hasPrefix(field + ":") == true)
  }

  @Test("the longest text that fits is no fault")
  func longest() throws {
    var event = try event(full)
    event.eventID = String(repeating: "x", count: Event.longestText)
    #expect(event.fault == nil)
    event.subscriberID = String(repeating: "x", count: Event.longestText + 1)
    #expect(event.fault?.hasPrefix("subscriber_id:") == true)
  }
}
