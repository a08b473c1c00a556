import Testing

@Suite("Figures: conversion, tax, commission and proceeds", .fewAtOnce)
struct MoneyTests {
  /// Three days of publication around a weekend: Friday, Monday, Tuesday.
  private static let rates = """
    Date,USD,GBP,
    2025-02-04,1.0300,0.8300,
    2025-02-03,1.0200,0.8320,
    2025-01-31,1.0400,0.8350,

    """
  private static let converted = "day currency net net_converted converted_to unconverted_charges"

  /// A charge of its own.
  private func charge(_ chain: String, _ at: String, _ price: Double, _ currency: String) -> Life {
    Life(chain).buys(at, price: price, currency, with: ["type": "consumable"])
  }

  @Test("a charge converts at the last rate published up to its day, also over a weekend")
  func carriedForward() async throws {
    let program = try await Installation()
    try await program.import("rates", Self.rates)
    try await program.ingest([
      charge("a", "2025-01-31 09:00", 8.35, "GBP"), charge("b", "2025-02-02", 8.35, "GBP"),
      charge("c", "2025-02-03", 8.32, "GBP"), charge("d", "2025-02-03", 100, "EUR"),
      charge("e", "2025-02-03", 7, "USD"), charge("f", "2025-02-03", 1.49, "KWD"),
      charge("g", "2025-01-30", 8.35, "GBP"),
    ])
    try await program.measure(asOf: "2025-02-06")
    try await expect(
      program.lines("revenue", Self.converted),
      is: [
        "2025-01-30 GBP 8.35 - USD 1", "2025-01-31 GBP 8.35 10.4 USD 0", "2025-02-02 GBP 8.35 10.4 USD 0",
        "2025-02-03 EUR 100 102 USD 0", "2025-02-03 GBP 8.32 10.2 USD 0", "2025-02-03 KWD 1.49 - USD 1",
        "2025-02-03 USD 7 7 USD 0",
      ])
  }

  @Test("a charge of 0 needs no rate, also beside one that has none: what is left out is counted")
  func freeCharge() async throws {
    let program = try await Installation()
    try await program.import("rates", Self.rates)
    try await program.ingest([
      charge("a", "2025-02-03", 0, "KWD"), charge("b", "2025-02-03", 1.49, "KWD"), charge("c", "2025-02-04", 0, "KWD"),
      charge("d", "2025-02-05", 1.49, "KWD"),
    ])
    try await program.measure(asOf: "2025-02-06")
    try await expect(
      program.lines("revenue", Self.converted),
      is: ["2025-02-03 KWD 1.49 0 USD 1", "2025-02-04 KWD 0 0 USD 0", "2025-02-05 KWD 1.49 - USD 1"])
  }

  @Test("a refund converts at the rate of its charge, and MRR at that of the period's purchase")
  func rateOfTheCharge() async throws {
    let program = try await Installation()
    try await program.import("rates", Self.rates)
    let life = Life("a").buys("2025-01-31", until: "2025-02-03", price: 8.35, "GBP", with: ["period": "P1M"])
      .renews(until: "2025-03-03").isRefunded("2025-02-04 12:00", nth: 1)
    try await program.ingest([life])
    try await program.measure(asOf: "2025-02-06")
    try await expect(
      program.lines("revenue", "day net net_converted"),
      is: ["2025-01-31 8.35 10.4", "2025-02-03 8.35 10.236779", "2025-02-04 -8.35 -10.4"])
    try await expect(
      program.lines("mrr", "day mrr mrr_converted converted_to", ["--from", "2025-02-02"]),
      is: [
        "2025-02-02 8.35 10.4 USD", "2025-02-03 8.35 10.236779 USD", "2025-02-04 8.35 10.236779 USD",
        "2025-02-05 8.35 10.236779 USD",
      ])
  }

