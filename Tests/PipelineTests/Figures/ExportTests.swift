import Foundation
import TestSupport
import Testing

/// Exports of vendors, to figures.
@Suite("Figures: exports", .fewAtOnce)
struct ExportTests {
  @Test("the history in RevenueCat's export, in gzip, gives trials, renewals, refunds and churn")
  func revenueCat() async throws {
    let header =
      "rc_last_seen_app_user_id_alias,country,product_identifier,start_time,end_time,store,is_auto_renewable,"
      + "is_trial_period,is_sandbox,store_transaction_id,original_store_transaction_id,refunded_at,"
      + "unsubscribe_detected_at,purchased_currency,price_in_purchased_currency,"
      + "purchase_price_in_purchased_currency,renewal_number,ownership_type,updated_at"
    let rows = [
      "u-1,US,monthly,2025-01-01 00:00:00,2025-01-08 00:00:00,app_store,true,true,false,1,1,,,USD,0,0,1,PURCHASED,2025-02-20 00:00:00",
      "u-1,US,monthly,2025-01-08 00:00:00,2025-02-08 00:00:00,app_store,true,false,false,2,1,,,USD,9.99,9.99,2,PURCHASED,2025-02-20 00:00:00",
      "u-1,US,monthly,2025-02-08 00:00:00,2025-03-08 00:00:00,app_store,true,false,false,3,1,2025-02-12 00:00:00,,USD,0,9.99,3,PURCHASED,2025-02-20 00:00:00",
      "u-2,JP,yearly,2025-01-05 00:00:00,2025-02-05 00:00:00,app_store,true,false,false,11,11,,2025-01-20 00:00:00,JPY,3000,3000,1,PURCHASED,2025-02-20 00:00:00",
    ]
    let program = try await Installation()
    let folder = try TestFolder()
    let file = try folder.write(([header] + rows).joined(separator: "\n") + "\n", to: "export.csv")
    _ = try await TestProgram.run([file], file: "/bin/gzip")
    try await program.run(["ingest", "--source", "revenuecat", "--app", "video", file + ".gz"])
    try await program.measure(asOf: "2025-02-21")
    try await expect(
      program.movements(),
      is: [
        "2025-01-05 new", "2025-01-08 trial_converted", "2025-02-05 churned_voluntary", "2025-02-08 renewed",
        "2025-02-12 churned_refunded",
      ])
    try await expect(
      program.revenue(),
      is: [
        "2025-01-05 initial 1 3000 0 JPY", "2025-01-08 trial_conversion 1 9.99 0 USD",
        "2025-02-08 renewal 1 9.99 0 USD", "2025-02-12 renewal 0 0 -9.99 USD",
      ])
  }
}
