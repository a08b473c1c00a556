import Foundation
import Postgres
import Report
import Synchronization
import TestSupport
import Testing
import Vocabulary

/// What `tenure explain … --json` prints.
struct Explained: Decodable {
  struct Cause: Decodable {
    let eventId: String?
    let transactionId: String?
    let source: String?
    let rawKind: String?
  }

  struct Entry: Decodable {
    let entryId: String
    let runId: Int
    let at: String
    let kind: String
    let subscriptionId: String
    let originalTransactionId: String
    let change: [String: Cell]
    let rates: [String: Cell]?
    let cause: Cause
  }

  let report: String
  let cell: [String: Cell]
  let entries: [Entry]
  let sum: [String: Cell]

  init(_ json: String) throws {
    let decoder = JSONDecoder()
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    self = try decoder.decode(Explained.self, from: Data(json.utf8))
  }

  /// What happened, in order, and what it changed: `renewed net 10`.
  func told(_ columns: String...) -> [String] {
    entries.map { entry in
      ([entry.kind] + columns.compactMap { column in entry.change[column].map { "\(column) \($0)" } })
        .joined(separator: " ")
    }
  }
}

/// Every figure is the sum of entries that can be listed.
@Suite("Explanations", .fewAtOnce)
struct ExplainTests {
  private func explain(_ program: Installation, _ words: String) async throws -> Explained {
    let output = try await program.run(["explain"] + words.split(separator: " ").map(String.init) + ["--json"])
    return try Explained(output)
  }

  // MARK: - Any cell

  /// A row of a report, and the figure to be explained beside all others.
  private struct Sample: Hashable {
    let row: String
    let column: String?
  }

  /// Rows in which something is, spread by chance but always the same, and of every figure one in which it is not 0.
  private static func samples(of shape: ReportShape, _ connection: Connection) async throws -> [Sample] {
    let figures = shape.columns.filter { [.flow, .whole, .stock, .opening, .count, .distinct].contains($0.role) }
      .map(\.name)
    try await connection.execute(
      "drop table if exists sampled; create temp table sampled as select * from report.\(shape.name)")
    func rows(where condition: String, _ count: Int) async throws -> [String] {
      try await connection.query(
        """
        select row_to_json(sampled)::text as row from sampled where \(condition)
        order by md5(sampled::text) limit \(count)
        """
      ).map { try $0.text("row") }
    }
    let anything = figures.map { "coalesce(\"\($0)\", 0) <> 0" }.joined(separator: " or ")
    var samples = try await rows(where: anything, 4).map { Sample(row: $0, column: nil) }
    for figure in figures {
      let found = try await rows(where: "coalesce(\"\(figure)\", 0) <> 0", 1)
      #expect(!found.isEmpty, "\(shape.name).\(figure) is nowhere")
      samples += found.map { Sample(row: $0, column: figure) }
    }
    return samples
  }

