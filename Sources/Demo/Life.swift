import Vocabulary

/// Tells the life of one subscription: what the store does, what it therefore writes in notifications, and what the books
/// hold of it.
///
/// What happens is decided here, and written down here at once. The books are never worked out from the notifications, so
/// that they are a second opinion about everything that is.
struct Life {
  private let year: Year
  private var dice: Dice
  private let chain: String
  private let token: String?
  private let appTransactionID: String
  private let environment: String
  private let storefront: Storefront
  private let products: [Product]

  private(set) var record: SubscriptionRecord
  private(set) var notices: [Notice] = []

  private var transaction: Notice.Transaction
  private var renewal: Notice.Renewal
  /// The kind of the running period's charge, as reports call it; nil of a free one.
  private var chargeKind: String?
  private var isTrial = false
  /// How many further periods the offer lasts.
  private var offerPeriodsLeft = 0
  /// What the customer pays without an offer, in thousandths; it may rise.
  private var price: Int64 = 0
  /// Earlier paid transactions whose money may be asked back.
  private var past: [(transaction: Notice.Transaction, kind: String)] = []
  private var transactions = 0

  /// - Parameters:
  ///   - number: tells the lives of a year apart.
  ///   - products: what the customer may buy; all of one group.
  init(
    _ number: Int, in year: Year, dice: Dice, person: Person, products: [Product], environment: String = "Production"
  ) {
    self.year = year
    self.dice = dice
    self.environment = environment
    self.products = products
    storefront = person.storefront
    token = person.token
    appTransactionID = person.appTransactionID
    chain = "\(2_000_000_000_000_000 + number * 1000)"
    let product = self.dice.pick(products.map { ($0, $0.level == 2 ? 5 : 2) })
    record = SubscriptionRecord(
      person: person.token ?? person.appTransactionID, storefront: person.storefront, product: product)
    transaction = Notice.Transaction(
      id: chain, chain: chain, product: product, purchasedAt: year.start, storefront: person.storefront,
      token: person.token, appTransactionID: person.appTransactionID)
    renewal = Notice.Renewal(product: product, nextProduct: product)
    price = storefront.price(product)
  }

  /// A customer.
  struct Person {
    var storefront: Storefront
    /// The app's own id; customers who redeemed a code outside of the app have none.
    var token: String?
    /// The store's id of the customer's copy of the app.
    var appTransactionID: String
    var signedUpAt: Instant
  }

  /// Tells everything up to the end of the year.
  mutating func tell(from start: Instant) {
    guard year.holds(start) else { return }
    begin(at: start)
    while livePeriod() {}
    record.isOn = renewal.isOn
    record.listedOffers = renewal.offers
    record.lastProduct = transaction.product
  }

  // MARK: - Moments

  /// A moment of some day between two others, at least a day from either; nil where there is none.
  private mutating func moment(between from: Instant, and to: Instant) -> Instant? {
    let days = Int((to - from) / Instant.day)
    guard days >= 2 else { return nil }
    let day = from.startOfDay.adding(seconds: Int64(dice.number(in: 1...days - 1)) * Instant.day)
    return day.adding(seconds: Int64(dice.number(in: 7200...75_600)))
  }

  /// The end of the running period.
  private var end: Instant { transaction.expiresAt ?? transaction.purchasedAt }

  // MARK: - What the store writes

  /// The notification goes out when its moment comes; one that lies beyond the year has not been written.
  private mutating func post(
    _ type: String, _ subtype: String? = nil, at moment: Instant, about told: Notice.Transaction? = nil
  ) {
    guard year.holds(moment) else { return }
    notices.append(
      Notice(
        type: type, subtype: subtype, uuid: dice.uuid(), signedAt: moment, environment: environment,
        transaction: told ?? transaction, renewal: renewal))
  }

  // MARK: - Buying

  /// How a period begins, for the books.
  private enum Opening {
    case trial
    case paid(charge: String, move: String, active: Int)
    /// Free time within paid time.
    case gift
  }

