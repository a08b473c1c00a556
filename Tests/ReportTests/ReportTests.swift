import Foundation
import Postgres
import Report
import Synchronization
import TestSupport
import Testing
import Vocabulary

/// How a report is filtered, brought together and written, on a view that has every kind of column.
@Suite("Reports")
struct ReportTests {
  private let connection: Connection
  private let reporter: Reporter

  init() async throws {
    connection = try await TestDatabase.clone().connect()
    reporter = Reporter(connection: connection)
    try await connection.execute(
      """
      insert into measure.book (settings, opened_at) values ('{"timezone": "UTC", "mrr_factors": "calendar"}', now());
      insert into measure.run (command, book_id, started_at, as_of, outcome)
      values ('measure', 1, now(), '2025-02-02', 'done');
      create view report.sample as
      select * from (
        values
        ('video', 'Production', 'app_store', '2025-01-30'::date, 'a', 'USD', 1::bigint, 4.50, 10::bigint, 9::bigint, 0.5, true),
        ('video', 'Production', 'app_store', '2025-01-31'::date, 'a', 'USD', 2, null, 12, 10, 0.25, false),
        ('video', 'Production', 'app_store', '2025-01-31'::date, 'b', 'USD', 4, 1.25, 7, 7, 1, true),
        ('video', 'Production', 'app_store', '2025-02-01'::date, 'b, "x"', 'EUR', 8, 2, 3, 3, 0, true),
        ('other', 'Sandbox', 'app_store', '2025-02-01'::date, '', 'EUR', 16, 2, 3, 3, 0, true)
      ) as sample (
        app, environment, store, day, product_id, currency, charges, tax, active, opening, rate, is_final
      );
      comment on view report.sample is 'Sample';
      comment on column report.sample.app is 'Dimension: a';
      comment on column report.sample.environment is 'Dimension: e';
      comment on column report.sample.store is 'Dimension: s';
      comment on column report.sample.day is 'Dimension: d';
      comment on column report.sample.product_id is 'Dimension: p';
      comment on column report.sample.currency is 'Dimension: c';
      comment on column report.sample.charges is 'Flow: f';
      comment on column report.sample.tax is 'Whole: w';
      comment on column report.sample.active is 'Stock: s';
      comment on column report.sample.opening is 'Opening: o';
      comment on column report.sample.rate is 'Ratio: charges / active';
      comment on column report.sample.is_final is 'Every: true';
      """)
  }

  private func written(_ query: ReportQuery, as format: Reporter.Format) async throws -> String {
    let text = Mutex("")
    try await reporter.write(query, as: format) { piece in text.withLock { $0 += piece } }
    return text.withLock { $0 }
  }