  private static func judge(_ sample: Sample, of shape: ReportShape, _ connection: Connection) async throws {
    let row = try JSONDecoder().decode([String: Cell].self, from: Data(sample.row.utf8))
    func text(_ column: String) -> String? { row[column].flatMap { $0 == .null ? nil : $0.description } }
    var query = ExplainQuery(
      report: shape.name, on: try #require(text("day") ?? text("starts_on")), column: sample.column,
      app: text("app"), environment: StoreEnvironment(rawValue: text("environment") ?? ""))
    query.by = text("period").flatMap(ReportQuery.Span.init)
    for column in shape.columns where column.role == .dimension {
      if ["app", "environment", "day", "period", "starts_on"].contains(column.name) { continue }
      if column.name == "store", text("store") == nil { continue }
      query.filters[column.name] = text(column.name) ?? "unknown"
    }
    let written = Mutex("")
    try await Explainer(connection: connection).write(query, as: .json) { piece in written.withLock { $0 += piece } }
    let explained = try Explained(written.withLock { $0 })
    let about = "\(shape.name) \(sample.column ?? "") \(sample.row)"
    if let column = sample.column { #expect(Array(explained.sum.keys) == [column], "\(about)") }
    #expect(!explained.sum.isEmpty)
    for (name, sum) in explained.sum {
      #expect(explained.cell[name] == row[name], "\(name) of \(about)")
      #expect(sum == row[name], "\(name) of \(about)")
      let changes = explained.entries.compactMap { $0.change[name] }.map { change in
        if case .number(let number) = change { number } else { Decimal.nan }
      }
      if sum == .null { #expect(changes.isEmpty) } else { #expect(.number(changes.reduce(0, +)) == sum, "\(about)") }
    }
    #expect(Set(explained.entries.map(\.entryId)).count == explained.entries.count, "\(about)")
    for entry in explained.entries {
      #expect(!entry.change.isEmpty, "\(entry) of \(about)")
      #expect(entry.cause.transactionId != nil, "\(entry) of \(about)")
      #expect(entry.cause.eventId != nil && entry.cause.source == "tenure", "\(entry) of \(about)")
      #expect(entry.runId > 0 && Int64(entry.subscriptionId) != nil && Instant(entry.at) != nil)
    }
  }

  @Test("of generated lives, any cell of every report made of entries is their sum, and each entry has a cause")
  func anyCell() async throws {
    let (program, _) = try await OracleTests.installation(zone: "Europe/Berlin")
    var arrivals = (1...120).map { LifeGenerator.life(UInt64($0)) }.flatMap(\.arrivals)
      .sorted { $0.receivedAt < $1.receivedAt }[...]
    // What happens seldom.
    try await program.ingest([
      Life("dear").buys("2025-05-01", until: "2025-06-01").says(
        "2025-06-01", autoRenew: false, reason: "price_increase"),
      Life("withdrawn").buys("2025-05-01", until: "2025-06-01").says(
        "2025-06-01", autoRenew: false, reason: "product_unavailable"),
      Life("retried").buys("2025-11-16", until: "2025-12-16").says("2025-12-16", autoRenew: true, retry: true),
      Life("tried").tries("2025-12-09", until: "2025-12-16").says("2025-12-16", autoRenew: true, retry: true),
      Life("priceless").buys("2025-12-01", until: "2026-01-01", price: nil),
    ])
    // Runs enough for much to be restated.
    for asOf in ["2025-04-01", "2025-08-01"].compactMap({ Instant($0 + "T00:00:00Z") }) + [LifeGenerator.asOf] {
      let came = arrivals.prefix { asOf == LifeGenerator.asOf || $0.receivedAt <= asOf }
      arrivals = arrivals.dropFirst(came.count)
      try await program.ingest(lines: came.map(\.event.json))
      try await program.measure(asOf: asOf)
    }
    let connection = try await program.connect()
    var count = 0
    var explained: Set<String> = []
    for shape in try await Reporter(connection: connection).shapes() {
      do {
        try await Explainer(connection: connection).write(ExplainQuery(report: shape.name, on: "1999-01-01"), as: .json)
        {
          _ in
        }
      } catch ReportError.notMadeOfEntries {
        continue
      } catch is ReportError {}
      explained.insert(shape.name)
      let samples = try await Self.samples(of: shape, connection)
      #expect(samples.count >= 3, "\(shape.name)")
      count += samples.count
      for sample in samples { try await Self.judge(sample, of: shape, connection) }
    }
    #expect(count >= 100)
    #expect(
      explained == [
        "active_subscriptions", "active_subscribers", "movements", "churn", "revenue", "renewal_revenue", "refunds",
        "mrr", "mrr_movement", "trials", "renewal_rate", "billing_recovery",
      ])
    await connection.close()
  }

  // MARK: - Single stories

  @Test("money adds up to the cell, in one currency, with its refund and the events that said so")
  func money() async throws {
    let program = try await Installation(
      [
        Life("a").buys("2025-01-01", until: "2025-02-01", price: 9.99, "EUR", country: "DEU")
          .renews(until: "2025-03-01").isRefunded("2025-02-01 15:00", amount: 6.01),
        Life("b").buys("2025-01-01", until: "2025-02-01", price: 8.99, "EUR", country: "FRA")
          .renews(until: "2025-03-01"),
        Life("c").buys("2025-01-01", until: "2025-02-01", price: 300, "JPY", country: "JPN").renews(
          until: "2025-03-01"),
      ], asOf: "2025-02-10")
    let all = try await explain(program, "renewal_revenue --on 2025-02-01 --currency EUR --column net")
    #expect(all.sum == ["net": 12.97])
    #expect(all.cell["net"] == 12.97 && all.cell["gross"] == 18.98 && all.cell["currency"] == "EUR")
    #expect(
      all.told("net") == ["renewed net 9.99", "renewed net 8.99", "churned_refunded net -6.01"]
        || all.told("net") == [
          "renewed net 8.99", "renewed net 9.99", "churned_refunded net -6.01",
        ])
    #expect(all.entries.map(\.cause.transactionId).contains("a-2"))
    let german = try await explain(program, "revenue --on 2025-02-01 --country DEU --product monthly --kind renewal")
    #expect(german.cell["country"] == "DEU" && german.cell["net"] == 3.98 && german.sum["refunds"] == -6.01)
    // On the day of the purchase as well, from another day's refund.
    let refunds = try await explain(program, "refunds --on 2025-02-01 --currency EUR --column amount_by_purchase_day")
    #expect(refunds.told("amount_by_purchase_day") == ["churned_refunded amount_by_purchase_day -6.01"])
    #expect(refunds.entries[0].cause.eventId != nil && refunds.entries[0].originalTransactionId == "a")

    let table = try await program.run(
      ["explain", "renewal_revenue", "--on", "2025-02-01", "--currency", "EUR", "--column", "net"])
    let lines = table.split(separator: "\n").map(String.init)
    #expect(lines[0] == "renewal_revenue on 2025-02-01: app video, environment Production, currency EUR")
    #expect(lines[1].contains("net 12.97"))
    #expect(lines[2].hasPrefix("at ") && lines[2].contains(" net  because of"))
    #expect(lines.count == 7)
    let last = try #require(lines.last)
    #expect(last.hasPrefix("= ") && last.hasSuffix("12.97  EUR"), "\(last)")
    let short = try await program.run(
      ["explain", "renewal_revenue", "--on", "2025-02-01", "--currency", "EUR", "--column", "net", "--limit", "1"])
    #expect(short.contains("… and 2 more") && short.contains("12.97  EUR"))
  }

