import Vocabulary

/// What one customer's subscription did, from its first purchase to the moment as of which one asks: a chain, or several
/// that continue one another.
struct OracleLine {
  /// A time of one standing: `from` belongs to it, `to` does not.
  struct Stay {
    enum Standing {
      case trial
      case active
      case retry
      case paused
    }
    var from: Instant
    var to: Instant
    var standing: Standing
    /// Which period it belongs to.
    var period: Int
    var isGrace = false

    /// Whether it holds at the last moment before another.
    func covers(before moment: Instant) -> Bool { from < moment && moment <= to }
  }

  /// A movement at one moment: in, out, or from one period to the next.
  struct Movement {
    enum Direction {
      case incoming
      case outgoing
      case onward
    }
    var at: Instant
    /// The column of the report.
    var kind: String
    var direction: Direction
    /// The period entered, or left by a way out.
    var period: Int
  }

  /// A charge and its kind.
  struct Charge {
    var purchase: OraclePurchase
    var kind: String
  }

  /// A trial: its first period, and what has become of it.
  struct Trial {
    var period: Int
    var state = "running"
  }

  /// What became of a period.
  struct Fate {
    enum Outcome: String {
      /// It has not come to its expiry.
      case running
      /// Another purchase came before its expiry.
      case replaced
      case paused
      case refunded
      // It reached its expiry. Named as the reports' columns.
      case renewed
      case recoveredInGrace = "recovered_in_grace"
      case recoveredInRetry = "recovered_in_retry"
      case changedProduct = "changed_product"
      case lost
      /// In grace, in retry, or waited for.
      case open
    }
    var outcome: Outcome
    var isTrial: Bool
    /// Whether the charge at its expiry failed: by the store's word, by a grace period, or by a renewal after a gap.
    var hasFailed: Bool
    /// Whether the store gave a grace period after the expiry.
    var hasGrace: Bool
    /// Whether access was lost and retry was open after it, whatever came of it.
    var hasRetry: Bool

    /// Whether the period reached its expiry, neither replaced, refunded nor paused: the next charge was due then.
    var isDue: Bool {
      switch outcome {
      case .running, .replaced, .paused, .refunded: false
      default: true
      }
    }
  }

  /// How a period's access came to its end.
  private enum Ending {
    /// It runs still, or the next period follows without loss of access.
    case none
    case paused
    case refunded
    /// Lost for good, or while the store still tried the charge.
    case lost(isRetried: Bool)
  }

  private let asOf: Instant
  private let direction: (OraclePurchase, OraclePurchase) -> String
  private let chains: [OracleChain]
  /// The periods of all chains of the line, one after another.
  let periods: [OraclePurchase]
  private(set) var stays: [Stay] = []
  private(set) var movements: [Movement] = []
  private(set) var charges: [Charge] = []
  private(set) var trials: [Trial] = []
  /// Where each period's access ends, grace included.
  private(set) var ends: [Instant] = []
  /// Where each period itself ends, without grace.
  private(set) var periodEnds: [Instant] = []
  /// What became of each period.
  private(set) var fates: [Fate] = []
  /// The times of paid access that count as paid service, one for each unbroken stretch.
  private(set) var paidStretches: [(from: Instant, to: Instant, period: Int)] = []
  /// Whether the last period's access was ended by a revocation.
  private(set) var isRevoked = false

  /// Walks the line.
  ///
  /// - Parameters:
  ///   - chains: the chains in the order in which they continue one another.
  ///   - direction: the kind of a change from one product to another.
  init(_ chains: [OracleChain], asOf: Instant, direction: @escaping (OraclePurchase, OraclePurchase) -> String) {
    self.asOf = asOf
    self.direction = direction
    self.chains = chains
    periods = chains.flatMap(\.periods)
    for purchase in purchases where purchase.isOneTime {
      charges.append(Charge(purchase: purchase, kind: "one_time"))
    }
    walk()
    if isShared {
      movements = []
      charges = []
      trials = []
    }
    movements.removeAll { $0.at >= asOf }
  }

  /// Whether access is shared by a family member.
  var isShared: Bool { periods.contains(where: \.isShared) }

  /// Everything bought in its chains, one-time purchases too.
  var purchases: [OraclePurchase] { chains.flatMap(\.purchases) }

  /// The places of the paid periods from the first on, for as long as access was never lost other than to a recovered
  /// retry; and of the last period of that time, which may be a free one. `nil` where nothing was ever paid.
  var firstService: (paid: [Int], last: Int)? {
    guard let first = periods.firstIndex(where: { !$0.isFree }) else { return nil }
    var service = (paid: [first], last: first)
    for index in periods.indices where index > first {
      let outcome = fates[index - 1].outcome
      if outcome == .lost || outcome == .refunded { break }
      service.last = index
      if !periods[index].isFree { service.paid.append(index) }
    }
    return service
  }

