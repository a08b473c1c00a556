import Foundation
import Signatures
import TestSupport
import Testing

/// What has gone wrong elsewhere with the App Store's notifications, each as a minimal case.
@Suite("Figures: signed App Store notifications", .fewAtOnce)
struct AppStoreFigureTests {
  private let bought = Notification("SUBSCRIBED.INITIAL_BUY", signed: "2025-02-01 00:00:20", renewal: [:])
  private let renewed = Notification(
    "DID_RENEW", signed: "2025-02-28 23:59:30", id: "2", from: "2025-03-01", until: "2025-04-01", renewal: [:])
  private let once = ["2025-02-01 initial 1 9.99 0 USD"]

  @Test(
    "a field is taken from the best source that states it, however new another's word is; what it leaves open is filled"
  )
  func fieldOfAnotherSource() async throws {
    let program = try await Installation()
    try await program.ingest([Notification("SUBSCRIBED.INITIAL_BUY", signed: "2025-02-01")])
    try await program.ingest(lines: [
      """
      {"event_id": "e", "kind": "entitlement_changed", "occurred_at": "2025-02-10T00:00:00Z", "app": "video", \
      "store": "app_store", "environment": "Production", "original_transaction_id": "1", \
      "transaction": {"transaction_id": "1", "price": 5, "currency": "USD", "country": "DEU", "tax": 1}}
      """
    ])
    try await program.measure(asOf: "2025-02-15")
    try await expect(
      program.lines("revenue", "day country currency gross tax"), is: ["2025-02-01 USA USD 9.99 1"])
  }

  @Test("a tax in another currency than the price that counts is of no use: it stays unknown")
  func taxInAnotherCurrency() async throws {
    let program = try await Installation()
    try await program.ingest([Notification("SUBSCRIBED.INITIAL_BUY", signed: "2025-02-01")])
    try await program.ingest(lines: [
      """
      {"event_id": "e", "kind": "entitlement_changed", "occurred_at": "2025-02-10T00:00:00Z", "app": "video", \
      "store": "app_store", "environment": "Production", "original_transaction_id": "1", \
      "transaction": {"transaction_id": "1", "price": 5, "currency": "EUR", "tax": 1, "commission": 1, "proceeds": 3}}
      """
    ])
    try await program.measure(asOf: "2025-02-15")
    try await expect(
      program.lines("revenue", "day currency gross tax proceeds_basis"), is: ["2025-02-01 USD 9.99 - -"])
  }

  @Test(
    "revocations are read from the best source that has a version: another's refund counts only where there is none")
  func refundOfAnotherSource() async throws {
    let program = try await Installation()
    func refund(_ transaction: String) -> String {
      """
      {"event_id": "\(transaction)", "kind": "refunded", "occurred_at": "2025-02-10T00:00:00Z", "app": "video", \
      "store": "app_store", "environment": "Production", "original_transaction_id": "1", \
      "transaction": {"transaction_id": "\(transaction)", "revoked_at": "2025-02-10T00:00:00Z", "revocation": "full"}}
      """
    }
    try await program.ingest([Notification("SUBSCRIBED.INITIAL_BUY", signed: "2025-02-01")])
    try await program.ingest(lines: [refund("1")])
    try await program.measure(asOf: "2025-02-15")
    try await expect(program.lines("subscriptions", "status"), is: ["active"])
    try await expect(program.lines("revenue", "day refunds"), is: ["2025-02-01 0"])
    // The store's own word counts.
    try await program.ingest([
      Notification(
        "REFUND", signed: "2025-02-12",
        transaction: ["revocationDate": Notification.milliseconds("2025-02-11"), "revocationReason": 0])
    ])
    try await program.measure(asOf: "2025-02-15")
    try await expect(program.lines("subscriptions", "status"), is: ["revoked"])
    try await expect(
      program.lines("revenue", "day refunds"), is: ["2025-02-01 0", "2025-02-11 -9.99"])
  }

