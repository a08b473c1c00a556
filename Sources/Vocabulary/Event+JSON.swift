import Foundation

extension TransactionFact {
  /// The version's JSON in the canonical form of `Event`, keys sorted, no spaces: what its digest is made of.
  public var json: String {
    var object = JSONText()
    object.add("commission", commission)
    object.add("country", country)
    object.add("currency", refundCurrency.map { .value($0) } ?? price.map(\.currency))
    object.add("expires_at", expiresAt)
    object.add("group_id", groupID)
    object.add("is_upgraded", isUpgraded)
    object.add("offer", offer)
    object.add("ownership", ownership)
    object.add("period", period)
    object.add("price", price.map(\.amount))
    object.add("proceeds", proceeds)
    object.add("product_id", productID)
    object.add("purchased_at", purchasedAt)
    object.add("quantity", quantity)
    object.add("reason", reason)
    object.add("refund", refund)
    object.add("revocation", revocation)
    object.add("revoked_at", revokedAt)
    object.add("tax", tax)
    object.add("transaction_id", transactionID)
    object.add("type", type)
    return object.text
  }
}

extension Offer {
  var json: String {
    var object = JSONText()
    object.add("discount", discount?.rawValue)
    object.add("id", id)
    object.add("period", period)
    object.add("type", type.rawValue)
    return object.text
  }
}

extension RenewalFact {
  /// The version's JSON in the canonical form of `Event`, keys sorted, no spaces: what its digest is made of.
  public var json: String {
    var object = JSONText()
    object.add("auto_renew", autoRenew)
    object.add("auto_renew_product_id", autoRenewProductID)
    object.add("currency", renewalPrice.map(\.currency))
    object.add("eligible_win_back_offers", eligibleWinBackOffers)
    object.add("expiration_reason", expirationReason)
    object.add("grace_expires_at", graceExpiresAt)
    object.add("in_billing_retry", inBillingRetry)
    object.add("paused_at", pausedAt)
    object.add("price_increase", priceIncrease)
    object.add("renewal_price", renewalPrice.map(\.amount))
    object.add("renews_at", renewsAt)
    object.add("resumes_at", resumesAt)
    return object.text
  }
}

extension Event {
  /// The event as canonical JSON, keys sorted, no spaces; fields about which nothing is said are left out.
  public var json: String { json(transaction: transaction?.json, renewal: renewal?.json) }

  /// The same, where the texts of its facts are known already.
  public func json(transaction: String?, renewal: String?) -> String {
    var words = JSONText()
    if let digest = detail.digest { words.add("digest", raw: digest.json) }
    words.add("direction", detail.direction)
    words.add("effective", detail.effective)
    words.add("message", detail.message)
    words.add("offer_id", detail.offerID)
    words.add("reason", detail.reason)
    words.add("state", detail.state)
    var object = JSONText()
    if !also.isEmpty { object.add("also", also.map(\.rawValue)) }
    object.add("app", app)
    object.add("app_transaction_id", appTransactionID)
    if !words.isEmpty { object.add("detail", raw: words.text) }
    object.add("environment", environment.rawValue)
    object.add("event_id", eventID)
    object.add("kind", kind.rawValue)
    object.add("occurred_at", occurredAt)
    object.add("original_transaction_id", originalTransactionID)
    object.add("previous_original_transaction_id", previousOriginalTransactionID)
    object.add("raw_kind", rawKind)
    if let renewal { object.add("renewal", raw: renewal) }
    object.add("signed_at", signedAt)
    object.add("store", store.rawValue)
    object.add("subscriber_id", subscriberID)
    if let transaction { object.add("transaction", raw: transaction) }
    return object.text
  }
}

extension Event: Decodable {
  enum CodingKeys: String, CodingKey {
    case eventID = "event_id"
    case kind, also
    case occurredAt = "occurred_at"
    case signedAt = "signed_at"
    case app, store, environment
    case originalTransactionID = "original_transaction_id"
    case subscriberID = "subscriber_id"
    case appTransactionID = "app_transaction_id"
    case previousOriginalTransactionID = "previous_original_transaction_id"
    case transaction, renewal, detail
    case rawKind = "raw_kind"
  }