  /// A transaction of the store: access from a moment on, for money or not.
  ///
  /// - Parameter isJoined: whether paid service goes on without a gap.
  private mutating func buy(
    _ product: Product, at moment: Instant, length: Length? = nil, price paid: Int64?, offer: Notice.Offer?,
    isRenewal: Bool, isJoined: Bool, as opening: Opening
  ) {
    if transactions > 0, let chargeKind { past.append((transaction, chargeKind)) }
    transactions += 1
    transaction = Notice.Transaction(
      id: "\((Int(chain) ?? 0) + transactions - 1)", chain: chain, product: product, purchasedAt: moment,
      expiresAt: moment.adding(length ?? product.length), price: paid, storefront: storefront,
      reason: isRenewal ? "RENEWAL" : "PURCHASE", offer: offer, token: token, appTransactionID: appTransactionID)
    renewal = Notice.Renewal(product: product, nextProduct: product, renewsAt: end)
    if case .trial = opening { isTrial = true } else { isTrial = false }
    chargeKind = nil
    switch opening {
    case .trial:
      record.trials.append(.init(product: product, from: moment))
      record.trialEnds.append(.running)
      record.standing = .trial
    case .gift:
      record.moves.append(.init(at: moment, name: "renewed", active: 0))
      earn(at: moment, "renewed")
      enter(product, at: moment)
    case .paid(let charge, let move, let active):
      record.moves.append(.init(at: moment, name: move, active: active))
      earn(at: moment, move)
      if charge == "win_back" { record.moves.append(.init(at: moment, name: "won_back", active: 0)) }
      record.charges.append(
        .init(
          at: moment, kind: charge, currency: paid.map { _ in storefront.currency }, amount: paid.map { $0 * 1000 }))
      chargeKind = charge
      record.service.append(.init(transaction: transaction.id, from: moment, to: end, isJoined: isJoined))
      enter(product, at: moment)
    }
  }

  /// What comes in in a month changes with the period that begins.
  private mutating func earn(at moment: Instant, _ move: String) {
    let amount = transaction.price.map { transaction.product.monthly($0) }
    var before: SubscriptionRecord.Income?
    if let last = record.income.indices.last, record.income[last].to == nil {
      record.income[last].to = moment
      before = record.income[last]
    }
    record.income.append(
      .init(from: moment, currency: amount.map { _ in storefront.currency }, amount: amount))
    guard let amount else { return }
    func change(_ name: String, _ amount: Int64) {
      record.incomeMoves.append(.init(at: moment, name: name, currency: storefront.currency, amount: amount))
    }
    switch move {
    case "new", "trial_converted": change("new", amount)
    case "reactivated", "refund_reversed": change("reactivation", amount)
    case "recovered": change("recovery", amount)
    default:
      // From and to an unknown price all of it moves, which is neither more nor less.
      guard let before = before?.amount else { return }
      if amount > before { change("expansion", amount - before) }
      if amount < before { change("contraction", amount - before) }
    }
  }

  /// Access goes on or begins, in the row of a product.
  private mutating func enter(_ product: Product, at moment: Instant) {
    record.standing = .active
    if let last = record.access.indices.last, record.access[last].to == nil {
      if record.access[last].product == product { return }
      record.access[last].to = moment
    }
    record.access.append(.init(product: product, from: moment))
  }

  /// Access is lost.
  private mutating func lose(at moment: Instant, _ move: String, _ standing: SubscriptionRecord.Standing) {
    record.standing = standing
    record.lostAt = moment
    close(\.setToCancel, at: moment)
    if isTrial {
      close(\.trials, at: moment)
      if let id = transaction.offer?.id { record.usedOffers[id] = moment }
      record.trialEnds[record.trialEnds.count - 1] = standing == .billingRetry ? .inRetry : .expired
      return
    }
    if let last = record.income.indices.last, record.income[last].to == nil {
      record.income[last].to = moment
      if let amount = record.income[last].amount {
        record.incomeMoves.append(
          .init(
            at: moment, name: move == "suspended" ? "suspension" : "churn", currency: storefront.currency,
            amount: -amount))
      }
    }
    record.moves.append(.init(at: moment, name: move, active: -1))
    close(\.access, at: moment)
    if let last = record.service.indices.last, record.service[last].transaction == transaction.id {
      record.service[last].to = min(record.service[last].to, moment)
    }
    if transaction.offer?.type == 4, let id = transaction.offer?.id { record.usedOffers[id] = min(end, moment) }
  }

