public import Vocabulary

/// Writes the lives of subscriptions as canonical events, each wholly determined by its number.
///
/// A life is what one customer does: mostly one subscription, sometimes bought again in another chain, with one-time
/// purchases beside it. What it says is sound: no two facts of one moment contradict each other, and nothing happens
/// whose meaning the definitions of the metrics leave open.
public struct LifeGenerator {
  /// One life.
  public struct Life: Sendable {
    /// What reproduces it.
    public let seed: UInt64
    /// Its events with the moments at which they came, in that order.
    public let arrivals: [(receivedAt: Instant, event: Event)]

    /// The events in the order in which they came.
    public var events: [Event] { arrivals.map(\.event) }
  }

  /// The moment as of which the lives are to be judged. Some go on after it.
  public static let asOf = Instant("2025-12-17T10:30:17Z")!

  /// The life of a seed.
  public static func life(_ seed: UInt64) -> Life {
    var generator = LifeGenerator(seed)
    generator.live()
    let arrivals = generator.arrivals.enumerated().sorted {
      ($0.element.receivedAt, $0.offset) < ($1.element.receivedAt, $1.offset)
    }.map(\.element)
    return Life(seed: seed, arrivals: arrivals)
  }

  private let seed: UInt64
  private var random: SeededGenerator
  /// For what is said beside the life and changes nothing in it.
  private var aside: SeededGenerator
  private var arrivals: [(receivedAt: Instant, event: Event)] = []
  private var taken: Set<Instant> = []

  // What stays the same, or changes seldom.
  private let app: String
  private let store: Store
  private let environment: StoreEnvironment
  private let isShared: Bool
  private let hasProduct: Bool
  private let isTalkative: Bool
  private let statesPeriod: Bool
  private let forgetsPrices: Bool
  private let appTransactionID: String?
  private var subscriber: String?
  private var country: String?
  private var currency: String
  private var chain: String
  private var previous: String?
  private var product: Product
  /// Thousandths of the listed price.
  private var priceLevel: Int64 = 1000

  // The transaction that runs.
  private var number = 0
  private var id = ""
  private var start = Instant(microseconds: 0)
  private var expiry = Instant(microseconds: 0)
  private var price: Money?
  private var hasPaid = false
  /// A transaction of the same chain before the running one, whose period is over, and its price.
  private var older: (id: String, price: Money?)?
  private var refunded: Set<String> = []
  private var isOver = false

  private static let hour: Int64 = 3600
  private static let day: Int64 = 86_400

