extension Event {
  /// The longest text that an id or a word may be, in bytes of UTF-8. Stores' own are far shorter; a longer one could not
  /// be a key in the database.
  public static let longestText = 500

  /// Before this moment no store sold subscriptions: an earlier one is a mistake that every report would have to show.
  static let earliest = Instant(microseconds: 946_684_800_000_000)  // 2000-01-01

  /// What of the event cannot be right, whatever its source: the field and the reason; `nil` when nothing is wrong.
  public var fault: String? {
    var texts: [(String, String?)] = [
      ("event_id", eventID), ("app", app), ("original_transaction_id", originalTransactionID),
      ("subscriber_id", subscriberID), ("app_transaction_id", appTransactionID),
      ("previous_original_transaction_id", previousOriginalTransactionID), ("raw_kind", rawKind),
      ("detail.reason", detail.reason), ("detail.message", detail.message),
    ]
    var moments: [(String, Instant?)] = [("occurred_at", occurredAt), ("signed_at", signedAt)]
    var amounts: [(String, Micros?)] = []
    if let transaction {
      texts += [
        ("transaction.transaction_id", transaction.transactionID),
        ("transaction.type", transaction.type.value?.rawValue),
        ("transaction.product_id", transaction.productID.value), ("transaction.group_id", transaction.groupID.value),
        ("transaction.country", transaction.country.value), ("transaction.reason", transaction.reason.value?.rawValue),
        ("transaction.offer.type", transaction.offer.value?.type.rawValue),
        ("transaction.offer.id", transaction.offer.value?.id),
        ("transaction.revocation", transaction.revocation.value?.rawValue),
      ]
      moments += [
        ("transaction.purchased_at", transaction.purchasedAt.value),
        ("transaction.revoked_at", transaction.revokedAt.value),
      ]
      amounts += [
        ("transaction.price", transaction.price.value?.amount), ("transaction.refund", transaction.refund.value),
        ("transaction.tax", transaction.tax.value),
      ]
      if let country = transaction.country.value, !Self.isCountry(country) {
        return "transaction.country: not a storefront's three letters, such as USA"
      }
    }
    if let renewal {
      texts += [
        ("renewal.auto_renew_product_id", renewal.autoRenewProductID.value),
        ("renewal.expiration_reason", renewal.expirationReason.value?.rawValue),
      ]
      texts += (renewal.eligibleWinBackOffers.value ?? []).map { ("renewal.eligible_win_back_offers", $0) }
    }
    for (name, text) in texts where (text?.utf8.count ?? 0) > Self.longestText {
      return "\(name): longer than \(Self.longestText) bytes"
    }
    for (name, moment) in moments {
      if let moment, moment < Self.earliest { return "\(name): before the year 2000" }
    }
    for (name, amount) in amounts {
      if let amount, amount.value < 0 { return "\(name): negative; what is given back is a refund, a positive amount" }
    }
    return nil
  }

  private static func isCountry(_ text: String) -> Bool {
    text.utf8.count == 3 && text.utf8.allSatisfy { (65...90).contains($0) }
  }
}
