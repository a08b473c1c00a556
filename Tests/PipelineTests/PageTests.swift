import Foundation
import Glibc
import TestSupport
import Testing

/// The page that `tenure demo --serve` shows, in a real browser: what it says, and that everyone can read it.
@Suite("Page", .fewAtOnce)
struct PageTests {
  /// A demo that stays up, and a browser that is on its page.
  private struct Visit {
    let database: TestDatabase
    let program: TestProgram
    let browser: Browser
    let page: BrowserPage
    let address: String

    init(subscribers: Int, width: Int = 1280, height: Int = 900) async throws {
      database = try await TestDatabase.empty()
      program = try TestProgram(
        ["demo", "--subscribers", "\(subscribers)", "--seed", "3", "--serve", "--reports-listen", "127.0.0.1:0"],
        environment: ["DATABASE_URL": database.connectionString])
      guard let line = await program.outputLine(containing: "reports: http") else {
        throw Browser.Failure(description: "the demo ended: \(await program.ended())")
      }
      address = try #require(line.firstMatch(of: /http:\S+/)).output.description
      browser = try Browser()
      page = try await browser.page(width: width, height: height)
      try await page.open(address)
      try await settle()
    }

    /// Returns when every section has what it asked for.
    func settle() async throws {
      let _: Bool = try await page.value(
        of: """
          new Promise(resolve => {
            const look = () => document.querySelector('#figures')?.getAttribute('aria-busy') === 'false'
              ? resolve(true) : setTimeout(look, 5)
            look()
          })
          """)
    }

    /// Chooses something in a picker and waits for its figures.
    func choose(_ name: String, _ value: String) async throws {
      let _: String = try await page.value(
        of: """
          (() => {
            const control = document.getElementById('\(name)')
            control.value = '\(value)'
            control.dispatchEvent(new Event('change', { bubbles: true }))
            return control.value
          })()
          """)
      try await settle()
    }

    /// Ends both, and expects that nothing was complained of and nothing was asked of anyone else.
    func end() async {
      #expect(page.complaints == [])
      let host = address.split(separator: "/").dropFirst().first ?? ""
      // The browser draws its own controls from data of its own.
      #expect(page.requests.filter { !$0.hasPrefix("http://\(host)/") && !$0.hasPrefix("data:") } == [])
      #expect(page.requests.count > 20)
      browser.close()
      program.send(SIGTERM)
      #expect(await program.ended().code == 0)
    }
  }

  /// A figure on the page: what is written, and where it stands in which report.
  private struct Figure: Decodable {
    let section: String
    let text: String
    let report: String
    let column: String
    let value: String
    let row: [String: Scalar]
    let query: [String: Scalar]
  }

  private func figures(_ visit: Visit) async throws -> [Figure] {
    try await visit.page.value(
      of: """
        [...document.querySelectorAll('main .figure')].map(figure => ({
          section: figure.closest('section').id, text: figure.textContent, report: figure.dataset.report,
          column: figure.dataset.column, value: figure.dataset.value, row: JSON.parse(figure.dataset.row),
          query: JSON.parse(figure.dataset.query)
        }))
        """)
  }

  /// The rows that the command prints when it is asked what the page asked.
  private func printed(_ query: [String: Scalar], _ report: String, _ visit: Visit) async throws -> [[String: Scalar]] {
    var words = ["report", report, "--format", "json"]
    for (name, value) in query.sorted(by: { $0.key < $1.key }) where value != .text("") {
      let option = "--" + name.replacing("_", with: "-")
      words += option == "--converted" ? [option] : [option, value.word]
    }
    return try await Scalar.rows(printedBy: words, visit.database)
  }