  private mutating func close(
    _ spans: WritableKeyPath<SubscriptionRecord, [SubscriptionRecord.Span]>, at moment: Instant
  ) {
    guard let last = record[keyPath: spans].indices.last, record[keyPath: spans][last].to == nil else { return }
    record[keyPath: spans][last].to = moment
  }

  private mutating func begin(at moment: Instant) {
    let product = transaction.product
    let isPremium = product.level < 3 && product.group == "stories"
    if isPremium, dice.falls(380) {
      buy(
        product, at: moment, length: .weeks(1), price: 0, offer: .init(type: 1, discount: "FREE_TRIAL"),
        isRenewal: false, isJoined: false, as: .trial)
    } else {
      var offer: Notice.Offer?
      var paid = price
      if token == nil {
        offer = .init(type: 3, id: "autumn", discount: "PAY_AS_YOU_GO")
        paid = storefront.price(cents: product.cents / 4)
      } else if product.length == .months(1), dice.falls(150) {
        offer = .init(type: 1, discount: "PAY_AS_YOU_GO")
        offerPeriodsLeft = 2
        paid = storefront.price(cents: product.cents / 2)
      }
      buy(
        product, at: moment, price: paid, offer: offer, isRenewal: false, isJoined: false,
        as: .paid(charge: "initial", move: "new", active: 1))
    }
    post("SUBSCRIBED", "INITIAL_BUY", at: moment.adding(seconds: 12))
  }

  // MARK: - A period

  private enum Fate {
    case renews, switchesOff, fails, upgrades, downgrades, isRefunded, isReversed, asksOldMoney, isRaised, isUnsold
    case isLeft, isExtended, isDeclined, isForgotten
  }

  /// Tells the running period to its end.
  ///
  /// - Returns: Whether another one runs then.
  private mutating func livePeriod() -> Bool {
    guard !isTrial else { return liveTrial() }
    // A week is lived through more often than a year: the same in a thousand each time would empty the year.
    let fate = dice.pick([
      (Fate.renews, transaction.product.length == .weeks(1) ? 880 : 770), (.switchesOff, 85), (.fails, 60),
      (.upgrades, 14), (.downgrades, 14), (.isRefunded, 9), (.isReversed, 6), (.asksOldMoney, 10), (.isRaised, 8),
      (.isUnsold, 2), (.isLeft, 2), (.isExtended, 4), (.isDeclined, 6), (.isForgotten, 2),
    ])
    return switch fate {
    case .renews: renew()
    case .switchesOff: switchOff()
    case .fails: fail()
    case .upgrades: upgrade()
    case .downgrades: downgrade()
    case .isRefunded: refund()
    case .isReversed: reverse()
    case .asksOldMoney: refundOld()
    case .isRaised: raise()
    case .isUnsold: expire(intent: 4, "PRODUCT_NOT_FOR_SALE", "churned_product_unavailable")
    case .isLeft: expire(intent: 5, nil, "churned_other")
    case .isExtended: extend()
    case .isDeclined: declineRefund()
    case .isForgotten: forget()
    }
  }

  private mutating func liveTrial() -> Bool {
    switch dice.number(in: 0...99) {
    case 0..<58: renew()
    case 58..<90: switchOff()
    default: fail()
    }
  }

  /// The store renews at the period's end, and says so before it.
  private mutating func renew() -> Bool {
    guard year.holds(end) else { return false }
    let told = end.adding(seconds: -Int64(dice.number(in: 30...40_000)))
    renewed(at: end, told: told, nil, isJoined: true)
    return true
  }

