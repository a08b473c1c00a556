import Postgres
import Signatures
import Vocabulary

/// A batch as the rows of the staging tables (`sql/ingest/staging.sql`), each table in the order of its key.
///
/// Within a batch an event id counts once, the first with it; of the facts each version counts once, whichever event
/// said it.
struct StagedBatch: Sendable {
  /// A version signed later than this after its receipt has a clock that is ahead: a day, in microseconds
  /// (`sql/ingest/clock_ahead.sql`).
  private static let clockAllowance: Int64 = 86_400_000_000

  let items: [BatchItem]
  let source: Source
  let receivedAt: Instant
  /// The identifiers that were left out.
  let erased: ErasedIdentifiers
  private(set) var eventCount = 0
  private(set) var rejectionCount = 0
  private(set) var isClockAhead = false
  private(set) var events = BinaryRows()
  private(set) var payloads = BinaryRows()
  private(set) var headers = BinaryRows()
  private(set) var chains = BinaryRows()
  private(set) var transactions = BinaryRows()
  private(set) var renewals = BinaryRows()
  private(set) var subscribers = BinaryRows()
  private(set) var links = BinaryRows()
  private(set) var aliases = BinaryRows()
  private(set) var transfers = BinaryRows()
  private(set) var storeMessages = BinaryRows()
  private(set) var rejections = BinaryRows()

  // What is needed beside these to store a batch of which everything is new.
  /// The apps of the events, and their ids, one of each row in `events`.
  private(set) var eventAppIDs: [Int64] = []
  private(set) var eventIDs: [String] = []
  private(set) var unrecognisedCount = 0
  /// The days on which something happened that the batch tells of, each once, in the order of their keys.
  private(set) var heardDays: [HeardDay] = []
  /// The rows of `stored_event`.
  private(set) var newEvents = BinaryRows()
  /// The rows of `ledger.unsettled`.
  private(set) var unsettled = BinaryRows()

  /// Prepares rows.
  ///
  /// - Parameter appIDs: The number of every app that an event names.
  init(
    _ items: [BatchItem], source: Source, appIDs: [String: Int64], erased: ErasedIdentifiers, receivedAt: Instant
  ) {
    self.items = items
    self.source = source
    self.erased = erased
    self.receivedAt = receivedAt
    var seen: [Seen] = []
    seen.reserveCapacity(items.count)
    for item in items {
      switch item.decoded {
      case .event(let event, let payload):
        eventCount += 1
        guard let app = event.app, let appID = appIDs[app] else {
          preconditionFailure("an event without a known app cannot be stored")
        }
        let kept = erased.dropped(from: event, payload, appID: appID)
        seen.append(Seen(kept.event, kept.payload, appID: appID, source: source, order: seen.count))
      case .rejection(let rejection):
        rejectionCount += 1
        var rejection = rejection
        let appID = rejection.app.flatMap { appIDs[$0] }
        rejection.excerpt = erased.dropped(from: rejection.excerpt, appID: appID)
        addRejection(rejection, item.place, source, appID)
      }
    }
    addEvents(seen, source)
    addChains(seen)
    addFacts(seen, source)
    addSubscribers(seen, source)
    addLinks(seen)
    addAliases(seen, source)
    addTransfers(seen, source)
    addStoreMessages(seen, source)
    heardDays = Set(seen.map { HeardDay(appID: $0.appID, $0.event) }).sorted { $0.precedes($1) }
  }

  /// A day, in UTC, on which something happened in an environment of an app.
  struct HeardDay: Hashable, Sendable {
    let appID: Int64
    let environment: String
    /// Days since 1970.
    let day: Int64

    init(appID: Int64, _ event: Event) {
      self.appID = appID
      environment = event.environment.rawValue
      // No event happened before 1970: an earlier moment is refused at the door.
      day = event.occurredAt.microseconds / 86_400_000_000
    }

    func precedes(_ other: Self) -> Bool {
      (appID, environment, day) < (other.appID, other.environment, other.day)
    }
  }

  /// An event with what is worked out from it.
  fileprivate struct Seen {
    let event: Event
    let payload: StoredPayload
    let appID: Int64
    let order: Int
    let key: Int64
    let transactionJSON: String?
    let renewalJSON: String?

    init(_ event: Event, _ payload: StoredPayload, appID: Int64, source: Source, order: Int) {
      self.event = event
      self.payload = payload
      self.appID = appID
      self.order = order
      transactionJSON = event.transaction?.json
      renewalJSON = event.renewal?.json
      key =
        event.originalTransactionID.map {
          SubscriptionKey.ofChain(
            appID: appID, store: event.store, environment: event.environment, originalTransactionID: $0)
        } ?? SubscriptionKey.ofEvent(appID: appID, source: source, eventID: event.eventID)
    }
  }