  @Test("one notification posted six times is one event and one charge, and the program ends well every time")
  func samePayload() async throws {
    let program = try await Installation()
    try await expect(
      program.ingest([bought, bought, bought]), is: Installation.Summary(received: 3, stored: 1, duplicates: 2))
    for _ in 0..<3 { try await expect(program.ingest([bought]).duplicates, is: 1) }
    try await program.measure(asOf: "2025-02-03")
    try await expect(program.lines("events", "raw_kind").count, is: 1)
    try await expect(program.revenue(), is: once)
  }

  @Test("a second notification of another id about one transaction is no second charge")
  func sameTransaction() async throws {
    let again = Notification(
      "DID_RENEW", signed: "2025-03-01 06:00", id: "2", from: "2025-03-01", until: "2025-04-01", renewal: [:])
    let program = try await Installation([bought, renewed, again], asOf: "2025-03-03")
    try await expect(program.lines("events", "kind").count, is: 3)
    try await expect(program.revenue(), is: once + ["2025-03-01 renewal 1 9.99 0 USD"])
  }

  @Test("a first purchase told again long after changes nothing")
  func initialBuyAgain() async throws {
    let again = Notification("SUBSCRIBED.INITIAL_BUY", signed: "2025-03-05", renewal: [:])
    let program = try await Installation([bought, renewed, again], asOf: "2025-03-06")
    try await expect(program.movements(), is: ["2025-02-01 new", "2025-03-01 renewed"])
  }

  @Test("the same notification from the history is there once")
  func fromHistory() async throws {
    let program = try await Installation()
    let history =
      "{\"notificationHistory\":[{\"signedPayload\":\"\(bought.signed)\",\"sendAttempts\":[]}],\"hasMore\":false}"
    try await expect(program.ingest(lines: [history], source: "app_store").stored, is: 1)
    try await expect(program.ingest([bought]).duplicates, is: 1)
    try await program.measure(asOf: "2025-02-03")
    try await expect(program.lines("events", "raw_kind"), is: ["SUBSCRIBED.INITIAL_BUY"])
  }

  @Test("an expiry that arrives before the renewal it follows still ends the chain, and the renewal's charge counts")
  func expiryFirst() async throws {
    let expired = Notification(
      "EXPIRED.VOLUNTARY", signed: "2025-04-01 00:01", id: "2", from: "2025-03-01", until: "2025-04-01",
      renewal: ["autoRenewStatus": 0, "expirationIntent": 1, "isInBillingRetryPeriod": false])
    let program = try await Installation([bought, expired], asOf: "2025-04-02 12:00")
    try await program.ingest([renewed])
    try await program.measure(asOf: "2025-04-02 12:00")
    try await expect(program.lines("subscriptions", "status churn_reason"), is: ["expired voluntary"])
    try await expect(program.revenue(), is: once + ["2025-03-01 renewal 1 9.99 0 USD"])
    try await expect(program.movements(), is: ["2025-02-01 new", "2025-03-01 renewed", "2025-04-01 churned_voluntary"])
  }

  @Test("an expiry of the period before that arrives after the renewal leaves the chain active")
  func expiryLate() async throws {
    let failed = Notification(
      "EXPIRED.BILLING_RETRY", signed: "2025-02-28 23:00",
      renewal: ["expirationIntent": 2, "isInBillingRetryPeriod": false])
    let program = try await Installation([renewed], asOf: "2025-03-05")
    try await program.ingest([failed, bought])
    try await program.measure(asOf: "2025-03-05")
    try await expect(program.lines("subscriptions", "status"), is: ["active"])
    try await expect(program.stocks("2025-03-04"), is: "active_subscriptions 1")
  }