  @Test("converted MRR of several rows is unknown while a part of it has no rate, not the rest of it")
  func partOfMRR() async throws {
    let lives = [
      Life("a").buys("2025-01-05", until: "2025-03-05", price: 20, "EUR", with: ["period": "P2M"]),
      Life("b").buys("2025-01-02", until: "2025-01-09", "weekly", price: 7, "EUR", with: ["period": "P1W"]),
      // In no currency, and no part of any.
      Life("c").buys("2025-01-03", until: "2025-02-03", "other", price: nil),
    ]
    let program = try await Installation(lives, asOf: "2025-01-12")
    func converted(_ options: [String]) async throws -> [String] {
      try await program.lines("mrr", "day mrr_converted", ["--from", "2025-01-07"] + options)
    }
    for options in [["--group-by", "app"], ["--group-by", "country"], ["--converted", "--group-by", "app"]] {
      try await expect(
        Set(converted(options)), is: ["2025-01-07 -", "2025-01-08 -", "2025-01-09 -", "2025-01-10 -", "2025-01-11 -"])
    }
    try await expect(Set(converted(["--by", "month", "--group-by", "app"])), is: ["2025-01-01 -"])
    // A rate from the day on on which one of the two was bought.
    try await program.import("rates", "Date,USD,\n2025-01-05,1.5,\n")
    try await program.measure(asOf: "2025-01-12")
    for options in [["--group-by", "app"], ["--converted", "--group-by", "app"]] {
      try await expect(
        Set(converted(options)).subtracting(["2025-01-09 -", "2025-01-10 -", "2025-01-11 -"]),
        is: ["2025-01-07 -", "2025-01-08 -", "2025-01-09 15", "2025-01-10 15", "2025-01-11 15"])
    }
  }

  @Test("rates that come or change later convert anew what they concern, post nothing, and are named as the cause")
  func newRates() async throws {
    let program = try await Installation()
    try await program.ingest([
      charge("a", "2025-01-31", 8.35, "GBP"), charge("b", "2025-02-04", 8.3, "GBP"),
      Life("c").buys("2025-02-04", until: "2025-03-04", price: 83, "GBP"),
    ])
    try await program.measure(asOf: "2025-02-06")
    try await expect(
      program.lines("revenue", "day kind net_converted unconverted_charges"),
      is: ["2025-01-31 one_time - 1", "2025-02-04 initial - 1", "2025-02-04 one_time - 1"])
    try await program.import("rates", Self.rates)
    let posted = try await program.measure(asOf: "2025-02-06")
    #expect(posted == 0)
    let now = ["2025-01-31 one_time 10.4 0", "2025-02-04 initial 103 0", "2025-02-04 one_time 10.3 0"]
    try await expect(program.lines("revenue", "day kind net_converted unconverted_charges"), is: now)
    try await expect(program.lines("mrr", "mrr_converted", ["--from", "2025-02-05"]), is: ["103"])
    // A correction of one day.
    try await program.import("rates", "Date,USD,GBP,\n2025-02-04,1.0300,0.4150,\n")
    try await program.measure(asOf: "2025-02-06")
    try await expect(
      program.lines("revenue", "day kind net_converted unconverted_charges"),
      is: ["2025-01-31 one_time 10.4 0", "2025-02-04 initial 206 0", "2025-02-04 one_time 20.6 0"])
    try await expect(program.lines("mrr", "mrr_converted", ["--from", "2025-02-05"]), is: ["206"])
    try await expect(
      program.lines("restatements", "run day metric before after entries cause"),
      is: [
        "2 2025-01-31 revenue.net_converted 0 10.4 0 new rates",
        "2 2025-01-31 revenue.unconverted_charges 1 0 0 new rates",
        "2 2025-02-04 mrr.mrr_converted 0 103 0 new rates", "2 2025-02-04 revenue.net_converted 0 113.3 0 new rates",
        "2 2025-02-04 revenue.unconverted_charges 2 0 0 new rates",
        "3 2025-02-04 mrr.mrr_converted 103 206 0 new rates",
        "3 2025-02-04 revenue.net_converted 113.3 226.6 0 new rates",
        // Of all stores together.
        "2 2025-01-31 customers.arppu 0 10.4 0 new rates", "2 2025-02-04 customers.arppu 0 56.65 0 new rates",
        "3 2025-02-04 customers.arppu 56.65 113.3 0 new rates",
      ])
  }

  @Test("another reporting currency converts everything anew, posts nothing, and is a changed setting")
  func otherCurrency() async throws {
    let program = try await Installation()
    try await program.import("rates", Self.rates)
    try await program.ingest([
      charge("a", "2025-01-31", 8.35, "GBP"), charge("b", "2025-01-31", 10.4, "USD"),
      charge("c", "2025-01-31", 3, "KWD"),
    ])
    try await program.measure(asOf: "2025-02-06")
    try program.configure(reporting: "currency: \"EUR\"")
    let posted = try await program.measure(asOf: "2025-02-06")
    #expect(posted == 0)
    try await expect(
      program.lines("revenue", "currency net_converted converted_to"), is: ["GBP 10 EUR", "KWD - EUR", "USD 10 EUR"])
    try program.configure(reporting: "currency: \"KWD\"")
    try await program.measure(asOf: "2025-02-06")
    // Without a rate of the reporting currency only what was paid in it is known.
    try await expect(
      program.lines("revenue", "currency net_converted converted_to"), is: ["GBP - KWD", "KWD 3 KWD", "USD - KWD"])
  }