  // MARK: - Rows

  private mutating func addRejection(_ rejection: Rejection, _ place: String, _ source: Source, _ appID: Int64?) {
    rejections.startRow(columns: 6)
    rejections.int64(appID)
    rejections.text(source.rawValue)
    rejections.timestamp(microseconds: receivedAt.microseconds)
    rejections.text(rejection.reason.rawValue)
    rejections.text(place)
    rejections.text(rejection.excerpt)
  }

  private mutating func addEvents(_ seen: [Seen], _ source: Source) {
    let sorted = seen.sorted {
      if $0.appID != $1.appID { return $0.appID < $1.appID }
      return $0.event.eventID.precedes($1.event.eventID) ?? ($0.order < $1.order)
    }
    var headersByID: [Int64: ProtectedHeader] = [:]
    var last: Seen?
    for one in sorted {
      if let last, last.appID == one.appID, last.event.eventID.isExactly(one.event.eventID) { continue }
      last = one
      addEvent(one, source)
      guard !one.payload.body.isEmpty else { continue }
      let headerIDs = one.payload.headers.map { SubscriptionKey.key($0.digest) }
      for (headerID, header) in zip(headerIDs, one.payload.headers) where headersByID[headerID] == nil {
        headersByID[headerID] = header
      }
      payloads.startRow(columns: 7)
      payloads.int64(one.key)
      payloads.int64(one.appID)
      payloads.text(source.rawValue)
      payloads.text(one.event.eventID)
      payloads.timestamp(microseconds: receivedAt.microseconds)
      payloads.text(String(decoding: one.payload.body, as: UTF8.self))
      payloads.int64s(headerIDs)
    }
    for entry in headersByID.sorted(by: { $0.key < $1.key }) {
      headers.startRow(columns: 2)
      headers.int64(entry.key)
      headers.text(String(decoding: entry.value.bytes, as: UTF8.self))
    }
  }

  private mutating func addEvent(_ one: Seen, _ source: Source) {
    let event = one.event
    let amount = event.amount
    events.startRow(columns: 21)
    events.int64(one.key)
    events.int64(one.appID)
    events.text(source.rawValue)
    events.text(event.eventID)
    events.text(event.kind.rawValue)
    events.texts(event.also.map(\.rawValue))
    events.text(event.rawKind)
    events.timestamp(microseconds: event.occurredAt.microseconds)
    events.timestamp(microseconds: event.signedAt.microseconds)
    events.timestamp(microseconds: receivedAt.microseconds)
    events.text(event.store.rawValue)
    events.text(event.environment.rawValue)
    events.text(event.originalTransactionID)
    events.text(event.transaction?.transactionID)
    events.text(event.transaction?.productID.value)
    events.text(event.transaction?.country.value)
    events.int64(amount?.amount.value)
    events.text(amount?.currency)
    events.text(event.subscriberID)
    events.text(event.appTransactionID)
    events.json(event.json(transaction: one.transactionJSON, renewal: one.renewalJSON))

    eventAppIDs.append(one.appID)
    eventIDs.append(event.eventID)
    if event.kind == .unrecognised { unrecognisedCount += 1 }
    newEvents.startRow(columns: 13)
    newEvents.int64(one.key)
    newEvents.int64(one.appID)
    newEvents.text(source.rawValue)
    newEvents.text(event.eventID)
    newEvents.text(event.kind.rawValue)
    newEvents.texts(event.also.map(\.rawValue))
    newEvents.timestamp(microseconds: event.occurredAt.microseconds)
    newEvents.timestamp(microseconds: receivedAt.microseconds)
    newEvents.text(event.environment.rawValue)
    newEvents.text(event.transaction?.transactionID)
    newEvents.text(event.transaction?.country.value)
    newEvents.int64(amount?.amount.value)
    newEvents.text(amount?.currency)
  }

  private mutating func addUnsettled(_ key: Int64, _ transactionID: String?, at moment: Int64) {
    unsettled.startRow(columns: 4)
    unsettled.int64(key)
    unsettled.text(transactionID)
    unsettled.timestamp(microseconds: moment)
    unsettled.timestamp(microseconds: moment)
  }

