import Postgres
import Testing

@Suite("Figures: data quality", .fewAtOnce)
struct DataQualityTests {
  private static let catalogue = "product_id,period\nmonthly,P1M\n"

  /// An installation whose catalogue has the product of the lives.
  private func program() async throws -> Installation {
    let program = try await Installation()
    try await program.import("catalogue", Self.catalogue, ["--app", "video"])
    return program
  }

  private func found(_ program: Installation, _ options: [String] = []) async throws -> [String] {
    try await program.lines("data_quality", "check count example", options)
  }

  private func found(_ lives: [Life], asOf: String) async throws -> [String] {
    let program = try await program()
    try await program.ingest(lives)
    try await program.measure(asOf: asOf)
    return try await found(program)
  }

  private func renewed(_ chain: String = "a") -> Life {
    Life(chain).buys("2025-01-01", until: "2025-02-01").renews(until: "2025-03-01")
  }

  @Test("where nothing is amiss nothing is listed, however lives end")
  func nothing() async throws {
    let lives = [
      renewed(), renewed("refunded").isRefunded("2025-02-10"),
      Life("ended").buys("2025-01-01", until: "2025-02-01").says("2025-01-10", autoRenew: false),
      Life("failing").buys("2025-01-01", until: "2025-02-01")
        .says("2025-02-01 00:01", autoRenew: true, retry: true, grace: "2025-02-20"),
      Life("trial").tries("2025-02-10", until: "2025-02-17"),
      Life("upgraded").buys("2025-01-01", until: "2025-02-01").buys("2025-01-10", until: "2025-02-10")
        .renews(until: "2025-03-10"),
      Life("once").buys("2025-01-01", with: ["type": "consumable"]),
    ]
    try await expect(found(lives, asOf: "2025-02-15"), is: [])
  }

  @Test("every row says what it is of and what to do, and the whole is printed in every form")
  func columns() async throws {
    let program = try await program()
    try await program.ingest([
      Life("a").buys("2025-01-01", until: "2025-02-01", price: nil),
      Life("b", environment: "Sandbox").buys("2025-01-01", until: "2025-02-01", price: nil),
    ])
    try await program.measure(asOf: "2025-01-15")
    let rows = try await program.rows("data_quality")
    #expect(rows.count == 1)
    let row = try #require(rows.first)
    #expect(Set(row.keys) == ["app", "environment", "store", "check", "count", "example", "what_to_do"])
    #expect(row["app"] == "video" && row["environment"] == "Production" && row["store"] == "app_store")
    #expect(row["what_to_do"]?.description.contains("price") == true)
    try await expect(found(program, ["--environment", "Sandbox"]), is: ["unpriced_charges 1 b-1"])
    #expect(try await program.run(["report", "data_quality"]).contains("unpriced_charges"))
  }

  @Test("charges of unknown price, until the price is known")
  func unpricedCharges() async throws {
    let program = try await program()
    let life = Life("a").buys("2025-01-01", until: "2025-02-01", price: nil).renews(until: "2025-03-01")
    try await program.ingest([life])
    try await program.measure(asOf: "2025-02-15")
    try await expect(found(program), is: ["unpriced_charges 2 a-1"])
    try await program.ingest([
      life.corrects("2025-02-16", ["price": 10, "currency": "USD"])
    ])
    try await program.measure(asOf: "2025-02-17")
    try await expect(found(program), is: ["unpriced_charges 1 a-1"])
  }

  @Test("charges that cannot be converted: their currency has no rate by the day, or the reporting currency has none")
  func missingRates() async throws {
    let program = try await program()
    try await program.ingest([
      Life("a").buys("2025-01-10", until: "2025-02-10", "monthly", price: 9, "GBP").renews(until: "2025-03-10"),
      Life("b").buys("2025-01-10", until: "2025-02-10", "monthly", price: 9, "EUR").renews(until: "2025-03-10"),
      renewed("c"),
    ])
    try await program.measure(asOf: "2025-02-15")
    func rate(_ currency: String, _ day: String, _ rate: String = "1.1") async throws {
      try await program.import("rates", "Date,\(currency),\n\(day),\(rate),\n")
      try await program.measure(asOf: "2025-02-15")
    }
    // Euros are converted by the rate of the reporting currency, dollars.
    try await expect(found(program), is: ["missing_rates 4 USD"])
    try await rate("GBP", "2025-01-10")
    try await expect(found(program), is: ["missing_rates 4 USD"])
    try await rate("USD", "2025-01-11")
    try await expect(found(program), is: ["missing_rates 2 USD"])
    try await rate("USD", "2025-01-09")
    try await expect(found(program), is: [])
    // From when it is no longer published there is none.
    try await rate("GBP", "2025-02-01", "N/A")
    try await expect(found(program), is: ["missing_rates 1 GBP"])
  }