  @Test("a refund of a transaction that is known already is read")
  func refund() async throws {
    let refund = Notification(
      "REFUND", signed: "2025-02-10 08:00",
      transaction: ["revocationDate": Notification.milliseconds("2025-02-10"), "revocationReason": 0])
    let program = try await Installation([bought, refund], asOf: "2025-02-12")
    try await expect(program.lines("subscriptions", "status"), is: ["revoked"])
    try await expect(program.revenue(), is: once + ["2025-02-10 initial 0 0 -9.99 USD"])
    // Gross and net are both there.
    try await expect(
      program.lines("revenue", "day gross net net_by_purchase_day"),
      is: ["2025-02-01 9.99 9.99 0", "2025-02-10 0 -9.99 0"])
  }

  @Test("a prorated refund returns its share, and a reversed one takes the negative back")
  func proratedRefundReversed() async throws {
    let refund = Notification(
      "REFUND", signed: "2025-02-10 08:00",
      transaction: [
        "revocationDate": Notification.milliseconds("2025-02-10"), "revocationReason": 0,
        "revocationType": "REFUND_PRORATED", "revocationPercentage": 67932,
      ])
    let reversed = Notification("REFUND_REVERSED", signed: "2025-02-12 08:00")
    let program = try await Installation([bought, refund], asOf: "2025-02-11")
    try await expect(program.revenue(), is: once + ["2025-02-10 initial 0 0 -6.786407 USD"])
    try await program.ingest([reversed])
    try await program.measure(asOf: "2025-02-14")
    try await expect(
      program.revenue(),
      is: once + [
        "2025-02-10 initial 0 0 -6.786407 USD", "2025-02-12 initial 0 0 6.786407 USD",
      ])
    try await expect(program.lines("subscriptions", "status"), is: ["active"])
  }

  @Test("a renewal without price or currency is a charge of unknown amount")
  func withoutPrice() async throws {
    let unpriced = Notification(
      "DID_RENEW", signed: "2025-02-28 23:59:30", id: "2", from: "2025-03-01", until: "2025-04-01",
      transaction: ["price": NSNull(), "currency": NSNull()], renewal: [:])
    let program = try await Installation([bought, unpriced], asOf: "2025-03-03")
    try await expect(
      program.lines("renewal_revenue", "day charges unpriced_charges gross net currency"), is: ["2025-03-01 1 1 - - -"])
    try await expect(program.movements(), is: ["2025-02-01 new", "2025-03-01 renewed"])
  }

  @Test("a price that a newer version lacks is taken from the older one, a revocation is not")
  func priceCarriedOver() async throws {
    let later = Notification(
      "DID_CHANGE_RENEWAL_STATUS.AUTO_RENEW_ENABLED", signed: "2025-02-10",
      transaction: ["price": NSNull(), "currency": NSNull(), "storefront": NSNull()], renewal: [:])
    let program = try await Installation([later, bought], asOf: "2025-02-12")
    try await expect(program.revenue(), is: once)
    try await expect(program.lines("subscriptions", "country mrr"), is: ["USA 9.99"])
  }

  @Test(
    "milliunits are thousandths in every currency",
    arguments: [
      ("JPY", 300_000, "300"), ("JPY", 3_000_000, "3000"), ("KWD", 1490, "1.49"), ("USD", 29990, "29.99"),
    ])
  func milliunits(currency: String, price: Int, gross: String) async throws {
    // From the server and from the app: one charge.
    let notice = Notification(
      "SUBSCRIBED.INITIAL_BUY", signed: "2025-02-01 00:00:20", transaction: ["price": price, "currency": currency])
    let program = try await Installation()
    try await program.ingest(
      lines: [notice.body, notice.signedTransaction], source: "app_store")
    try await program.measure(asOf: "2025-02-03")
    try await expect(program.revenue(), is: ["2025-02-01 initial 1 \(gross) 0 \(currency)"])
  }

