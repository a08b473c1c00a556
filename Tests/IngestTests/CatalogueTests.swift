import Ingest
import Postgres
import TestSupport
import Testing
import Vocabulary

@Suite("Catalogues")
struct CatalogueTests {
  private func problems(_ text: String) -> [String] {
    do throws(ImportProblems) {
      _ = try Catalogue(reading: Array(text.utf8), app: "video")
      return []
    } catch {
      return error.problems.map(\.description)
    }
  }

  private func storeKit(version: Int, subscription: String = "", more: String = "") -> String {
    """
    {"identifier": "X", "version": {"major": \(version), "minor": 0}, "settings": {"_storefront": "DEU"},
      "subscriptionOffersKeyPair": {"privateKey": "s3cr3t"},
      "products": [{"productID": "coins", "type": "Consumable", "displayPrice": "0.99", "referenceName": "Coins"},
        {"productID": "pro", "type": "NonConsumable", "displayPrice": "100"}],
      "nonRenewingSubscriptions": [{"productID": "season", "type": "NonRenewingSubscription", "displayPrice": "5.5"}],
      "subscriptionGroups": [{"id": "G1", "name": "Premium", "subscriptions": [
        {"productID": "premium.monthly", "referenceName": "Monthly", "subscriptionGroupID": "G1", "groupNumber": 2,
          "displayPrice": "9.99", "recurringSubscriptionPeriod": "P1M", "introductoryOffer": null,
          "winbackOffers": [{"offerID": "w"}]\(subscription)}]}]\(more)}
    """
  }

  @Test("a .storekit file gives products, groups, levels, periods and prices", arguments: [3, 4, 5])
  func storeKit(version: Int) throws {
    let catalogue = try Catalogue(reading: Array(storeKit(version: version).utf8), app: "video")
    #expect(catalogue.products.map(\.productID) == ["premium.monthly", "coins", "pro", "season"])
    let monthly = catalogue.products[0]
    #expect(monthly.groupID == "G1")
    #expect(monthly.groupName == "Premium")
    #expect(monthly.name == "Monthly")
    #expect(monthly.level == 2)
    #expect(monthly.period == "P1M")
    #expect(catalogue.products.map(\.type) == [.autoRenewable, .consumable, .nonConsumable, .nonRenewing])
    #expect(catalogue.prices.map(\.amount.value) == [9_990_000, 990_000, 100_000_000, 5_500_000])
    #expect(catalogue.prices.allSatisfy { $0.country == "DEU" && $0.currency == nil })
  }

  @Test("all that is wrong with a .storekit file is told at once")
  func wrongStoreKit() {
    #expect(problems(storeKit(version: 6)) == ["version.major: versions 3, 4 and 5 are read, and this is 6"])
    #expect(problems("{\"version\": {\"major\": 4}").count == 1)
    let wrong = storeKit(version: 4)
      .replacing("\"P1M\"", with: "\"monthly\"").replacing("\"9.99\"", with: "\"9,99\"")
      .replacing("\"groupNumber\": 2", with: "\"groupNumber\": 0").replacing("\"coins\"", with: "\"pro\"")
    #expect(
      problems(wrong) == [
        "subscriptionGroups[0].subscriptions[0].displayPrice: a decimal number is needed, such as 9.99",
        "subscriptionGroups[0].subscriptions[0].groupNumber: a whole number from 1 is needed",
        "subscriptionGroups[0].subscriptions[0].recurringSubscriptionPeriod: a duration is needed, such as P1M",
        "products[1].productID: pro stands in the file twice",
      ])
  }

  @Test("a table has a row per product and country, and rows of other apps are left out")
  func table() throws {
    let text = """
      \u{FEFF}app,product_id,group_id,level,period,price,currency,country\r
      video,"premium, ""yearly\"\"",g,1,P1Y,99.99,USD,USA\r
      video,"premium, ""yearly\"\"",g,1,P1Y,89,EUR,DEU\r
      \r
      other,x,g,1,P1Y,1,USD,USA
      ,plain,,,,,,
      """
    let catalogue = try Catalogue(reading: Array(text.utf8), app: "video")
    #expect(catalogue.products.map(\.productID) == ["premium, \"yearly\"", "plain"])
    #expect(
      catalogue.prices.map { "\($0.country) \($0.amount) \($0.currency ?? "")" } == ["USA 99.99 USD", "DEU 89 EUR"])
  }

  @Test("all that is wrong with a table is told at once, with its line")
  func wrongTable() {
    #expect(problems("name,product_id\nx,y").first?.hasPrefix("line 1: there is no column \"name\"") == true)
    #expect(problems("level\n1") == ["line 1: the column product_id is missing"])
    #expect(problems("product_id,price\n").last == "file: there is no product in it")
    let text = """
      product_id,level,period,price,currency,country
      a,0,P1M,1,USD,USA
      ,1,P1M,1,USD,USA
      b,1,month,-1,usd,US
      b,2,P1M,1,USD,USA
      c,1,P1M,1,USD,USA
      c,1,P1M,2,USD,USA
      d,1
      e,1,P1M,"1
      """
    #expect(
      problems(text) == [
        "line 2: level: a whole number from 1 is needed", "line 3: product_id is missing",
        "line 4: period: a duration is needed, such as P1M",
        "line 4: country: three capital letters are needed, such as USA",
        "line 4: currency: a code of ISO 4217 is needed, such as USD",
        "line 4: price: a decimal number is needed, such as 9.99",
        "line 5: b: group_id, level or period differ from those of an earlier line",
        "line 7: c: there is a price for USA already", "line 8: 6 fields are needed, and there is 2",
        "line 9: 6 fields are needed, and there is an open quotation mark",
      ])
  }

  @Test("an import replaces what was there of the app, and of no other")
  func replaces() async throws {
    let connection = try await TestDatabase.clone().connect()
    let importer = CatalogueImporter(connection, apps: [AppConfiguration(key: "video", bundleID: "b")], now: noon)
    let first = try Catalogue(reading: Array("product_id,price,country\na,1,USA\nb,2,USA".utf8), app: "video")
    let second = try Catalogue(reading: Array("product_id,level,price\nb,3,2.5".utf8), app: "video")
    try await importer.replace(with: first, app: "music")
    try await importer.replace(with: first, app: "video")
    try await importer.replace(with: second, app: "video")
    let rows = try await connection.query(
      """
      select app_key, product_id, level, price, country from reference.product
      join reference.product_price using (app_id, product_id) join ingest.app using (app_id) order by 1, 2
      """
    ).map { $0.values.map { $0 ?? "null" }.joined(separator: "|") }
    #expect(rows == ["music|a|null|1000000|USA", "music|b|null|2000000|USA", "video|b|3|2500000|"])
    #expect(
      try await connection.query("select bundle_id from ingest.app where app_key = 'video'")[0]["bundle_id"] == "b")
  }
}