  /// Expects that each figure is what the command prints in its place, and that what is written is that, rounded.
  private func expectPrinted(_ figures: [Figure], _ visit: Visit) async throws {
    struct Asked: Hashable {
      let report: String
      let query: [String: Scalar]
    }
    for (asked, shown) in Dictionary(grouping: figures, by: { Asked(report: $0.report, query: $0.query) }) {
      let rows = try await printed(asked.query, asked.report, visit)
      for figure in shown {
        let row = rows.first { row in figure.row.allSatisfy { row[$0.key] == $0.value } }
        let place = "\(figure.section): \(figure.report).\(figure.column) \(figure.row)"
        guard let told = row?[figure.column] else {
          Issue.record("the command prints no \(place)")
          continue
        }
        switch told {
        case .none: #expect(figure.value == "null" && figure.text == "–", "\(place)")
        case .number(let number):
          #expect(Decimal(string: figure.value) == number, "\(place)")
          let digits = figure.text.replacing("−", with: "-").filter { $0.isNumber || $0 == "." || $0 == "-" }
          let written = try #require(Decimal(string: digits), "\(place) reads \(figure.text)")
          let exact = figure.text.hasSuffix("%") ? number * 100 : number
          let places = digits.split(separator: ".").dropFirst().first?.count ?? 0
          let half = Decimal(sign: .plus, exponent: -places, significand: 1) / 2
          #expect(abs(written - exact) <= half, "\(place) is \(number) and reads \(figure.text)")
        case .text, .several: Issue.record("\(place) is no number")
        }
      }
    }
  }

  @Test(
    "every figure on the page is what tenure report prints, whatever is chosen, and nothing is asked of another host")
  func figures() async throws {
    let visit = try await Visit(subscribers: 45)
    let overview = try await figures(visit)
    let told = Set(overview.map(\.section))
    #expect(
      told.isSuperset(of: [
        "today", "subscribers", "mrr", "movements", "mrr-movement", "churn", "renewals", "trials", "cohorts", "billing",
        "deliveries",
      ]))
    #expect(overview.count > 300)
    try await expectPrinted(overview, visit)
    let codes: [String] = try await visit.page.value(
      of: "[...document.querySelectorAll('#currency option')].map(option => option.value).filter(Boolean)")
    #expect(codes.count > 2)