  @Test("the whole grain, of Production unless another environment is asked for, quoted as RFC 4180 says")
  func csv() async throws {
    try await #expect(
      written(ReportQuery(name: "sample", from: "2025-02-01"), as: .csv) == """
        app,environment,store,day,product_id,currency,charges,tax,active,opening,rate,is_final
        video,Production,app_store,2025-02-01,"b, ""x""\",EUR,8,2,3,3,0,true

        """)
    try await #expect(
      written(ReportQuery(name: "sample", environment: .sandbox), as: .csv).contains(
        "other,Sandbox,app_store,2025-02-01,\"\",EUR,16,2"))
  }

  @Test("json keeps the digits and the order of the columns, and unknown is null")
  func json() async throws {
    try await #expect(
      written(ReportQuery(name: "sample", to: "2025-01-31", app: "video"), as: .json).split(separator: "\n")[2]
        == """
        {"app":"video","environment":"Production","store":"app_store","day":"2025-01-31","product_id":"a",\
        "currency":"USD","charges":2,"tax":null,"active":12,"opening":10,"rate":0.25,"is_final":false},
        """)
  }

  @Test("by month: flows are summed, stocks the last day's, openings the first's, and a part unknown makes it unknown")
  func byMonth() async throws {
    let months = try await written(ReportQuery(name: "sample", by: .month, groupBy: []), as: .csv)
    #expect(
      months == """
        app,environment,day,currency,charges,tax,active,opening,rate,is_final
        video,Production,2025-01-01,USD,7,,19,9,0.241379,false
        video,Production,2025-02-01,EUR,8,2,3,3,2.666667,true

        """)
  }

  @Test(
    "converted: currencies are added, of amounts in one currency nothing is told, and a part without a rate makes it unknown"
  )
  func converted() async throws {
    try await connection.execute(
      """
      drop view report.sample;
      create view report.sample as
      select * from (
        values
        ('video', 'Production', 'app_store', '2025-01-30'::date, 'EUR', 1::bigint, 4.50, 5.00, 50.0, 'USD', 'reported'),
        ('video', 'Production', 'app_store', '2025-01-31'::date, 'EUR', 2, 1.00, 1.10, 20, 'USD', 'reported'),
        ('video', 'Production', 'app_store', '2025-01-31'::date, 'USD', 4, 2.00, 2.00, 30, 'USD', 'estimated'),
        ('video', 'Production', 'app_store', '2025-02-01'::date, 'USD', 8, 4.00, 4.00, 30, 'USD', 'estimated'),
        ('video', 'Production', 'app_store', '2025-02-01'::date, 'XTS', 16, 8.00, null, null, 'USD', 'estimated'),
        ('video', 'Production', 'app_store', '2025-02-01'::date, null, 32, null, null, null, 'USD', null)
      ) as sample (app, environment, store, day, currency, charges, net, net_converted, mrr_converted, converted_to, basis);
      comment on column report.sample.app is 'Dimension: a';
      comment on column report.sample.environment is 'Dimension: e';
      comment on column report.sample.store is 'Dimension: s';
      comment on column report.sample.day is 'Dimension: d';
      comment on column report.sample.currency is 'Dimension: c';
      comment on column report.sample.charges is 'Flow: f';
      comment on column report.sample.net is 'Flow: n';
      comment on column report.sample.net_converted is 'Flow: n';
      comment on column report.sample.mrr_converted is 'Stock: m';
      comment on column report.sample.converted_to is 'Detail: c';
      comment on column report.sample.basis is 'Detail: b';
      """)
    try await #expect(
      written(ReportQuery(name: "sample", by: .month, groupBy: [], isConverted: true), as: .csv) == """
        app,environment,day,charges,net_converted,mrr_converted,converted_to
        video,Production,2025-01-01,7,8.1,50,USD
        video,Production,2025-02-01,56,4,,USD

        """)
    try await #expect(
      written(ReportQuery(name: "sample", to: "2025-01-31", isConverted: true, last: 1), as: .csv) == """
        app,environment,store,day,charges,net_converted,mrr_converted,converted_to
        video,Production,app_store,2025-01-31,6,3.1,50,USD

        """)
    let refusal = await #expect(throws: ReportError.self) {
      try await written(ReportQuery(name: "movements", groupBy: [], isConverted: true), as: .csv)
    }
    #expect("\(try #require(refusal))" == "movements has no amounts in the reporting currency that could be added")
  }

  @Test("the last rows are the newest, the newest first: by the day, or by when they were received")
  func last() async throws {
    try await #expect(
      written(ReportQuery(name: "sample", last: 2), as: .csv).split(separator: "\n").dropFirst().map { $0.prefix(44) }
        == [
          "video,Production,app_store,2025-02-01,\"b, \"\"", "video,Production,app_store,2025-01-31,a,USD,",
        ])
    try await #expect(
      written(ReportQuery(name: "sample", by: .month, groupBy: [], last: 1), as: .csv).split(separator: "\n")[1]
        .hasPrefix("video,Production,2025-02-01"))
    try await connection.execute(
      """
      create view report.arrival as
      select * from (
        values
        ('video', 'Production', 'app_store', 'a', 'trial_started', '2025-01-03T00:00:00Z'::timestamptz),
        ('video', 'Production', 'app_store', 'b', 'refunded', '2025-01-05T00:00:00Z'),
        ('video', 'Production', 'app_store', 'c', 'refunded', '2025-01-04T00:00:00Z')
      ) as arrival (app, environment, store, event_id, kind, received_at);
      comment on column report.arrival.app is 'Dimension: a';
      comment on column report.arrival.environment is 'Dimension: e';
      comment on column report.arrival.store is 'Dimension: s';
      comment on column report.arrival.event_id is 'Dimension: i';
      comment on column report.arrival.kind is 'Dimension: k';
      comment on column report.arrival.received_at is 'Detail: r';
      """)
    try await #expect(
      written(ReportQuery(name: "arrival", last: 2), as: .csv).split(separator: "\n").dropFirst().map { $0.suffix(35) }
        == [
          "b,refunded,2025-01-05T00:00:00.000Z", "c,refunded,2025-01-04T00:00:00.000Z",
        ])
    // Single things are counted where they are grouped, and of numbers of things none is the newest.
    try await #expect(
      written(ReportQuery(name: "arrival", groupBy: ["kind"]), as: .csv) == """
        app,environment,kind,rows
        video,Production,refunded,2
        video,Production,trial_started,1

        """)
    let refusal = await #expect(throws: ReportError.self) {
      try await written(ReportQuery(name: "arrival", groupBy: ["kind"], last: 1), as: .csv)
    }
    #expect("\(try #require(refusal))".contains("has no newest"))
  }

  private func plotted(_ query: ReportQuery, _ column: String? = nil, width: Int = 40) async throws -> String {
    let text = Mutex("")
    try await reporter.plot(query, column: column, width: width) { piece in text.withLock { $0 += piece } }
    return text.withLock { $0 }
  }

  @Test(
    "a figure is drawn as bars on one scale for each currency, negative ones to the left, what is not nothing never as nothing"
  )
  func plot() async throws {
    try await connection.execute(
      """
      create view report.drawn as
      select
        'video'::text as app, 'Production'::text as environment, day::date as day, product_id, currency, charges, net
      from (
        values
        ('2025-01-30', 'a', 'USD', 30::bigint, -5.0), ('2025-01-31', 'a', 'USD', 15, 5), ('2025-01-30', 'b', 'USD', 1, 10),
        ('2025-01-30', 'a', 'EUR', 100000, null)
      ) as drawn (day, product_id, currency, charges, net);
      comment on column report.drawn.app is 'Dimension: a';
      comment on column report.drawn.environment is 'Dimension: e';
      comment on column report.drawn.day is 'Dimension: d';
      comment on column report.drawn.product_id is 'Dimension: p';
      comment on column report.drawn.currency is 'Dimension: c';
      comment on column report.drawn.charges is 'Flow: charges made';
      comment on column report.drawn.net is 'Flow: what is left';
      """)
    func blocks(_ count: Int) -> String { String(repeating: "█", count: count) }
    try await #expect(
      plotted(ReportQuery(name: "drawn", groupBy: ["product"])) == """
        charges: charges made
        product_id a, currency EUR
        2025-01-30  100000  \(blocks(20))

        product_id a, currency USD
        2025-01-30      30  \(blocks(20))
        2025-01-31      15  \(blocks(10))

        product_id b, currency USD
        2025-01-30       1  ▋

        """)
    try await #expect(
      plotted(ReportQuery(name: "drawn", groupBy: []), "net") == """
        net: what is left
        currency EUR
        2025-01-30  –

        currency USD
        2025-01-30  5  \(blocks(25))
        2025-01-31  5  \(blocks(25))

        """)
    try await #expect(
      plotted(ReportQuery(name: "drawn", groupBy: ["product"]), "net", width: 31).hasSuffix(
        """
        product_id a, currency USD
        2025-01-30  -5  \(blocks(5))
        2025-01-31   5       \(blocks(5))

        product_id b, currency USD
        2025-01-30  10       \(blocks(10))

        """))
    let unknown = await #expect(throws: ReportError.self) { try await plotted(ReportQuery(name: "drawn"), "nothing") }
    #expect("\(try #require(unknown))" == "drawn has no figure \"nothing\" to draw; it has charges, net")
    let timeless = await #expect(throws: ReportError.self) { try await plotted(ReportQuery(name: "products")) }
    #expect("\(try #require(timeless))" == "products has no figures over time that could be drawn")
  }

  @Test("what cannot be summed is refused with the reason, and names that are unknown with those that are known")
  func refusals() async throws {
    await #expect(throws: ReportError.self) { try await written(ReportQuery(name: "nothing"), as: .csv) }
    let dimension = await #expect(throws: ReportError.self) {
      try await written(ReportQuery(name: "sample", groupBy: ["shoe"]), as: .csv)
    }
    #expect("\(try #require(dimension))" == "sample cannot be grouped by \"shoe\"; it can by store, product_id")
    try await connection.execute("comment on column report.sample.active is 'Distinct: people'")
    let distinct = await #expect(throws: ReportError.self) {
      try await written(ReportQuery(name: "sample", groupBy: ["product"]), as: .csv)
    }
    #expect("\(try #require(distinct))".contains("active counts distinct people"))
    try await connection.execute("comment on column report.sample.rate is 'Rate: r'")
    let rate = await #expect(throws: ReportError.self) {
      try await written(ReportQuery(name: "sample", by: .month), as: .csv)
    }
    #expect("\(try #require(rate))".contains("rate of several periods is not the sum of theirs"))
  }
}
