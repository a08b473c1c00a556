import Vocabulary

extension Oracle {
  func storeMessages() -> OracleReport {
    // A row is there because something is due or was shown, whenever that was.
    var report = OracleReport(
      "app environment store subscription_id message", "due_since last_shown_at", also: "subscriber_id")
    let winnable = winnableSince()
    let standing = Dictionary(present.map { (ObjectIdentifier($0.chain), $0) }) { first, _ in first }
    for chain in chains where chain.store == "app_store" {
      var due: [String: Instant] = [:]
      if let present = standing[ObjectIdentifier(chain)], !present.line.isShared {
        if let stay = present.stay {
          let isRunning = stay.standing == .active || stay.standing == .trial
          if stay.standing == .retry || isRunning && stay.isGrace { due["billing_issue"] = present.purchase.expiry }
          if isRunning { due["price_increase_consent"] = pendingConsent(chain) }
        }
        due["win_back_offer"] = winnable[ObjectIdentifier(chain)]
      }
      let facts: Set = ["billing_issue", "price_increase_consent", "win_back_offer"]
      for name in Set(due.keys).union(chain.messages.map(\.name)) {
        let reports = chain.messages.filter { $0.name == name }
        let shown = reports.filter { !$0.isPending }.map(\.at).max()
        if !facts.contains(name) {
          due[name] = reports.filter { report in report.isPending && shown.map { report.at > $0 } ?? true }.map(\.at)
            .min()
        }
        report.add(
          [chain.app, chain.environment, chain.store, chain.originalTransactionID, name],
          [
            due[name].map(Figure.moment) ?? .null, shown.map(Figure.moment) ?? .null,
            .word(chain.subscriber(before: asOf)),
          ])
      }
    }
    return report
  }

  /// The first status of the last unbroken row that asks for consent to a higher price; those that do not say it do not
  /// break it.
  private func pendingConsent(_ chain: OracleChain) -> Instant? {
    let said = chain.statuses.filter { $0.priceIncrease != .unstated }
    return said.reversed().prefix { $0.priceIncrease == .value(.pending) }.last?.signedAt
  }
}
