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
    /// On which days they were charged.
    var charged: Set<Int> = []
    /// Charges and refunds on their days, converted; `nil` where there is no rate.
    var money: [(day: Int, amount: Int64?, isCharge: Bool)] = []
  }

  /// The sum of what has a rate; `nil` where it comes to nothing and something has none.
  private func known(_ money: [(day: Int, amount: Int64?, isCharge: Bool)]) -> Int64? {
    let sum = money.compactMap(\.amount).reduce(0, +)
    return sum == 0 && money.contains { $0.isCharge && $0.amount == nil } ? nil : sum
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
        let purchase = charge.purchase
        on(purchase) {
          $0.paid = min($0.paid ?? $1, $1)
          $0.charged.insert($1)
          if let price = purchase.price?.amount.value { $0.money.append(($1, converted(price, purchase), true)) }
          for revocation in purchase.revocations {
            guard let amount = purchase.returned(by: revocation)?.value else { continue }
            $0.money.append((calendar.day(of: revocation.at), converted(-amount, purchase), false))
            guard let reversed = revocation.reversedAt else { continue }
            $0.money.append((calendar.day(of: reversed), converted(amount, purchase), false))
          }
        }
      }
      for trial in line.trials { on(line.periods[trial.period]) { $0.trials.append($1) } }
    }
    return customers
  }

  func customers() -> OracleReport {
    let windows = [7, 14, 30]
    // A day without any of it is a row too, once its windows have passed.
    var report = OracleReport(
      "app environment store day",
      """
      new_customers new_paying paying_total started_trial_7d started_trial_14d started_trial_30d paid_7d paid_14d \
      paid_30d arppu converted_to is_complete
      """)
    for (app, customers) in customersByApp {
      for day in customers.values.map(\.seen).min()!..<calendar.count {
        let new = customers.values.filter { $0.seen == day }
        /// The share of the new of whom something is so within some days; the day itself is the first of them.
        func share(_ days: Int, _ isIn: (Customer, ClosedRange<Int>) -> Bool) -> Figure {
          .share(new.filter { isIn($0, day...day + days) }.count, of: new.count)
        }
        let isComplete = day + 30 < calendar.count && isComplete(day + 30)
        let payers = customers.values.filter { $0.charged.contains(day) }.count
        let money = customers.values.flatMap { $0.money.filter { $0.day == day } }
        let net = known(money)
        report.add(
          [app, settings.environment, nil, calendar.days[day].date],
          [
            .count(new.count), .count(customers.values.filter { $0.paid == day }.count),
            .count(customers.values.filter { $0.paid.map { $0 <= day } ?? false }.count),
          ]
            + windows.map { share($0) { customer, window in customer.trials.contains(where: window.contains) } }
            + windows.map { share($0) { customer, window in customer.paid.map(window.contains) ?? false } }
            + [
              payers == 0 ? .null : net.map { .share(Decimal($0) / Decimal(payers) / 1_000_000) } ?? .null,
              .text(settings.market.currency), .flag(isComplete),
            ])
      }
    }
    return report
  }

  func lifetimeValue() -> OracleReport {
    var report = OracleReport(
      "app environment store cohort_on cohort_by days", "subscribers payers net_converted",
      also: "per_subscriber per_payer converted_to unconverted_charges is_complete")
    for (app, customers) in customersByApp {
      for kind in ["week", "month"] {
        let cohorts = Dictionary(grouping: customers.values) { calendar.start(kind, of: $0.seen) }
        for (start, members) in cohorts {
          let first = Int(Instant("\(start)T00:00:00Z")!.microseconds / 86_400_000_000)
          let next = OracleCalendar.adding(
            1, of: kind == "week" ? "P1W" : "P1M", to: Instant(microseconds: Int64(first) * 86_400_000_000))
          let length = Int(next.microseconds / 86_400_000_000) - first
          for days in [0, 7, 14, 30, 60, 90, 180, 365] {
            let payers = members.filter { ($0.paid ?? .max) <= $0.seen + days }.count
            let money: [(day: Int, amount: Int64?, isCharge: Bool)] = members.flatMap { member in
              member.money.filter { $0.day <= member.seen + days }
            }
            let net = known(money)
            // The last day of the window of who came on the cohort's last day.
            let end = first + length - 1 + days
            let last = calendar.days.firstIndex { $0.number == end }
            func per(_ count: Int) -> Figure {
              count == 0 ? .null : net.map { .share(Decimal($0) / Decimal(count) / 1_000_000) } ?? .null
            }
            report.add(
              [app, settings.environment, nil, start, kind, "\(days)"],
              [
                .count(members.count), .count(payers), net.map { .amount(Micros($0)) } ?? .null, per(members.count),
                per(payers),
                .text(settings.market.currency), .count(money.filter { $0.isCharge && $0.amount == nil }.count),
                .flag(last.map { $0 < calendar.count && isComplete($0) } ?? false),
              ])
          }
        }
      }
    }
    return report
  }
}
