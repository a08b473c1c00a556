/// One event of a subscription's life, in the one form that every source is decoded into.
public struct Event: Sendable, Equatable {
  /// Unique within an app and a source: the vendor's id where there is one.
  public var eventID: String
  /// What happened.
  public var kind: EventKind
  /// What else happened, told by the same event.
  public var also: [EventKind] = []
  /// When it happened, by the source's clock.
  public var occurredAt: Instant
  /// When the source said so; the version of the facts that have none of their own.
  public var signedAt: Instant
  /// The key of the app; `nil` when the event does not say.
  public var app: String?
  /// Where the subscription is billed.
  public var store: Store
  /// The store's environment.
  public var environment: StoreEnvironment
  /// The chain; `nil` for events about none.
  public var originalTransactionID: String?
  /// The customer's id, as the seller knows it.
  public var subscriberID: String?
  /// The store's id of the customer's copy of the app.
  public var appTransactionID: String?
  /// The chain that this one continues.
  public var previousOriginalTransactionID: String?
  /// A version of one transaction.
  public var transaction: TransactionFact?
  /// A version of the chain's renewal status.
  public var renewal: RenewalFact?
  /// What it says of who customers are, beside whose the chain is.
  public var identity: IdentityFact?
  /// More about what happened, by kind.
  public var detail = EventDetail()
  /// The vendor's own words for the kind.
  public var rawKind: String?

  /// Creates an event without facts.
  public init(
    eventID: String, kind: EventKind, occurredAt: Instant, signedAt: Instant? = nil, app: String? = nil,
    store: Store, environment: StoreEnvironment, originalTransactionID: String? = nil
  ) {
    self.eventID = eventID
    self.kind = kind
    self.occurredAt = occurredAt
    self.signedAt = signedAt ?? occurredAt
    self.app = app
    self.store = store
    self.environment = environment
    self.originalTransactionID = originalTransactionID
  }

  /// The money that the event moved: a charge positive, a refund negative; `nil` when none, or when it is unknown.
  public var amount: Money? {
    guard let transaction else { return nil }
    let price = transaction.price.value
    let kinds = Set([kind] + also)
    if kinds.contains(.refunded) || kinds.contains(.refundReversed) {
      let returned: Micros? =
        switch transaction.revocation.value {
        case .family?: nil
        case .full?, nil: transaction.refund.value ?? price?.amount
        default: transaction.refund.value
        }
      guard let returned, returned.value != 0, let currency = price?.currency ?? transaction.refundCurrency else {
        return nil
      }
      return Money(amount: kinds.contains(.refunded) ? Micros(-returned.value) : returned, currency: currency)
    }
    guard let price else { return nil }
    let moves =
      kind == .productChanged
      ? detail.effective == "immediate" : !kinds.isDisjoint(with: EventKind.charges)
    guard moves, price.amount.value != 0, transaction.ownership.value != .familyShared else { return nil }
    return price
  }
}

/// More about what happened. Which parts are present depends on the event's kind.
public struct EventDetail: Sendable, Equatable {
  /// Why: of an expiry one of `ExpirationReason`, of a refund request the store's word.
  public var reason: String?
  /// Of a change of product: `upgrade`, `downgrade`, `crossgrade` or `unknown`.
  public var direction: String?
  /// Of a change of product: `immediate` or `next_period`.
  public var effective: String?
  /// Of a store message: its name; unknown ones as `storekit_<number>`.
  public var message: String?
  /// Of a store message: `shown`, or `pending` where the app holds it back; shown where nothing is said.
  public var state: String?
  /// Of a chain that became eligible for a win-back offer: the offer's id.
  public var offerID: String?
  /// Of a daily digest: the day's figures.
  public var digest: DailyDigest?

  /// Creates a detail.
  public init(
    reason: String? = nil, direction: String? = nil, effective: String? = nil, message: String? = nil,
    state: String? = nil, offerID: String? = nil, digest: DailyDigest? = nil
  ) {
    self.reason = reason
    self.direction = direction
    self.effective = effective
    self.message = message
    self.state = state
    self.offerID = offerID
    self.digest = digest
  }

  /// What a store message may be.
  public static let messageStates = ["shown", "pending"]

  /// The name of a store message as a client tells it. The store numbers them: one that has no name here yet is told by its
  /// number.
  public static func messageName(_ text: String) -> String { Int64(text).map { "storekit_\($0)" } ?? text }
}
