import Vocabulary

extension Oracle {
  /// A time without access that followed a paid one, and what came after it.
  private struct Absence {
    var line: OracleLine
    /// The period that was lost.
    var period: Int
    var lost: Instant
    /// When the store no longer tried the charge.
    var from: Instant
    var next: OraclePurchase?

    var chain: OracleChain { line.periods[period].chain }

    /// The whole calendar months of paid service before it, the rests added at 30 days a month.
    var paidMonths: Int {
      var months = 0
      var rest: Int64 = 0
      for stretch in line.paidStretches where stretch.period <= period {
        let whole = OracleCalendar.wholeMonths(from: stretch.from, to: stretch.to)
        months += whole
        rest += stretch.to.microseconds - OracleCalendar.adding(months: whole, to: stretch.from).microseconds
      }
      return months + Int(rest / (30 * 86_400_000_000))
    }

    /// When the last use of an offer before it ended.
    func lastUse(of offer: LifeGenerator.WinBackOffer) -> Instant? {
      let uses = line.periods[...period].indices.filter {
        let used = line.periods[$0].offer
        return used?.type == .winBack && used?.id == offer.id
      }
      return uses.last.map { line.periodEnds[$0] }
    }
  }

  private var absences: [Absence] {
    lines.filter { !$0.isShared }.flatMap { line in
      line.periods.indices.compactMap { index -> Absence? in
        guard [.lost, .refunded, .paused, .recoveredInRetry].contains(line.fates[index].outcome),
          line.periods[...index].contains(where: { !$0.isFree })
        else { return nil }
        let lost = line.ends[index]
        let retry = line.stays.last { $0.period == index && $0.standing == .retry }
        let next = index + 1 < line.periods.count ? line.periods[index + 1] : nil
        return Absence(line: line, period: index, lost: lost, from: max(lost, retry?.to ?? lost), next: next)
      }
    }
  }

  /// Whether an offer can be made just after a moment of an absence.
  private func canBeOffered(_ offer: LifeGenerator.WinBackOffer, in absence: Absence, after moment: Instant) -> Bool {
    let purchase = absence.line.periods[absence.period]
    if moment < absence.from { return false }
    let status = absence.chain.statuses.last { $0.signedAt <= moment }
    if status?.autoRenew.value == true { return false }
    if let listed = status?.eligibleWinBackOffers.value {
      if !listed.contains(offer.id) { return false }
    } else {
      let since = OracleCalendar.wholeMonths(from: absence.lost, to: moment)
      if absence.paidMonths < offer.minPaidMonths ?? 0 { return false }
      if since < offer.minMonthsSince ?? 0 || since > offer.maxMonthsSince ?? .max { return false }
      if let wait = offer.waitMonths, let used = absence.lastUse(of: offer),
        moment < OracleCalendar.adding(months: wait, to: used)
      {
        return false
      }
    }
    let today = calendar.days[calendar.day(of: moment)].date
    if let from = offer.startsOn, today < from { return false }
    if let to = offer.endsOn, today > to { return false }
    if let territories = offer.territories, !territories.contains(purchase.country ?? "") { return false }
    if let products = offer.productIDs, !products.contains(purchase.product ?? "") { return false }
    return true
  }

  /// The moments of an absence at which an offer could be made and could not just before.
  private func beginnings(_ offer: LifeGenerator.WinBackOffer, in absence: Absence) -> [Instant] {
    var moments = [absence.lost, absence.from] + absence.chain.statuses.map(\.signedAt)
    moments += calendar.days.filter { $0.date == offer.startsOn }.map(\.starts)
    moments += calendar.days.indices.dropFirst().filter { calendar.days[$0 - 1].date == offer.endsOn }
      .map { calendar.days[$0].starts }
    for months in [offer.minMonthsSince, offer.maxMonthsSince.map({ $0 + 1 })].compactMap({ $0 }) {
      moments.append(OracleCalendar.adding(months: months, to: absence.lost))
    }
    if let wait = offer.waitMonths, let used = absence.lastUse(of: offer) {
      moments.append(OracleCalendar.adding(months: wait, to: used))
    }
    let end = min(absence.next?.start ?? asOf, asOf)
    var found: [Instant] = []
    var could = false
    for moment in moments.sorted() where moment >= absence.lost && moment < end {
      let can = canBeOffered(offer, in: absence, after: moment)
      if can, !could { found.append(moment) }
      could = can
    }
    return found
  }

  /// Since when an offer can be made to each chain to which one can be made now; of several offers the first.
  func winnableSince() -> [ObjectIdentifier: Instant] {
    var since: [ObjectIdentifier: Instant] = [:]
    for absence in absences where absence.next == nil {
      for offer in settings.offers where offer.app == absence.chain.app {
        // The last moment before as-of is between the last second and it.
        let now = Instant(microseconds: asOf.microseconds - 1)
        guard canBeOffered(offer, in: absence, after: now), let began = beginnings(offer, in: absence).last else {
          continue
        }
        let chain = ObjectIdentifier(absence.chain)
        since[chain] = min(since[chain] ?? began, began)
      }
    }
    return since
  }

  func winBackRate() -> OracleReport {
    var report = OracleReport(
      "app environment store month offer_id", "became_eligible came_back came_back_with_offer",
      also: "rate is_complete")
    var became: [[String?]: [String: (isBack: Bool, isWithOffer: Bool)]] = [:]
    for absence in absences {
      let chain = absence.chain
      for offer in settings.offers where offer.app == chain.app {
        for moment in beginnings(offer, in: absence) {
          let day = calendar.day(of: moment)
          let key = [chain.app, chain.environment, chain.store, calendar.start("month", of: day), offer.id]
          let isBack = absence.next.map { calendar.day(of: $0.start) <= day + 30 } ?? false
          let used = absence.next?.offer
          let isWithOffer = isBack && used?.type == .winBack && used?.id == offer.id
          let known = became[key, default: [:]][chain.originalTransactionID] ?? (false, false)
          became[key, default: [:]][chain.originalTransactionID] = (
            known.isBack || isBack, known.isWithOffer || isWithOffer
          )
        }
      }
    }
    for (key, chains) in became {
      let back = chains.values.filter(\.isBack).count
      // The last day of the month is the one before the first of the next.
      let firstOfNext = OracleCalendar.adding(months: 1, to: Instant("\(key[3] ?? "")T00:00:00Z")!)
      let over = Int(firstOfNext.microseconds / 86_400_000_000) + 30
      report.add(
        key,
        [
          .count(chains.count), .count(back), .count(chains.values.filter(\.isWithOffer).count),
          .share(back, of: chains.count), .flag(calendar.days.contains { $0.number == over && $0.starts <= asOf }),
        ])
    }
    return report
  }
}
