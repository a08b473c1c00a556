import Vocabulary

/// One store transaction, as its versions tell it in the end.
struct OraclePurchase {
  /// A withdrawal of access, the return of money, or both.
  struct Revocation {
    var at: Instant
    var type: RevocationType?
    var amount: Micros?
    /// When it was taken back.
    var reversedAt: Instant?

    /// Whether it returns money: what Family Sharing ends and what a word says that nobody knows returns nothing.
    var isRefund: Bool { type == nil || type == .full || type == .prorated }
  }

  let chain: OracleChain
  let product: String?
  let country: String?
  let type: TransactionType
  let isShared: Bool
  let start: Instant
  /// The expiry, extensions included; the start where nothing expires.
  let expiry: Instant
  let price: Money?
  let period: String?
  let saysRenewal: Bool
  let offer: Offer?
  let tax: Micros?
  let commission: Micros?
  let proceeds: Micros?
  /// In the order of their moments, those before as-of; a reversal at or after it has not happened.
  let revocations: [Revocation]

  /// Reads the versions of one transaction, all of them assertions: a field is what the newest version says that says
  /// anything of it. `nil` when no version says when it was bought.
  init?(chain: OracleChain, versions: [TransactionFact], asOf: Instant) {
    let versions = versions.sorted { $0.signedAt < $1.signedAt }
    func newest<Value>(_ field: (TransactionFact) -> Stated<Value>) -> Value? {
      versions.last { field($0).isStated }.flatMap { field($0).value }
    }
    guard let start = newest(\.purchasedAt) else { return nil }
    self.chain = chain
    self.start = start
    product = newest(\.productID)
    country = newest(\.country)
    type = newest(\.type) ?? .autoRenewable
    isShared = newest(\.ownership) == .familyShared
    expiry = newest(\.expiresAt) ?? start
    price = newest(\.price)
    period = newest(\.period)
    saysRenewal = newest(\.reason) == .renewal
    offer = newest(\.offer)
    tax = newest(\.tax)
    commission = newest(\.commission)
    proceeds = newest(\.proceeds)
    var told: [Revocation] = []
    var isRevoked = false
    for version in versions where version.revokedAt.isStated {
      if let at = version.revokedAt.value {
        let revocation = Revocation(at: at, type: version.revocation.value, amount: version.refund.value)
        if isRevoked { told[told.count - 1] = revocation } else { told.append(revocation) }
        isRevoked = true
      } else if isRevoked {
        told[told.count - 1].reversedAt = version.signedAt
        isRevoked = false
      }
    }
    revocations = told.filter { $0.at < asOf }.map { revocation in
      var revocation = revocation
      if let reversed = revocation.reversedAt, reversed >= asOf { revocation.reversedAt = nil }
      return revocation
    }
  }

  var isOneTime: Bool { type != .autoRenewable }

  /// By the discount whatever the offer, or by a price of 0 with an offer.
  var isFree: Bool { offer?.discount == .freeTrial || (offer != nil && price?.amount == Micros(0)) }

  /// The word that reports have for the offer.
  var offerWord: String { offer?.type.rawValue ?? "none" }

  /// What a revocation returns: 0 where it returns nothing, `nil` where the amount is not known.
  func returned(by revocation: Revocation) -> Micros? {
    switch revocation.type {
    case nil, .full?: price?.amount
    case .prorated?: revocation.amount
    default: Micros(0)
    }
  }

  /// Whether a refund stands, of the whole price or of a part.
  var isRefunded: Bool { revocations.contains { $0.reversedAt == nil && $0.isRefund } }

  /// Whether a refund that stands returned the whole price.
  var isFullyRefunded: Bool {
    revocations.contains { $0.reversedAt == nil && ($0.type == nil || $0.type == .full) }
  }
}

/// What the events say of one chain.
final class OracleChain {
  let app: String
  let store: String
  let environment: String
  let originalTransactionID: String
  /// The chain that this one continues.
  let previous: String?
  /// The statuses before as-of, in the order of their signing.
  let statuses: [RenewalFact]
  /// The customer's ids with the moments of the events that name them, in order.
  let subscribers: [(at: Instant, id: String)]
  let appTransactionID: String?
  /// What the app reported of the store's messages before as-of.
  let messages: [(at: Instant, name: String, isPending: Bool)]
  /// In the order of their purchase, those before as-of.
  private(set) var purchases: [OraclePurchase] = []

  /// Reads the events of one chain.
  init(_ events: [Event], asOf: Instant) {
    let first = events[0]
    app = first.app ?? ""
    store = first.store.rawValue
    environment = first.environment.rawValue
    originalTransactionID = first.originalTransactionID ?? ""
    previous = events.lazy.compactMap(\.previousOriginalTransactionID).first
    statuses = events.compactMap(\.renewal).filter { $0.signedAt < asOf }.sorted { $0.signedAt < $1.signedAt }
    subscribers = events.compactMap { event in event.subscriberID.map { (event.occurredAt, $0) } }
      .sorted { $0.0 < $1.0 }
    appTransactionID = events.lazy.compactMap(\.appTransactionID).first
    messages = events.compactMap { event in
      guard let name = event.detail.message, event.occurredAt < asOf else { return nil }
      return (event.occurredAt, name, event.detail.state == "pending")
    }
    let versions = Dictionary(grouping: events.compactMap(\.transaction), by: \.transactionID)
    purchases = versions.values.compactMap { OraclePurchase(chain: self, versions: $0, asOf: asOf) }
      .filter { $0.start < asOf }.sorted { $0.start < $1.start }
  }

  /// The subscriptions' periods.
  var periods: [OraclePurchase] { purchases.filter { !$0.isOneTime } }

  /// The customer's id just before a moment, by the newest event that names one, else by the first; without any the
  /// app transaction's.
  func subscriber(before moment: Instant) -> String? {
    subscribers.last { $0.at < moment }?.id ?? subscribers.first?.id ?? appTransactionID
  }

  /// Who counts as the customer just before a moment: the id, without any the chain itself.
  func customer(before moment: Instant) -> String {
    subscriber(before: moment) ?? "\(store)\u{1F}\(originalTransactionID)"
  }

  /// The newest status signed since a moment and before another.
  func status(since: Instant, before: Instant) -> RenewalFact? {
    statuses.last { since <= $0.signedAt && $0.signedAt < before }
  }

  /// The statuses about a period.
  func statuses(about purchase: OraclePurchase) -> [RenewalFact] {
    let day: Int64 = 24 * 60 * 60
    return statuses.filter { status in
      let subject =
        if status.inBillingRetry.value == true || status.graceExpiresAt.value != nil {
          periods.last { $0.expiry <= status.signedAt.adding(seconds: day) }
        } else {
          periods.last { $0.start <= status.signedAt }
        }
      return subject?.start == purchase.start
    }
  }
}