  /// The next transaction, whatever it took to get there.
  private mutating func renewed(at moment: Instant, told: Instant, _ subtype: String?, isJoined: Bool) {
    let product = renewal.nextProduct
    let previous = transaction.product
    if product != previous { price = storefront.price(product) }
    var offer: Notice.Offer?
    var paid: Int64? = price
    if offerPeriodsLeft > 0, product == previous, !isTrial {
      offerPeriodsLeft -= 1
      offer = transaction.offer
      paid = transaction.price
    } else {
      offerPeriodsLeft = 0
      if subtype == nil, product == previous, !isTrial, dice.falls(12) {
        offer = .init(type: 2, id: "loyal", discount: "PAY_AS_YOU_GO")
        paid = storefront.price(cents: product.cents * 3 / 4)
      } else if subtype == nil, product == previous, !isTrial, dice.falls(6) {
        offer = .init(type: 2, id: "thanks", discount: "FREE_TRIAL")
        paid = 0
      } else if dice.falls(4) {
        // For a while the store did not tell prices.
        paid = nil
      }
    }
    let wasService = chargeKind != nil
    let opening: Opening
    if offer?.discount == "FREE_TRIAL" {
      opening = .gift
    } else if isTrial {
      close(\.trials, at: moment)
      record.trialEnds[record.trialEnds.count - 1] = .converted
      if let id = transaction.offer?.id { record.usedOffers[id] = end }
      opening = .paid(charge: "trial_conversion", move: "trial_converted", active: 1)
    } else if product != previous {
      let kind =
        product.level < previous.level ? "upgrade" : product.level > previous.level ? "downgrade" : "crossgrade"
      opening = .paid(charge: kind, move: "\(kind)d", active: 0)
    } else if let subtype, subtype == "BILLING_RECOVERY" {
      let isLost = record.standing == .billingRetry
      opening = .paid(
        charge: "billing_recovery", move: isLost ? "recovered" : "renewed", active: isLost ? 1 : 0)
    } else {
      opening = .paid(charge: "renewal", move: "renewed", active: 0)
    }
    if transaction.offer?.type == 4, let id = transaction.offer?.id, !isTrial {
      record.usedOffers[id] = min(end, moment)
    }
    buy(
      product, at: moment, price: paid, offer: offer, isRenewal: true, isJoined: isJoined && wasService, as: opening)
    post("DID_RENEW", subtype, at: told)
    // The same charge told once more, under another id.
    if dice.falls(15) { post("DID_RENEW", subtype, at: told.adding(seconds: 5400)) }
  }

  private mutating func setAutoRenew(_ isOn: Bool, at moment: Instant) {
    renewal.isOn = isOn
    if isOn {
      close(\.setToCancel, at: moment)
      if isTrial { record.trialEnds[record.trialEnds.count - 1] = .running }
    } else if isTrial {
      record.trialEnds[record.trialEnds.count - 1] = .cancelled
    } else {
      record.setToCancel.append(.init(product: transaction.product, from: moment))
    }
    post("DID_CHANGE_RENEWAL_STATUS", isOn ? "AUTO_RENEW_ENABLED" : "AUTO_RENEW_DISABLED", at: moment)
  }

  /// The customer cancels, and maybe thinks better of it.
  private mutating func switchOff() -> Bool {
    guard let off = moment(between: transaction.purchasedAt, and: end) else { return renew() }
    guard year.holds(off) else { return false }
    setAutoRenew(false, at: off)
    if dice.falls(150), let on = moment(between: off, and: end) {
      guard year.holds(on) else { return false }
      setAutoRenew(true, at: on)
      return renew()
    }
    return expire(intent: 1, "VOLUNTARY", "churned_voluntary")
  }

  /// The period ends without another, and the store says why.
  private mutating func expire(intent: Int, _ subtype: String?, _ move: String) -> Bool {
    guard year.holds(end) else { return false }
    lose(at: end, move, .expired)
    finish(intent: intent, subtype, at: end.adding(seconds: 60))
    return comeBack(after: end)
  }

