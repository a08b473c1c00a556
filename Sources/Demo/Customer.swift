import Vocabulary

/// One customer: what they subscribe to, and what else they buy.
struct Customer {
  private(set) var records: [SubscriptionRecord] = []
  private(set) var notices: [Notice] = []

  private let number: Int
  private let seed: UInt64
  private var dice: Dice

  init(_ number: Int, seed: UInt64) {
    self.number = number
    self.seed = seed
    dice = Dice(seed: seed, life: number * 8)
  }

  /// Tells all that the customer does up to the end of the year.
  mutating func tell(in year: Year) {
    // More of them early, so that there is a past to look back on.
    let days = (year.end - year.start) / Instant.day
    let last = Int(days) - 3
    let day =
      dice.falls(400) ? dice.number(in: 0...last) : min(dice.number(in: 0...last), dice.number(in: 0...last))
    let start = year.start.adding(
      seconds: Int64(day) * Instant.day + Int64(dice.number(in: 7200...75_600)))
    let person = Life.Person(
      storefront: dice.pick(Shop.storefronts), token: dice.falls(930) ? dice.uuid() : nil,
      appTransactionID: "\(7_000_000_000 + number)", signedUpAt: start)
    // A tester's purchases are told like any other, and are nobody's business.
    let isTester = dice.falls(15)
    subscribe(person, to: Shop.stories, life: 1, from: start, in: year, isTester: isTester)
    if !isTester, dice.falls(60) {
      subscribe(person, to: [Shop.newsMonthly], life: 2, from: start.adding(seconds: 20 * Instant.day + 600), in: year)
    }
    if dice.falls(40) { share(person, from: start.adding(seconds: Instant.day), in: year) }
    if dice.falls(80) { buyCoins(person, at: start.adding(seconds: 3 * Instant.day + 900), in: year) }
  }

  private mutating func subscribe(
    _ person: Life.Person, to products: [Product], life: Int, from start: Instant, in year: Year, isTester: Bool = false
  ) {
    var story = Life(
      number * 8 + life, in: year, dice: Dice(seed: seed, life: number * 8 + life), person: person, products: products,
      environment: isTester ? "Sandbox" : "Production")
    story.tell(from: start)
    notices += story.notices
    if !isTester, year.holds(start) { records.append(story.record) }
  }

  /// A family member gets access without paying, and sometimes loses it again.
  private mutating func share(_ person: Life.Person, from start: Instant, in year: Year) {
    guard year.holds(start) else { return }
    let chain = "\(2_000_000_000_000_000 + (number * 8 + 3) * 1000)"
    var transaction = Notice.Transaction(
      id: chain, chain: chain, product: Shop.premiumYearly, purchasedAt: start,
      expiresAt: start.adding(Shop.premiumYearly.length), storefront: person.storefront, ownership: "FAMILY_SHARED",
      appTransactionID: "\(8_000_000_000 + number)")
    let renewal = Notice.Renewal(
      product: Shop.premiumYearly, nextProduct: Shop.premiumYearly, renewsAt: transaction.expiresAt)
    var record = SubscriptionRecord(
      person: transaction.appTransactionID, storefront: person.storefront, product: Shop.premiumYearly)
    record.isFamilyShared = true
    record.family.append(.init(product: Shop.premiumYearly, from: start))
    post("SUBSCRIBED", "INITIAL_BUY", at: start.adding(seconds: 9), transaction, renewal, year)
    let end = start.adding(seconds: Int64(dice.number(in: 20...200)) * Instant.day)
    if dice.falls(400), year.holds(end) {
      transaction.revocation = .init(at: end, type: "FAMILY_REVOKE")
      record.family[0].to = end
      record.standing = .revoked
      post("REVOKE", nil, at: end.adding(seconds: 9), transaction, renewal, year)
    }
    records.append(record)
  }

  /// Something that is used up once; rarely the money is asked back.
  private mutating func buyCoins(_ person: Life.Person, at moment: Instant, in year: Year) {
    guard year.holds(moment) else { return }
    let chain = "\(2_000_000_000_000_000 + (number * 8 + 4) * 1000)"
    var transaction = Notice.Transaction(
      id: chain, chain: chain, product: Shop.coins, type: "Consumable", purchasedAt: moment,
      price: person.storefront.price(Shop.coins), storefront: person.storefront, token: person.token,
      appTransactionID: person.appTransactionID)
    var record = SubscriptionRecord(
      person: person.token ?? person.appTransactionID, storefront: person.storefront, product: Shop.coins)
    record.isSubscription = false
    let amount = (transaction.price ?? 0) * 1000
    record.charges.append(
      .init(at: moment, kind: "one_time", currency: person.storefront.currency, amount: amount))
    post("ONE_TIME_CHARGE", nil, at: moment.adding(seconds: 3), transaction, nil, year)
    let back = moment.adding(seconds: 2 * Instant.day)
    if dice.falls(100), year.holds(back) {
      transaction.revocation = .init(at: back, type: "REFUND_FULL", percentage: 100_000)
      record.returns.append(
        .init(at: back, kind: "one_time", currency: person.storefront.currency, amount: -amount))
      post("REFUND", nil, at: back.adding(seconds: 60), transaction, nil, year)
    }
    records.append(record)
  }

  private mutating func post(
    _ type: String, _ subtype: String?, at moment: Instant, _ transaction: Notice.Transaction,
    _ renewal: Notice.Renewal?,
    _ year: Year
  ) {
    guard year.holds(moment) else { return }
    notices.append(
      Notice(
        type: type, subtype: subtype, uuid: dice.uuid(), signedAt: moment, environment: "Production",
        transaction: transaction, renewal: renewal))
  }
}
