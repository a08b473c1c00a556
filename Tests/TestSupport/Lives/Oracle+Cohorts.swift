import Foundation
import Vocabulary

extension Oracle {
  /// A renewal of a chain that was due.
  private struct Renewal {
    var isRetained: Bool
    /// Whether it is in grace, in retry or waited for.
    var isOpen: Bool
  }

  /// The first renewal of a line, the second and so on, as far as they were due.
  private func renewals(_ line: OracleLine, _ service: (paid: [Int], last: Int)) -> [Renewal] {
    let count = service.paid.count
    let outcome = line.fates[service.last].outcome
    /// When the renewal after the nth paid period is due; `nil` where that cannot be said yet.
    func due(_ number: Int) -> Instant? {
      if number <= count {
        let period = service.paid[number - 1]
        let expiry = line.periods[period].expiry
        // What was refunded is due at its expiry, what was replaced when it was.
        if line.fates[period].outcome == .refunded || period + 1 == line.periods.count { return expiry }
        return min(expiry, line.periods[period + 1].start)
      }
      guard outcome == .lost || outcome == .refunded else { return nil }
      let length = line.periods[service.paid[count - 1]].length(catalogue: settings.catalogue)
      return OracleCalendar.adding(number - count, of: length, to: line.periods[service.last].expiry)
    }
    var renewals: [Renewal] = []
    while let due = due(renewals.count + 1), due < asOf {
      let number = renewals.count + 1
      let isRetained = number < count && !service.paid[0...number].contains { line.periods[$0].isRefunded }
      renewals.append(Renewal(isRetained: isRetained, isOpen: number == count && outcome == .open))
    }
    return renewals
  }

  func retention() -> OracleReport {
    var report = OracleReport(
      "app environment store cohort_on cohort_by product_id period", "cohort_size due retained",
      also: "retention is_complete")
    var cohorts: [[String?]: [[Renewal]]] = [:]
    for line in lines where !line.isShared {
      guard let service = line.firstService else { continue }
      let first = line.periods[service.paid[0]]
      let dimensions = Dimensions(first)
      let renewals = renewals(line, service)
      for kind in ["week", "month"] {
        let start = calendar.start(kind, of: calendar.day(of: first.start))
        cohorts[dimensions.app3 + [start, kind, dimensions.product], default: []].append(renewals)
      }
    }
    for (key, chains) in cohorts {
      for period in 1..<(chains.map(\.count).max() ?? 0) + 1 {
        let due = chains.filter { $0.count >= period }.map { $0[period - 1] }
        let retained = due.filter(\.isRetained).count
        report.add(
          key + ["\(period)"],
          [
            .count(chains.count), .count(due.count), .count(retained), .share(retained, of: due.count),
            .flag(due.count == chains.count && !due.contains(where: \.isOpen)),
          ])
      }
    }
    return report
  }

  /// What a customer did first, each on its reporting day.
  private struct Customer {
    var seen: Int
    var paid: Int?
    var trials: [Int] = []
  }

  private var customersByApp: [String: [String: Customer]] {
    var customers: [String: [String: Customer]] = [:]
    func on(_ purchase: OraclePurchase, _ change: (inout Customer, Int) -> Void) {
      let day = calendar.day(of: purchase.start)
      let id = purchase.chain.customer(before: purchase.start)
      change(&customers[purchase.chain.app, default: [:]][id, default: Customer(seen: day)], day)
    }
    for line in lines where !line.isShared {
      for purchase in line.purchases where !purchase.isShared { on(purchase) { $0.seen = min($0.seen, $1) } }
      for charge in line.charges where !charge.purchase.isShared {
        on(charge.purchase) { $0.paid = min($0.paid ?? $1, $1) }
      }
      for trial in line.trials { on(line.periods[trial.period]) { $0.trials.append($1) } }
    }
    return customers
  }

  /// Without `arppu`: the oracle knows no exchange rates.
  func customers() -> OracleReport {
    let windows = [7, 14, 30]
    // A day without any of it is a row too, once its windows have passed.
    var report = OracleReport(
      "app environment store day",
      """
      new_customers new_paying paying_total started_trial_7d started_trial_14d started_trial_30d paid_7d paid_14d \
      paid_30d is_complete
      """)
    for (app, customers) in customersByApp {
      for day in customers.values.map(\.seen).min()!..<calendar.count {
        let new = customers.values.filter { $0.seen == day }
        /// The share of the new of whom something is so within some days; the day itself is the first of them.
        func share(_ days: Int, _ isIn: (Customer, ClosedRange<Int>) -> Bool) -> Figure {
          .share(new.filter { isIn($0, day...day + days) }.count, of: new.count)
        }
        let isComplete = day + 30 < calendar.count && isComplete(day + 30)
        report.add(
          [app, settings.environment, nil, calendar.days[day].date],
          [
            .count(new.count), .count(customers.values.filter { $0.paid == day }.count),
            .count(customers.values.filter { $0.paid.map { $0 <= day } ?? false }.count),
          ]
            + windows.map { share($0) { customer, window in customer.trials.contains(where: window.contains) } }
            + windows.map { share($0) { customer, window in customer.paid.map(window.contains) ?? false } }
            + [.flag(isComplete)])
      }
    }
    return report
  }
}