  @Test("tax comes first, then commission, each rounded to a micro; a refund takes its share back on its day")
  func estimated() async throws {
    let program = try await Installation()
    try await program.import("taxes", "country,rate,from\nDEU,0.05,\n")
    let life = Life("a").buys("2025-02-01", until: "2025-03-01", price: 99.99, "EUR", country: "DEU")
      .isRefunded("2025-02-03", "prorated", amount: 33.33)
    let untaxed = Life("b").buys("2025-02-01", until: "2025-03-01", price: 99.99, "EUR", country: "FRA")
    try await program.ingest([life, untaxed])
    try await program.measure(asOf: "2025-02-06")
    try await expect(
      program.lines("revenue", "day country tax commission proceeds proceeds_basis"),
      is: [
        "2025-02-01 DEU 4.9995 28.49715 66.49335 estimated", "2025-02-01 FRA - - - -",
        "2025-02-03 DEU -1.6665 -9.49905 -22.16445 estimated",
      ])
    // Rates of tax are a setting: what was told is told anew.
    try await program.import("taxes", "country,rate,from\nDEU,0.05,\nDEU,0.1,2025-02-01\nFRA,0,\n")
    let posted = try await program.measure(asOf: "2025-02-06")
    #expect(posted == 0)
    try await expect(
      program.lines("revenue", "day country tax proceeds", ["--to", "2025-02-01"]),
      is: ["2025-02-01 DEU 9.999 62.9937", "2025-02-01 FRA 0 69.993"])
  }

  @Test("what takes an estimated refund back is an estimate too, also beside an estimated charge of its row")
  func estimatedBack() async throws {
    let program = try await Installation()
    try await program.import("taxes", "country,rate,from\nUSA,0,\n")
    try await program.ingest([
      charge("a", "2025-02-01", 10, "USD").isRefunded("2025-02-03").isRestored("2025-02-05"),
      charge("b", "2025-02-05", 20, "USD"), charge("c", "2025-02-06", 30, "USD"),
    ])
    try await program.measure(asOf: "2025-02-08")
    try await expect(
      program.lines("revenue", "day proceeds proceeds_basis"),
      is: [
        "2025-02-01 7 estimated", "2025-02-03 -7 estimated", "2025-02-05 21 estimated", "2025-02-06 21 estimated",
      ])
  }

  @Test("reported tax, commission and proceeds are used as given")
  func reported() async throws {
    let program = try await Installation()
    try await program.import("taxes", "country,rate,from\nUSA,0.5,\n")
    let given: [String: any Sendable] = ["tax": 14.42, "commission": 30, "proceeds": 55.58]
    try await program.ingest([
      Life("a").buys("2025-02-01", until: "2025-03-01", price: 100, with: given),
      Life("b").buys("2025-02-02", until: "2025-03-02", price: 100, with: ["commission": 10]),
      Life("c").buys("2025-02-03", until: "2025-03-03", price: 100, with: ["commission": 10, "tax": 20]),
      // What the seller receives may be rounded by the store, and told alone.
      Life("d").buys(
        "2025-02-04", until: "2025-03-04", price: 100, with: ["commission": 10, "tax": 20, "proceeds": 69.5]),
      Life("e").buys("2025-02-05", until: "2025-03-05", price: 100, with: ["proceeds": 61]),
    ])
    try await program.measure(asOf: "2025-02-06")
    try await expect(
      program.lines("revenue", "day tax commission proceeds proceeds_basis"),
      is: [
        "2025-02-01 14.42 30 55.58 reported", "2025-02-02 50 10 40 estimated", "2025-02-03 20 10 70 reported",
        "2025-02-04 20 10 69.5 reported", "2025-02-05 - - 61 reported",
      ])
    // What has an estimate in it is one.
    for options in [["--by", "month"], ["--by", "month", "--group-by", "currency"]] {
      try await expect(
        program.lines("revenue", "proceeds proceeds_basis", options), is: ["296.08 estimated"])
    }
    try await expect(
      program.lines("revenue", "proceeds proceeds_basis", ["--by", "month", "--from", "2025-02-03"]),
      is: ["200.5 reported"])
  }

  @Test(
    "the store takes 30 %, or 15 % of small businesses, or what is configured",
    arguments: [("\"standard\"", "30"), ("\"small_business\"", "15"), ("0.25", "25")])
  func programmes(commission: String, expected: String) async throws {
    let program = try await Installation()
    try await program.import("taxes", "country,rate,from\nUSA,0,\n")
    try program.configure(commission: commission)
    try await program.ingest([Life("a").buys("2025-02-01", until: "2025-03-01", price: 100)])
    try await program.measure(asOf: "2025-02-06")
    try await expect(program.lines("revenue", "commission"), is: [expected])
    try program.configure(commission: "0.5")
    let posted = try await program.measure(asOf: "2025-02-06")
    #expect(posted == 0)
    try await expect(program.lines("revenue", "commission"), is: ["50"])
  }