  /// Reads an event in its canonical form.
  ///
  /// An unknown kind becomes `unrecognised` and keeps its word in `rawKind`. Both facts take the event's `signed_at`.
  ///
  /// - Throws: `DecodingError` with the path of the field that is missing or of another form.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    eventID = try container.nonEmpty(.eventID)
    let kindText = try container.decode(String.self, forKey: .kind)
    kind = EventKind(rawValue: kindText) ?? .unrecognised
    also = try (container.decodeIfPresent([String].self, forKey: .also) ?? []).compactMap(EventKind.init)
    occurredAt = try container.decode(Instant.self, forKey: .occurredAt)
    signedAt = try container.decodeIfPresent(Instant.self, forKey: .signedAt) ?? occurredAt
    app = try container.decodeIfPresent(String.self, forKey: .app)
    store = try container.decode(Store.self, forKey: .store)
    environment = try container.decode(StoreEnvironment.self, forKey: .environment)
    guard Store.known.contains(store) else {
      throw DecodingError.dataCorruptedError(
        forKey: .store, in: container,
        debugDescription: "not one of \(Store.known.map(\.rawValue).joined(separator: ", "))")
    }
    guard StoreEnvironment.known.contains(environment) else {
      throw DecodingError.dataCorruptedError(
        forKey: .environment, in: container,
        debugDescription: "not one of \(StoreEnvironment.known.map(\.rawValue).joined(separator: ", "))")
    }
    originalTransactionID = try container.nonEmptyIfPresent(.originalTransactionID)
    subscriberID = try container.nonEmptyIfPresent(.subscriberID)
    appTransactionID = try container.nonEmptyIfPresent(.appTransactionID)
    previousOriginalTransactionID = try container.nonEmptyIfPresent(.previousOriginalTransactionID)
    let version = signedAt
    if container.contains(.transaction), try !container.decodeNil(forKey: .transaction) {
      transaction = try TransactionFact(from: container.superDecoder(forKey: .transaction), signedAt: version)
    }
    if container.contains(.renewal), try !container.decodeNil(forKey: .renewal) {
      renewal = try RenewalFact(from: container.superDecoder(forKey: .renewal), signedAt: version)
    }
    if transaction != nil || renewal != nil, originalTransactionID == nil {
      throw DecodingError.keyNotFound(
        CodingKeys.originalTransactionID,
        .init(codingPath: container.codingPath, debugDescription: "facts belong to a chain"))
    }
    if let words = try container.decodeIfPresent(Detail.self, forKey: .detail) {
      detail = EventDetail(
        reason: words.reason, direction: words.direction, effective: words.effective,
        message: words.message?.name, state: words.state, offerID: words.offerID, digest: words.digest)
      if let state = detail.state, !EventDetail.messageStates.contains(state) {
        throw DecodingError.dataCorruptedError(
          forKey: .detail, in: container, debugDescription: "state: shown or pending is needed")
      }
    }
    rawKind = try container.decodeIfPresent(String.self, forKey: .rawKind)
    if kind == .unrecognised, rawKind == nil { rawKind = kindText }
  }

  private struct Detail: Decodable {
    var reason: String?
    var direction: String?
    var effective: String?
    var message: Message?
    var state: String?
    var offerID: String?
    var digest: DailyDigest?

    enum CodingKeys: String, CodingKey {
      case reason, direction, effective, message, state
      case offerID = "offer_id"
      case digest
    }
  }

  /// A store message by its name, or by its number, alone or as text.
  private struct Message: Decodable {
    let name: String

    init(from decoder: any Decoder) throws {
      let container = try decoder.singleValueContainer()
      if let number = try? container.decode(Int64.self) {
        name = EventDetail.messageName("\(number)")
      } else {
        name = EventDetail.messageName(try container.decode(String.self))
      }
    }
  }
}

extension TransactionFact {
  enum CodingKeys: String, CodingKey {
    case transactionID = "transaction_id"
    case type
    case productID = "product_id"
    case groupID = "group_id"
    case period
    case purchasedAt = "purchased_at"
    case expiresAt = "expires_at"
    case price, currency, country, reason, ownership, offer
    case revokedAt = "revoked_at"
    case revocation, refund, tax, commission, proceeds
    case isUpgraded = "is_upgraded"
    case quantity
  }