  private mutating func finish(intent: Int, _ subtype: String?, at moment: Instant) {
    renewal.isOn = false
    renewal.expirationIntent = intent
    renewal.isInRetry = false
    renewal.graceEndsAt = nil
    if record.hasPaid, dice.falls(350) {
      renewal.offers = dice.pick([
        ([], 2), (["comeback.half"], 4), (["comeback.free"], 2), (["comeback.free", "comeback.half"], 2),
      ])
    }
    post("EXPIRED", subtype, at: moment)
  }

  /// The charge fails: grace maybe, retry maybe, and one of several ends.
  private mutating func fail() -> Bool {
    let expiry = end
    guard year.holds(expiry) else { return false }
    var lost = expiry
    renewal.isInRetry = true
    if !isTrial, dice.falls(550) {
      let days: Int64 = transaction.product.length == .weeks(1) ? 6 : 16
      let graceEnd = expiry.adding(seconds: days * Instant.day)
      renewal.graceEndsAt = graceEnd
      post("DID_FAIL_TO_RENEW", "GRACE_PERIOD", at: expiry.adding(seconds: 40))
      record.grace.append(.init(product: transaction.product, from: expiry))
      record.standing = .grace
      if dice.falls(500), let paidAt = moment(between: expiry, and: graceEnd) {
        guard year.holds(paidAt) else { return false }
        close(\.grace, at: paidAt)
        renewed(at: paidAt, told: paidAt.adding(seconds: 20), "BILLING_RECOVERY", isJoined: false)
        return true
      }
      guard year.holds(graceEnd) else { return false }
      close(\.grace, at: graceEnd)
      lost = graceEnd
      renewal.graceEndsAt = nil
      beginRetry(at: lost)
      post("GRACE_PERIOD_EXPIRED", at: graceEnd.adding(seconds: 30))
    } else {
      beginRetry(at: lost)
      post("DID_FAIL_TO_RENEW", at: expiry.adding(seconds: 40))
    }
    // Retry ends after 60 days at the latest.
    let last = expiry.adding(seconds: 60 * Instant.day)
    if dice.falls(420), let paidAt = moment(between: lost, and: last) {
      guard year.holds(paidAt) else { return false }
      close(\.retry, at: paidAt)
      renewed(at: paidAt, told: paidAt.adding(seconds: 20), "BILLING_RECOVERY", isJoined: false)
      return true
    }
    let said = dice.falls(500) ? moment(between: lost, and: last) ?? last : last
    guard year.holds(said) else { return false }
    close(\.retry, at: said)
    // Only now is it known that it was lost for good: from the day access ended.
    record.standing = .expired
    if isTrial {
      record.trialEnds[record.trialEnds.count - 1] = .expired
    } else {
      replaceSuspension(at: lost)
    }
    finish(intent: 2, "BILLING_RETRY", at: said == last ? said.adding(seconds: 60) : said)
    return comeBack(after: said, lost: lost)
  }

  private mutating func replaceSuspension(at lost: Instant) {
    if let index = record.moves.indices.last {
      record.moves[index] = .init(at: lost, name: "churned_billing", active: -1)
    }
    if let last = record.incomeMoves.last, last.name == "suspension", last.at == lost {
      record.incomeMoves[record.incomeMoves.count - 1] = .init(
        at: lost, name: "churn", currency: last.currency, amount: last.amount)
    }
  }

  private mutating func beginRetry(at moment: Instant) {
    lose(at: moment, "suspended", .billingRetry)
    record.retry.append(.init(product: transaction.product, from: moment))
  }

  /// A higher product, at once.
  private mutating func upgrade() -> Bool {
    let higher = products.filter { $0.level < transaction.product.level }
    guard let product = higher.last, let at = moment(between: transaction.purchasedAt, and: end) else { return renew() }
    guard year.holds(at) else { return false }
    if let last = record.service.indices.last, record.service[last].transaction == transaction.id {
      record.service[last].to = at
    }
    if transaction.offer?.type == 4, let id = transaction.offer?.id { record.usedOffers[id] = at }
    offerPeriodsLeft = 0
    price = storefront.price(product)
    buy(
      product, at: at, price: price, offer: nil, isRenewal: false, isJoined: chargeKind != nil,
      as: .paid(charge: "upgrade", move: "upgraded", active: 0))
    post("DID_CHANGE_RENEWAL_PREF", "UPGRADE", at: at.adding(seconds: 5))
    return true
  }