  @Test("after a year of paid service the store takes 15 %; a gap of more than 60 days starts again")
  func firstYear() async throws {
    let yearly = Life("a").tries("2022-12-01", until: "2023-01-01").renews(
      until: "2024-01-01", without: ["offer"], with: ["price": 100]
    )
    .renews(until: "2025-01-01")
    let returning = yearly.renews("2025-02-28", until: "2026-02-28")
    let late = Life("b").buys("2023-01-01", until: "2024-01-01", price: 100)
      .buys("2024-03-02", until: "2025-03-02", price: 100)
    for (life, expected) in [
      (returning, ["2023-01-01 30", "2024-01-01 15", "2025-02-28 15"]), (late, ["2023-01-01 30", "2024-03-02 30"]),
    ] {
      let program = try await Installation()
      try await program.import("taxes", "country,rate,from\nUSA,0,\n")
      // In one run and in several the same.
      for (number, line) in life.events.enumerated() {
        try await program.ingest(lines: [line])
        try await program.measure(asOf: "2026-0\(number + 1)-01")
      }
      try await expect(
        program.lines("revenue", "day commission").filter { !$0.hasSuffix(" 0") }, is: expected)
    }
  }

  @Test("MRR churn: what left and what shrank, of the MRR at the start, both converted at the purchase days' rates")
  func mrrChurnRate() async throws {
    let program = try await Installation()
    try await program.import("rates", "Date,USD,\n2025-01-01,2,\n2025-02-10,4,\n")
    try await program.import(
      "catalogue", "product_id,level,period\nmonthly,2,P1M\nlight,3,P1M\n", ["--app", "video"])
    try await program.ingest([
      // 10 EUR at 2 dollars, lost on 5 February.
      Life("a").buys("2025-01-05", until: "2025-02-05", price: 10, "EUR").says("2025-01-20", autoRenew: false),
      // 30 EUR at 2 dollars, from 10 February 20 EUR.
      Life("b").buys("2025-01-10", until: "2025-02-10", price: 30, "EUR")
        .renews(until: "2025-03-10", with: ["price": 20, "product_id": "light"]),
      Life("c").buys("2025-01-15", until: "2025-02-15", price: 40, "USD").renews(until: "2025-03-15"),
      // New in February and lost in it: no part of what was there at its start.
      Life("d").buys("2025-02-02", until: "2025-02-09", price: 500, "USD").says("2025-02-03", autoRenew: false),
    ])
    try await program.measure(asOf: "2025-03-01")
    try await expect(
      program.lines("churn", "starts_on active_at_start churned mrr_churn_rate", ["--by", "month"]),
      is: ["2025-01-01 0 0 -", "2025-02-01 3 1 0.333333"])
  }

  @Test("MRR churn is unknown while part of the MRR at the start, or of what left, cannot be converted")
  func unconvertedChurn() async throws {
    let program = try await Installation()
    try await program.import("rates", "Date,USD,\n2025-01-01,2,\n")
    let plain = Life("a").buys("2025-01-05", until: "2025-02-05", price: 10, "EUR")
    try await program.ingest([
      plain.says("2025-01-20", autoRenew: false),
      Life("b").buys("2025-01-15", until: "2025-02-15", price: 40, "USD").renews(until: "2025-03-15")
        .renews(until: "2025-04-15"),
      // There at the start of February and of March, and lost in March.
      Life("c").buys("2025-01-10", until: "2025-02-10", price: 3, "KWD").renews(until: "2025-03-10")
        .says("2025-02-20", autoRenew: false),
    ])
    try await program.measure(asOf: "2025-04-10")
    let columns = "starts_on active_at_start churned mrr_churn_rate"
    try await expect(
      program.lines("churn", columns, ["--by", "month", "--from", "2025-02-01"]),
      is: ["2025-02-01 3 1 -", "2025-03-01 2 1 -", "2025-04-01 1 0 0"])
    try await program.import("rates", "Date,USD,KWD,\n2025-01-01,2,0.6,\n")
    try await program.measure(asOf: "2025-04-10")
    // 20 of 20 + 40 + 10 dollars, and 10 of 40 + 10.
    try await expect(
      program.lines("churn", columns, ["--by", "month", "--from", "2025-02-01"]),
      is: ["2025-02-01 3 1 0.285714", "2025-03-01 2 1 0.2", "2025-04-01 1 0 0"])
  }
}
