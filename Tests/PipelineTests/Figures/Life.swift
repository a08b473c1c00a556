import Foundation

/// What happens to one subscription, as canonical events (source `tenure`).
///
/// Moments are written `2025-03-01` (midnight UTC) or `2025-03-01 12:00`. Each call appends one event and gives the
/// longer life; a version is signed when it happens unless `said` names another moment. Nothing here is program code:
/// the events are plain JSON.
struct Life: Sendable {
  let chain: String
  /// The events in the order they happened, one line of JSON each.
  private(set) var events: [String] = []
  private var subscriber: String?
  private let environment: String
  private let app: String
  /// The transactions so far: what a renewal repeats but for its dates.
  private var transactions: [[String: any Sendable]] = []

  init(_ chain: String, subscriber: String? = nil, environment: String = "Production", app: String = "video") {
    self.chain = chain
    self.subscriber = subscriber
    self.environment = environment
    self.app = app
  }

  /// The RFC 3339 text of a moment.
  static func moment(_ text: String) -> String {
    let parts = text.split(separator: " ")
    guard parts.count == 2 else { return "\(text)T00:00:00Z" }
    return "\(parts[0])T\(parts[1])\(parts[1].count == 5 ? ":00" : "")Z"
  }

  /// The nth day of 2025, counted from 1.
  static func day(of number: Int) -> String {
    String(Date(timeIntervalSince1970: 1_735_689_600 + Double(number - 1) * 86_400).formatted(.iso8601).prefix(10))
  }

  /// A purchase. A price of nil is an unknown one; `until` of nil is for a one-time purchase.
  func buys(
    _ at: String, until: String? = nil, _ product: String = "monthly", price: Double? = 10, _ currency: String = "USD",
    country: String? = "USA", reason: String = "purchase", offer: [String: any Sendable]? = nil, said: String? = nil,
    with more: [String: any Sendable] = [:]
  ) -> Life {
    var transaction: [String: any Sendable] = [
      "transaction_id": "\(chain)-\(transactions.count + 1)", "type": "auto_renewable", "product_id": product,
      "purchased_at": Self.moment(at), "reason": reason, "ownership": "purchased",
    ]
    if let until { transaction["expires_at"] = Self.moment(until) }
    if let price { transaction.merge(["price": price, "currency": currency]) { $1 } }
    if let country { transaction["country"] = country }
    if let offer { transaction["offer"] = offer }
    transaction.merge(more) { $1 }
    var life = self
    life.transactions.append(transaction)
    return life.event(at, ["transaction": transaction], said: said)
  }

  /// The store renews where the last period ends, or later; all else stays as it was unless told.
  func renews(
    _ at: String? = nil, until: String, said: String? = nil, without: [String] = [],
    with more: [String: any Sendable] = [:]
  ) -> Life {
    guard var transaction = transactions.last else { preconditionFailure("nothing to renew") }
    let start = at.map(Self.moment) ?? transaction["expires_at"] as? String ?? ""
    transaction.merge([
      "transaction_id": "\(chain)-\(transactions.count + 1)", "purchased_at": start,
      "expires_at": Self.moment(until), "reason": "renewal",
    ]) { $1 }
    for key in without { transaction[key] = nil }
    transaction.merge(more) { $1 }
    var life = self
    life.transactions.append(transaction)
    return life.event(start, ["transaction": transaction], said: said)
  }

  /// A free period by an introductory offer.
  func tries(_ at: String, until: String) -> Life {
    buys(at, until: until, price: 0, offer: ["type": "introductory", "discount": "free_trial"])
  }

  /// A renewal status.
  func says(
    _ at: String, autoRenew: Bool? = nil, retry: Bool? = nil, grace: String? = nil, reason: String? = nil,
    offers: [String]? = nil, with more: [String: any Sendable] = [:]
  ) -> Life {
    var renewal = more
    if let autoRenew { renewal["auto_renew"] = autoRenew }
    if let retry { renewal["in_billing_retry"] = retry }
    if let grace { renewal["grace_expires_at"] = Self.moment(grace) }
    if let reason { renewal["expiration_reason"] = reason }
    if let offers { renewal["eligible_win_back_offers"] = offers }
    return event(at, ["renewal": renewal])
  }

  /// A revocation of the last transaction, or of the nth.
  func isRefunded(
    _ at: String, _ type: String? = "full", amount: Double? = nil, nth: Int? = nil, said: String? = nil
  ) -> Life {
    var transaction: [String: any Sendable] = [
      "transaction_id": "\(chain)-\(nth ?? transactions.count)", "revoked_at": Self.moment(at),
    ]
    if let type { transaction["revocation"] = type }
    if let amount { transaction["refund"] = amount }
    return event(at, ["transaction": transaction], said: said)
  }

  /// A later version of the last transaction, or of the nth, without a revocation.
  func isRestored(_ at: String, nth: Int? = nil) -> Life {
    let transaction: [String: any Sendable] = [
      "transaction_id": "\(chain)-\(nth ?? transactions.count)", "revoked_at": NSNull(),
    ]
    return event(at, ["transaction": transaction])
  }

  /// Another version of the last transaction: it speaks for the given fields only.
  func corrects(_ at: String, _ fields: [String: any Sendable]) -> Life {
    event(
      at, ["transaction": fields.merging(["transaction_id": "\(chain)-\(transactions.count)"]) { $1 }])
  }

  /// An event without a fact that names the customer.
  func belongs(to subscriber: String, from at: String) -> Life {
    var life = self
    life.subscriber = subscriber
    return life.event(at, [:])
  }

  /// The app reports that it showed an App Store message: by name, or a number where the store has given it none.
  func shows(_ at: String, _ message: any Sendable) -> Life {
    event(at, ["kind": "store_message", "detail": ["message": message]])
  }

  /// An event without a fact that says that this chain continues another.
  func continues(_ previous: String, at: String) -> Life {
    event(at, ["previous_original_transaction_id": previous])
  }

  private func event(_ at: String, _ facts: [String: any Sendable], said: String? = nil) -> Life {
    var event: [String: any Sendable] = [
      "event_id": "\(chain)/\(events.count + 1)", "kind": "entitlement_changed",
      "occurred_at": at.hasSuffix("Z") ? at : Self.moment(at), "app": app, "store": "app_store",
      "environment": environment, "original_transaction_id": chain,
    ]
    event["signed_at"] = said.map(Self.moment)
    if let subscriber { event["subscriber_id"] = subscriber }
    event.merge(facts) { $1 }
    var life = self
    let json = try? JSONSerialization.data(withJSONObject: event, options: [.sortedKeys, .withoutEscapingSlashes])
    life.events.append(String(decoding: json ?? Data(), as: UTF8.self))
    return life
  }
}
