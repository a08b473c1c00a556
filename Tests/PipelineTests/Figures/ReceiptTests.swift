import Foundation
import Postgres
import TestSupport
import Testing

/// Old receipts as files, to figures.
@Suite("Figures: receipts", .fewAtOnce)
struct ReceiptTests {
  /// Answers of verifyReceipt about two customers, as one array: the first bought two months, was charged for the first and
  /// got the second back; the second had a free week, then a month, and switched renewal off.
  private func answers() -> String {
    func entry(_ id: String, _ chain: String, _ from: String, _ until: String, _ more: String = "") -> String {
      """
      {"transaction_id":"\(id)","original_transaction_id":"\(chain)","product_id":"monthly","quantity":"1",\
      "purchase_date_ms":"\(Notification.milliseconds(from))","expires_date_ms":"\(Notification.milliseconds(until))",\
      "web_order_line_item_id":"9\(id)","in_app_ownership_type":"PURCHASED","is_trial_period":"false"\(more)}
      """.replacing("\"is_trial_period\":\"false\",\"is_trial_period\"", with: "\"is_trial_period\"")
    }
    func answer(_ entries: [String], _ chain: String, autoRenew: Int) -> String {
      """
      {"status":0,"environment":"Production","latest_receipt":"bWFkZSB1cA==",
       "receipt":{"bundle_id":"com.example.video","adam_id":1234567890,
        "request_date_ms":"\(Notification.milliseconds("2025-02-20"))","in_app":[]},
       "latest_receipt_info":[\(entries.joined(separator: ","))],
       "pending_renewal_info":[{"original_transaction_id":"\(chain)","auto_renew_status":"\(autoRenew)",
        "auto_renew_product_id":"monthly"}]}
      """
    }
    let refund = ",\"cancellation_date_ms\":\"\(Notification.milliseconds("2025-02-10"))\""
    return """
      [\(answer([entry("2", "1", "2025-02-01", "2025-03-01", refund), entry("1", "1", "2025-01-01", "2025-02-01")],
      "1", autoRenew: 1)),
      \(answer([entry("11", "11", "2025-01-20", "2025-01-27", ",\"is_trial_period\":\"true\""),
      entry("12", "11", "2025-01-27", "2025-02-27")], "11", autoRenew: 0))]
      """
  }

  @Test("receipts of many customers give movements, trials and refunds; what they cost is unknown")
  func withoutPrices() async throws {
    let program = try await Installation()
    try await expect(
      program.ingest(lines: [answers()], source: "app_store_receipt"),
      is: .init(received: 6, stored: 6))
    // The same again.
    try await expect(
      program.ingest(lines: [answers()], source: "app_store_receipt"),
      is: .init(received: 6, duplicates: 6))
    try await program.measure(asOf: "2025-02-21")
    try await expect(
      program.movements(),
      is: [
        "2025-01-01 new", "2025-01-27 trial_converted", "2025-02-01 renewed", "2025-02-10 churned_refunded",
      ])
    try await expect(program.stocks("2025-02-20"), is: "active_subscriptions 1 set_to_cancel 1")
    try await expect(
      program.revenue(),
      is: [
        "2025-01-01 initial 1 - - -", "2025-01-27 trial_conversion 1 - - -", "2025-02-01 renewal 1 - - -",
        "2025-02-10 renewal 0 - - -",
      ])
    try await expect(
      program.lines("events", "source kind raw_kind"),
      is: Array(repeating: "app_store_receipt ignored receipt", count: 6))
  }

  @Test("with prices from the catalogue what had no offer has its price, also where it was read without before")
  func withPrices() async throws {
    let program = try await Installation()
    try await program.import(
      "catalogue", "product_id,period,price,currency\nmonthly,P1M,9.99,EUR\n", ["--app", "video"])
    try await program.ingest(lines: [answers()], source: "app_store_receipt")
    let output = try await program.run(
      ["ingest", "--source", "app_store_receipt", "--prices-from-catalogue", "--json", "-"], input: answers())
    try expect(JSONDecoder().decode(Installation.Summary.self, from: Data(output.utf8)).duplicates, is: 6)
    try await program.measure(asOf: "2025-02-21")
    try await expect(
      program.revenue(),
      is: [
        "2025-01-01 initial 1 9.99 0 EUR", "2025-01-27 trial_conversion 1 9.99 0 EUR",
        "2025-02-01 renewal 1 9.99 0 EUR", "2025-02-10 renewal 0 0 -9.99 EUR",
      ])
  }

  @Test("what the App Store has signed is believed before a receipt, and its price is the price")
  func belowSignedData() async throws {
    let program = try await Installation()
    try await program.import(
      "catalogue", "product_id,period,price,currency\nmonthly,P1M,5,EUR\n", ["--app", "video"])
    try await program.run(
      ["ingest", "--source", "app_store_receipt", "--prices-from-catalogue", "-"], input: answers())
    try await program.ingest([
      Notification("SUBSCRIBED.INITIAL_BUY", signed: "2025-01-01", from: "2025-01-01", until: "2025-02-01")
    ])
    try await program.measure(asOf: "2025-02-21")
    try await expect(
      program.revenue(["--to", "2025-01-31"]),
      is: ["2025-01-01 initial 1 9.99 0 USD", "2025-01-27 trial_conversion 1 5 0 EUR"])
  }

  @Test("the shared secret in a notification of version 1 is kept nowhere")
  func secret() async throws {
    let program = try await Installation()
    let notification = """
      {"notification_type":"INITIAL_BUY","environment":"PROD","password":"the-shared-secret","bid":"com.example.video",
       "unified_receipt":{"status":0,"environment":"Production","latest_receipt":"bWFkZSB1cA==","latest_receipt_info":[
        {"transaction_id":"1","original_transaction_id":"1","product_id":"monthly",
         "purchase_date_ms":"\(Notification.milliseconds("2025-01-01"))",
         "expires_date_ms":"\(Notification.milliseconds("2025-02-01"))"}]}}
      """
    try await program.ingest(lines: [notification], source: "app_store_receipt")
    // One that is refused, too.
    try await program.ingest(
      lines: [notification.replacing("com.example.video", with: "com.example.other")], source: "app_store_receipt",
      ends: 3)
    let connection = try await program.connect()
    let found = try await connection.query(
      """
      select 1 as one from ingest.payload where body ~ 'shared-secret|bWFkZSB1cA'
      union all select 1 from ingest.event where body::text ~ 'shared-secret|bWFkZSB1cA'
      union all select 1 from ingest.rejection where excerpt ~ 'shared-secret|bWFkZSB1cA'
      """)
    #expect(found.isEmpty)
    #expect(try await connection.query("select 1 as one from ingest.payload").count == 1)
    await connection.close()
  }

  @Test("prices from the catalogue are for receipts alone")
  func wrongUsage() async throws {
    let outcome = try await Installation().run(
      ["ingest", "--source", "tenure", "--prices-from-catalogue", "-"], input: "", ends: 2)
    expect(outcome, is: "")
  }
}