  init(from decoder: any Decoder, signedAt: Instant) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    self.init(transactionID: try container.nonEmpty(.transactionID), signedAt: signedAt)
    type = try container.stated(.type)
    productID = try container.stated(.productID)
    groupID = try container.stated(.groupID)
    period = try container.stated(.period)
    if let text = period.value, !ISODuration.isValid(text) {
      throw DecodingError.dataCorruptedError(
        forKey: .period, in: container, debugDescription: "not a duration like P1M, P1Y, P1W or P3D")
    }
    purchasedAt = try container.stated(.purchasedAt)
    expiresAt = try container.stated(.expiresAt)
    price = try container.money(.price, .currency)
    country = try container.stated(.country)
    reason = try container.stated(.reason)
    ownership = try container.stated(.ownership)
    offer = try container.stated(.offer)
    revokedAt = try container.stated(.revokedAt)
    revocation = try container.stated(.revocation)
    refund = try container.micros(.refund)
    if price.value == nil, refund.value != nil, try container.decodeIfPresent(String.self, forKey: .currency) != nil {
      refundCurrency = try container.money(.refund, .currency).value?.currency
    }
    tax = try container.micros(.tax)
    commission = try container.micros(.commission)
    proceeds = try container.micros(.proceeds)
    isUpgraded = try container.stated(.isUpgraded)
    quantity = try container.stated(.quantity)
  }
}

extension RenewalFact {
  enum CodingKeys: String, CodingKey {
    case autoRenew = "auto_renew"
    case autoRenewProductID = "auto_renew_product_id"
    case renewsAt = "renews_at"
    case renewalPrice = "renewal_price"
    case currency
    case expirationReason = "expiration_reason"
    case inBillingRetry = "in_billing_retry"
    case graceExpiresAt = "grace_expires_at"
    case pausedAt = "paused_at"
    case resumesAt = "resumes_at"
    case priceIncrease = "price_increase"
    case eligibleWinBackOffers = "eligible_win_back_offers"
  }

  init(from decoder: any Decoder, signedAt: Instant) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    self.init(signedAt: signedAt)
    autoRenew = try container.stated(.autoRenew)
    autoRenewProductID = try container.stated(.autoRenewProductID)
    renewsAt = try container.stated(.renewsAt)
    renewalPrice = try container.money(.renewalPrice, .currency)
    expirationReason = try container.stated(.expirationReason)
    inBillingRetry = try container.stated(.inBillingRetry)
    graceExpiresAt = try container.stated(.graceExpiresAt)
    pausedAt = try container.stated(.pausedAt)
    resumesAt = try container.stated(.resumesAt)
    priceIncrease = try container.stated(.priceIncrease)
    eligibleWinBackOffers = try container.stated(.eligibleWinBackOffers)
  }
}

extension KeyedDecodingContainer {
  /// A text that is there and is not empty.
  func nonEmpty(_ key: Key) throws -> String {
    let text = try decode(String.self, forKey: key)
    guard !text.isEmpty else {
      throw DecodingError.dataCorruptedError(forKey: key, in: self, debugDescription: "must not be empty")
    }
    return text
  }

  /// A text that is not empty, or none.
  func nonEmptyIfPresent(_ key: Key) throws -> String? {
    guard contains(key), try !decodeNil(forKey: key) else { return nil }
    return try nonEmpty(key)
  }

  /// What the object says of a field: nothing when it is left out, none when it is `null`.
  func stated<Value: Decodable>(_ key: Key) throws -> Stated<Value> {
    guard contains(key) else { return .unstated }
    return try decodeNil(forKey: key) ? .absent : .value(decode(Value.self, forKey: key))
  }

  /// What the object says of an amount in currency units.
  func micros(_ key: Key) throws -> Stated<Micros> {
    let statement: Stated<Decimal> = try stated(key)
    guard let units = statement.value else { return statement.isStated ? .absent : .unstated }
    guard let micros = Micros(units: units) else {
      throw DecodingError.dataCorruptedError(
        forKey: key, in: self, debugDescription: "an amount between -9223372036854 and 9223372036854 is needed")
    }
    return .value(micros)
  }

  /// What the object says of an amount with its currency. A price without a currency cannot be added to anything.
  func money(_ amount: Key, _ currency: Key) throws -> Stated<Money> {
    let micros = try micros(amount)
    guard let value = micros.value else { return micros.isStated ? .absent : .unstated }
    let code = try decode(String.self, forKey: currency)
    guard code.utf8.count == 3, code.utf8.allSatisfy({ (65...90).contains($0) }) else {
      throw DecodingError.dataCorruptedError(
        forKey: currency, in: self, debugDescription: "not a currency code of ISO 4217 like USD")
    }
    return .value(Money(amount: value, currency: code))
  }
}