    // In one currency, by quarter and product, in days of one's own choice.
    let code = try #require(codes.contains("JPY") ? "JPY" : codes.last)
    try await visit.choose("currency", code)
    try await visit.choose("by", "quarter")
    try await visit.choose("group", "product")
    try await visit.choose("from", "2025-03-10")
    let chosen = try await figures(visit)
    #expect(chosen.filter { $0.section == "renewals" }.allSatisfy { $0.row["currency"] == .text(code) })
    #expect(chosen.filter { $0.section == "trials" }.allSatisfy { $0.row["product_id"] != nil })
    #expect(
      chosen.filter { $0.section == "subscribers" }.allSatisfy {
        $0.query["from"] == .text("2025-03-10") && $0.query["by"] == .text("quarter")
      })
    try await expectPrinted(chosen, visit)
    // What was chosen is in the address.
    let address: String = try await visit.page.value(of: "location.href")
    for part in ["from=2025-03-10", "by=quarter", "group=product", "currency=\(code)", "range=chosen"] {
      #expect(address.contains(part))
    }
    let before = chosen.map(\.value)
    try await visit.page.open(address)
    try await visit.settle()
    #expect(try await figures(visit).map(\.value) == before)

    try await visit.choose("environment", "Xcode")
    #expect(
      try await visit.page.value(String.self, of: "document.querySelector('main').textContent").contains(
        "tenure ingest"),
      "where there is nothing it says what to do")
    await visit.end()
  }

  @Test("a figure opens what is behind it: entries that add up to it, days of a month, the parts of a share")
  func explanations() async throws {
    let visit = try await Visit(subscribers: 30)
    func open(_ selector: String) async throws -> String {
      try await visit.page.value(
        of: """
          (async () => {
            document.querySelector(`\(selector)`).click()
            const body = document.getElementById('explanation-body')
            while (body.querySelector('[aria-busy="true"]') || !body.querySelector('[aria-busy]')) {
              await new Promise(resolve => setTimeout(resolve, 5))
            }
            return body.innerText
          })()
          """)
    }
    let stock = try await open("#today [data-column='active_subscriptions']")
    let active: String = try await visit.page.value(
      of: "document.querySelector(`#today [data-column='active_subscriptions']`).dataset.value")
    #expect(stock.contains("together \(active)"))
    let lines: Int = try await visit.page.value(of: "document.querySelectorAll('#explanation-body tbody tr').length")
    #expect(lines == Int(active))
    #expect(stock.contains("tenure") || stock.contains("app_store"), "the cause is named: \(stock)")

    let days = try await open("#movements [data-column='new']:not([data-value='0'])")
    #expect(days.contains("The days it is the sum of"))
    #expect(try await open("#explanation-body .days .figure").contains("The entries behind it"))
    #expect(try await open("#churn [data-column='churn_rate']").contains("active at start"))
    let converted = try await open("#renewals [data-column='net_converted']:not([data-value='null'])")
    #expect(converted.contains("In the currencies that were charged"))
    #expect(try await open("#cohorts [data-column='retention']").contains("retained / due"))
    await visit.end()
  }

  @Test("an answer that comes after another choice changes nothing of what is shown")
  func lateAnswers() async throws {
    let visit = try await Visit(subscribers: 12)
    // Every answer about one choice is held back until it is let go; what is under way is counted.
    let _: Bool = try await visit.page.value(
      of: """
        (() => {
          const own = window.fetch
          window.underWay = 0
          window.letGo = () => {}
          const held = new Promise(resolve => { window.letGo = resolve })
          window.fetch = async address => {
            window.underWay++
            const { ok, status, statusText, text } = await own(address).then(async answer =>
              ({ ok: answer.ok, status: answer.status, statusText: answer.statusText, text: await answer.text() }))
            if (/environment=Xcode|app=another&/.test(address)) await held
            window.underWay--
            return { ok, status, statusText, text: async () => text }
          }
          return true
        })()
        """)
    let shown = """
      JSON.stringify([document.getElementById('as-of').textContent, document.querySelector('main').innerText, location.search,
        ...['app', 'currency', 'from', 'to'].map(name => document.getElementById(name).outerHTML + document.getElementById(name).value)])
      """
    try await visit.choose("by", "month")
    let before: String = try await visit.page.value(of: shown)
    // Neither another environment, which has nothing, nor another app.
    for (name, other) in [("environment", "Xcode"), ("app", "another")] {
      let first: String = try await visit.page.value(
        of: """
          (() => {
            const control = document.getElementById('\(name)')
            const first = control.value
            if (control.id === 'app') control.append(new Option('\(other)', '\(other)'))
            control.value = '\(other)'
            control.dispatchEvent(new Event('change', { bubbles: true }))
            return first
          })()
          """)
      try await visit.choose(name, first)
    }
    let _: Bool = try await visit.page.value(
      of: """
        new Promise(resolve => {
          window.letGo()
          const look = () => window.underWay === 0 ? resolve(true) : setTimeout(look, 5)
          setTimeout(look, 0)
        })
        """)
    #expect(try await visit.page.value(String.self, of: shown) == before)
    await visit.end()
  }

  @Test(
    "what has no rate is told beside what leaves it out, and a currency without MRR in the days is said to have none")
  func missingCurrencies() async throws {
    let visit = try await Visit(subscribers: 45)
    let tiles: [String] = try await visit.page.value(
      of: """
        [...document.querySelectorAll('.tile')].filter(tile => tile.querySelector('[data-column="net_converted"]'))
          .map(tile => tile.innerText)
        """)
    #expect(!tiles.isEmpty && tiles.contains { $0.contains("left out for want of a rate") }, "\(tiles)")
    let codes: [String] = try await visit.page.value(
      of: "[...document.querySelectorAll('#currency option')].map(option => option.value).filter(Boolean)")
    var told: [String] = []
    try await visit.choose("range", "all")
    let first: String = try await visit.page.value(
      of: """
        fetch('/v1/reports/mrr?environment=Production&by=day&group_by=app').then(answer => answer.json())
          .then(rows => rows.find(row => row.currency !== null).day)
        """)
    for (name, value) in [("from", first), ("to", first)] { try await visit.choose(name, value) }
    for code in codes {
      try await visit.choose("currency", code)
      told.append(
        try await visit.page.value(
          of: """
            (() => {
              const section = document.getElementById('mrr')
              return section.children.length > 1 ? section.innerText : ''
            })()
            """))
    }
    #expect(!told.contains(""))
    #expect(told.contains { $0.contains("There is no MRR in") }, "\(told)")
    await visit.end()
  }

  @Test("it can be read without a mouse, and the rules of accessibility hold, wide and narrow, light and dark")
  func accessibility() async throws {
    let visit = try await Visit(subscribers: 30)
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let folder = root.appending(path: ".build/axe-core")
    let name = try #require(
      (try? FileManager.default.contentsOfDirectory(atPath: folder.path))?.max(), "scripts/fetch-axe fetches axe-core")
    let axe = try String(contentsOf: folder.appending(path: name), encoding: .utf8)
    let _: Bool = try await visit.page.value(of: axe + "; true")
    struct Violation: Decodable, Equatable {
      let rule: String
      let place: String
    }
    for (width, isDark) in [(1280, false), (1280, true), (390, false), (390, true)] {
      try await visit.page.resize(width: width, height: 900)
      try await visit.page.prefer(dark: isDark)
      try await visit.choose("by", "month")
      for isOpen in [false, true] {
        let violations: [Violation] = try await visit.page.value(
          of: """
            (async () => {
              if (\(isOpen)) document.querySelector('#today .figure').click()
              for (const details of document.querySelectorAll('details')) details.open = true
              const found = await axe.run(document, { resultTypes: ['violations'] })
              document.getElementById('explanation').close()
              return found.violations.flatMap(one => one.nodes.map(node => ({ rule: one.id, place: node.html + node.failureSummary })))
            })()
            """)
        #expect(violations == [], "\(width) pixels, \(isDark ? "dark" : "light"), \(isOpen ? "explanation" : "page")")
      }
      // Nothing but what is scrolled in its own place is wider than the window.
      let overhang: Int = try await visit.page.value(of: "document.documentElement.scrollWidth - window.innerWidth")
      #expect(overhang <= 0)
    }
    // From the skip link over the pickers to a figure, which Enter opens and Escape leaves.
    try await visit.page.open(try await visit.page.value(String.self, of: "location.origin + '/'"))
    try await visit.settle()
    var focused: [String] = []
    while focused.last != "figure", focused.count < 40 {
      try await visit.page.press("Tab")
      focused.append(
        try await visit.page.value(String.self, of: "document.activeElement.id || document.activeElement.className"))
    }
    #expect(focused.first == "skip")
    #expect(focused.contains("app") && focused.contains("currency"))
    #expect(focused.last == "figure")
    try await visit.page.press("Enter")
    #expect(try await visit.page.value(Bool.self, of: "document.getElementById('explanation').open"))
    #expect(try await visit.page.value(String.self, of: "document.activeElement.id") == "explanation-title")
    try await visit.page.press("Escape")
    #expect(try await visit.page.value(Bool.self, of: "!document.getElementById('explanation').open"))
    #expect(try await visit.page.value(String.self, of: "document.activeElement.className") == "figure")
    await visit.end()
  }

  @Test("before there are figures it says what to do first")
  func emptyDatabase() async throws {
    let database = try await TestDatabase.clone()
    let serving = try await Serving(environment: ["DATABASE_URL": database.connectionString])
    let browser = try Browser()
    let page = try await browser.page(width: 390, height: 800)
    try await page.open("http://127.0.0.1:\(serving.reportsPort)/?token=\(Serving.token)")
    let text: String = try await page.value(
      of: """
        new Promise(resolve => {
          const look = () => document.querySelector('#figures')?.getAttribute('aria-busy') === 'false'
            ? resolve(document.querySelector('main').textContent) : setTimeout(look, 5)
          look()
        })
        """)
    #expect(text.contains("tenure ingest") && text.contains("tenure measure"))
    #expect(page.complaints == [])
    browser.close()
    await serving.end()
  }
}