  @Test("a currency that ISO 4217 does not know")
  func unknownCurrencies() async throws {
    let program = try await program()
    try await program.ingest([
      renewed("known"), Life("a").buys("2025-01-10", until: "2025-02-10", "monthly", price: 9, "XQQ"),
    ])
    try await program.measure(asOf: "2025-01-15")
    try await expect(found(program), is: ["missing_rates 1 XQQ", "unknown_currencies 1 XQQ"])
    let connection = try await program.connect()
    let known = Set(try await connection.query("select currency from reference.currency").compactMap { $0["currency"] })
    await connection.close()
    let current = ["USD", "EUR", "JPY", "KWD", "CLF", "UYW", "ZAR", "AED", "VED", "SLE", "XCG", "ZWG"]
    #expect(known.isSuperset(of: current))
    #expect(known.allSatisfy { $0.utf8.count == 3 })
  }

  @Test("an end without word is waited for, then a lapse that nobody confirmed, until a source tells")
  func withoutWord() async throws {
    let program = try await program()
    let life = Life("a").buys("2025-01-01", until: "2025-02-01")
    try await program.ingest([
      life, Life("trial").tries("2025-01-25", until: "2025-02-01"),
      Life("shared").buys("2025-01-01", until: "2025-02-01", with: ["ownership": "family_shared"]),
    ])
    try await program.measure(asOf: "2025-02-01")
    try await expect(found(program), is: [])
    try await program.measure(asOf: "2025-02-01 12:00")
    try await expect(found(program), is: ["awaiting_word 3 a-1"])
    try await program.measure(asOf: "2025-02-03")
    try await expect(found(program), is: ["unconfirmed_lapses 1 a-1"])
    try await program.ingest([life.says("2025-02-03", autoRenew: false, reason: "voluntary")])
    try await program.measure(asOf: "2025-02-04")
    try await expect(found(program), is: [])
  }

  @Test("a chain whose first known transaction says renewal, until the earlier one is known")
  func historyBeginsLate() async throws {
    let program = try await program()
    let whole = renewed()
    try await program.ingest(lines: [whole.events[1]])
    try await program.measure(asOf: "2025-02-15")
    try await expect(found(program), is: ["history_begins_late 1 a-2"])
    try await program.ingest(lines: [whole.events[0]])
    try await program.measure(asOf: "2025-02-16")
    try await expect(found(program), is: [])
  }

  @Test("periods that are empty, run backwards or have no end; one that was refunded at once is in order")
  func emptyPeriods() async throws {
    let lives = [
      Life("a").buys("2025-01-01", until: "2025-01-01"), Life("b").buys("2025-01-10", until: "2025-01-01"),
      Life("c").buys("2025-01-10"), Life("d").buys("2025-01-10", until: "2025-03-10").isRefunded("2025-01-10"),
    ]
    try await expect(found(lives, asOf: "2025-02-15"), is: ["empty_periods 3 a-1"])
  }

  @Test("a transaction that two chains name, not one of another environment")
  func twoChains() async throws {
    let program = try await program()
    func life(_ chain: String, environment: String = "Production") -> Life {
      Life(chain, environment: environment).buys("2025-01-01", until: "2025-02-01", with: ["transaction_id": "t"])
    }
    try await program.ingest([life("a"), life("c", environment: "Sandbox")])
    try await program.measure(asOf: "2025-01-15")
    try await expect(found(program), is: [])
    try await program.ingest([life("b")])
    try await program.measure(asOf: "2025-01-16")
    try await expect(found(program), is: ["transactions_in_two_chains 1 t"])
    try await program.measure(asOf: "2025-01-17", ["--rebuild"])
    try await expect(found(program), is: ["transactions_in_two_chains 1 t"])
  }

