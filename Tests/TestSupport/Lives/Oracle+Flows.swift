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
      "app environment store period starts_on", figures,
      also: "churn_rate churn_rate_gross churn_rate_net mrr_churn_rate")
    for kind in ["day", "week", "month", "quarter", "year"] {
      for period in calendar.periods(kind) {
        let starts = calendar.days[period.days.lowerBound].starts
        let ends = end(of: period.days.upperBound - 1)
        var rows: [[String]: [String: Int]] = [:]
        // Converted MRR at the start, and what of it was lost; nil where part of it has no rate.
        var money: [[String]: (start: Int64?, lost: Int64?)] = [:]
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
          guard isActive, let stay = line.stay(before: starts) else { continue }
          func monthly(_ period: Int) -> Int64? { line.periods[period].mrr(catalogue: settings.catalogue)?.value }
          func add(_ amount: Int64?, of period: Int, to sum: Int64?) -> Int64? {
            guard let amount else { return sum }
            return sum.flatMap { known in converted(amount, line.periods[period]).map { known + $0 } }
          }
          var (start, lost) = money[row] ?? (0, 0)
          start = add(monthly(stay.period), of: stay.period, to: start)
          if let last, last.kind.hasPrefix("churned_") { lost = add(monthly(last.period), of: last.period, to: lost) }
          for move in moves where move.direction == .onward && move.kind != "won_back" {
            let (from, to) = (monthly(move.period - 1), monthly(move.period))
            guard let from, let to, to < from,
              line.periods[move.period - 1].price?.currency == line.periods[move.period].price?.currency
            else { continue }
            lost = add(from - to, of: move.period - 1, to: lost)
          }
          money[row] = (start, lost)
        }
        for (row, counts) in rows {
          func count(_ column: String) -> Int { counts[column, default: 0] }
          let start = count("active_at_start")
          let gross = Self.reasons.map(count).reduce(0, +)
          func rate(_ number: Int) -> Figure { .share(number, of: start) }
          func mrrRate(_ row: [String]) -> Figure {
            guard let (start, lost) = money[row], let start, let lost, start != 0 else { return .null }
            return .share(Decimal(lost) / Decimal(start))
          }
          report.add(
            row + [kind, period.startsOn],
            [.count(start), .count(count("churned")), .count(count("churned_same_period"))]
              + Self.reasons.map { .count(count($0)) }
              + [rate(count("churned")), rate(gross), rate(gross - count("reactivated")), mrrRate(row)])
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

    /// Whether there is something in it, and none of it unknown.
    var isWhole: Bool { hasKnown && !hasUnknown }

    /// Whether there is something in it, all of it unknown.
    var isUnknown: Bool { hasUnknown && !hasKnown }

    func figure(orNull: Bool) -> Figure { orNull ? .null : .amount(Micros(known)) }
  }

  /// The rows of the charges of some kinds, or of all.
  func revenue(kinds: Set<String>? = nil) -> OracleReport {
    let names = "charges unpriced_charges gross refunds net refunds_by_purchase_day net_by_purchase_day"
    var report = OracleReport(
      "app environment store day product_id country offer currency kind", names,
      also: "tax commission proceeds proceeds_basis net_converted converted_to unconverted_charges is_complete")
    struct Row {
      var charges = 0
      var unpriced = 0
      var gross = Sum()
      var refunds = Sum()
      var refundsByPurchase = Sum()
      var tax = Sum()
      var commission = Sum()
      var proceeds = Sum()
      var converted = Sum()
      var unconverted = 0
      var isEstimated = false

      mutating func add(_ left: Remainder) {
        tax.add(left.tax)
        commission.add(left.commission)
        proceeds.add(left.proceeds)
        isEstimated = isEstimated || left.isEstimated
      }
    }
    struct Key: Hashable {
      var day: Int
      var dimensions: Dimensions
      var currency: String?
      var kind: String
    }
    var rows: [Key: Row] = [:]
    let charges = lines.flatMap { line in line.charges.map { (line, $0) } }
    for (line, charge) in charges where kinds?.contains(charge.kind) ?? true {
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
      rows[key(purchase.start)]?.add(remainder(price?.value, of: charge, in: line))
      let converted = converted(price?.value, purchase)
      if price != nil, converted == nil { rows[key(purchase.start)]?.unconverted += 1 }
      rows[key(purchase.start)]?.converted.add(converted)
      for revocation in purchase.revocations {
        let amount = purchase.returned(by: revocation)
        if amount == Micros(0) { continue }
        for (moment, sign) in [(revocation.at, Int64(-1)), (revocation.reversedAt ?? asOf, 1)] where moment < asOf {
          var row = rows[key(moment)] ?? Row()
          row.refunds.add(amount.map { sign * $0.value })
          row.add(remainder(amount.map { sign * $0.value }, of: charge, in: line))
          row.converted.add(self.converted(amount.map { sign * $0.value }, purchase))
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
          row.tax.figure(orNull: !row.tax.isWhole), row.commission.figure(orNull: !row.commission.isWhole),
          row.proceeds.figure(orNull: !row.proceeds.isWhole),
          row.proceeds.isWhole ? .text(row.isEstimated ? "estimated" : "reported") : .null,
          row.converted.figure(orNull: row.converted.isUnknown), .text(settings.market.currency),
          .count(row.unconverted),
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
