import Signatures
import Vocabulary

/// A row of RevenueCat's scheduled exports: a transaction as it stood when the row was written.
///
/// Source: https://www.revenuecat.com/docs/integrations/scheduled-data-exports
struct RevenueCatExport {
  /// The transaction, and what was noticed about its chain after it: auto-renew switched off, a charge that failed.
  private(set) var events: [Event] = []

  private let row: ExportRow
  private let store: Store
  private let environment: StoreEnvironment
  private let transactionID: String
  private let chain: String
  private let subscriber: String?

  init(_ row: ExportRow) throws(Rejection) {
    self.row = row
    store = Self.store(row.string("store"))
    environment = try row.flag("is_sandbox") == true ? .sandbox : .production
    transactionID = try row.required("store_transaction_id")
    chain = row.string("original_store_transaction_id") ?? transactionID
    subscriber = row.string("rc_last_seen_app_user_id_alias") ?? row.string("rc_original_app_user_id")
    guard let startsAt = try row.dateTime("start_time") else { throw Rejection(.fieldMissing, excerpt: "start_time") }
    let writtenAt = try row.dateTime("updated_at") ?? startsAt
    let transaction = try transaction(startsAt, writtenAt)
    var bought = event(startsAt, signedAt: writtenAt, transaction.json)
    bought.transaction = transaction
    events.append(bought)
    if let noticedAt = try row.dateTime("unsubscribe_detected_at"), noticedAt >= startsAt {
      var status = RenewalFact(signedAt: noticedAt)
      status.autoRenew = .value(false)
      add(status)
    }
    if let noticedAt = try row.dateTime("billing_issues_detected_at"), noticedAt >= startsAt {
      var status = RenewalFact(signedAt: noticedAt)
      status.inBillingRetry = .value(true)
      status.graceExpiresAt = Stated(carriedOver: try row.dateTime("grace_period_end_time"))
      add(status)
    }
  }

  private mutating func add(_ status: RenewalFact) {
    var noticed = event(status.signedAt, signedAt: status.signedAt, status.json)
    noticed.renewal = status
    events.append(noticed)
  }

  private func event(_ at: Instant, signedAt: Instant, _ fact: String) -> Event {
    let parts = [store.rawValue, environment.rawValue, chain, "\(at)", fact]
    var event = Event(
      eventID: "export-" + SHA256.hexadecimalDigest(Array(parts.joined(separator: "\u{1F}").utf8)), kind: .ignored,
      occurredAt: at, signedAt: signedAt, store: store, environment: environment, originalTransactionID: chain)
    event.rawKind = "export"
    event.subscriberID = subscriber
    return event
  }

  private static func store(_ word: String?) -> Store {
    switch word?.lowercased() {
    case "app_store"?: .appStore
    case "mac_app_store"?: .macAppStore
    case "play_store"?: .playStore
    case "amazon"?: .amazon
    case "stripe"?: .stripe
    case "roku"?: .roku
    case "paddle"?: .paddle
    case "rc_billing"?: .web
    case "promotional"?: .promotional
    default: .other
    }
  }

  // MARK: - The transaction

  private func transaction(_ startsAt: Instant, _ writtenAt: Instant) throws(Rejection) -> TransactionFact {
    var fact = TransactionFact(transactionID: transactionID, signedAt: writtenAt)
    fact.type = .value(try row.flag("is_auto_renewable") == false ? .nonRenewing : .autoRenewable)
    fact.productID = .value(try row.required("product_identifier"))
    fact.purchasedAt = .value(startsAt)
    // An end before the start marks a charge on Google Play that failed.
    fact.expiresAt = Stated(carriedOver: try row.dateTime("end_time").flatMap { $0 > startsAt ? $0 : nil })
    let offer = try offer()
    fact.offer = Stated(snapshot: offer)
    // The length is the product's: an offer may have another.
    if offer == nil, let period = row.string("product_duration"), ISODuration.isValid(period) {
      fact.period = .value(period)
    }
    // Where it is estimated, it is the country of an address, and no storefront.
    if row.string("country_source") != "estimated" { fact.country = Stated(carriedOver: try row.country("country")) }
    switch row.string("ownership_type") {
    case "FAMILY_SHARED"?: fact.ownership = .value(.familyShared)
    case "PURCHASED"?: fact.ownership = .value(.purchased)
    default: break
    }
    // A later number may be a renewal, or the return of a customer who had left.
    if row.string("renewal_number") == "1" { fact.reason = .value(.purchase) }
    let returned = try readMoney(&fact)
    fact.revokedAt = Stated(snapshot: try row.dateTime("refunded_at"))
    if fact.revokedAt.value != nil, let returned, let price = fact.price.value {
      fact.revocation = .value(returned == price.amount ? .full : .prorated)
      fact.refund = .value(returned)
    }
    return fact
  }

  private func offer() throws(Rejection) -> Offer? {
    let isTrial = try row.flag("is_trial_period") == true
    let isIntroductory = try row.flag("is_in_intro_offer_period") == true
    let id = row.string("offer")
    let discount: OfferDiscount? = isTrial ? .freeTrial : nil
    // Since version 5.
    switch row.string("offer_type")?.lowercased() {
    case nil: return isTrial || isIntroductory ? Offer(type: .introductory, discount: discount) : nil
    case "offer_code"?: return Offer(type: .code, id: id, discount: discount)
    case "promotional"?, "promotional_offer"?: return Offer(type: .promotional, id: id, discount: discount)
    case "win_back"?: return Offer(type: .winBack, id: id, discount: discount)
    case let word? where word.hasPrefix("intro") || word.hasSuffix("trial"):
      return Offer(type: .introductory, id: id, discount: discount)
    case let word?: return Offer(type: OfferType(rawValue: word), id: id, discount: discount)
    }
  }

  /// What was charged, with what of it went elsewhere: both percentages are fractions of the whole price. Since version 4
  /// the price of the purchase stands beside what a refund has left of it.
  ///
  /// - Returns: What was returned; nil where that is not known.
  private func readMoney(_ fact: inout TransactionFact) throws(Rejection) -> Micros? {
    let left = try row.units("price_in_purchased_currency")
    let isRefunded = row.string("refunded_at") != nil
    guard let price = try row.units("purchase_price_in_purchased_currency") ?? (isRefunded ? nil : left),
      let currency = try row.currency("purchased_currency"), price.value >= 0
    else { return nil }
    fact.price = .value(Money(amount: price, currency: currency))
    if price.value > 0 {
      let tax = try row.decimal("tax_percentage").flatMap { price.share($0) }
      let commission = try row.decimal("commission_percentage").flatMap { price.share($0) }
      fact.tax = Stated(carriedOver: tax)
      fact.commission = Stated(carriedOver: commission)
      if let tax, let commission { fact.proceeds = Stated(carriedOver: price.less(tax)?.less(commission)) }
    }
    guard let left, left.value >= 0, left <= price else { return nil }
    return Micros(price.value - left.value)
  }
}