  private init(_ seed: UInt64) {
    self.seed = seed
    var random = SeededGenerator(seed: seed)
    func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percent }
    app = chance(82) ? "video" : "news"
    environment = chance(93) ? .production : .sandbox
    isShared = chance(5)
    hasProduct = !chance(2)
    isTalkative = chance(85)
    forgetsPrices = chance(12)
    appTransactionID = chance(40) ? "a\(seed)" : nil
    subscriber = chance(65) ? (chance(40) ? "shared\(seed / 2)" : "u\(seed)") : nil
    // Few markets: every combination is a row of every day's reports.
    let markets: [(Store, String, String)] = [
      (.appStore, "USA", "USD"), (.appStore, "USA", "USD"), (.appStore, "DEU", "EUR"), (.playStore, "JPN", "JPY"),
      (.stripe, "KWT", "KWD"),
    ]
    let market = markets[Int.random(in: 0..<markets.count, using: &random)]
    store = market.0
    (country, currency) = (market.1, market.2)
    if chance(4) { country = nil }
    chain = "L\(seed)"
    let app = app
    let choices = Self.products.filter { $0.app == app }
    product = choices[Int.random(in: 0..<choices.count, using: &random)]
    statesPeriod = hasProduct ? chance(75) : true
    self.random = random
    aside = SeededGenerator(seed: ~seed)
  }

  // MARK: - Chance

  private mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percent }

  private mutating func pick<Element>(_ choices: [Element]) -> Element {
    choices[Int.random(in: 0..<choices.count, using: &random)]
  }

  /// A moment between two others, exclusively; often a midnight where one lies there.
  private mutating func moment(_ after: Instant, _ before: Instant) -> Instant {
    let (low, high) = (after.microseconds / 1_000_000 + 1, before.microseconds / 1_000_000 - 1)
    guard low < high else { return Instant(microseconds: low * 1_000_000) }
    var second = Int64.random(in: low...high, using: &random)
    if chance(20) {
      // Midnight of UTC, and of Berlin in winter and in summer.
      let midnight = second / Self.day * Self.day - pick([0, Self.hour, 2 * Self.hour])
      if low...high ~= midnight { second = midnight }
    }
    return Instant(microseconds: second * 1_000_000)
  }

  private mutating func later(_ moment: Instant, days: ClosedRange<Int64>) -> Instant {
    self.moment(moment.adding(seconds: days.lowerBound * Self.day), moment.adding(seconds: days.upperBound * Self.day))
  }

  private static func end(_ start: Instant, _ period: String) -> Instant {
    OracleCalendar.adding(1, of: period, to: start)
  }

  // MARK: - Telling

  /// Sends an event. Two events of a chain never say something of the same moment.
  private mutating func tell(
    _ signed: Instant, _ kind: EventKind, transaction: TransactionFact? = nil, renewal: RenewalFact? = nil,
    chain other: String? = nil
  ) {
    var signed = signed
    while !taken.insert(signed).inserted { signed = signed.adding(seconds: 1) }
    var event = Event(
      eventID: "\(chain)/\(arrivals.count)", kind: kind, occurredAt: signed, app: app, store: store,
      environment: environment, originalTransactionID: other ?? chain)
    event.appTransactionID = appTransactionID
    // Who the customer is becomes known sooner or later, never only after the moment of judgement.
    if signed < Self.asOf, arrivals.isEmpty || !chance(30) { event.subscriberID = subscriber }
    if other == nil { event.previousOriginalTransactionID = previous }
    event.transaction = transaction
    event.transaction?.signedAt = signed
    event.renewal = renewal
    event.renewal?.signedAt = signed
    event.renewal?.priceIncrease = priceIncrease()
    let delay =
      chance(75)
      ? Int64.random(in: 0...60, using: &random)
      : chance(75)
        ? Int64.random(in: 60...3 * Self.day, using: &random)
        : Int64.random(in: 3 * Self.day...40 * Self.day, using: &random)
    arrivals.append((signed.adding(seconds: delay), event))
    if chance(3) { arrivals.append((signed.adding(seconds: delay + 7200), event)) }
    if other == nil, Int.random(in: 0..<100, using: &aside) < 6 { reportMessage(after: signed, chain: chain) }
  }

  /// What a status says of a higher price; some say nothing.
  private mutating func priceIncrease() -> Stated<PriceIncrease> {
    switch Int.random(in: 0..<100, using: &aside) {
    case 0..<25: .value(.pending)
    case 25..<35: .value(.accepted)
    case 35..<60: .absent
    default: .unstated
    }
  }

  /// The app shows a message of the store's, or holds it back.
  private mutating func reportMessage(after moment: Instant, chain: String?) {
    let messages = ["billing_issue", "price_increase_consent", "win_back_offer", "generic", "storekit_7"]
    // No other event is of a half second.
    let seconds = Int64.random(in: 0...20 * Self.day, using: &aside)
    let shown = Instant(microseconds: moment.microseconds + seconds * 1_000_000 + 500_000)
    var event = Event(
      eventID: "\(chain ?? "")/message/\(arrivals.count)", kind: .storeMessage, occurredAt: shown, app: app,
      store: store, environment: environment, originalTransactionID: chain)
    event.detail.message = messages[Int.random(in: 0..<messages.count, using: &aside)]
    if Bool.random(using: &aside) { event.detail.state = "pending" }
    arrivals.append((shown.adding(seconds: Int64.random(in: 0...3 * Self.day, using: &aside)), event))
  }

  private func status(
    autoRenew: Bool = true, retry: Bool = false, grace: Instant? = nil, reason: ExpirationReason? = nil
  ) -> RenewalFact {
    var status = RenewalFact(signedAt: start)
    status.autoRenew = .value(autoRenew)
    status.inBillingRetry = .value(retry)
    status.graceExpiresAt = Stated(snapshot: grace)
    status.expirationReason = Stated(snapshot: reason)
    status.pausedAt = .absent
    status.resumesAt = .absent
    status.eligibleWinBackOffers = .absent
    return status
  }

  private mutating func say(_ at: Instant, _ status: RenewalFact, _ kind: EventKind = .entitlementChanged) {
    guard isTalkative else { return }
    tell(at, kind, renewal: status)
  }

  /// The listed price of a product here and now, in the customer's currency.
  private func listPrice(_ product: Product, share: Int64 = 1000) -> Money {
    let rates: [String: Int64] = ["USD": 1000, "EUR": 920, "GBP": 800, "JPY": 150_000, "KWD": 307]
    // Thousandths, times thousandths, times thousandths: brought to micros by steps, whole yen for the yen.
    var micros = product.price * (rates[currency] ?? 1000) * priceLevel / 1000 * share / 1000
    micros = currency == "JPY" ? micros / 1_000_000 * 1_000_000 : micros / 10_000 * 10_000
    return Money(amount: Micros(micros), currency: currency)
  }

  /// A transaction: bought by the customer or renewed by the store.
  private mutating func buy(
    _ at: Instant, renews: Bool, offer: Offer? = nil, price fixed: Money? = nil, isFree: Bool = false,
    until: Instant? = nil, signedEarly: Bool = false, mustSpeak: Bool = false
  ) {
    // What a family member shares has no offer of its own.
    let offer = isShared ? nil : offer
    let isFree = isFree && !isShared
    if number > 0, expiry <= at, !refunded.contains(id) { older = (id, price) }
    number += 1
    id = "\(chain)-\(number)"
    start = at
    expiry = until ?? Self.end(at, product.period)
    price = isFree ? Money(amount: Micros(0), currency: currency) : fixed ?? listPrice(product)
    if forgetsPrices, !isFree, chance(40) { price = nil }
    if !isFree { hasPaid = true }
    var fact = TransactionFact(transactionID: id, signedAt: at)
    fact.type = .value(.autoRenewable)
    if hasProduct { fact.productID = .value(product.id) }
    if statesPeriod || number == 1 && chance(50) && offer == nil { fact.period = .value(product.period) }
    fact.purchasedAt = .value(at)
    fact.expiresAt = .value(expiry)
    if let price { fact.price = .value(price) }
    // A free trial may tell no price at all.
    if isFree, offer?.discount == .freeTrial, !hasPaid, chance(30) { fact.price = .unstated }
    if let country { fact.country = .value(country) }
    fact.reason = .value(renews ? .renewal : .purchase)
    fact.ownership = .value(isShared ? .familyShared : .purchased)
    fact.offer = Stated(snapshot: offer)
    if let price, !isFree { report(&fact, price) }
    tellWrongPriceFirst(&fact)
    var signed = at.adding(seconds: Int64.random(in: 0...120, using: &random))
    if chance(10) { signed = at }
    if signedEarly, chance(50) { signed = at.adding(seconds: -Int64.random(in: 1...20 * Self.hour, using: &random)) }
    let speaks = isTalkative && (mustSpeak || chance(60))
    let kind: EventKind = renews ? .subscriptionRenewed : .subscriptionStarted
    // Some tell the price only later, in a version of its own.
    if !isFree, price != nil, chance(4) {
      var late = TransactionFact(transactionID: id, signedAt: at)
      late.price = fact.price
      late.tax = fact.tax
      late.commission = fact.commission
      late.proceeds = fact.proceeds
      fact.price = .unstated
      fact.tax = .unstated
      fact.commission = .unstated
      fact.proceeds = .unstated
      tell(signed, kind, transaction: fact, renewal: speaks ? status() : nil)
      tell(signed.adding(seconds: 3600), .unrecognised, transaction: late)
    } else {
      tell(signed, kind, transaction: fact, renewal: speaks ? status() : nil)
    }
  }

  /// Now and then what a charge first says of its price is wrong, and a later version puts it right.
  private mutating func tellWrongPriceFirst(_ fact: inout TransactionFact) {
    guard let price, price.amount.value > 0, Int.random(in: 0..<100, using: &aside) < 7 else { return }
    var right = TransactionFact(transactionID: id, signedAt: start)
    right.price = fact.price
    right.tax = fact.tax
    right.commission = fact.commission
    right.proceeds = fact.proceeds
    let share: Int64 = [0, 250, 500, 2000, 3000][Int.random(in: 0..<5, using: &aside)]
    let wrong = Money(amount: price.amount.share(share, of: 1000), currency: price.currency)
    fact.price = .value(wrong)
    report(&fact, wrong)
    // No other event is of this part of a second.
    let seconds = Int64.random(in: Self.hour...90 * Self.day, using: &aside)
    right.signedAt = Instant(microseconds: start.microseconds + seconds * 1_000_000 + 250_000)
    var event = Event(
      eventID: "\(chain)/price/\(number)", kind: .unrecognised, occurredAt: right.signedAt, app: app, store: store,
      environment: environment, originalTransactionID: chain)
    event.appTransactionID = appTransactionID
    event.previousOriginalTransactionID = previous
    event.transaction = right
    arrivals.append((right.signedAt.adding(seconds: Int64.random(in: 0...3 * Self.day, using: &aside)), event))
  }

  private func report(_ fact: inout TransactionFact, _ price: Money) {
    guard Self.reportsProceeds(hasProduct ? product.id : nil) else { return }
    let tax = price.amount.share(1597, of: 10_000)
    let commission = Micros(price.amount.value - tax.value).share(3, of: 10)
    fact.tax = .value(tax)
    fact.commission = .value(commission)
    fact.proceeds = .value(Micros(price.amount.value - tax.value - commission.value))
  }

  private mutating func revoke(
    _ id: String, _ at: Instant, _ type: RevocationType?, _ amount: Micros?, reversed: Instant? = nil
  ) {
    refunded.insert(id)
    var fact = TransactionFact(transactionID: id, signedAt: at)
    fact.revokedAt = .value(at)
    fact.revocation = Stated(snapshot: type)
    fact.refund = Stated(snapshot: amount)
    tell(at.adding(seconds: chance(50) ? 0 : Int64.random(in: 1...3600, using: &random)), .refunded, transaction: fact)
    if let reversed {
      var back = TransactionFact(transactionID: id, signedAt: reversed)
      back.revokedAt = .absent
      back.revocation = .absent
      back.refund = .absent
      tell(reversed, .refundReversed, transaction: back)
    }
  }

  /// A kind of refund that suits a price.
  private mutating func refund(of price: Money?) -> (RevocationType?, Micros?) {
    switch Int.random(in: 0..<10, using: &random) {
    case 0: (nil, nil)
    case 1: (.family, nil)
    case 2: (RevocationType(rawValue: "goodwill"), nil)
    case 3: (.prorated, nil)
    case 4, 5: (.prorated, price.map { $0.amount.share(37, of: 100) })
    default: (.full, nil)
    }
  }

  // MARK: - Living

  private mutating func live() {
    // Some begin shortly before the end, so that much is open then.
    let first = chance(20) ? "2025-11-05T00:00:00Z" : "2023-12-20T00:00:00Z"
    let opening = moment(Instant(first)!, Self.asOf)
    if chance(6) { oneTimePurchase(opening) }
    if chance(2) { return }
    begin(opening)
    while !isOver, expiry < Self.asOf.adding(seconds: 20 * Self.day) {
      if chance(4) { changeCustomer() }
      if chance(5), hasPaid { refundOlder() }
      goOn()
    }
  }

  private mutating func oneTimePurchase(_ at: Instant) {
    var fact = TransactionFact(transactionID: "\(chain).once", signedAt: at)
    fact.type = .value(pick([.consumable, .nonConsumable, .nonRenewing]))
    fact.productID = .value("coins")
    fact.purchasedAt = .value(at)
    fact.price = .value(Money(amount: Micros(4_990_000), currency: currency))
    if let country { fact.country = .value(country) }
    fact.reason = .value(.purchase)
    fact.ownership = .value(.purchased)
    fact.offer = .absent
    tell(at, .consumablePurchase, transaction: fact, chain: "\(chain).once")
    if chance(30) {
      var refund = TransactionFact(transactionID: "\(chain).once", signedAt: at)
      refund.revokedAt = .value(later(at, days: 1...30))
      refund.revocation = .value(.full)
      tell(refund.revokedAt.value!, .refunded, transaction: refund, chain: "\(chain).once")
    }
  }

  private mutating func begin(_ at: Instant) {
    switch Int.random(in: 0..<100, using: &random) {
    case 0..<35: trial(at, Offer(type: .introductory, discount: .freeTrial, period: "P1W"))
    case 35..<40: trial(at, Offer(type: pick([.code, .promotional]), id: "free", discount: nil, period: "P1M"))
    case 40..<48:
      let offer = Offer(type: .introductory, discount: .payAsYouGo, period: product.period)
      buy(at, renews: false, offer: offer, price: listPrice(product, share: 500), mustSpeak: true)
    case 48..<54 where product.period == "P1M":
      let offer = Offer(type: .introductory, discount: .payUpFront, period: "P3M")
      buy(
        at, renews: false, offer: offer, price: listPrice(product, share: 1800), until: Self.end(at, "P3M"),
        mustSpeak: true)
    case 54..<59:
      let offer = Offer(type: pick([.code, .promotional]), id: "deal", discount: .payAsYouGo)
      buy(at, renews: false, offer: offer, price: listPrice(product, share: 300), mustSpeak: true)
    case 59..<61:
      // History that begins late.
      buy(at, renews: true, mustSpeak: true)
    case 61..<62:
      // A charge of nothing, without an offer.
      buy(at, renews: false, price: Money(amount: Micros(0), currency: currency), mustSpeak: true)
    default: buy(at, renews: false, mustSpeak: true)
    }
  }

  /// A free trial and what becomes of it.
  private mutating func trial(_ at: Instant, _ offer: Offer) {
    let length = pick(["P3D", "P1W", "P1W", "P2W", "P1M"])
    buy(at, renews: false, offer: offer, isFree: true, until: Self.end(at, length), mustSpeak: true)
    while true {
      let end = expiry
      guard end < Self.asOf.adding(seconds: 40 * Self.day) else { return }
      // Of the trials that run when they are judged, many have been cancelled.
      switch end > Self.asOf && chance(40) ? 60 : Int.random(in: 0..<100, using: &random) {
      case 0..<45: return buy(end, renews: true, signedEarly: true)
      case 45..<50:
        changeProduct()
        return buy(end, renews: true, signedEarly: true)
      case 50..<55:
        // Another product at once, which is paid.
        changeProduct()
        return buy(moment(start, end), renews: false, mustSpeak: true)
      case 55..<59:
        buy(end, renews: true, offer: offer, isFree: true, until: Self.end(end, "P1W"))
        continue
      case 59..<75 where isTalkative:
        cancel()
        if chance(60) { tellExpired(end, .voluntary, autoRenew: false) }
        return perhapsReturn(after: 1...150)
      case 75..<80: return perhapsReturn(after: 2...100)
      case 80..<84: return fail(isRecovered: true)
      case 84..<89: return fail(isRecovered: false)
      case 89..<92: return buy(later(end, days: 2...40), renews: true)
      case 92..<95:
        return buy(moment(end, end.adding(seconds: 23 * Self.hour)), renews: true)
      case 95..<97: return buy(moment(end, end.adding(seconds: 23 * Self.hour)), renews: false, mustSpeak: true)
      default: return buy(end, renews: true)
      }
    }
  }

  private mutating func changeProduct() {
    let (app, old) = (app, product)
    product = pick(Self.products.filter { $0.app == app && $0 != old })
  }

  private mutating func changeCustomer() {
    guard subscriber != nil else { return }
    subscriber = "v\(seed).\(number)"
    let at = moment(start, expiry)
    if at < Self.asOf { tell(at, .transferred) }
  }

  /// Money back for a period that is over: access stays as it is.
  private mutating func refundOlder() {
    guard let older, older.price != nil else { return }
    self.older = nil
    let at = moment(start, expiry)
    let (type, amount) = refund(of: older.price)
    revoke(older.id, at, type, amount, reversed: chance(25) ? later(at, days: 1...40) : nil)
  }

  /// Auto-renew is switched off before the end of the running period, perhaps after having been switched on and off.
  private mutating func cancel() {
    var at = moment(start, expiry.adding(seconds: -Self.hour))
    say(at, status(autoRenew: false), .autoRenewDisabled)
    while chance(20) {
      at = moment(at, expiry.adding(seconds: -Self.hour))
      say(at, status(), .autoRenewEnabled)
      at = moment(at.adding(seconds: 60), expiry.adding(seconds: -60))
      guard at < expiry.adding(seconds: -60) else { break }
      say(at, status(autoRenew: false), .autoRenewDisabled)
    }
    // The last word is that it is off.
    say(expiry.adding(seconds: -30), status(autoRenew: false))
  }

  /// The store says that the subscription has expired, perhaps with the offers that it would make.
  private mutating func tellExpired(_ end: Instant, _ reason: ExpirationReason, autoRenew: Bool) {
    var word = status(autoRenew: autoRenew, reason: reason)
    if chance(25) { word.eligibleWinBackOffers = .value(pick([[], ["back"], ["late", "gift", "back"], ["return"]])) }
    say(end.adding(seconds: Int64.random(in: 1...Self.hour, using: &random)), word, .subscriptionExpired)
  }

  /// After the loss of access: the customer comes back some time, or not.
  private mutating func perhapsReturn(after days: ClosedRange<Int64>) {
    guard chance(60) else {
      isOver = true
      return
    }
    let at = later(max(expiry, arrivals.last { $0.event.renewal != nil }?.event.signedAt ?? expiry), days: days)
    if chance(20) { changeProduct() }
    switch Int.random(in: 0..<10, using: &random) {
    case 0...3 where hasPaid:
      let offer = Offer(type: .winBack, id: pick(["back", "gift", "return"]), discount: .payAsYouGo)
      buy(at, renews: false, offer: offer, price: listPrice(product, share: 400), mustSpeak: true)
    case 4 where hasPaid:
      trial(at, Offer(type: .winBack, id: "back", discount: .freeTrial, period: "P1M"))
    case 5: trial(at, Offer(type: .promotional, id: "free", discount: .freeTrial))
    default: buy(at, renews: false, mustSpeak: true)
    }
  }

  /// The charge at the end of the running period fails.
  private mutating func fail(isRecovered: Bool) {
    guard isTalkative else {
      isOver = true
      return
    }
    let end = expiry
    func reason() -> ExpirationReason? { seed % 2 == 0 ? .billing : nil }
    var lost = end
    let first =
      chance(25)
      ? end.adding(seconds: -Int64.random(in: 1...20 * Self.hour, using: &random))
      : end.adding(seconds: Int64.random(in: 1...Self.hour, using: &random))
    if chance(50) {
      lost = end.adding(seconds: pick([3, 6, 16]) * Self.day)
      // A grace end says enough.
      let isRetried = chance(80)
      say(first, status(retry: isRetried, grace: lost, reason: isRetried ? reason() : nil), .gracePeriodEntered)
      if isRecovered, chance(50) {
        let at = chance(25) ? end : moment(max(first, end).adding(seconds: 60), lost)
        if chance(15) { changeProduct() }
        return buy(at, renews: true, mustSpeak: at != end)
      }
      say(lost.adding(seconds: 5), status(retry: true, reason: reason()), .billingHoldEntered)
    } else {
      say(first, status(retry: true, reason: reason()), .billingIssue)
      if isRecovered, chance(10) { return buy(end, renews: true) }
    }
    if isRecovered {
      let at = moment(max(lost, first).adding(seconds: 600), end.adding(seconds: 59 * Self.day))
      if chance(15) { changeProduct() }
      return buy(at, renews: chance(75), mustSpeak: true)
    }
    if chance(60) {
      let told = moment(max(lost, first).adding(seconds: 7200), end.adding(seconds: 61 * Self.day))
      tellExpired(told, pick([.billing, .billing, .voluntary]), autoRenew: chance(50))
      return perhapsReturn(after: 1...120)
    }
    perhapsReturn(after: 62...150)
  }

  /// What happens at, or shortly before, the end of a paid period.
  private mutating func goOn() {
    let end = expiry
    switch Int.random(in: 0..<200, using: &random) {
    case 0..<4: buy(moment(end, end.adding(seconds: 23 * Self.hour)), renews: true)
    case 4..<6: buy(moment(end, end.adding(seconds: 23 * Self.hour)), renews: false, mustSpeak: true)
    case 6..<9: buy(later(end, days: 2...55), renews: true)
    case 9..<17: fail(isRecovered: true)
    case 17..<24: fail(isRecovered: false)
    case 24..<38 where isTalkative:
      cancel()
      if chance(60) { tellExpired(end, .voluntary, autoRenew: false) }
      perhapsReturn(after: 1...200)
    case 38..<42:
      // Nobody says a word.
      perhapsReturn(after: 2...150)
    case 42..<45 where isTalkative:
      let reason = pick([
        ExpirationReason.priceIncrease, .productUnavailable, .other, ExpirationReason(rawValue: "something"),
      ])
      let autoRenew = chance(30)
      tellExpired(end, reason, autoRenew: autoRenew)
      // The reason is withdrawn.
      if chance(30) { say(end.adding(seconds: 2 * Self.day), status(autoRenew: autoRenew)) }
      perhapsReturn(after: 3...150)
    case 45..<52:
      changeProduct()
      buy(end, renews: true, signedEarly: true)
    case 52..<60: changeNow()
    case 60..<67: refundRunning()
    case 67..<72 where isTalkative: pause()
    case 72..<75:
      buy(
        end, renews: true, offer: Offer(type: .promotional, id: "free", discount: .freeTrial), isFree: true,
        until: Self.end(end, "P1M"))
      if expiry < Self.asOf.adding(seconds: 20 * Self.day) { buy(expiry, renews: true) }
    case 75..<80:
      let offer = Offer(type: pick([.promotional, .code]), id: "loyal", discount: .payAsYouGo)
      buy(end, renews: true, offer: offer, price: listPrice(product, share: 700))
    case 80..<84 where statesPeriod || product.listedPeriod != nil && hasProduct: extend()
    case 84..<86:
      (country, currency) = pick([("USA", "USD"), ("DEU", "EUR"), ("JPN", "JPY"), ("AUT", "EUR")])
      buy(end, renews: true)
    case 86..<88: migrate()
    case 88..<92:
      priceLevel = priceLevel * 11 / 10
      buy(end, renews: true)
    default: buy(end, renews: true, signedEarly: true)
    }
  }

  /// Another product at once, which replaces the running period.
  private mutating func changeNow() {
    let (old, oldPrice, oldEnd) = (id, price, expiry)
    let at = moment(start.adding(seconds: 60), oldEnd.adding(seconds: -60))
    guard start < at, at < oldEnd else { return buy(oldEnd, renews: true) }
    let whole = oldEnd.microseconds / 1_000_000 - start.microseconds / 1_000_000
    let rest = oldEnd.microseconds / 1_000_000 - at.microseconds / 1_000_000
    if chance(80) { changeProduct() }
    buy(at, renews: false, mustSpeak: true)
    guard let oldPrice, chance(60) else { return }
    revoke(old, at, .prorated, oldPrice.amount.share(rest, of: whole))
  }

  /// A refund that ends the running period.
  private mutating func refundRunning() {
    let at = moment(start.adding(seconds: 60), expiry.adding(seconds: -60))
    guard start < at, at < expiry else { return buy(expiry, renews: true) }
    let (type, amount) = price == nil ? (.full, nil) : refund(of: price)
    if chance(30) {
      let reversed = later(at, days: 1...40)
      revoke(id, at, type, amount, reversed: reversed)
      if reversed < expiry {
        if chance(50) { buy(expiry, renews: true) } else { perhapsReturn(after: 2...60) }
        return
      }
    } else {
      revoke(id, at, type, amount)
    }
    say(at.adding(seconds: 3601), status(autoRenew: false), .autoRenewDisabled)
    expiry = max(at.adding(seconds: 3602), expiry)
    let end = expiry
    expiry = at.adding(seconds: 3602)
    perhapsReturn(after: 1...90)
    if isOver { expiry = end }
  }

  private mutating func pause() {
    let end = expiry
    let from = chance(75) ? end : moment(start.adding(seconds: 60), end)
    guard start.adding(seconds: 7200) < from else { return buy(end, renews: true) }
    let resumes = later(from, days: 20...60)
    var word = status()
    word.pausedAt = .value(from)
    word.resumesAt = .value(resumes)
    say(moment(start.adding(seconds: 3600), from), word, .pauseScheduled)
    if chance(30) { say(from.adding(seconds: 60), word, .paused) }
    switch Int.random(in: 0..<10, using: &random) {
    case 0..<5: buy(resumes, renews: true, mustSpeak: true)
    case 5..<7: buy(moment(from.adding(seconds: 7200), resumes), renews: chance(50), mustSpeak: true)
    case 7:
      changeProduct()
      buy(resumes, renews: true, mustSpeak: true)
    case 8: buy(later(resumes, days: 1...40), renews: false, mustSpeak: true)
    default: isOver = true
    }
  }

  /// The store moves the end of the running period back, without a charge.
  private mutating func extend() {
    var fact = TransactionFact(transactionID: id, signedAt: start)
    let new = expiry.adding(seconds: pick([3, 15]) * Self.day)
    fact.expiresAt = .value(new)
    let said =
      chance(75) ? moment(start.adding(seconds: 300), expiry) : moment(expiry, expiry.adding(seconds: 20 * Self.hour))
    tell(said, .renewalExtended, transaction: fact)
    expiry = new
  }

  /// The subscription goes on under another original transaction id.
  private mutating func migrate() {
    guard previous == nil else { return buy(expiry, renews: true) }
    let end = expiry
    previous = chain
    chain += "b"
    number = 0
    switch Int.random(in: 0..<4, using: &random) {
    case 0:
      changeProduct()
      buy(moment(start.adding(seconds: 60), end), renews: chance(50), mustSpeak: true)
    case 1: buy(later(end, days: 2...50), renews: false, mustSpeak: true)
    default: buy(end, renews: true, mustSpeak: true)
    }
    // What came before is another chain's.
    older = nil
  }
}
