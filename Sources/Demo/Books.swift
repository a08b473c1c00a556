public import Foundation
import Vocabulary

/// What the figures of the year must be, summed up from what was written down while it was told.
public struct Books: Sendable {
  /// What must become of the notifications.
  public struct Mail: Sendable, Equatable {
    /// All that arrive.
    public let received: Int
    /// Those that are new.
    public let stored: Int
    /// Those that came before.
    public let duplicates: Int
    /// Those that nobody trustworthy has signed.
    public let rejected: Int
    /// Those of a kind that is not known.
    public let unrecognised: Int
    /// The refunds and reversals that a target is told of.
    public let announced: Int
  }

  /// One report as it must be: asked in a certain way, and what its rows then say.
  public struct Sheet: Sendable {
    /// The report's name.
    public let report: String
    /// The length that days are brought together in; nil for none.
    public let by: String?
    /// The dimensions that are kept; nil for all.
    public let groupBy: [String]?
    /// The columns that tell the rows apart.
    public let keys: [String]
    /// The columns that are compared; none where rows are only counted.
    public let columns: [String]
    /// The figures by the values of `keys` and, in the same order, `columns`. A row that is not here has only zeros.
    public let rows: [[String]: [Decimal]]
  }

  /// What must become of the notifications.
  public let mail: Mail
  /// The reports.
  public let sheets: [Sheet]

  init(records: [SubscriptionRecord], year: Year, mail: Mail) {
    self.mail = mail
    let months = (0..<12).map { year.start.adding(months: $0) }
    let sums = Sums(records: records, months: months, year: year)
    sheets = [
      sums.active, sums.subscribers, sums.movements, sums.churn, sums.revenue, sums.renewalRevenue, sums.mrr,
      sums.mrrMovements, sums.trials, sums.standings, sums.winBacks,
    ]
  }
}

/// Sums over the records of a year.
private struct Sums {
  let records: [SubscriptionRecord]
  /// The first moments of the year's months.
  let months: [Instant]
  let year: Year

  private func end(of month: Instant) -> Instant { month.adding(months: 1) }

  private var subscriptions: [SubscriptionRecord] { records.filter(\.isSubscription) }

  var active: Books.Sheet {
    var rows: [[String]: [Decimal]] = [:]
    let spans: [KeyPath<SubscriptionRecord, [SubscriptionRecord.Span]>] = [
      \.access, \.trials, \.grace, \.retry, \.setToCancel, \.family,
    ]
    for month in months {
      for record in records {
        for (column, path) in spans.enumerated() {
          for span in record[keyPath: path] where span.covers(end(of: month)) {
            rows[[month.month, span.product.id], default: Array(repeating: 0, count: spans.count)][column] += 1
          }
        }
      }
    }
    return Books.Sheet(
      report: "active_subscriptions", by: "month", groupBy: ["product"], keys: ["day", "product_id"],
      columns: [
        "active_subscriptions", "active_trials", "in_grace", "in_billing_retry", "set_to_cancel", "family_shared",
      ], rows: rows)
  }

  var subscribers: Books.Sheet {
    var rows: [[String]: [Decimal]] = [:]
    for month in months {
      let running = records.filter { $0.access.contains { $0.covers(end(of: month)) } }
      rows[[month.month]] = [Decimal(Set(running.map(\.person)).count), Decimal(running.count)]
    }
    return Books.Sheet(
      report: "active_subscribers", by: "month", groupBy: nil, keys: ["day"],
      columns: ["active_subscribers", "active_subscriptions"], rows: rows)
  }

  /// The reasons of churn, as columns.
  private static let reasons = [
    "churned_voluntary", "churned_billing", "churned_price_increase", "churned_product_unavailable", "churned_refunded",
    "churned_other", "churned_unconfirmed",
  ]

  private func count(of active: Instant) -> Int {
    records.count { record in record.access.contains { $0.covers(active) } }
  }

  var movements: Books.Sheet {
    let names =
      ["new", "trial_converted", "reactivated", "won_back", "recovered", "refund_reversed"] + Self.reasons + [
        "suspended", "renewed", "upgraded", "downgraded", "crossgraded",
      ]
    var rows: [[String]: [Decimal]] = [:]
    for month in months {
      let opening = count(of: month)
      let closing = count(of: end(of: month))
      rows[[month.month]] =
        [Decimal(opening)] + Array(repeating: 0, count: names.count) + [Decimal(closing)]
    }
    for move in records.flatMap(\.moves) {
      guard let column = names.firstIndex(of: move.name) else { continue }
      rows[[move.at.month]]?[column + 1] += 1
    }
    return Books.Sheet(
      report: "movements", by: "month", groupBy: ["app"], keys: ["day"], columns: ["opening"] + names + ["closing"],
      rows: rows)
  }

  var churn: Books.Sheet {
    var rows: [[String]: [Decimal]] = [:]
    for month in months {
      var figures = Array(repeating: Decimal(0), count: 4 + Self.reasons.count)
      for record in records {
        let wasActive = record.access.contains { $0.covers(month) }
        if wasActive { figures[0] += 1 }
        let moves = record.moves.filter { $0.at.month == month.month }
        for move in moves {
          if let reason = Self.reasons.firstIndex(of: move.name) { figures[4 + reason] += 1 }
        }
        if let last = moves.last(where: { $0.name != "won_back" }), Self.reasons.contains(last.name) {
          figures[wasActive ? 1 : 2] += 1
        }
      }
      if figures[0] > 0 {
        var rate = figures[1] / figures[0]
        NSDecimalRound(&figures[3], &rate, 6, .plain)
      }
      rows[[month.month]] = figures
    }
    return Books.Sheet(
      report: "churn", by: "month", groupBy: nil, keys: ["starts_on"],
      columns: ["active_at_start", "churned", "churned_same_period", "churn_rate"] + Self.reasons, rows: rows)
  }

