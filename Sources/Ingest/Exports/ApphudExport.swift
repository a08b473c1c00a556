import Vocabulary

/// A row of Apphud's exports: an event with the purchase that it is about.
///
/// Source: https://docs.apphud.com/docs/etl-exports
struct ApphudExport {
  private(set) var events: [Event]

  private let row: ExportRow
  private let name: String

  init(_ row: ExportRow) throws(Rejection) {
    self.row = row
    name = try row.required("event_name")
    events = []
    guard let madeAt = try row.dateTime("created_at") else { throw Rejection(.fieldMissing, excerpt: "created_at") }
    let writtenAt = try row.dateTime("updated_at") ?? madeAt
    let environment: StoreEnvironment = row.string("environment")?.lowercased() == "sandbox" ? .sandbox : .production
    // Rows that tell of no purchase, such as those of a new user.
    let chain = row.string("original_transaction_id") ?? row.string("transaction_id")
    var event = Event(
      eventID: "export-" + (try row.required("id")), kind: .ignored, occurredAt: madeAt, signedAt: writtenAt,
      store: Self.store(row.string("store")), environment: environment, originalTransactionID: chain)
    event.rawKind = name
    event.subscriberID = row.string("user_id") ?? row.string("internal_user_id")
    if chain != nil {
      event.transaction = try transaction(writtenAt)
      event.renewal = renewal(madeAt)
      if Self.isCharge(name) { event.occurredAt = try row.dateTime("purchased_at") ?? madeAt }
    }
    events = [event]
  }

  private static func store(_ word: String?) -> Store {
    switch word {
    case "app_store"?: .appStore
    case "play_store"?: .playStore
    case "stripe"?: .stripe
    case "paddle"?: .paddle
    default: .other
    }
  }

  /// Whether an event tells of a purchase. Others repeat one of earlier.
  private static func isCharge(_ name: String) -> Bool {
    ["_started", "_renewed", "_converted"].contains { name.hasSuffix($0) } || name == "non_renewing_purchase"
  }

  private func transaction(_ writtenAt: Instant) throws(Rejection) -> TransactionFact? {
    guard let id = row.string("transaction_id") else { return nil }
    var fact = TransactionFact(transactionID: id, signedAt: writtenAt)
    if name.hasSuffix("_refunded") {
      fact.revokedAt = Stated(carriedOver: try row.dateTime("cancelled_at"))
      return fact.stated == 0 ? nil : fact
    }
    guard Self.isCharge(name) else { return nil }
    fact.type = .value(row.string("subscription_type") == "nonrenewable" ? .nonRenewing : .autoRenewable)
    fact.productID = .value(try row.required("product_id"))
    fact.purchasedAt = Stated(carriedOver: try row.dateTime("purchased_at"))
    fact.expiresAt = Stated(carriedOver: try row.dateTime("expires_at"))
    fact.country = Stated(carriedOver: try row.country("store_country"))
    if name.hasSuffix("_started") || name == "non_renewing_purchase" { fact.reason = .value(.purchase) }
    if let isShared = try row.flag("family_shared") {
      fact.ownership = .value(isShared ? .familyShared : .purchased)
    }
    fact.offer = Stated(snapshot: try offer())
    fact.isUpgraded = Stated(carriedOver: try row.flag("is_upgraded"))
    if let cancelledAt = try row.dateTime("cancelled_at"), fact.isUpgraded.value != true {
      fact.revokedAt = .value(cancelledAt)
    }
    try readMoney(&fact)
    return fact
  }

  private func offer() throws(Rejection) -> Offer? {
    if try row.flag("trial_period") == true { return Offer(type: .introductory, discount: .freeTrial) }
    if name.hasPrefix("promo_"), !name.hasSuffix("_converted") { return Offer(type: .promotional) }
    return try row.flag("intro_period") == true ? Offer(type: .introductory) : nil
  }

  /// `price` is what the customer paid, `proceeds` that without the store's part; of tax Apphud knows nothing.
  private func readMoney(_ fact: inout TransactionFact) throws(Rejection) {
    guard let price = try row.units("price"), let currency = try row.currency("currency"), price.value >= 0 else {
      return
    }
    fact.price = .value(Money(amount: price, currency: currency))
    guard price.value > 0, let proceeds = try row.units("proceeds"), proceeds <= price else { return }
    fact.proceeds = .value(proceeds)
    fact.commission = Stated(carriedOver: price.less(proceeds))
  }

  private func renewal(_ madeAt: Instant) -> RenewalFact? {
    var fact = RenewalFact(signedAt: madeAt)
    switch name {
    case "trial_canceled", "trial_cancelled", "subscription_canceled", "subscription_cancelled", "autorenew_disabled":
      fact.autoRenew = .value(false)
    case "autorenew_enabled": fact.autoRenew = .value(true)
    case "billing_issue": fact.inBillingRetry = .value(true)
    default: return nil
    }
    return fact
  }
}
