import Foundation
import Vocabulary

extension Oracle {
  private static let flows = [
    "new", "trial_converted", "reactivated", "won_back", "recovered", "refund_reversed", "resumed", "moved_in",
    "churned_voluntary", "churned_billing", "churned_price_increase", "churned_product_unavailable",
    "churned_refunded", "churned_other", "churned_unconfirmed", "suspended", "paused", "moved_out", "renewed",
    "upgraded", "downgraded", "crossgraded",
  ]
  private static let reasons = flows.filter { $0.hasPrefix("churned_") }

  func movements() -> OracleReport {
    var report = OracleReport(
      "app environment store day product_id country offer",
      "opening " + Self.flows.joined(separator: " ") + " closing", also: "is_complete")
    var sums: [Dimensions: [Int: [String: Int]]] = [:]
    func post(_ kind: String, _ day: Int, _ dimensions: Dimensions) {
      sums[dimensions, default: [:]][day, default: [:]][kind, default: 0] += 1
    }
    for line in lines {
      for movement in line.movements {
        let row = Dimensions(line.periods[movement.period])
        let day = calendar.day(of: movement.at)
        post(movement.kind, day, row)
        if movement.direction == .onward, movement.kind != "won_back" {
          let before = Dimensions(line.periods[movement.period - 1])
          if before != row {
            post("moved_out", day, before)
            post("moved_in", day, row)
          }
        }
      }
    }
    for (key, values) in activeSubscriptions().rows {
      guard case .count(let active) = values[0], active > 0 else { continue }
      let day = calendar.days.firstIndex { $0.date == key[3] }!
      func known(_ text: String) -> String? { text == "null" ? nil : text }
      let row = Dimensions(
        app: key[0], environment: key[1], store: key[2], product: known(key[4]), country: known(key[5]), offer: key[6])
      sums[row, default: [:]][day, default: [:]]["closing"] = active
      if day + 1 < calendar.count { sums[row, default: [:]][day + 1, default: [:]]["opening"] = active }
    }
    for (row, days) in sums {
      for (day, counts) in days {
        let values = (["opening"] + Self.flows + ["closing"]).map { Figure.count(counts[$0, default: 0]) }
        report.add(key(day, row), values + [.flag(isComplete(day))])
      }
    }
    return report
  }

  func churn() -> OracleReport {
    let figures = "active_at_start churned churned_same_period " + Self.reasons.joined(separator: " ")
    var report = OracleReport(
      "app environment store period starts_on", figures, also: "churn_rate churn_rate_gross churn_rate_net")
    for kind in ["day", "week", "month", "quarter", "year"] {
      for period in calendar.periods(kind) {
        let starts = calendar.days[period.days.lowerBound].starts
        let ends = end(of: period.days.upperBound - 1)
        var rows: [[String]: [String: Int]] = [:]
        for line in lines where !line.isShared {
          guard let first = line.periods.first else { continue }
          let row = [first.chain.app, first.chain.environment, first.chain.store]
          let isActive = line.stay(before: starts)?.standing == .active
          let moves = line.movements.filter { starts <= $0.at && $0.at < ends }
          guard isActive || !moves.isEmpty else { continue }
          func count(_ column: String) { rows[row, default: [:]][column, default: 0] += 1 }
          if isActive { count("active_at_start") }
          for move in moves { count(move.kind) }
          let last = moves.max { $0.at < $1.at }
          if last?.kind.hasPrefix("churned_") == true { count(isActive ? "churned" : "churned_same_period") }
        }
        for (row, counts) in rows {
          func count(_ column: String) -> Int { counts[column, default: 0] }
          let start = count("active_at_start")
          let gross = Self.reasons.map(count).reduce(0, +)
          func rate(_ number: Int) -> Figure { .share(number, of: start) }
          report.add(
            row + [kind, period.startsOn],
            [.count(start), .count(count("churned")), .count(count("churned_same_period"))]
              + Self.reasons.map { .count(count($0)) }
              + [rate(count("churned")), rate(gross), rate(gross - count("reactivated"))])
        }
      }
    }
    return report
  }

  /// The sum of amounts some of which may be unknown.
  struct Sum {
    var known: Int64 = 0
    var hasKnown = false
    var hasUnknown = false

    mutating func add(_ amount: Int64?) {
      if let amount {
        known += amount
        hasKnown = true
      } else {
        hasUnknown = true
      }
    }

