import SQL

/// Where the figures of a report come from: a file of `sql/explain` that lists the entries behind some of its columns.
///
/// A figure that a report gets is explained when it is named here and given by the file. What is not summed, such as a share,
/// is not named, nor is what totals do not keep entry by entry.
struct Explanation: Sendable {
  /// The file's name without its ending.
  let file: String
  /// The columns of the report that it explains, in their order, and what the file calls them.
  let columns: [(report: String, file: String)]
  /// Whether it tells how things stood before the day or the period began.
  let isBefore: Bool
  /// Whether corrections can be shown: what is read off the periods has none.
  let hasReversed: Bool

  private init(_ file: String, _ columns: String, hasReversed: Bool = true) {
    self.file = file
    self.columns = columns.split(separator: " ").map { (String($0), String($0)) }
    isBefore = false
    self.hasReversed = hasReversed
  }

  /// One column of a report that is another's, now or before the period.
  private init(_ column: String, is file: String, _ fileColumn: String, isBefore: Bool) {
    self.file = file
    columns = [(column, fileColumn)]
    self.isBefore = isBefore
    hasReversed = true
  }

  private static let revenueColumns = """
    charges unpriced_charges gross refunds net refunds_by_purchase_day net_by_purchase_day tax commission proceeds \
    net_converted unconverted_charges
    """

  private static let churnReasons = """
    churned_voluntary churned_billing churned_price_increase churned_product_unavailable churned_refunded \
    churned_other churned_unconfirmed
    """

  /// The explanations of each report: the first one is given unless another column is asked for.
  static let all: [String: [Explanation]] = [
    "active_subscriptions": [
      Explanation(
        "active_subscriptions",
        "active_subscriptions active_trials in_grace in_billing_retry set_to_cancel paused family_shared")
    ],
    "active_subscribers": [
      Explanation("active_subscribers", "active_subscribers active_subscriptions", hasReversed: false)
    ],
    "movements": [
      Explanation(
        "movements",
        """
        new trial_converted reactivated won_back recovered refund_reversed resumed moved_in \(churnReasons) \
        suspended paused moved_out renewed upgraded downgraded crossgraded
        """),
      Explanation("opening", is: "active_subscriptions", "active_subscriptions", isBefore: true),
      Explanation("closing", is: "active_subscriptions", "active_subscriptions", isBefore: false),
    ],
    "churn": [
      Explanation("churn", "churned churned_same_period \(churnReasons)"),
      Explanation("active_at_start", is: "active_subscriptions", "active_subscriptions", isBefore: true),
    ],
    "revenue": [Explanation("revenue", revenueColumns)],
    "renewal_revenue": [Explanation("renewal_revenue", revenueColumns)],
    "refunds": [
      Explanation(
        "refunds", "charges refunded_charges amount refunded_charges_by_purchase_day amount_by_purchase_day")
    ],
    "mrr": [Explanation("mrr", "mrr arr mrr_converted unpriced_subscriptions")],
    "mrr_movement": [
      Explanation(
        "mrr_movement", "new reactivation expansion contraction churn suspension recovery moved_in moved_out"),
      Explanation("opening", is: "mrr", "mrr", isBefore: true),
      Explanation("closing", is: "mrr", "mrr", isBefore: false),
    ],
    "trials": [
      Explanation("trials", "started converted expired cancelled running in_retry", hasReversed: false)
    ],
    "renewal_rate": [
      Explanation(
        "renewal_rate", "due renewed recovered_in_grace recovered_in_retry changed_product lost open",
        hasReversed: false)
    ],
    "billing_recovery": [
      Explanation(
        "billing_recovery", "entered_grace entered_retry recovered_in_grace recovered_in_retry lost open",
        hasReversed: false)
    ],
  ]

  /// The rates that a figure depends on, by their columns in the file: what was estimated, and what was converted.
  static let rates: [String: [String]] = [
    "tax": ["tax_rate"], "commission": ["tax_rate", "commission_rate"], "proceeds": ["tax_rate", "commission_rate"],
    "net_converted": ["exchange_rate"], "mrr_converted": ["exchange_rate"],
  ]

  /// The files of `sql/explain` as common table expressions. They name each other in any order, which is all that RECURSIVE
  /// is there for. What they are made of is not materialised, so that what is asked of one reaches it. What a run says in a
  /// query of its own is read from there.
  static let expressions =
    "with recursive\n"
    + SQLFiles.folder("explain").map { file in
      let text = query(file.text)
        .replacing("select * from step.mrr_leg", with: query(SQLFiles.text("measure/11_mrr_leg.sql")))
      return "\(file.name) as \(file.name == "asked" ? "" : "not ")materialized (\n\(text)\n)"
    }.joined(separator: ",\n")

  /// The one query of a file.
  private static func query(_ text: String) -> String { String(text.trimmingSuffix { $0.isWhitespace || $0 == ";" }) }
}

extension String {
  fileprivate func trimmingSuffix(_ isTrimmed: (Character) -> Bool) -> Substring {
    guard let last = lastIndex(where: { !isTrimmed($0) }) else { return "" }
    return self[...last]
  }
}
