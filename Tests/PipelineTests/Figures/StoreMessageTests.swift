import Testing

@Suite("Figures: store messages", .fewAtOnce)
struct StoreMessageTests {
  /// The rows as customer, message, since when it is due, when it was last shown. Midnights are days.
  private func messages(_ program: Installation, _ options: [String] = []) async throws -> [String] {
    try await program.lines("store_messages", "subscriber_id message due_since last_shown_at", options)
      .map { $0.replacing("T00:00:00.000Z", with: "") }.sorted()
  }

  private func messages(_ lives: [Life], asOf: String, rules: String? = nil) async throws -> [String] {
    let program = try await Installation()
    if let rules { try await program.import("winback", rules) }
    try await program.ingest(lives)
    try await program.measure(asOf: asOf)
    return try await messages(program)
  }

  private func life(_ name: String) -> Life { Life(name, subscriber: name) }

  /// A monthly life whose first renewal, due on 1 February, failed.
  private func failing(_ name: String, grace: String? = nil) -> Life {
    life(name).buys("2025-01-01", until: "2025-02-01")
      .says("2025-02-01 00:01", autoRenew: true, retry: true, grace: grace)
  }

  @Test("a billing issue is due in grace and in retry, after a trial too, since the period's end, until it is settled")
  func billingIssue() async throws {
    let lives = [
      failing("in grace", grace: "2025-02-17"),
      failing("after grace", grace: "2025-02-05"),
      failing("in retry"),
      failing("recovered").renews("2025-02-05", until: "2025-03-05"),
      failing("given up").says("2025-02-03", retry: false, reason: "billing"),
      failing("refunded").isRefunded("2025-01-20"),
      life("trial").tries("2025-01-25", until: "2025-02-01")
        .says("2025-02-01 00:01", autoRenew: true, retry: true, grace: "2025-02-17"),
      life("running").buys("2025-01-15", until: "2025-02-15"),
      life("shared").buys("2025-01-01", until: "2025-02-01", with: ["ownership": "family_shared"])
        .says("2025-02-01 00:01", retry: true, grace: "2025-02-17"),
    ]
    try await expect(
      messages(lives, asOf: "2025-02-10"),
      is: ["after grace", "in grace", "in retry", "trial"].map { "\($0) billing_issue 2025-02-01 -" })
  }

  @Test("a billing issue ends when the store ceases to retry, which is after 60 days at the latest, without a new fact")
  func retryEnds() async throws {
    let program = try await Installation([failing("a")], asOf: "2025-02-01")
    // It failed at the day's end, which as of that moment has not come.
    try await expect(messages(program), is: [])
    try await program.measure(asOf: "2025-02-02")
    try await expect(messages(program), is: ["a billing_issue 2025-02-01 -"])
    try await program.measure(asOf: "2025-04-02")
    try await expect(messages(program), is: ["a billing_issue 2025-02-01 -"])
    try await program.measure(asOf: "2025-04-03")
    try await expect(messages(program), is: [])
  }

  @Test("consent is due from the first status of an unbroken row that asks for it, in any order of arrival")
  func consent() async throws {
    func asked(_ name: String, _ words: [(at: String, word: String)]) -> Life {
      words.reduce(life(name).buys("2025-01-01", until: "2025-03-01")) { life, said in
        life.says(said.at, with: ["price_increase": said.word])
      }
    }
    let still = asked("still", [("2025-01-10", "pending"), ("2025-01-20", "pending")])
    let program = try await Installation()
    try await program.ingest(lines: still.events.reversed())
    try await program.ingest([
      asked("anew", [("2025-01-10", "pending"), ("2025-01-15", "accepted"), ("2025-01-20", "pending")]),
      asked("accepted", [("2025-01-10", "pending"), ("2025-01-20", "accepted")]),
      // What says nothing of it withdraws nothing.
      asked("silent", [("2025-01-10", "pending")]).says("2025-01-20", autoRenew: true),
      asked("later", [("2025-02-10", "pending")]),
      life("expired").buys("2025-01-01", until: "2025-02-01").says("2025-01-10", with: ["price_increase": "pending"])
        .says("2025-02-01 00:01", autoRenew: false, reason: "price_increase"),
      life("shared").buys("2025-01-01", until: "2025-03-01", with: ["ownership": "family_shared"])
        .says("2025-01-10", with: ["price_increase": "pending"]),
    ])
    try await program.measure(asOf: "2025-02-10")
    try await expect(
      messages(program),
      is: [
        "anew price_increase_consent 2025-01-20 -", "silent price_increase_consent 2025-01-10 -",
        "still price_increase_consent 2025-01-10 -",
      ])
  }