  @Test("sources that say different things of a transaction, not one that says less, until they agree")
  func sourcesDisagree() async throws {
    let program = try await program()
    try await program.ingest([Notification("SUBSCRIBED.INITIAL_BUY", signed: "2025-02-01")])
    func told(_ event: Int, _ fields: String) -> String {
      """
      {"event_id": "e\(event)", "kind": "entitlement_changed", "occurred_at": "2025-02-1\(event)T00:00:00Z", \
      "app": "video", "store": "app_store", "environment": "Production", "original_transaction_id": "1", \
      "transaction": {"transaction_id": "1", \(fields)}}
      """
    }
    // Half a minute is how finely clocks tell.
    try await program.ingest(lines: [told(0, "\"tax\": 1, \"purchased_at\": \"2025-02-01T00:00:30Z\"")])
    try await program.measure(asOf: "2025-02-15")
    try await expect(found(program), is: [])
    try await program.ingest(lines: [told(1, "\"price\": 8, \"currency\": \"USD\"")])
    try await program.measure(asOf: "2025-02-15")
    try await expect(found(program), is: ["sources_disagree 1 1"])
    try await program.ingest(lines: [told(2, "\"price\": 9.99, \"currency\": \"USD\"")])
    try await program.measure(asOf: "2025-02-15")
    try await expect(found(program), is: [])
    try await program.ingest(lines: [told(3, "\"product_id\": \"yearly\"")])
    try await program.measure(asOf: "2025-02-15")
    try await expect(found(program), is: ["sources_disagree 1 1"])
  }

  @Test("what was signed more than a day after its receipt")
  func clockAhead() async throws {
    let lives = [renewed(), Life("ahead").buys("2025-01-01", until: "2025-03-01", said: "2999-01-01")]
    try await expect(found(lives, asOf: "2025-02-15"), is: ["clock_ahead 1 ahead/1"])
  }

  @Test("kinds that the program does not know, by the word that came most often; one it knows and ignores is none")
  func unrecognisedKinds() async throws {
    let program = try await program()
    func event(_ kind: String, _ id: String) -> String {
      """
      {"event_id": "\(id)", "kind": "\(kind)", "occurred_at": "2025-01-10T00:00:00Z", "app": "video", \
      "store": "app_store", "environment": "Production", "original_transaction_id": "a"}
      """
    }
    try await program.measure(asOf: "2025-02-15")
    try await program.ingest(lines: [event("ignored", "1"), event("invoice_issued", "2")])
    try await expect(found(program), is: [])
    try await program.ingest(lines: [event("anew", "3"), event("seen_twice", "4"), event("seen_twice", "5")])
    try await expect(found(program), is: ["unrecognised_kinds 3 seen_twice"])
  }

  @Test("products that the catalogue does not have")
  func missingProducts() async throws {
    let program = try await program()
    try await program.ingest([renewed(), Life("b").buys("2025-01-10", until: "2026-01-10", "yearly")])
    try await program.measure(asOf: "2025-02-15")
    try await expect(found(program), is: ["missing_products 1 yearly"])
    try await program.import("catalogue", Self.catalogue + "yearly,P1Y\n", ["--app", "video"])
    try await expect(found(program), is: [])
  }

  @Test("a source that was heard daily for weeks and then not for two whole days, until what happened then comes")
  func streamGaps() async throws {
    let program = try await program()
    func events(_ days: some Sequence<Int>, _ chain: String = "a") -> [Life] {
      days.map { Life("\(chain)\($0)").belongs(to: "u", from: Life.day(of: $0)) }
    }
    // 1 to 30 January, but for two days: two of 28 may be missing.
    try await program.ingest(events((1...30).filter { $0 != 10 && $0 != 20 }))
    // Of every other day nothing can be told.
    try await program.ingest(
      lines: events(stride(from: 1, to: 30, by: 2), "sparse").flatMap(\.events)
        .map { $0.replacing("Production", with: "Sandbox") })
    try await program.measure(asOf: "2025-02-01 23:00")
    try await expect(found(program), is: [])
    try await program.measure(asOf: "2025-02-02")
    try await expect(found(program), is: ["stream_gaps 1 tenure 2025-01-31"])
    try await expect(found(program, ["--environment", "Sandbox"]), is: [])
    // Heard again, the gap remains; what fills it mends it.
    try await program.ingest(events(35...36))
    try await program.measure(asOf: "2025-02-06")
    try await expect(found(program), is: ["stream_gaps 1 tenure 2025-01-31"])
    try await program.ingest(events(31...34))
    try await expect(found(program), is: [])
    try await program.measure(asOf: "2025-03-10")
    try await expect(found(program), is: ["stream_gaps 1 tenure 2025-02-06"])
    // After half a year nobody can fetch what was missed.
    try await program.measure(asOf: "2025-12-10")
    try await expect(found(program), is: [])
  }
}
