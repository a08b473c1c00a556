import Foundation
import Postgres
import SQL
import Vocabulary

/// What of the configuration decides what a delivery says, as it does in the reports.
public struct SettlingRules: Sendable, Equatable {
  /// How many seconds a period that ended without word is waited for.
  public var waitForWord: Int64 = 86_400
  /// The currency that amounts are converted to.
  public var currency = "USD"
  /// The time zone of the days whose rates they are converted with.
  public var timezone = "UTC"

  /// The defaults.
  public init() {}
}

/// A delivery whose content is settled from the facts.
struct SettledDelivery {
  let deliveryID: Int64
  let target: String
  let source: String
  /// The event as it is sent.
  var announcement: Announcement
  /// Of an immediate change of product.
  let direction: String?
  let isWanted: Bool
  /// The day of this moment decides the rate that the event's money converts with.
  let purchasedAt: Instant

  /// What deliveries say; those whose event is gone or cannot be read are left out: the others must go on.
  static func settle(
    _ deliveryIDs: [Int64], _ rules: SettlingRules, on connection: isolated Connection
  ) throws -> [SettledDelivery] {
    let rows = try connection.query(
      SQLFiles.text("forward/settle.sql"),
      [
        .ints(deliveryIDs), .texts(Source.allCases.map(\.rawValue)), .ints(Source.allCases.map { Int64($0.rank) }),
        .int(rules.waitForWord),
      ])
    let decoder = JSONDecoder()
    var settled = try rows.compactMap { row in
      do { return try SettledDelivery(row, decoder) } catch is DecodingError { return nil }
    }
    try convert(&settled, rules, on: connection)
    return settled
  }

  private init(_ row: Row, _ decoder: JSONDecoder) throws {
    var event = try decoder.decode(Event.self, from: Data(row.text("body").utf8))
    // The row's columns and not the body decide: a body may be older than this program's vocabulary.
    event.eventID = try row.text("event_id")
    let told = event.kind
    event.kind = EventKind(rawValue: try row.text("kind")) ?? .unrecognised
    direction = try row.optionalText("direction")
    if let direction {
      event.detail.direction = direction
      event.detail.effective = "immediate"
    } else if told == .productChanged, event.kind != .productChanged {
      event.detail.direction = nil
      event.detail.effective = nil
    }
    event.also.removeAll { [kind = event.kind] in $0 == kind }
    event.app = try row.optionalText("app_key")
    announcement = Announcement(event)
    announcement.product = try Self.product(row, "product_id", "product_name")
    announcement.nextProduct = try Self.product(row, "next_product_id", "next_product_name")
    announcement.plan = try Self.plan(of: event, row)
    deliveryID = try row.int("delivery_id")
    target = try row.text("target")
    source = try row.text("source")
    isWanted = try row.bool("is_wanted")
    purchasedAt =
      try row.optionalTimestamp("purchased_at").map { Instant(microseconds: $0) } ?? event.transaction?.purchasedAt
      .value
      ?? event.occurredAt
  }

  private static func product(_ row: Row, _ id: String, _ name: String) throws -> Announcement.Product? {
    try row.optionalText(id).map { Announcement.Product(id: $0, name: try row.optionalText(name)) }
  }

  /// What the subscription costs: what it renews for, else its list price, else what was paid without an offer.
  private static func plan(of event: Event, _ row: Row) throws -> Announcement.Plan? {
    guard let period = try event.transaction?.period.value ?? row.optionalText("product_period"),
      [nil, .autoRenewable].contains(event.transaction?.type.value)
    else { return nil }
    var price = event.renewal?.renewalPrice.value
    if price == nil, let listed = try row.optionalInt("list_price"),
      let currency = try row.optionalText("list_currency")
    {
      price = Money(amount: Micros(listed), currency: currency)
    }
    if price == nil, let transaction = event.transaction, transaction.offer.value == nil {
      price = transaction.price.value
    }
    guard let price, price.amount.value > 0 else { return nil }
    return Announcement.Plan(price: price, period: period)
  }

  /// Converts the money that the events moved, wherever there is a rate.
  private static func convert(
    _ settled: inout [SettledDelivery], _ rules: SettlingRules, on connection: isolated Connection
  ) throws {
    let moving = settled.indices.filter { settled[$0].announcement.event.amount != nil }
    guard !moving.isEmpty else { return }
    let amounts = moving.compactMap { settled[$0].announcement.event.amount }
    let rows = try connection.query(
      SQLFiles.text("forward/convert.sql"),
      [
        .ints(amounts.map(\.amount.value)), .texts(amounts.map(\.currency)),
        .texts(moving.map { settled[$0].purchasedAt.description }), .text(rules.currency), .text(rules.timezone),
      ])
    for (index, row) in zip(moving, rows) {
      settled[index].announcement.converted = try row.optionalInt("converted").map {
        Money(amount: Micros($0), currency: rules.currency)
      }
    }
  }
}