  /// Another product of the same or a lower level, from the next period on; sometimes taken back.
  private mutating func downgrade() -> Bool {
    let lower = products.filter { $0.level >= transaction.product.level && $0 != transaction.product }
    guard !lower.isEmpty, let at = moment(between: transaction.purchasedAt, and: end) else { return renew() }
    guard year.holds(at) else { return false }
    renewal.nextProduct = dice.pick(lower.map { ($0, 1) })
    post("DID_CHANGE_RENEWAL_PREF", "DOWNGRADE", at: at)
    if dice.falls(200), let back = moment(between: at, and: end) {
      guard year.holds(back) else { return false }
      renewal.nextProduct = transaction.product
      post("DID_CHANGE_RENEWAL_PREF", at: back)
    }
    return renew()
  }

  // MARK: - Money back

  private mutating func giveBack(_ share: Int64, of refunded: Notice.Transaction, _ kind: String, at moment: Instant) {
    guard let price = refunded.price else { return }
    let amount = Micros(price * 1000).share(share, of: 100_000)
    record.returns.append(.init(at: moment, kind: kind, currency: storefront.currency, amount: -amount.value))
  }

  /// The running period's money goes back, all or a part of it, and its access ends.
  private mutating func refund() -> Bool {
    guard let chargeKind, transaction.price != nil,
      let at = moment(between: transaction.purchasedAt, and: end)
    else { return renew() }
    guard year.holds(at) else { return false }
    if dice.falls(300) {
      let percentage = Int64(dice.number(in: 10_000...90_000))
      transaction.revocation = .init(at: at, type: "REFUND_PRORATED", percentage: percentage)
      giveBack(percentage, of: transaction, chargeKind, at: at)
    } else {
      // Older refunds do not say their type.
      transaction.revocation = .init(at: at, type: dice.falls(700) ? "REFUND_FULL" : nil)
      giveBack(100_000, of: transaction, chargeKind, at: at)
      record.fullyRefunded.insert(transaction.id)
    }
    lose(at: at, "churned_refunded", .revoked)
    renewal.isOn = false
    post("REFUND", at: at.adding(seconds: 60))
    return comeBack(after: at)
  }

  /// A refund that is taken back while the period still runs.
  private mutating func reverse() -> Bool {
    guard let chargeKind, transaction.price != nil, let at = moment(between: transaction.purchasedAt, and: end),
      let back = moment(between: at, and: end)
    else { return renew() }
    guard year.holds(at) else { return false }
    transaction.revocation = .init(at: at, type: "REFUND_FULL", percentage: 100_000)
    giveBack(100_000, of: transaction, chargeKind, at: at)
    record.fullyRefunded.insert(transaction.id)
    lose(at: at, "churned_refunded", .revoked)
    post("REFUND", at: at.adding(seconds: 60))
    guard year.holds(back) else { return false }
    transaction.revocation = nil
    record.fullyRefunded.remove(transaction.id)
    record.returns.append(
      .init(
        at: back, kind: chargeKind, currency: storefront.currency, amount: (transaction.price ?? 0) * 1000))
    record.moves.append(.init(at: back, name: "refund_reversed", active: 1))
    earn(at: back, "refund_reversed")
    enter(transaction.product, at: back)
    record.service.append(.init(transaction: transaction.id, from: back, to: end, isJoined: false))
    post("REFUND_REVERSED", at: back)
    return renew()
  }