  @Test("a snapshot of the store without a price increase withdraws the question")
  func withdrawnBySnapshot() async throws {
    let asked = Notification(
      "PRICE_INCREASE.PENDING", signed: "2025-02-10", renewal: ["priceIncreaseStatus": 0])
    let program = try await Installation([asked], asOf: "2025-02-15")
    try await expect(
      program.lines("store_messages", "message due_since"), is: ["price_increase_consent 2025-02-10T00:00:00.000Z"])
    try await program.ingest([
      Notification("DID_CHANGE_RENEWAL_STATUS.AUTO_RENEW_DISABLED", signed: "2025-02-16", renewal: [:])
    ])
    try await program.measure(asOf: "2025-02-17")
    try await expect(program.lines("store_messages", "message due_since"), is: [])
  }

  @Test("a win-back offer is due since the last of what it takes, and of several offers since the first")
  func winBackOffer() async throws {
    let rules = """
      [{"offer_id": "o", "app": "video", "min_months_since": 2, "wait_months": 6},
       {"offer_id": "late", "app": "video", "min_months_since": 3, "starts_on": "2025-05-01"}]
      """
    func ended(_ name: String, _ until: String, off: String = "2025-01-02") -> Life {
      life(name).buys("2025-01-01", until: until).says(off, autoRenew: false)
    }
    let lives = [
      ended("away for two months", "2025-02-28"),
      ended("switched off later", "2025-02-28", off: "2025-05-20").says("2025-01-05", autoRenew: true),
      // Unknown counts as off.
      ended("unknown", "2025-02-28", off: "2025-05-20"),
      ended("not yet", "2025-04-20"),
      ended("listed", "2025-02-28").says("2025-03-05", offers: ["x"]).says("2025-03-10", offers: ["o"])
        .says("2025-03-20", offers: ["x", "o"]),
      ended("retried", "2025-02-01").says("2025-02-01 00:01", retry: true)
        .says("2025-04-20", retry: false, reason: "billing"),
      life("used before").buys(
        "2024-10-15", until: "2024-11-15", price: 5, offer: ["type": "win_back", "id": "o", "discount": "pay_up_front"]
      ).renews(until: "2024-12-15", without: ["offer"]).says("2024-11-20", autoRenew: false),
    ]
    try await expect(
      messages(lives, asOf: "2025-06-15", rules: rules),
      is: [
        "away for two months win_back_offer 2025-04-28 -", "listed win_back_offer 2025-03-10 -",
        "retried win_back_offer 2025-04-02 -", "switched off later win_back_offer 2025-05-20 -",
        "unknown win_back_offer 2025-04-28 -", "used before win_back_offer 2025-05-01 -",
      ])
  }

  @Test("what was shown stays listed when it is due no more, with its newest moment; kinds without a name are kept")
  func shown() async throws {
    let a = failing("a").shows("2025-02-02", "billing_issue").shows("2025-02-04", "billing_issue")
    let b = life("b").buys("2025-01-01", until: "2025-03-01").shows("2025-01-05", "generic").shows("2025-01-06", 9)
      .shows("2025-01-07", "9").shows("2025-01-08", "storekit_11").shows("2025-01-09", "made_up")
      .shows("2025-02-20", "price_increase_consent")
    let program = try await Installation()
    // Twice, and the newest first.
    try await program.ingest(lines: a.events + b.events.reversed() + a.events)
    try await program.measure(asOf: "2025-02-05")
    try await expect(
      messages(program),
      is: [
        "a billing_issue 2025-02-01 2025-02-04", "b generic - 2025-01-05", "b made_up - 2025-01-09",
        "b storekit_11 - 2025-01-08", "b storekit_9 - 2025-01-07",
      ])
    try await program.ingest([a.renews("2025-02-10", until: "2025-03-10")])
    try await program.measure(asOf: "2025-02-21")
    try await expect(
      messages(program),
      is: [
        "a billing_issue - 2025-02-04", "b generic - 2025-01-05", "b made_up - 2025-01-09",
        "b price_increase_consent - 2025-02-20", "b storekit_11 - 2025-01-08", "b storekit_9 - 2025-01-07",
      ])
  }

  @Test("of the App Store alone, each environment by itself, also of a chain of which nothing else is known")
  func scope() async throws {
    let elsewhere = failing("elsewhere").shows("2025-02-02", "generic").events
      .map { $0.replacing("\"app_store\"", with: "\"play_store\"") }
    let sandbox = Life("sandbox", subscriber: "sandbox", environment: "Sandbox").shows("2025-02-02", "generic")
    let program = try await Installation()
    try await program.ingest(lines: elsewhere + sandbox.events + life("alone").shows("2025-02-03", "generic").events)
    try await program.measure(asOf: "2025-02-05")
    try await expect(messages(program), is: ["alone generic - 2025-02-03"])
    try await expect(messages(program, ["--environment", "Sandbox"]), is: ["sandbox generic - 2025-02-02"])
  }
}