  private mutating func addChains(_ seen: [Seen]) {
    let sorted = seen.filter { $0.event.originalTransactionID != nil }.sorted { $0.key < $1.key }
    var at = 0
    while at < sorted.count {
      let first = sorted[at]
      var appTransactionID = first.event.appTransactionID
      at += 1
      // A key that stands for two chains stays two rows: the database's check finds it.
      while at < sorted.count, sorted[at].key == first.key, sorted[at].isOfSameChain(as: first) {
        if let other = sorted[at].event.appTransactionID, appTransactionID.map({ other.precedes($0) == true }) ?? true {
          appTransactionID = other
        }
        at += 1
      }
      chains.startRow(columns: 6)
      chains.int64(first.key)
      chains.int64(first.appID)
      chains.text(first.event.store.rawValue)
      chains.text(first.event.environment.rawValue)
      chains.text(first.event.originalTransactionID)
      chains.text(appTransactionID)
    }
  }

  private mutating func addSubscribers(_ seen: [Seen], _ source: Source) {
    let sorted =
      seen.filter { $0.event.subscriberID != nil && $0.event.originalTransactionID != nil }
      .sorted { left, right in
        if left.key != right.key { return left.key < right.key }
        if left.event.occurredAt != right.event.occurredAt { return left.event.occurredAt < right.event.occurredAt }
        let order = left.event.subscriberID?.precedes(right.event.subscriberID ?? "")
        return order ?? (left.event.eventID.precedes(right.event.eventID) ?? false)
      }
    var last: Seen?
    for one in sorted {
      if let last, last.key == one.key, last.event.occurredAt == one.event.occurredAt,
        last.event.eventID.isExactly(one.event.eventID),
        last.event.subscriberID?.isExactly(one.event.subscriberID ?? "") == true
      {
        continue
      }
      last = one
      subscribers.startRow(columns: 5)
      subscribers.int64(one.key)
      subscribers.text(one.event.subscriberID)
      subscribers.timestamp(microseconds: one.event.occurredAt.microseconds)
      subscribers.text(source.rawValue)
      subscribers.text(one.event.eventID)
      addUnsettled(one.key, nil, at: one.event.occurredAt.microseconds)
    }
  }

  private mutating func addLinks(_ seen: [Seen]) {
    struct Link {
      let key: Int64
      let previous: Int64
      let eventID: String
    }
    let sorted = seen.compactMap { one -> Link? in
      guard let previous = one.event.previousOriginalTransactionID, one.event.originalTransactionID != nil else {
        return nil
      }
      let key = SubscriptionKey.ofChain(
        appID: one.appID, store: one.event.store, environment: one.event.environment, originalTransactionID: previous)
      // A chain does not continue itself.
      return key == one.key ? nil : Link(key: one.key, previous: key, eventID: one.event.eventID)
    }.sorted {
      if $0.key != $1.key { return $0.key < $1.key }
      if $0.previous != $1.previous { return $0.previous < $1.previous }
      return $0.eventID.precedes($1.eventID) ?? false
    }
    var last: Link?
    for link in sorted {
      // The first of several is the one of the least event.
      if let last, last.key == link.key, last.previous == link.previous { continue }
      last = link
      links.startRow(columns: 3)
      links.int64(link.key)
      links.int64(link.previous)
      links.text(link.eventID)
    }
  }

  /// When an event about customers happened; a clock that is ahead would put off for ever what it says.
  private func moment(of event: Event) -> Int64 {
    let isAhead = event.occurredAt.microseconds - receivedAt.microseconds > Self.clockAllowance
    return isAhead ? receivedAt.microseconds : event.occurredAt.microseconds
  }

  private mutating func addAliases(_ seen: [Seen], _ source: Source) {
    struct Alias: Hashable {
      let appID: Int64
      let id: String
      let customer: String
    }
    // Nearly every event repeats them: the first time counts.
    var saidAt: [Alias: Int64] = [:]
    for one in seen {
      guard let identity = one.event.identity, let original = identity.original else { continue }
      for id in identity.aliases {
        let alias = Alias(appID: one.appID, id: id, customer: original)
        saidAt[alias] = min(saidAt[alias] ?? .max, moment(of: one.event))
      }
    }
    let sorted = saidAt.sorted { left, right in
      if left.key.appID != right.key.appID { return left.key.appID < right.key.appID }
      return left.key.id.precedes(right.key.id) ?? left.key.customer.precedes(right.key.customer) ?? false
    }
    for (alias, moment) in sorted {
      aliases.startRow(columns: 5)
      aliases.int64(alias.appID)
      aliases.text(source.rawValue)
      aliases.text(alias.id)
      aliases.text(alias.customer)
      aliases.timestamp(microseconds: moment)
    }
  }