  /// Money of an earlier period goes back; access stays.
  private mutating func refundOld() -> Bool {
    let candidates = past.indices.filter { index in
      let old = past[index].transaction
      return old.price ?? 0 > 0 && old.revocation == nil
        && old.expiresAt ?? transaction.purchasedAt <= transaction.purchasedAt
    }
    guard !candidates.isEmpty, let at = moment(between: transaction.purchasedAt, and: end) else { return renew() }
    guard year.holds(at) else { return false }
    let index = candidates[dice.number(in: 0...candidates.count - 1)]
    past[index].transaction.revocation = .init(at: at, type: "REFUND_FULL", percentage: 100_000)
    let (old, kind) = past[index]
    giveBack(100_000, of: old, kind, at: at)
    record.fullyRefunded.insert(old.id)
    post("REFUND", at: at.adding(seconds: 60), about: old)
    return renew()
  }

  /// A refund is asked for and not given.
  private mutating func declineRefund() -> Bool {
    guard let asked = moment(between: transaction.purchasedAt, and: end) else { return renew() }
    post("CONSUMPTION_REQUEST", at: asked)
    post("REFUND_DECLINED", at: asked.adding(seconds: 7200))
    return renew()
  }

  // MARK: - What else happens

  /// A higher price, with or without the customer's consent.
  private mutating func raise() -> Bool {
    guard let asked = moment(between: transaction.purchasedAt, and: end) else { return renew() }
    guard year.holds(asked) else { return false }
    renewal.priceIncreaseStatus = 0
    post("PRICE_INCREASE", "PENDING", at: asked)
    guard dice.falls(700), let agreed = moment(between: asked, and: end) else {
      return expire(intent: 3, "PRICE_INCREASE", "churned_price_increase")
    }
    guard year.holds(agreed) else { return false }
    renewal.priceIncreaseStatus = 1
    post("PRICE_INCREASE", "ACCEPTED", at: agreed)
    price = price * 6 / 5 / storefront.step * storefront.step
    return renew()
  }

  /// The store moves the period's end by two weeks.
  private mutating func extend() -> Bool {
    guard let at = moment(between: transaction.purchasedAt, and: end) else { return renew() }
    guard year.holds(at) else { return false }
    transaction.expiresAt = end.adding(seconds: 14 * Instant.day)
    if let last = record.service.indices.last, record.service[last].transaction == transaction.id {
      record.service[last].to = end
    }
    renewal.renewsAt = end
    post("RENEWAL_EXTENDED", at: at)
    return renew()
  }

  /// No word comes any more. After a day without it the subscription has lapsed at the period's end.
  private mutating func forget() -> Bool {
    guard year.holds(end.adding(seconds: Instant.day)) else { return false }
    lose(at: end, "churned_unconfirmed", .expired)
    return false
  }

  /// Some who left come back, with or without an offer.
  ///
  /// - Parameter lost: when access had ended, where that was earlier.
  private mutating func comeBack(after left: Instant, lost: Instant? = nil) -> Bool {
    if let lost { record.lostAt = lost }
    guard dice.falls(300),
      let at = moment(
        between: left.adding(seconds: 10 * Instant.day), and: left.adding(seconds: 150 * Instant.day)),
      year.holds(at)
    else { return false }
    let product = dice.falls(200) ? dice.pick(products.map { ($0, 1) }) : transaction.product
    price = storefront.price(product)
    offerPeriodsLeft = 0
    if record.hasPaid, dice.falls(600) {
      if dice.falls(250) {
        buy(
          product, at: at, length: .weeks(2), price: 0,
          offer: .init(type: 4, id: "comeback.free", discount: "FREE_TRIAL"), isRenewal: false, isJoined: false,
          as: .trial)
      } else {
        buy(
          product, at: at, price: storefront.price(cents: product.cents / 2),
          offer: .init(type: 4, id: "comeback.half", discount: "PAY_AS_YOU_GO"), isRenewal: false, isJoined: false,
          as: .paid(charge: "win_back", move: "reactivated", active: 1))
      }
    } else {
      buy(
        product, at: at, price: price, offer: nil, isRenewal: false, isJoined: false,
        as: record.hasPaid
          ? .paid(charge: "reactivation", move: "reactivated", active: 1)
          : .paid(charge: "initial", move: "new", active: 1))
    }
    post("SUBSCRIBED", "RESUBSCRIBE", at: at.adding(seconds: 12))
    return true
  }
}
