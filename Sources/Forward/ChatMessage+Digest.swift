import Foundation
import Vocabulary

extension ChatMessage {
  /// What is said of a day: a line for each figure that there is, and whose figures they are unless they are Production's.
  init(_ digest: DailyDigest, of environment: StoreEnvironment) {
    func money(_ units: Decimal?, _ currency: String) -> String? {
      units.flatMap { Micros(units: $0) }.map { Money(amount: $0, currency: currency).description }
    }
    func signed(_ count: Int64) -> String { count > 0 ? "+\(count)" : "\(count)" }
    func signed(_ units: Decimal?, _ currency: String) -> String? {
      money(units, currency).map { (units ?? 0) > 0 ? "+" + $0 : $0 }
    }
    var lines: [Line] = []
    func say(_ label: String, _ text: String?) {
      if let text, !text.isEmpty { lines.append(Line(label: label, value: Value(text: Self.line(text)))) }
    }
    if environment != .production { say("Environment", environment.rawValue) }
    say("Active", "\(digest.activeSubscriptions) (\(signed(digest.activeSubscriptionsChange)))")
    say("New", "\(digest.new), from trials \(digest.trialConverted), reactivated \(digest.reactivated)")
    say("Lost", "\(digest.churned), suspended \(digest.suspended), recovered \(digest.recovered)")
    say("Trials started", "\(digest.trialsStarted)")
    let renewals = digest.renewalRevenue
    let net = renewals.net.compactMap { money($0.amount, $0.currency) }.joined(separator: ", ")
    let total =
      renewals.net.map(\.currency) == [renewals.convertedTo] ? nil : money(renewals.converted, renewals.convertedTo)
    say(
      "Renewals",
      "\(renewals.charges)" + (net.isEmpty ? "" : ": \(net)") + (total.map { " (≈ \($0))" } ?? ""))
    let mrr = digest.mrr
    if let level = money(mrr.converted, mrr.convertedTo) {
      say("MRR", level + (signed(mrr.change, mrr.convertedTo).map { " (\($0))" } ?? ""))
    } else {
      say(
        "MRR",
        mrr.byCurrency.compactMap { level in
          money(level.amount, level.currency).map { "\($0) (\(signed(level.change, level.currency) ?? "0"))" }
        }.joined(separator: ", "))
    }
    say(
      "Movers",
      digest.movers.map { mover in
        "\(mover.name ?? mover.productID ?? "unknown") \(signed(mover.activeSubscriptionsChange))"
          + (signed(mover.mrrChange, mrr.convertedTo).map { " (\($0))" } ?? "")
      }.joined(separator: ", "))
    self.init(
      title: "Daily digest of \(Self.line(digest.day, longest: 20))", lines: lines,
      footer: Self.line((digest.apps + [digest.timezone]).joined(separator: " · ")), values: [:])
  }
}