    /// Whether there is something in it, all of it unknown.
    var isUnknown: Bool { hasUnknown && !hasKnown }

    func figure(orNull: Bool) -> Figure { orNull ? .null : .amount(Micros(known)) }
  }

  /// The rows of the charges of some kinds, or of all.
  func revenue(kinds: Set<String>? = nil) -> OracleReport {
    let names = "charges unpriced_charges gross refunds net refunds_by_purchase_day net_by_purchase_day"
    var report = OracleReport(
      "app environment store day product_id country offer currency kind", names,
      also: "tax commission proceeds proceeds_basis is_complete")
    struct Row {
      var charges = 0
      var unpriced = 0
      var gross = Sum()
      var refunds = Sum()
      var refundsByPurchase = Sum()
      var tax = Sum()
      var commission = Sum()
      var proceeds = Sum()
    }
    struct Key: Hashable {
      var day: Int
      var dimensions: Dimensions
      var currency: String?
      var kind: String
    }
    var rows: [Key: Row] = [:]
    for charge in lines.flatMap(\.charges) where kinds?.contains(charge.kind) ?? true {
      let purchase = charge.purchase
      if purchase.isShared { continue }
      func key(_ moment: Instant) -> Key {
        Key(
          day: calendar.day(of: moment), dimensions: Dimensions(purchase), currency: purchase.price?.currency,
          kind: charge.kind)
      }
      let price = purchase.price?.amount
      rows[key(purchase.start), default: Row()].charges += 1
      if price == nil { rows[key(purchase.start), default: Row()].unpriced += 1 }
      rows[key(purchase.start)]?.gross.add(price?.value)
      rows[key(purchase.start)]?.tax.add(purchase.tax?.value)
      rows[key(purchase.start)]?.commission.add(purchase.commission?.value)
      rows[key(purchase.start)]?.proceeds.add(purchase.proceeds?.value)
      for revocation in purchase.revocations {
        let amount = purchase.returned(by: revocation)
        if amount == Micros(0) { continue }
        func share(_ of: Micros?) -> Int64? {
          guard let of, let amount, let price, price != Micros(0) else { return nil }
          return of.share(amount.value, of: price.value).value
        }
        for (moment, sign) in [(revocation.at, Int64(-1)), (revocation.reversedAt ?? asOf, 1)] where moment < asOf {
          var row = rows[key(moment)] ?? Row()
          row.refunds.add(amount.map { sign * $0.value })
          row.tax.add(share(purchase.tax).map { sign * $0 })
          row.commission.add(share(purchase.commission).map { sign * $0 })
          row.proceeds.add(share(purchase.proceeds).map { sign * $0 })
          rows[key(moment)] = row
        }
        if revocation.reversedAt == nil {
          rows[key(purchase.start)]?.refundsByPurchase.add(amount.map { -$0.value })
        }
      }
    }
    for (key, row) in rows {
      // Null where something is unknown and nothing is known.
      func isUnknown(_ sums: Sum...) -> Bool { sums.contains(where: \.hasUnknown) && !sums.contains(where: \.hasKnown) }
      let isNull = isUnknown(row.gross, row.refunds)
      let isNullByPurchase = isUnknown(row.gross, row.refundsByPurchase)
      let columns =
        self.key(key.day, key.dimensions) + [key.currency, key.kind]
      report.add(
        columns,
        [
          .count(row.charges), .count(row.unpriced), row.gross.figure(orNull: isNull),
          row.refunds.figure(orNull: isNull),
          isNull ? .null : .amount(Micros(row.gross.known + row.refunds.known)),
          row.refundsByPurchase.figure(orNull: isNullByPurchase),
          isNullByPurchase ? .null : .amount(Micros(row.gross.known + row.refundsByPurchase.known)),
          row.tax.figure(orNull: !row.tax.hasKnown), row.commission.figure(orNull: !row.commission.hasKnown),
          row.proceeds.figure(orNull: !row.proceeds.hasKnown), row.proceeds.hasKnown ? .text("reported") : .null,
          .flag(isComplete(key.day)),
        ])
    }
    return report
  }
}

extension Oracle.Dimensions {
  init(app: String, environment: String, store: String, product: String?, country: String?, offer: String) {
    self.app = app
    self.environment = environment
    self.store = store
    self.product = product
    self.country = country
    self.offer = offer
  }
}
