import Foundation
import Vocabulary

extension Oracle {
  func refunds() -> OracleReport {
    // A row of charges without a refund is there too: it is something that its day is over.
    var report = OracleReport(
      "app environment store day product_id country currency",
      """
      refunded_charges amount share refunded_charges_by_purchase_day amount_by_purchase_day share_by_purchase_day \
      is_complete
      """)
    struct Row {
      var charges = 0
      var refunds = 0
      var amount = Sum()
      var refundsByPurchase = 0
      var amountByPurchase = Sum()
    }
    var rows: [MoneyKey: Row] = [:]
    for charge in lines.flatMap(\.charges) where !charge.purchase.isShared {
      let purchase = charge.purchase
      func key(_ moment: Instant) -> MoneyKey { MoneyKey(calendar.day(of: moment), purchase, isPriced: true) }
      rows[key(purchase.start), default: Row()].charges += 1
      for revocation in purchase.revocations where revocation.isRefund {
        let amount = purchase.returned(by: revocation)?.value
        rows[key(revocation.at), default: Row()].refunds += 1
        rows[key(revocation.at)]?.amount.add(amount.map { -$0 })
        if let reversed = revocation.reversedAt {
          rows[key(reversed), default: Row()].refunds -= 1
          rows[key(reversed)]?.amount.add(amount)
        } else {
          rows[key(purchase.start)]?.refundsByPurchase += 1
          rows[key(purchase.start)]?.amountByPurchase.add(amount.map { -$0 })
        }
      }
    }
    for (key, row) in rows {
      // Where there were no charges, a refund and what takes another one back on the same day leave nothing of a row.
      guard
        row.charges != 0 || row.refunds != 0 || row.amount.known != 0 || row.refundsByPurchase != 0
          || row.amountByPurchase.known != 0
      else { continue }
      report.add(
        columns(key),
        [
          .count(row.refunds), row.amount.figure(orNull: row.amount.isUnknown),
          .share(row.refunds, of: row.charges), .count(row.refundsByPurchase),
          row.amountByPurchase.figure(orNull: row.amountByPurchase.isUnknown),
          .share(row.refundsByPurchase, of: row.charges), .flag(isComplete(key.day)),
        ])
    }
    return report
  }

  /// A row of periods that came to their expiry on one day.
  private struct Expiries: Hashable {
    var day: Int
    var key: [String?]
  }

  /// What became of the periods whose expiry has come, counted in the columns named for each.
  private func fates(_ columns: (OracleLine.Fate) -> [String]) -> [Expiries: [String: Int]] {
    var rows: [Expiries: [String: Int]] = [:]
    for line in lines where !line.isShared {
      for (period, fate) in zip(line.periods, line.fates) where fate.isDue {
        let day = calendar.day(of: period.expiry)
        let row = Expiries(day: day, key: key(day, of: period))
        for column in columns(fate) { rows[row, default: [:]][column, default: 0] += 1 }
      }
    }
    return rows
  }

  func renewalRate() -> OracleReport {
    let outcomes = ["renewed", "recovered_in_grace", "recovered_in_retry", "changed_product", "lost", "open"]
    var report = OracleReport(
      "app environment store day product_id country", "due " + outcomes.joined(separator: " "),
      also: "renewal_rate renewal_rate_store is_complete")
    // Paid periods, and the free ones that go on with them.
    for (row, counts) in fates({ $0.isTrial ? [] : ["due", $0.outcome.rawValue] }) {
      func count(_ column: String) -> Int { counts[column, default: 0] }
      let kept = count("renewed") + count("recovered_in_grace") + count("recovered_in_retry")
      report.add(
        row.key,
        (["due"] + outcomes).map { .count(count($0)) } + [
          .share(kept + count("changed_product"), of: count("due")), .share(kept, of: count("due")),
          .flag(isComplete(row.day)),
        ])
    }
    return report
  }

  func billingRecovery() -> OracleReport {
    let columns = ["entered_grace", "entered_retry", "recovered_in_grace", "recovered_in_retry", "lost", "open"]
    var report = OracleReport(
      "app environment store day product_id country", columns.joined(separator: " "), also: "recovery_rate is_complete")
    let rows = fates { fate in
      guard fate.hasFailed else { return [] }
      return (fate.hasGrace ? ["entered_grace"] : []) + (fate.hasRetry ? ["entered_retry"] : []) + [
        fate.outcome.rawValue
      ]
    }
    for (row, counts) in rows {
      func count(_ column: String) -> Int { counts[column, default: 0] }
      let recovered = count("recovered_in_grace") + count("recovered_in_retry")
      report.add(
        row.key,
        columns.map { .count(count($0)) } + [
          .share(recovered, of: recovered + count("lost")), .flag(isComplete(row.day)),
        ])
    }
    return report
  }
}
