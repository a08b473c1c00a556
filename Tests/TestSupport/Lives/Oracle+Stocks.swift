import Foundation
import Vocabulary

extension Oracle {
  /// The days of the line, each with its place, the last moment's bound and the stay that holds then.
  private func walkDays(_ line: OracleLine, _ body: (Int, Instant, OracleLine.Stay) -> Void) {
    guard let first = line.stays.map(\.from).min(), first < asOf else { return }
    for day in calendar.day(of: first)..<calendar.count {
      let moment = end(of: day)
      if let stay = line.stay(before: moment) { body(day, moment, stay) }
    }
  }

  func activeSubscriptions() -> OracleReport {
    let names = "active_subscriptions active_trials in_grace in_billing_retry set_to_cancel paused family_shared"
    var report = OracleReport("app environment store day product_id country offer", names, also: "is_complete")
    var stocks: [Dimensions: [Int: [Int]]] = [:]
    for line in lines {
      walkDays(line) { day, moment, stay in
        var counts = [0, 0, 0, 0, 0, 0, 0]
        switch stay.standing {
        case .trial where line.isShared: counts[6] = 1
        case .active where line.isShared: counts[6] = 1
        case _ where line.isShared: return
        case .trial: counts[1] = 1
        case .active:
          counts[0] = 1
          if stay.isGrace { counts[2] = 1 }
          if line.isSetToCancel(stay, before: moment) { counts[4] = 1 }
        case .retry: counts[3] = 1
        case .paused: counts[5] = 1
        }
        let dimensions = Dimensions(line.periods[stay.period])
        let sums = stocks[dimensions]?[day] ?? [0, 0, 0, 0, 0, 0, 0]
        stocks[dimensions, default: [:]][day] = zip(sums, counts).map { $0 + $1 }
      }
    }
    for (dimensions, days) in stocks {
      for (day, counts) in days {
        report.add(key(day, dimensions), counts.map(Figure.count) + [.flag(isComplete(day))])
      }
    }
    return report
  }

  func activeSubscribers() -> OracleReport {
    var report = OracleReport(
      "app environment store day", "active_subscribers active_subscriptions", also: "is_complete")
    struct Key: Hashable {
      var app: String
      var day: Int
    }
    var subscribers: [Key: Set<String>] = [:]
    var chains: [Key: Int] = [:]
    for line in lines where !line.isShared {
      walkDays(line) { day, moment, stay in
        guard stay.standing == .active else { return }
        let chain = line.periods[stay.period].chain
        let key = Key(app: chain.app, day: day)
        subscribers[key, default: []].insert(chain.customer(before: moment))
        chains[key, default: 0] += 1
      }
    }
    for (key, ids) in subscribers {
      report.add(
        [key.app, settings.environment, nil, calendar.days[key.day].date],
        [.count(ids.count), .count(chains[key, default: 0]), .flag(isComplete(key.day))])
    }
    return report
  }

  func trials() -> OracleReport {
    let states = ["converted", "expired", "cancelled", "running", "in_retry"]
    var report = OracleReport(
      "app environment store day product_id country", "started " + states.joined(separator: " "),
      also: "conversion_rate is_complete")
    var sums: [[String?]: [Int]] = [:]
    for line in lines {
      for trial in line.trials {
        let first = line.periods[trial.period]
        let key = key(calendar.day(of: first.start), of: first)
        var counts = sums[key] ?? [0, 0, 0, 0, 0, 0]
        counts[0] += 1
        counts[1 + states.firstIndex(of: trial.state)!] += 1
        sums[key] = counts
      }
    }
    for (key, counts) in sums {
      report.add(
        key,
        counts.map(Figure.count) + [
          .share(counts[1], of: counts[0]), .flag(counts[3] + counts[4] + counts[5] == 0),
        ])
    }
    return report
  }