  private mutating func addTransfers(_ seen: [Seen], _ source: Source) {
    let sorted = seen.filter { $0.event.identity?.transferredTo != nil }.sorted { left, right in
      if left.appID != right.appID { return left.appID < right.appID }
      return left.event.eventID.precedes(right.event.eventID) ?? (left.order < right.order)
    }
    var last: Seen?
    for one in sorted {
      if let last, last.appID == one.appID, last.event.eventID.isExactly(one.event.eventID) { continue }
      last = one
      guard let identity = one.event.identity, let taker = identity.transferredTo else { continue }
      let givers = Set(identity.transferredFrom.filter { !$0.isExactly(taker) })
      for giver in givers.sorted(by: { $0.precedes($1) ?? false }) {
        transfers.startRow(columns: 6)
        transfers.int64(one.appID)
        transfers.text(source.rawValue)
        transfers.text(one.event.eventID)
        transfers.text(giver)
        transfers.text(taker)
        transfers.timestamp(microseconds: moment(of: one.event))
      }
    }
  }

  /// What clients report as shown or held back. A report that names no chain, or no message, is an event and no more.
  private mutating func addStoreMessages(_ seen: [Seen], _ source: Source) {
    struct Shown {
      let key: Int64
      let message: String
      let at: Int64
      let eventID: String
      let isPending: Bool

      /// Whether this comes before the other by key; nil when both have the same.
      func precedes(_ other: Self) -> Bool? {
        if key != other.key { return key < other.key }
        if let order = message.precedes(other.message) { return order }
        if at != other.at { return at < other.at }
        return eventID.precedes(other.eventID)
      }
    }
    let sorted = seen.compactMap { one -> Shown? in
      guard one.event.kind == .storeMessage || one.event.also.contains(.storeMessage),
        one.event.originalTransactionID != nil, let message = one.event.detail.message, !message.isEmpty
      else { return nil }
      return Shown(
        key: one.key, message: message, at: one.event.occurredAt.microseconds, eventID: one.event.eventID,
        isPending: one.event.detail.state == "pending")
    }.sorted { $0.precedes($1) ?? false }
    var last: Shown?
    for shown in sorted {
      if let last, last.precedes(shown) == nil { continue }
      last = shown
      storeMessages.startRow(columns: 6)
      storeMessages.int64(shown.key)
      storeMessages.text(shown.message)
      storeMessages.timestamp(microseconds: shown.at)
      storeMessages.text(source.rawValue)
      storeMessages.text(shown.eventID)
      storeMessages.bool(shown.isPending)
    }
  }
}

extension StagedBatch.Seen {
  fileprivate func isOfSameChain(as other: Self) -> Bool {
    appID == other.appID && event.store == other.event.store && event.environment == other.event.environment
      && event.originalTransactionID?.isExactly(other.event.originalTransactionID ?? "") == true
  }
}

// MARK: - Facts

extension StagedBatch {
  /// A version of a fact with what its key is made of.
  private struct Version<Fact> {
    let fact: Fact
    let key: Int64
    /// The transaction's id; empty for a renewal status.
    let transactionID: String
    let eventID: String
    let signedAt: Int64
    let digest: [UInt8]

    /// Whether this comes before the other by key; nil when both have the same.
    func precedes(_ other: Self) -> Bool? {
      if key != other.key { return key < other.key }
      if let order = transactionID.precedes(other.transactionID) { return order }
      if signedAt != other.signedAt { return signedAt < other.signedAt }
      return digest == other.digest ? nil : digest.lexicographicallyPrecedes(other.digest)
    }
  }

  private mutating func version<Fact>(
    _ fact: Fact, of one: Seen, transactionID: String, signedAt: Instant, json: String
  ) -> Version<Fact> {
    if signedAt.microseconds - receivedAt.microseconds > Self.clockAllowance { isClockAhead = true }
    return Version(
      fact: fact, key: one.key, transactionID: transactionID, eventID: one.event.eventID,
      signedAt: signedAt.microseconds, digest: Array(SHA256.digest(json)[..<16]))
  }

  /// The versions in the order of their keys, each once, of the event with the least id.
  private static func distinct<Fact>(_ versions: [Version<Fact>]) -> [Version<Fact>] {
    var kept: [Version<Fact>] = []
    kept.reserveCapacity(versions.count)
    for version in versions.sorted(by: { $0.precedes($1) ?? ($0.eventID.precedes($1.eventID) ?? false) })
    where kept.last.map({ $0.precedes(version) != nil }) ?? true {
      kept.append(version)
    }
    return kept
  }