  @Test("test purchases do not inflate figures, and are refused where only production is listed")
  func sandbox() async throws {
    let test = Notification(
      "SUBSCRIBED.INITIAL_BUY", signed: "2025-02-01 00:00:20", chain: "1", uuid: "t", environment: "Sandbox")
    let program = try await Installation([bought, test], asOf: "2025-02-03")
    try await expect(program.stocks("2025-02-02"), is: "active_subscriptions 1")
    try await expect(program.stocks("2025-02-02", ["--environment", "Sandbox"]), is: "active_subscriptions 1")
    let strict = try await Installation(environments: "\"Production\"")
    try await expect(
      strict.ingest([bought, test], ends: 3), is: Installation.Summary(received: 2, stored: 1, rejected: 1))
    try await expect(strict.lines("rejections", "reason place"), is: ["environment_not_listed -:2"])
  }

  @Test("grace without the retry flag is grace, and its repeated transaction no charge")
  func grace() async throws {
    let failed = Notification(
      "DID_FAIL_TO_RENEW.GRACE_PERIOD", signed: "2025-03-01 00:01",
      renewal: ["isInBillingRetryPeriod": false, "gracePeriodExpiresDate": Notification.milliseconds("2025-03-17")])
    let program = try await Installation([bought, failed], asOf: "2025-03-06")
    try await expect(program.lines("subscriptions", "status"), is: ["grace"])
    try await expect(program.stocks("2025-03-05"), is: "active_subscriptions 1 in_grace 1")
    try await expect(program.revenue(), is: once)
  }

  @Test("a billing issue repeats the last transaction and charges nothing")
  func billingIssue() async throws {
    let failed = Notification(
      "DID_FAIL_TO_RENEW", signed: "2025-03-01 00:01", renewal: ["isInBillingRetryPeriod": true, "expirationIntent": 2])
    let program = try await Installation([bought, failed], asOf: "2025-03-06")
    try await expect(program.lines("subscriptions", "status"), is: ["billing_retry"])
    try await expect(program.movements(), is: ["2025-02-01 new", "2025-03-01 suspended"])
    try await expect(program.revenue(), is: once)
  }

  @Test(
    "the old and the new form of a redeemed first purchase are one new subscriber each",
    arguments: ["OFFER_REDEEMED.INITIAL_BUY", "SUBSCRIBED.INITIAL_BUY"])
  func oldForm(type: String) async throws {
    let code = Notification(
      type, signed: "2025-02-01 00:00:20",
      transaction: ["offerType": 3, "offerIdentifier": "spring", "offerDiscountType": "PAY_AS_YOU_GO", "price": 4990])
    let program = try await Installation([code], asOf: "2025-02-03")
    try await expect(program.movements(by: "offer"), is: ["2025-02-01 code new"])
    try await expect(program.revenue(), is: ["2025-02-01 initial 1 4.99 0 USD"])
    // No token of the app's: counted by its chain.
    try await expect(program.lines("active_subscribers", "active_subscribers").last, is: "1")
    try await expect(program.lines("subscriptions", "subscriber_id original_transaction_id"), is: ["- 1"])
  }

