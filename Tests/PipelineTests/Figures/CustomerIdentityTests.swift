import Postgres
import TestSupport
import Testing

@Suite("Figures: who customers are, by aliases and transfers", .fewAtOnce)
struct CustomerIdentityTests {
  /// A year's subscription of a customer.
  private func bought(_ chain: String, by user: String, with more: [String: any Sendable] = [:]) -> RevenueCatMessage {
    RevenueCatMessage(
      "INITIAL_PURCHASE", at: "2025-02-01", id: chain, until: "2026-02-01", chain: chain, user: user, with: more)
  }

  /// The distinct subscribers at the end of days.
  private func subscribers(_ program: Installation, _ days: String...) async throws -> [String] {
    try await program.lines("active_subscribers", "day active_subscribers").filter { line in
      days.contains { line.hasPrefix($0) }
    }
  }

  private func measured(_ messages: [RevenueCatMessage]) async throws -> Installation {
    let program = try await Installation()
    try await program.ingest(messages)
    try await program.measure(asOf: "2025-06-01")
    return program
  }

  @Test("from a transfer on the purchases are the other customer's: two subscribers before, one after")
  func transfer() async throws {
    let program = try await measured([
      bought("1", by: "a"), bought("2", by: "b"), RevenueCatMessage(transfer: ["b"], to: ["a"], at: "2025-03-10"),
    ])
    try await expect(
      subscribers(program, "2025-03-09", "2025-03-10", "2025-03-11"),
      is: ["2025-03-09 2", "2025-03-10 1", "2025-03-11 1"])
    try await expect(
      program.lines("subscriptions", "original_transaction_id subscriber_id").sorted(), is: ["1 a", "2 a"])
  }

  @Test("a transfer to a customer who had nothing leaves their number as it was")
  func plainTransfer() async throws {
    let program = try await measured([
      bought("1", by: "a"), bought("2", by: "b"), RevenueCatMessage(transfer: ["b"], to: ["c"], at: "2025-03-10"),
    ])
    try await expect(subscribers(program, "2025-03-09", "2025-03-10"), is: ["2025-03-09 2", "2025-03-10 2"])
    try await expect(
      program.lines("subscriptions", "original_transaction_id subscriber_id").sorted(), is: ["1 a", "2 c"])
  }

  @Test("transfers are followed from one to the next, in whatever order they come and over however many runs")
  func transfersInAnyOrder() async throws {
    let messages = [
      bought("1", by: "a"), bought("2", by: "b"), RevenueCatMessage(transfer: ["b"], to: ["c"], at: "2025-03-10"),
      RevenueCatMessage(transfer: ["c"], to: ["a"], at: "2025-04-10"),
    ]
    for order in [[0, 1, 2, 3], [3, 2, 1, 0], [2, 1, 3, 0], [1, 3, 0, 2]] {
      let program = try await Installation()
      for index in order {
        try await program.ingest([messages[index]])
        try await program.measure(asOf: "2025-06-01")
      }
      try await expect(
        subscribers(program, "2025-03-09", "2025-04-09", "2025-04-10"),
        is: ["2025-03-09 2", "2025-04-09 2", "2025-04-10 1"])
      #expect(try await program.measure(asOf: "2025-06-01", ["--rebuild"]) == 0)
    }
  }

  @Test("what happens after the moment of a run is not known to it, and to the next one it is")
  func transferToCome() async throws {
    let program = try await Installation()
    try await program.ingest([
      bought("1", by: "a"), bought("2", by: "b"), RevenueCatMessage(transfer: ["b"], to: ["a"], at: "2025-03-10"),
    ])
    try await program.measure(asOf: "2025-03-01")
    try await expect(
      program.lines("subscriptions", "original_transaction_id subscriber_id").sorted(), is: ["1 a", "2 b"])
    try await program.measure(asOf: "2025-03-20")
    try await expect(
      program.lines("subscriptions", "original_transaction_id subscriber_id").sorted(), is: ["1 a", "2 a"])
  }

  @Test("a transfer whose clock runs thousands of years ahead counts from when it was received")
  func transferAhead() async throws {
    let program = try await Installation()
    try await program.ingest([
      bought("1", by: "a"), bought("2", by: "b"),
      RevenueCatMessage(transfer: ["b"], to: ["a"], at: "4466-09-25 00:00"),
    ])
    let connection = try await program.connect()
    let ahead = try await connection.query("select 1 as one from fact.transfer where transferred_at > now()")
    #expect(ahead.isEmpty)
    #expect(try await connection.query("select 1 as one from fact.transfer").count == 1)
    await connection.close()
  }

  @Test("ids of one and the same customer are one subscriber, all along")
  func aliases() async throws {
    let program = try await Installation()
    try await program.ingest([bought("1", by: "$RCAnonymousID:1"), bought("2", by: "a")])
    try await program.measure(asOf: "2025-06-01")
    try await expect(subscribers(program, "2025-03-09"), is: ["2025-03-09 2"])
    // A third purchase tells that both are one.
    try await program.ingest([
      RevenueCatMessage(
        "NON_RENEWING_PURCHASE", at: "2025-04-01", id: "3", from: "2025-04-01", until: nil, chain: "3", user: "a",
        with: ["original_app_user_id": "$RCAnonymousID:1", "aliases": ["a", "$RCAnonymousID:1"] as [any Sendable]])
    ])
    try await program.measure(asOf: "2025-06-01")
    try await expect(
      subscribers(program, "2025-03-09", "2025-05-01"), is: ["2025-03-09 1", "2025-05-01 1"])
    #expect(try await program.measure(asOf: "2025-06-01", ["--rebuild"]) == 0)
  }

  @Test("of several streams the best one that names a customer is believed")
  func bestSource() async throws {
    let program = try await Installation()
    try await program.ingest([
      Notification(
        "SUBSCRIBED.INITIAL_BUY", signed: "2025-02-01", until: "2026-02-01",
        transaction: ["appAccountToken": "7e3fb20b-4cdb-47cc-936d-99d65f608138"])
    ])
    try await program.ingest([
      RevenueCatMessage("UNCANCELLATION", at: "2025-03-01", until: "2026-02-01", user: "u1"),
      RevenueCatMessage(
        transfer: ["7e3fb20b-4cdb-47cc-936d-99d65f608138"], to: ["u2"], at: "2025-03-10"),
    ])
    try await program.measure(asOf: "2025-06-01")
    try await expect(
      program.lines("subscriptions", "subscriber_id"), is: ["7e3fb20b-4cdb-47cc-936d-99d65f608138"])
    try await expect(subscribers(program, "2025-03-09", "2025-03-11"), is: ["2025-03-09 1", "2025-03-11 1"])
  }
}