  private func money(_ key: (String, Instant, String) -> [String]?) -> [[String]: [Decimal]] {
    var rows: [[String]: [Decimal]] = [:]
    func add(_ key: [String], _ charges: Int, _ unpriced: Int, _ gross: Int64, _ refunds: Int64) {
      var row = rows[key] ?? [0, 0, 0, 0, 0]
      row[0] += Decimal(charges)
      row[1] += Decimal(unpriced)
      row[2] += Decimal(gross) / 1_000_000
      row[3] += Decimal(refunds) / 1_000_000
      row[4] = row[2] + row[3]
      rows[key] = row
    }
    for record in records {
      for charge in record.charges {
        guard let key = key(charge.kind, charge.at, charge.currency ?? "") else { continue }
        add(key, 1, charge.amount == nil ? 1 : 0, charge.amount ?? 0, 0)
      }
      for given in record.returns {
        guard let key = key(given.kind, given.at, given.currency) else { continue }
        add(key, 0, 0, 0, given.amount)
      }
    }
    return rows
  }

  private static let moneyColumns = ["charges", "unpriced_charges", "gross", "refunds", "net"]

  var revenue: Books.Sheet {
    Books.Sheet(
      report: "revenue", by: "year", groupBy: ["kind"], keys: ["currency", "kind"], columns: Self.moneyColumns,
      rows: money { kind, _, currency in [currency, kind] })
  }

  var renewalRevenue: Books.Sheet {
    Books.Sheet(
      report: "renewal_revenue", by: "month", groupBy: ["app"], keys: ["day", "currency"], columns: Self.moneyColumns,
      rows: money { kind, at, currency in
        ["renewal", "billing_recovery"].contains(kind) ? [at.month, currency] : nil
      })
  }

  var mrr: Books.Sheet {
    var rows: [[String]: [Decimal]] = [:]
    for month in months {
      for income in records.flatMap(\.income) {
        guard income.from < end(of: month), income.to.map({ $0 >= end(of: month) }) ?? true else { continue }
        var row = rows[[month.month, income.currency ?? ""]] ?? [0, 0]
        row[0] += Decimal(income.amount ?? 0) / 1_000_000
        if income.amount == nil { row[1] += 1 }
        rows[[month.month, income.currency ?? ""]] = row
      }
    }
    return Books.Sheet(
      report: "mrr", by: "month", groupBy: ["app"], keys: ["day", "currency"],
      columns: ["mrr", "unpriced_subscriptions"],
      rows: rows)
  }

  var mrrMovements: Books.Sheet {
    let names = ["new", "reactivation", "expansion", "contraction", "churn", "suspension", "recovery"]
    var rows: [[String]: [Decimal]] = [:]
    for move in records.flatMap(\.incomeMoves) {
      guard let column = names.firstIndex(of: move.name) else { continue }
      rows[[move.at.month, move.currency], default: Array(repeating: 0, count: names.count)][column] +=
        Decimal(move.amount) / 1_000_000
    }
    return Books.Sheet(
      report: "mrr_movement", by: "month", groupBy: ["app"], keys: ["day", "currency"], columns: names, rows: rows)
  }

  var trials: Books.Sheet {
    let ends = SubscriptionRecord.TrialEnd.allCases
    var rows: [[String]: [Decimal]] = [:]
    for record in records {
      for (trial, end) in zip(record.trials, record.trialEnds) {
        var row = rows[[trial.from.month]] ?? Array(repeating: 0, count: ends.count + 1)
        row[0] += 1
        row[(ends.firstIndex(of: end) ?? 0) + 1] += 1
        rows[[trial.from.month]] = row
      }
    }
    return Books.Sheet(
      report: "trials", by: "month", groupBy: ["app"], keys: ["day"], columns: ["started"] + ends.map(\.rawValue),
      rows: rows)
  }

  var standings: Books.Sheet {
    var rows: [[String]: [Decimal]] = [:]
    for record in subscriptions {
      rows[[record.standing.rawValue, "\(record.isFamilyShared)"], default: [0]][0] += 1
    }
    return Books.Sheet(
      report: "subscriptions", by: nil, groupBy: nil, keys: ["status", "is_family_shared"], columns: [], rows: rows)
  }

  var winBacks: Books.Sheet {
    var rows: [[String]: [Decimal]] = [:]
    for record in records where record.hasPaid && [.billingRetry, .expired, .revoked].contains(record.standing) {
      for offer in Shop.offers { rows[[offer.id, reason(record, offer)], default: [0]][0] += 1 }
    }
    return Books.Sheet(
      report: "winback_eligibility", by: nil, groupBy: nil, keys: ["offer_id", "reason"], columns: [], rows: rows)
  }

  private func reason(_ record: SubscriptionRecord, _ offer: Shop.Offer) -> String {
    if record.standing == .billingRetry { return "billing_retry" }
    if record.isOn { return "auto_renew_on" }
    if let listed = record.listedOffers {
      if !listed.contains(offer.id) { return "not_offered_by_store" }
    } else {
      let since = record.lostAt?.wholeMonths(to: year.end) ?? 0
      if record.paidMonths < offer.minimumPaidMonths { return "too_little_paid_service" }
      if since < offer.monthsSince.lowerBound { return "too_recent" }
      if since > offer.monthsSince.upperBound { return "too_long_ago" }
      if let used = record.usedOffers[offer.id], used.adding(months: offer.waitMonths) > year.end { return "waiting" }
    }
    if let territories = offer.territories, !territories.contains(record.storefront.country) {
      return "outside_territories"
    }
    if let products = offer.products, !products.contains(record.lastProduct.id) { return "other_product" }
    return "eligible"
  }
}