  private mutating func walk() {
    var before: (period: Int, isTrial: Bool, hasFailed: Bool, ending: Ending)?
    var hasPaid = false
    for index in periods.indices {
      let period = periods[index]
      let next = index + 1 < periods.count ? periods[index + 1] : nil
      var isTrial = false
      if period.isFree {
        // Without a gap after a paid period it goes on with the subscription; after a trial it goes on with the trial.
        if let before, case .none = before.ending {
          isTrial = before.isTrial
          if !isTrial { move(onward(from: before.period, to: index), .onward, index) }
        } else {
          isTrial = true
          endTrial("expired")
          trials.append(Trial(period: index))
        }
      } else {
        let (kind, movement, way) = charge(index, before, hasPaid)
        charges.append(Charge(purchase: period, kind: kind))
        move(movement, way, index)
        if movement == "reactivated", kind == "win_back" { move("won_back", .onward, index) }
        endTrial(movement == "trial_converted" ? "converted" : "expired")
        hasPaid = true
      }
      let (hasFailed, ending) = live(index, next, isTrial)
      before = (index, isTrial, hasFailed, ending)
    }
    settleTrial(before?.ending)
  }

  /// What a charge is, and what it does to the subscription.
  private func charge(
    _ index: Int, _ before: (period: Int, isTrial: Bool, hasFailed: Bool, ending: Ending)?, _ hasPaid: Bool
  ) -> (String, String, Movement.Direction) {
    let period = periods[index]
    guard let before else { return (period.saysRenewal ? "renewal" : "initial", "new", .incoming) }
    if before.isTrial {
      switch before.ending {
      case .none, .lost(isRetried: true): return ("trial_conversion", "trial_converted", .incoming)
      default: if !hasPaid { return ("initial", "new", .incoming) }
      }
    }
    let returns = period.offer?.type == .winBack ? "win_back" : "reactivation"
    switch before.ending {
    case .lost(isRetried: true): return ("billing_recovery", "recovered", .incoming)
    case .lost(isRetried: false) where period.saysRenewal: return ("billing_recovery", "recovered", .incoming)
    case .lost, .refunded: return (returns, "reactivated", .incoming)
    case .paused:
      let isChange = period.product != periods[before.period].product
      return (isChange ? direction(periods[before.period], period) : "renewal", "resumed", .incoming)
    case .none:
      if period.product != periods[before.period].product {
        let change = direction(periods[before.period], period)
        return (change, change + "d", .onward)
      }
      return (before.hasFailed ? "billing_recovery" : "renewal", "renewed", .onward)
    }
  }

  private func onward(from: Int, to: Int) -> String {
    periods[from].product == periods[to].product ? "renewed" : direction(periods[from], periods[to]) + "d"
  }

  /// Walks through one period, its grace and what follows until the next purchase. Tells whether its charge failed and
  /// how its access ended.
  private mutating func live(_ index: Int, _ next: OraclePurchase?, _ isTrial: Bool) -> (Bool, Ending) {
    let period = periods[index]
    let standing: Stay.Standing = isTrial ? .trial : .active
    let about = period.chain.statuses(about: period)
    let word = about.last
    let grace = about.compactMap(\.graceExpiresAt.value).last
    var hasFailed = about.contains { $0.inBillingRetry.value == true || $0.graceExpiresAt.value != nil }
    isRevoked = false
    var outcome = Fate.Outcome.running
    var hasRetry = false
    defer {
      let hasGrace = (grace ?? period.expiry) > period.expiry
      fates.append(
        Fate(outcome: outcome, isTrial: isTrial, hasFailed: hasFailed, hasGrace: hasGrace, hasRetry: hasRetry))
    }
    let renewed = next?.product == period.product ? Fate.Outcome.renewed : .changedProduct

    // The period itself: to its expiry, its pause or the purchase that replaces it.
    var end = period.expiry
    var isPaused = false
    if let pause = word?.pausedAt.value, pause <= end, pause < asOf {
      end = pause
      isPaused = true
    }
    var isReplaced = false
    if let next, next.start <= end {
      end = next.start
      isReplaced = true
      isPaused = false
    }
    var from = period.start
    for revocation in period.revocations where revocation.at < end {
      stay(from, revocation.at, standing, index)
      paid(from, revocation.at, index, isTrial)
      if !isTrial { move("churned_refunded", .outgoing, index, at: revocation.at) }
      guard let reversed = revocation.reversedAt, reversed < end else {
        ends.append(revocation.at)
        periodEnds.append(revocation.at)
        isRevoked = true
        outcome = .refunded
        return (hasFailed, .refunded)
      }
      if !isTrial { move("refund_reversed", .incoming, index, at: reversed) }
      from = reversed
    }
    stay(from, end, standing, index)
    paid(from, end, index, isTrial)
    ends.append(end)
    periodEnds.append(end)
    if isReplaced {
      // A charge dated back to the expiry was recovered in grace.
      outcome = end < period.expiry ? .replaced : hasFailed ? .recoveredInGrace : renewed
      return (hasFailed, .none)
    }
    if isPaused {
      outcome = .paused
      if !isTrial { move("paused", .outgoing, index, at: end) }
      let resumes = word?.resumesAt.value ?? .distantFuture
      stay(end, min(resumes, next?.start ?? .distantFuture), .paused, index)
      return (hasFailed, .paused)
    }

    // The expiry: grace, or the wait for word.
    if end < asOf { outcome = .open }
    var lost = end
    if let grace, grace > end {
      lost = min(grace, next?.start ?? grace)
      stay(end, lost, standing, index, isGrace: true)
      ends[index] = grace
      if let next, next.start <= grace {
        ends[index] = next.start
        outcome = .recoveredInGrace
        return (true, .none)
      }
    } else if word?.autoRenew.value != false, !hasFailed, word?.expirationReason.value == nil {
      let waited = end.adding(seconds: 24 * 60 * 60)
      if let next {
        if next.saysRenewal {
          if next.start < waited {
            stay(end, next.start, standing, index)
            if !isTrial, !period.isFree, !period.isFullyRefunded { wait(next.start) }
            outcome = renewed
            return (hasFailed, .none)
          }
          // A renewal after a gap without word shows that there was a failure.
          hasFailed = true
        }
      } else if asOf <= waited {
        stay(end, waited, standing, index)
        return (hasFailed, .none)
      }
    }
    if lost >= asOf { return (hasFailed, .none) }

    // The loss of access: while the store still tries, or for good.
    var isRetried = false
    if hasFailed {
      let sixtyDays = period.expiry.adding(seconds: 60 * 24 * 60 * 60)
      // The store says expired: a reason, and it neither tries again nor grants grace.
      let told = about.first {
        $0.expirationReason.value != nil && $0.inBillingRetry.value != true && $0.graceExpiresAt.value == nil
      }?.signedAt
      let closes = min(told ?? sixtyDays, sixtyDays)
      let until = min(closes, next?.start ?? closes)
      if lost < until { stay(lost, until, .retry, index) }
      hasRetry = lost < closes
      isRetried = if let next { next.start < closes } else { asOf <= closes }
    }
    // What is free recovers no charge.
    outcome = isRetried ? (next == nil ? .open : next?.isFree == true ? .lost : .recoveredInRetry) : .lost
    if !isTrial {
      let reason =
        word?.expirationReason.value.map(Self.column)
        ?? (hasFailed ? "billing" : word?.autoRenew.value == false ? "voluntary" : "unconfirmed")
      move(isRetried ? "suspended" : "churned_\(reason)", .outgoing, index, at: lost)
    }
    return (hasFailed, .lost(isRetried: isRetried))
  }