  @Test("tax, commission, proceeds and what is converted add up, and say the rates they were estimated or converted by")
  func estimates() async throws {
    let program = try await Installation()
    try await program.import("taxes", "country,rate,from\nDEU,0.159664,2024-01-01\nDEU,0.166667,2025-01-15\n")
    try await program.import("rates", "Date,USD,\n2025-01-01,1.25,\n2025-02-03,1.5,\n")
    try await program.ingest([
      Life("a").buys("2025-01-01", until: "2025-02-01", price: 9.99, "EUR", country: "DEU").renews(until: "2025-03-01"),
      // Told by the source.
      Life("b").buys(
        "2025-02-01", until: "2025-03-01", price: 20, "EUR", country: "DEU",
        with: ["tax": 3, "commission": 5, "proceeds": 12]),
      // Of a storefront whose tax nobody knows.
      Life("c").buys("2025-02-01", until: "2025-03-01", price: 7, "EUR", country: "FRA"),
    ])
    try await program.measure(asOf: "2025-02-10")
    let german = try await explain(program, "revenue --on 2025-02-01 --currency EUR --country DEU")
    #expect(
      german.sum["tax"] == 4.665003 && german.sum["commission"] == 7.497499 && german.sum["proceeds"] == 17.827498)
    #expect(german.sum["net_converted"] == 37.4875)
    for name in ["tax", "commission", "proceeds", "net_converted"] { #expect(german.sum[name] == german.cell[name]) }
    let rates = german.entries.map { entry in
      (entry.rates ?? [:]).sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: " ")
    }
    expect(rates.sorted(), is: ["commission_rate 0.3 exchange_rate 1.25 tax_rate 0.166667", "exchange_rate 1.25"])
    // A part is unknown, and so is the whole.
    let all = try await explain(program, "revenue --on 2025-02-01 --currency EUR --column tax")
    #expect(all.sum == ["tax": .null] && all.entries.isEmpty)
    let mrr = try await explain(program, "mrr --on 2025-02-05 --currency EUR --column mrr_converted")
    #expect(mrr.sum == ["mrr_converted": 46.2375] && mrr.entries.count == 3)
    #expect(mrr.entries.allSatisfy { $0.rates?["exchange_rate"] == 1.25 })
    let table = try await program.run(
      ["explain", "revenue", "--on", "2025-02-01", "--currency", "EUR", "--country", "DEU", "--column", "commission"])
    #expect(table.contains(" at rates of ") && table.contains("tax 0.166667, commission 0.3"), "\(table)")
    // A rate that has come since the run does not disturb what the run told.
    try await program.import("rates", "Date,USD,\n2025-01-31,1.4,\n")
    let still = try await explain(
      program, "revenue --on 2025-02-01 --currency EUR --country DEU --column net_converted")
    #expect(still.sum == ["net_converted": 37.4875])
  }

  @Test("by default what still stands is listed, with --all also what was reversed and what reversed it")
  func corrections() async throws {
    let life = Life("a").buys("2025-01-01", until: "2025-02-01")
    let program = try await Installation([life], asOf: "2025-02-03")
    let before = try await explain(program, "movements --on 2025-02-01")
    #expect(before.told("churned_unconfirmed") == ["churned_unconfirmed churned_unconfirmed 1"])
    #expect(before.entries[0].cause.transactionId == "a-1")
    try await program.ingest([life.renews(until: "2025-03-01")])
    try await program.measure(asOf: "2025-02-04")
    let after = try await explain(program, "movements --on 2025-02-01")
    #expect(after.told("churned_unconfirmed", "renewed") == ["renewed renewed 1"])
    #expect(after.sum["churned_unconfirmed"] == 0)
    let all = try await explain(program, "movements --on 2025-02-01 --all")
    #expect(
      all.told("churned_unconfirmed", "renewed").sorted() == [
        "churned_unconfirmed churned_unconfirmed -1", "churned_unconfirmed churned_unconfirmed 1", "renewed renewed 1",
      ])
    #expect(all.sum == after.sum)
    #expect(Set(all.entries.map(\.runId)).count == 2)
    #expect(Set(all.entries.map(\.entryId)).count == 3)
  }

  @Test("a stock is its subscriptions, each with what keeps it there; an opening is the stock of the day before")
  func stocks() async throws {
    let program = try await Installation(
      [
        Life("a").buys("2025-01-01", until: "2025-02-01").renews(until: "2025-03-01").says(
          "2025-02-10", autoRenew: false),
        Life("b").buys("2025-02-05", until: "2025-03-05", price: 12),
        Life("gone").buys("2025-01-01", until: "2025-02-01").says("2025-01-20", autoRenew: false),
      ], asOf: "2025-02-20")
    let active = try await explain(program, "active_subscriptions --on 2025-02-12")
    #expect(
      active.told("active_subscriptions", "set_to_cancel") == [
        "renewed active_subscriptions 1", "new active_subscriptions 1", "auto_renew_disabled set_to_cancel 1",
      ])
    let mrr = try await explain(program, "mrr --on 2025-02-12 --column mrr")
    #expect(mrr.told("mrr") == ["renewed mrr 10", "new mrr 12"])
    let opening = try await explain(program, "movements --on 2025-02-05 --column opening")
    #expect(opening.told("opening") == ["renewed opening 1"])
    let start = try await explain(program, "churn --on 2025-02-12 --by month --column active_at_start")
    #expect(start.sum == ["active_at_start": 2])
    let churned = try await explain(program, "churn --on 2025-02-12 --by month")
    #expect(churned.told("churned", "churned_voluntary") == ["churned_voluntary churned 1 churned_voluntary 1"])
    #expect(churned.cell["churn_rate"] == 0.5)
    let all = try await explain(program, "active_subscriptions --on 2025-02-12 --all --column active_subscriptions")
    #expect(all.sum == ["active_subscriptions": 2])
  }

  @Test("a total that is not the sum of its entries fails and says so, and nothing is printed")
  func wrongTotal() async throws {
    let program = try await Installation(
      [Life("a").buys("2025-01-01", until: "2025-02-01", price: 9.99, "EUR")], asOf: "2025-01-02")
    let connection = try await program.connect()
    try await connection.execute("update measure.daily_revenue set gross = gross + 1")
    await connection.close()
    let outcome = try await program.start(["explain", "revenue", "--on", "2025-01-01"]).ended()
    #expect(outcome.code == 1 && outcome.output.isEmpty)
    #expect(outcome.errors.contains("gross of revenue on 2025-01-01 add up to 9.99, but the report says 9.990001"))
    #expect(outcome.errors.contains("tenure measure --rebuild"))
  }

  // MARK: - Wrong usage

  @Test("what cannot be explained is refused with what can be")
  func wrongUsage() async throws {
    let program = try await Installation(
      [
        Life("a").buys("2025-01-01", until: "2025-02-01", price: 9.99, "EUR"),
        Life("b").buys("2025-01-01", until: "2025-02-01", price: 9.99, "USD"),
      ], asOf: "2025-01-10")
    for (words, message) in [
      ("", "REPORT is missing"),
      ("movements", "--on is missing"),
      ("movements --on 2025-13-01", "--on is a day"),
      ("movements --on 2025-01-01 --limit none", "--limit is a number"),
      ("movments --on 2025-01-01", "did you mean \\\"movements\\\"?"),
      ("subscriptions --on 2025-01-01", "what happened to one subscription is in subscription_history"),
      ("revenue --on 2025-01-01 --column nett", "did you mean \\\"net\\\"?"),
      ("refunds --on 2025-01-01 --column share", "refunded_charges / charges"),
      ("mrr --on 2025-01-01 --offer none", "mrr has no offer to choose by; it has store, product, country, currency"),
      ("revenue --on 2025-01-01", "choose with --currency (EUR, USD)"),
      ("revenue --on 2025-01-01 --currency GBP", "nothing to explain on 2025-01-01"),
      ("churn --on 2025-01-01", "choose with --by"),
      ("movements --on 2025-01-01 --by month", "--by means nothing"),
      ("trials --on 2025-01-01 --all", "--all means nothing"),
      ("movements --on 2024-01-01", "nothing to explain on 2024-01-01"),
    ] {
      let outcome = try await program.start(["explain"] + words.split(separator: " ").map(String.init)).ended()
      #expect(outcome.code == 2, "\(words)")
      #expect(outcome.output.isEmpty, "\(words)")
      #expect(outcome.errors.contains(message), "\(words): \(outcome.errors)")
    }
  }
}