  func mrr() -> OracleReport {
    var report = OracleReport(
      "app environment store day product_id country currency", "mrr arr unpriced_subscriptions",
      also: "mrr_converted converted_to is_complete")
    var sums: [MoneyKey: (mrr: Int64, unpriced: Int, converted: Int64?)] = [:]
    for line in lines where !line.isShared {
      let monthly = line.periods.map { $0.mrr(catalogue: settings.catalogue) }
      walkDays(line) { day, _, stay in
        guard stay.standing == .active else { return }
        let amount = monthly[stay.period]
        let key = MoneyKey(day, line.periods[stay.period], isPriced: amount != nil)
        var sum = sums[key] ?? (0, 0, 0)
        sum.mrr += amount?.value ?? 0
        if let amount {
          // What cannot be converted takes the row along.
          sum.converted = sum.converted.flatMap { known in
            converted(amount.value, line.periods[stay.period]).map { known + $0 }
          }
        } else {
          sum.unpriced += 1
        }
        sums[key] = sum
      }
    }
    for (key, sum) in sums {
      let isKnown = key.currency != nil
      report.add(
        columns(key),
        [
          isKnown ? .amount(Micros(sum.mrr)) : .null, isKnown ? .amount(Micros(sum.mrr * 12)) : .null,
          .count(sum.unpriced), isKnown ? sum.converted.map { .amount(Micros($0)) } ?? .null : .null,
          .text(settings.market.currency), .flag(isComplete(key.day)),
        ])
    }
    return report
  }

  /// What a row of the daily reports of money is about.
  struct MoneyKey: Hashable {
    var day: Int
    var app: [String?]
    var product: String?
    var country: String?
    var currency: String?

    init(_ day: Int, _ purchase: OraclePurchase, isPriced: Bool) {
      self.day = day
      let dimensions = Dimensions(purchase)
      app = dimensions.app3
      product = dimensions.product
      country = dimensions.country
      currency = isPriced ? purchase.price?.currency : nil
    }
  }

  func columns(_ key: MoneyKey) -> [String?] {
    key.app + [calendar.days[key.day].date, key.product, key.country, key.currency]
  }

  func mrrMovement() -> OracleReport {
    let flows = [
      "new", "reactivation", "expansion", "contraction", "churn", "suspension", "recovery", "moved_in", "moved_out",
    ]
    var report = OracleReport(
      "app environment store day product_id country currency",
      "opening " + flows.joined(separator: " ") + " closing", also: "is_complete")
    var sums: [MoneyKey: [String: Int64]] = [:]
    for line in lines where !line.isShared {
      let monthly = line.periods.map { $0.mrr(catalogue: settings.catalogue) }
      func post(_ kind: String, _ amount: Int64, _ at: Instant, _ period: Int) {
        guard amount != 0 else { return }
        let key = MoneyKey(calendar.day(of: at), line.periods[period], isPriced: true)
        sums[key, default: [:]][kind, default: 0] += amount
      }
      // The stocks, day by day.
      walkDays(line) { day, _, stay in
        guard stay.standing == .active, let amount = monthly[stay.period]?.value, amount != 0 else { return }
        let period = line.periods[stay.period]
        sums[MoneyKey(day, period, isPriced: true), default: [:]]["closing", default: 0] += amount
        if day + 1 < calendar.count {
          sums[MoneyKey(day + 1, period, isPriced: true), default: [:]]["opening", default: 0] += amount
        }
      }
      for movement in line.movements where movement.kind != "won_back" {
        let new = monthly[movement.period]?.value
        switch movement.direction {
        case .incoming:
          let column =
            switch movement.kind {
            case "new", "trial_converted": "new"
            case "reactivated", "refund_reversed": "reactivation"
            default: "recovery"
            }
          post(column, new ?? 0, movement.at, movement.period)
        case .outgoing:
          let column = movement.kind.hasPrefix("churned") ? "churn" : "suspension"
          post(column, -(new ?? 0), movement.at, movement.period)
        case .onward:
          let from = movement.period - 1
          let (before, after) = (line.periods[from], line.periods[movement.period])
          let old = monthly[from]?.value
          guard let old, let new, before.price?.currency == after.price?.currency else {
            post("moved_out", -(old ?? 0), movement.at, from)
            post("moved_in", new ?? 0, movement.at, movement.period)
            continue
          }
          if before.product != after.product || before.country != after.country {
            post("moved_out", -old, movement.at, from)
            post("moved_in", old, movement.at, movement.period)
          }
          post(new > old ? "expansion" : "contraction", new - old, movement.at, movement.period)
        }
      }
    }
    for (key, row) in sums {
      let values = (["opening"] + flows + ["closing"]).map { Figure.amount(Micros(row[$0, default: 0])) }
      report.add(columns(key), values + [.flag(isComplete(key.day))])
    }
    return report
  }
}
