import Vocabulary

extension Oracle {
  /// A chain of a line, as of the last moment before as-of.
  struct Present {
    var line: OracleLine
    var chain: OracleChain
    /// The places of its periods in the line.
    var periods: [Int]
    var stay: OracleLine.Stay?
    var churn: OracleLine.Movement?

    var last: Int { periods[periods.count - 1] }
    var purchase: OraclePurchase { line.periods[last] }
    /// Of chains that continue one another, the line's: they are read as one.
    var firstPaid: OraclePurchase? { line.periods[0...last].first { !$0.isFree } }

    init?(_ line: OracleLine, _ chain: OracleChain, _ asOf: Instant) {
      self.line = line
      self.chain = chain
      periods = line.periods.indices.filter { line.periods[$0].chain === chain }
      if periods.isEmpty { return nil }
      let mine = Set(periods)
      stay = line.stay(before: asOf).flatMap { mine.contains($0.period) ? $0 : nil }
      let lastMovement = line.movements.last { mine.contains($0.period) }
      churn = lastMovement.flatMap { $0.kind.hasPrefix("churned_") ? $0 : nil }
    }

    /// The whole calendar months of paid service, the rests added at 30 days a month.
    var paidMonths: Int {
      var months = 0
      var rest: Int64 = 0
      for stretch in line.paidStretches where stretch.period <= last {
        // Of a chain that another continues, what it had by then.
        let to = isContinued ? min(stretch.to, line.ends[last]) : stretch.to
        let whole = OracleCalendar.wholeMonths(from: stretch.from, to: to)
        months += whole
        rest += to.microseconds - OracleCalendar.adding(months: whole, to: stretch.from).microseconds
      }
      return months + Int(rest / (30 * 86_400_000_000))
    }

    /// Whether the chain that follows took over: then this one's own last word is not the subscription's.
    var isContinued: Bool { last + 1 < line.periods.count }
  }

  var present: [Present] {
    lines.flatMap { line in
      var seen: [OracleChain] = []
      for period in line.periods where !seen.contains(where: { $0 === period.chain }) { seen.append(period.chain) }
      return seen.compactMap { Present(line, $0, asOf) }
    }
  }

  func subscriptions() -> OracleReport {
    var report = OracleReport(
      "app environment store original_transaction_id", "status",
      also: """
        subscriber_id product_id country auto_renew starts_at ends_at first_paid_at paid_months churned_on churn_reason \
        is_family_shared mrr currency
        """)
    for chain in present {
      let status =
        switch chain.stay?.standing {
        case .trial: "trial"
        case .active: chain.stay?.isGrace == true ? "grace" : "active"
        case .retry: "billing_retry"
        case .paused: "paused"
        case nil: chain.line.isRevoked && !chain.isContinued ? "revoked" : "expired"
        }
      let isShared = chain.line.isShared
      let isActive = chain.stay?.standing == .active && !isShared
      let amount = isActive ? chain.purchase.mrr(catalogue: settings.catalogue) : nil
      report.add(
        [chain.chain.app, chain.chain.environment, chain.chain.store, chain.chain.originalTransactionID],
        [
          .text(status), .word(chain.chain.subscriber(before: asOf)), .word(chain.purchase.product),
          .word(chain.purchase.country), chain.chain.statuses.last?.autoRenew.value.map(Figure.flag) ?? .null,
          .moment(chain.purchase.start), .moment(chain.line.ends[chain.last]),
          isShared ? .null : chain.firstPaid.map { .moment($0.start) } ?? .null,
          isShared ? .null : .count(chain.paidMonths),
          .word(chain.churn.map { calendar.days[calendar.day(of: $0.at)].date }),
          .word(chain.churn.map { String($0.kind.dropFirst("churned_".count)) }), .flag(isShared),
          amount.map(Figure.amount) ?? .null, .word(amount == nil ? nil : chain.purchase.price?.currency),
        ])
    }
    return report
  }

  func winBackEligibility() -> OracleReport {
    var report = OracleReport(
      "app environment store original_transaction_id offer_id", "reason",
      also: "subscriber_id product_id eligible source rank churned_on paid_months months_since last_used_at")
    let today = calendar.days[calendar.count - 1].date
    for chain in present where chain.firstPaid != nil && !chain.line.isShared && !chain.isContinued {
      let standing = chain.stay?.standing
      if standing == .active || standing == .trial { continue }
      let status = chain.chain.statuses.last
      let listed = status?.eligibleWinBackOffers.value
      let paidMonths = chain.paidMonths
      let ended = chain.line.ends[chain.last]
      let since = OracleCalendar.wholeMonths(from: ended, to: asOf)
      var rows: [(offer: LifeGenerator.WinBackOffer, reason: String, lastUse: Instant?)] = []
      for offer in settings.offers where offer.app == chain.chain.app {
        let uses = chain.line.periods.indices.filter {
          let used = chain.line.periods[$0].offer
          return used?.type == .winBack && used?.id == offer.id
        }
        let lastUse = uses.last.map { chain.line.periodEnds[$0] }
        func reason() -> String {
          if standing == .retry { return "billing_retry" }
          if status?.autoRenew.value == true { return "auto_renew_on" }
          if let listed {
            if !listed.contains(offer.id) { return "not_offered_by_store" }
          } else {
            if let minimum = offer.minPaidMonths, paidMonths < minimum { return "too_little_paid_service" }
            if let minimum = offer.minMonthsSince, since < minimum { return "too_recent" }
            if let maximum = offer.maxMonthsSince, since > maximum { return "too_long_ago" }
            if let wait = offer.waitMonths, let lastUse, OracleCalendar.adding(months: wait, to: lastUse) > asOf {
              return "waiting"
            }
          }
          if let from = offer.startsOn, today < from { return "outside_dates" }
          if let to = offer.endsOn, today > to { return "outside_dates" }
          if let territories = offer.territories, !territories.contains(chain.purchase.country ?? "") {
            return "outside_territories"
          }
          if let products = offer.productIDs, !products.contains(chain.purchase.product ?? "") {
            return "other_product"
          }
          return "eligible"
        }
        rows.append((offer, reason(), lastUse))
      }
      let eligible = rows.filter { $0.reason == "eligible" }.map(\.offer).sorted { first, second in
        if let listed { return listed.firstIndex(of: first.id)! < listed.firstIndex(of: second.id)! }
        if first.isHigh != second.isHigh { return first.isHigh }
        let (one, other) = (first.minPaidMonths ?? 0, second.minPaidMonths ?? 0)
        return one != other ? one > other : first.id < second.id
      }
      for row in rows {
        let rank = eligible.firstIndex { $0.id == row.offer.id }
        report.add(
          [
            chain.chain.app, chain.chain.environment, chain.chain.store, chain.chain.originalTransactionID,
            row.offer.id,
          ],
          [
            .text(row.reason), .word(chain.chain.subscriber(before: asOf)), .word(chain.purchase.product),
            .flag(row.reason == "eligible"), .text(listed == nil ? "rules" : "store"),
            rank.map { .count($0 + 1) } ?? .null,
            .word(chain.churn.map { calendar.days[calendar.day(of: $0.at)].date }), .count(paidMonths),
            .count(since), row.lastUse.map(Figure.moment) ?? .null,
          ])
      }
    }
    return report
  }
}