  @Test("forms without a transaction are stored and count nothing")
  func withoutTransaction() async throws {
    let date = Notification.milliseconds("2025-02-01")
    let app: Notification.Claims = [
      "bundleId": "com.example.video", "appAppleId": 1_234_567_890, "environment": "Production",
    ]
    func notice(_ type: String, _ form: String, _ content: Notification.Claims) -> String {
      let words = (type + ".").split(separator: ".", omittingEmptySubsequences: false)
        .map(String.init)
      return Notification.sign([
        "notificationType": words[0], "subtype": words[1], "notificationUUID": type, "version": "2.0",
        "signedDate": date,
        form: app.merging(content) { $1 },
      ])
    }
    let program = try await Installation()
    let summary = try await program.ingest(
      lines: [
        notice("TEST", "data", [:]),
        notice(
          "RENEWAL_EXTENSION.SUMMARY", "summary",
          ["requestIdentifier": "r", "productId": "monthly", "succeededCount": 5, "failedCount": 0]),
        notice(
          "EXTERNAL_PURCHASE_TOKEN.CREATED", "externalPurchaseToken",
          ["externalPurchaseId": "e", "tokenCreationDate": date]),
        notice("RESCIND_CONSENT", "appData", [:]),
      ], source: "app_store")
    #expect(summary == Installation.Summary(received: 4, stored: 4))
    try await program.measure(asOf: "2025-02-03")
    try await expect(program.lines("events", "kind"), is: ["ignored", "ignored", "ignored", "ignored"])
    for report in ["movements", "revenue", "subscriptions"] { #expect(try await program.rows(report).isEmpty) }
  }

  @Test("a one-time charge is stored and is no subscription")
  func oneTimeCharge() async throws {
    let coins = Notification(
      "ONE_TIME_CHARGE", signed: "2025-02-05", id: "9", from: "2025-02-05", until: nil, chain: "9",
      transaction: ["type": "Consumable", "productId": "coins", "price": 990])
    let program = try await Installation([bought, coins], asOf: "2025-02-07")
    try await expect(program.stocks("2025-02-06"), is: "active_subscriptions 1")
    try await expect(program.lines("active_subscribers", "active_subscribers").last, is: "1")
    try await expect(program.revenue(), is: once + ["2025-02-05 one_time 1 0.99 0 USD"])
  }

  @Test(
    "a refund that is asked for or declined changes no figure", arguments: ["CONSUMPTION_REQUEST", "REFUND_DECLINED"])
  func noChange(type: String) async throws {
    let program = try await Installation([bought], asOf: "2025-02-12")
    let before = try await program.lines("subscriptions", "status ends_at mrr")
    try await program.ingest([Notification(type, signed: "2025-02-10")])
    try await program.measure(asOf: "2025-02-12")
    try await expect(program.lines("subscriptions", "status ends_at mrr"), is: before)
    try await expect(program.movements(), is: ["2025-02-01 new"])
    try await expect(program.revenue(), is: once)
  }

  @Test("data signed by Xcode is refused in production")
  func xcode() async throws {
    let key = TestCertificateAuthority()
    let claims =
      #"{"transactionId":"0","originalTransactionId":"0","bundleId":"com.example.video","environment":"Xcode"}"#
    let alone = key.sign(
      claims, header: TestCertificateAuthority.header(x5c: [Data(key.leaf.der).base64EncodedString()]))
    let program = try await Installation(environments: "\"Production\"")
    try await expect(program.ingest(lines: [alone], source: "app_store", ends: 3).rejected, is: 1)
    #expect(try await program.rows("events").isEmpty)
  }

  @Test("what a status leaves out is not known: no retry, no reason")
  func absentStaysAbsent() async throws {
    let silent = Notification(
      "DID_CHANGE_RENEWAL_STATUS.AUTO_RENEW_ENABLED", signed: "2025-02-10", renewal: ["expirationIntent": 0])
    let program = try await Installation([bought, silent], asOf: "2025-03-01 12:00")
    // Waited for: neither a failed charge nor an expiry was told.
    try await expect(program.lines("subscriptions", "status"), is: ["active"])
    try await program.measure(asOf: "2025-03-03")
    try await expect(program.lines("subscriptions", "status churn_reason"), is: ["expired unconfirmed"])
  }

  @Test("a subscription is keyed on the signed number, off by one is another")
  func offByOne() async throws {
    let long = "2000000123456789"
    let notices = [
      Notification("SUBSCRIBED.INITIAL_BUY", signed: "2025-02-01 00:00:20", id: long, chain: long),
      Notification(
        "SUBSCRIBED.INITIAL_BUY", signed: "2025-02-01 00:00:20", id: "2000000123456788", chain: "2000000123456788"),
    ]
    let program = try await Installation(notices, asOf: "2025-02-03")
    try await expect(
      program.lines("subscriptions", "original_transaction_id").sorted(), is: ["2000000123456788", long])
  }

  @Test("an extension moves the expiry and no money")
  func extension_() async throws {
    let extended = Notification("RENEWAL_EXTENDED", signed: "2025-02-20", until: "2025-03-20", renewal: [:])
    let program = try await Installation([bought, extended], asOf: "2025-03-12")
    try await expect(program.stocks("2025-03-11"), is: "active_subscriptions 1")
    try await expect(program.lines("subscriptions", "ends_at"), is: ["2025-03-20T00:00:00.000Z"])
    try await expect(program.revenue(), is: once)
    try await expect(program.movements(), is: ["2025-02-01 new"])
  }

  @Test("auto-renew off is not the end: active until expiry, then churned by choice")
  func autoRenewOff() async throws {
    let off = Notification(
      "DID_CHANGE_RENEWAL_STATUS.AUTO_RENEW_DISABLED", signed: "2025-02-10", renewal: ["autoRenewStatus": 0])
    let program = try await Installation([bought, off], asOf: "2025-03-01")
    try await expect(program.stocks("2025-02-28"), is: "active_subscriptions 1 set_to_cancel 1")
    try await program.measure(asOf: "2025-03-01 00:00:01")
    try await expect(program.movements(), is: ["2025-02-01 new", "2025-03-01 churned_voluntary"])
    try await expect(program.revenue(), is: once)
  }
}

@Suite(
  "Figures: payloads really signed by Apple", .fewAtOnce,
  .enabled(if: !GenuinePayload.all.isEmpty, "\(GenuinePayload.absence)"))
struct GenuineFigureTests {
  @Test("their figures are right, also where the certificate has expired since, and a second pass stores nothing")
  func genuine() async throws {
    let folder = try TestFolder()
    try folder.write(
      """
      { apps: [
        { key: "ring", bundle_id: "co.ringalarm.swtich", sources: { app_store: { environments: ["Sandbox"] } } },
        { key: "abilities", bundle_id: "com.Abilities", sources: { app_store: { environments: ["Sandbox"] } } },
        { key: "session", bundle_id: "com.loki-project.loki-messenger", app_apple_id: 1470168868,
          sources: { app_store: { environments: ["Sandbox"] } } },
      ] }
      """, to: "tenure.json")
    let database = try await TestDatabase.clone()
    let program = Installation(database: database, folder: folder)
    let bare = GenuinePayload.all.filter { $0.name.hasSuffix("renewalInfo") }.map(\.compact)
    let notices = GenuinePayload.all.filter { !$0.name.hasSuffix("renewalInfo") }.map(\.compact)
    try #require(bare.count + notices.count == 6)
    try await expect(
      program.ingest(lines: bare, source: "app_store", app: "ring"), is: Installation.Summary(received: 1, stored: 1))
    try await expect(
      program.ingest(lines: notices, source: "app_store"), is: Installation.Summary(received: 5, stored: 5))
    try await expect(program.ingest(lines: bare, source: "app_store", app: "ring").duplicates, is: 1)
    try await expect(program.ingest(lines: notices, source: "app_store").duplicates, is: 5)
    try await program.measure(asOf: "2025-10-04")

    let sandbox = ["--environment", "Sandbox"]
    // A month of the sandbox lasts three minutes: renewed on 1 October at 06:55:52 until 06:58:52 and then unheard of
    // until it was bought again on the 2nd at 07:06:07, with auto-renew off, until 07:09:07.
    try await expect(
      program.movements(sandbox),
      is: ["2025-10-01 new churned_unconfirmed", "2025-10-02 reactivated churned_voluntary"])
    try await expect(
      program.revenue(sandbox), is: ["2025-10-01 renewal 1 1.99 0 AUD", "2025-10-02 reactivation 1 1.99 0 AUD"])
    try await expect(
      program.lines(
        "subscriptions", "app original_transaction_id status country churned_on churn_reason", sandbox),
      is: ["session 2000001024993299 expired AUS 2025-10-02 voluntary"])
    try await expect(
      program.lines(
        "churn", "starts_on active_at_start churned churned_same_period", sandbox + ["--by", "day"]),
      is: ["2025-10-01 0 0 1", "2025-10-02 0 0 1", "2025-10-03 0 0 0"])
    #expect(try await program.rows("movements").isEmpty)
  }
}