  private mutating func addFacts(_ seen: [Seen], _ source: Source) {
    var ofTransactions: [Version<TransactionFact>] = []
    var ofRenewals: [Version<RenewalFact>] = []
    for one in seen {
      if let fact = one.event.transaction {
        ofTransactions.append(
          version(
            fact, of: one, transactionID: fact.transactionID, signedAt: fact.signedAt, json: one.transactionJSON ?? ""))
      }
      if let fact = one.event.renewal {
        ofRenewals.append(
          version(fact, of: one, transactionID: "", signedAt: fact.signedAt, json: one.renewalJSON ?? ""))
      }
    }
    for version in Self.distinct(ofTransactions) { addTransaction(version, source) }
    for version in Self.distinct(ofRenewals) { addRenewal(version, source) }
  }

  private mutating func addTransaction(_ version: Version<TransactionFact>, _ source: Source) {
    let fact = version.fact
    transactions.startRow(columns: 31)
    transactions.int64(version.key)
    transactions.text(fact.transactionID)
    transactions.text(source.rawValue)
    transactions.timestamp(microseconds: version.signedAt)
    transactions.uuid(version.digest)
    transactions.int16(source.rank)
    transactions.int64(fact.stated)
    transactions.text(version.eventID)
    transactions.text(fact.type.value?.rawValue)
    transactions.text(fact.productID.value)
    transactions.text(fact.groupID.value)
    transactions.text(fact.period.value)
    transactions.timestamp(microseconds: fact.purchasedAt.value?.microseconds)
    transactions.timestamp(microseconds: fact.expiresAt.value?.microseconds)
    transactions.int64(fact.price.value?.amount.value)
    transactions.text(fact.price.value?.currency)
    transactions.text(fact.country.value)
    transactions.text(fact.reason.value?.rawValue)
    transactions.text(fact.ownership.value?.rawValue)
    transactions.text(fact.offer.value?.type.rawValue)
    transactions.text(fact.offer.value?.id)
    transactions.text(fact.offer.value?.discount?.rawValue)
    transactions.text(fact.offer.value?.period)
    transactions.timestamp(microseconds: fact.revokedAt.value?.microseconds)
    transactions.text(fact.revocation.value?.rawValue)
    transactions.int64(fact.refund.value?.value)
    transactions.int64(fact.tax.value?.value)
    transactions.int64(fact.commission.value?.value)
    transactions.int64(fact.proceeds.value?.value)
    transactions.bool(fact.isUpgraded.value)
    transactions.int64(fact.quantity.value)
    addUnsettled(
      version.key, fact.transactionID, at: fact.purchasedAt.value?.microseconds ?? version.signedAt)
  }

  private mutating func addRenewal(_ version: Version<RenewalFact>, _ source: Source) {
    let fact = version.fact
    renewals.startRow(columns: 19)
    renewals.int64(version.key)
    renewals.text(source.rawValue)
    renewals.timestamp(microseconds: version.signedAt)
    renewals.uuid(version.digest)
    renewals.int16(source.rank)
    renewals.int64(fact.stated)
    renewals.text(version.eventID)
    renewals.bool(fact.autoRenew.value)
    renewals.text(fact.autoRenewProductID.value)
    renewals.timestamp(microseconds: fact.renewsAt.value?.microseconds)
    renewals.int64(fact.renewalPrice.value?.amount.value)
    renewals.text(fact.renewalPrice.value?.currency)
    renewals.text(fact.expirationReason.value?.rawValue)
    renewals.bool(fact.inBillingRetry.value)
    renewals.timestamp(microseconds: fact.graceExpiresAt.value?.microseconds)
    renewals.timestamp(microseconds: fact.pausedAt.value?.microseconds)
    renewals.timestamp(microseconds: fact.resumesAt.value?.microseconds)
    renewals.text(fact.priceIncrease.value?.rawValue)
    renewals.texts(fact.eligibleWinBackOffers.value)
    addUnsettled(version.key, nil, at: version.signedAt)
  }
}

extension String {
  /// Whether both have the same bytes. Swift holds texts for equal whose characters can be written in several ways; the
  /// database does not.
  fileprivate func isExactly(_ other: String) -> Bool { utf8.elementsEqual(other.utf8) }

  /// Whether this comes before the other in the order of their bytes; nil when they are the same.
  fileprivate func precedes(_ other: String) -> Bool? {
    if isExactly(other) { return nil }
    return utf8.lexicographicallyPrecedes(other.utf8)
  }
}
