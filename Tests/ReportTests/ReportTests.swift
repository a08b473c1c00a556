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