@Suite("Win-back offers")
struct WinBackOfferTests {
  private func problems(_ text: String) -> [String] {
    do throws(ImportProblems) {
      _ = try WinBackOffer.read(Array(text.utf8))
      return []
    } catch {
      return error.problems.map(\.description)
    }
  }

  @Test("an offer file is read whole, and replaces the offers of the apps that it names")
  func offers() async throws {
    let text = """
      [{"offer_id": "w3", "app": "video", "product_ids": ["a", "b"], "min_paid_months": 6, "min_months_since": 2,
        "max_months_since": 24, "wait_months": 6, "starts_on": "2026-01-01", "ends_on": "2026-12-31",
        "territories": ["USA"], "priority": "high"},
       {"offer_id": "w1", "app": "video", "product_ids": null}]
      """
    let connection = try await TestDatabase.clone().connect()
    let importer = CatalogueImporter(connection, apps: [], now: noon)
    try await importer.replace(with: WinBackOffer.read(Array("[{\"offer_id\": \"old\", \"app\": \"video\"}]".utf8)))
    try await importer.replace(with: WinBackOffer.read(Array("[{\"offer_id\": \"kept\", \"app\": \"music\"}]".utf8)))
    try await importer.replace(with: WinBackOffer.read(Array(text.utf8)))
    let rows = try await connection.query(
      """
      select app_key, offer_id, product_ids, min_paid_months, min_months_since, max_months_since, wait_months, starts_on,
        ends_on, territories, priority
      from reference.winback_offer join ingest.app using (app_id) order by 1, 2
      """
    ).map { $0.values.map { $0 ?? "null" }.joined(separator: "|") }
    #expect(
      rows == [
        "music|kept|null|null|null|null|null|null|null|null|normal",
        "video|w1|null|null|null|null|null|null|null|null|normal",
        "video|w3|{a,b}|6|2|24|6|2026-01-01|2026-12-31|{USA}|high",
      ])
  }

  @Test("all that is wrong with an offer file is told at once, with its path")
  func wrong() {
    #expect(problems("{}") == ["file: an array of offers is needed"])
    #expect(problems("[]") == ["file: there is no offer in it"])
    #expect(problems("[1]") == ["[0]: an object is needed"])
    #expect(problems("[{").count == 1)
    let text = """
      [{"offer_id": "a", "app": "video", "min_months_since": 5, "max_months_since": 4, "starts_on": "2026-02-02",
        "ends_on": "2026-02-01"},
       {"offer_id": "a", "app": "video", "min_paid_months": 1.5, "wait_months": -1, "starts_on": "2026-02-30",
        "territories": ["US"], "priority": "low", "product_ids": []},
       {"app": 1, "paid": 6}]
      """
    let found = problems(text)
    #expect(
      found.map { $0.prefix { $0 != ":" } } == [
        "[0].max_months_since", "[0].ends_on", "[1].product_ids", "[1].min_paid_months", "[1].wait_months",
        "[1].starts_on", "[1].territories", "[1].priority", "[2].paid", "[2].offer_id", "[2].app", "[1].offer_id",
      ])
  }
}