  private static func column(_ reason: ExpirationReason) -> String {
    let known: [ExpirationReason] = [.voluntary, .billing, .priceIncrease, .productUnavailable, .refunded]
    return known.contains(reason) ? reason.rawValue : "other"
  }

  private mutating func move(_ kind: String, _ way: Movement.Direction, _ period: Int, at: Instant? = nil) {
    movements.append(Movement(at: at ?? periods[period].start, kind: kind, direction: way, period: period))
  }

  private mutating func stay(
    _ from: Instant, _ to: Instant, _ standing: Stay.Standing, _ period: Int, isGrace: Bool = false
  ) {
    stays.append(Stay(from: from, to: to, standing: standing, period: period, isGrace: isGrace))
  }

  /// Adds paid service; it goes on with the stretch before where nothing lies between.
  private mutating func paid(_ from: Instant, _ to: Instant, _ period: Int, _ isTrial: Bool) {
    guard !isTrial, !periods[period].isFree, !periods[period].isFullyRefunded else { return }
    let to = min(to, asOf)
    if let last = paidStretches.last, from <= last.to {
      paidStretches[paidStretches.count - 1].to = max(last.to, to)
    } else {
      paidStretches.append((from, to, period))
    }
  }

  /// What was waited for was never lost.
  private mutating func wait(_ until: Instant) {
    if !paidStretches.isEmpty { paidStretches[paidStretches.count - 1].to = until }
  }

  private mutating func endTrial(_ state: String) {
    guard let last = trials.indices.last, trials[last].state == "running" else { return }
    trials[last].state = state
  }

  private mutating func settleTrial(_ ending: Ending?) {
    guard let last = trials.last, last.state == "running", let ending else { return }
    switch ending {
    case .none:
      let running = stays.last { $0.covers(before: asOf) }
      if running?.isGrace == true {
        endTrial("in_retry")
      } else if let running, isSetToCancel(running, before: asOf) {
        endTrial("cancelled")
      }
    case .lost(isRetried: true): endTrial("in_retry")
    default: endTrial("expired")
    }
  }

  /// Whether renewal was known to be off at the last moment before another, in which the stay holds.
  func isSetToCancel(_ stay: Stay, before moment: Instant) -> Bool {
    let period = periods[stay.period]
    return period.chain.status(since: period.start, before: moment)?.autoRenew.value == false
  }

  /// The stay that holds at the last moment before another.
  func stay(before moment: Instant) -> Stay? { stays.first { $0.covers(before: moment) } }
}

extension Instant {
  /// A moment after all others.
  static let distantFuture = Instant(microseconds: .max)
}
