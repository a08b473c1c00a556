import Vocabulary

/// A canonical event as its JSON, with what a test changes in it.
func canonicalEvent(
  _ id: String, chain: String = "1000", transaction: String? = nil, price: String = "9.99",
  occurredAt: String = "2026-03-01T09:30:00Z", signedAt: String? = nil, kind: String = "subscription_renewed",
  environment: String = "Production", app: String = "video", isRenewal: Bool = false, extra: String = ""
) -> String {
  var text = """
    {"event_id": "\(id)", "kind": "\(kind)", "occurred_at": "\(occurredAt)", "app": "\(app)", "store": "app_store", \
    "environment": "\(environment)", "original_transaction_id": "\(chain)"
    """
  if let signedAt { text += ", \"signed_at\": \"\(signedAt)\"" }
  if let transaction {
    text += """
      , "transaction": {"transaction_id": "\(transaction)", "type": "auto_renewable", "product_id": "premium.monthly", \
      "period": "P1M", "purchased_at": "2026-03-01T09:30:00Z", "expires_at": "2026-04-01T09:30:00Z", \
      "price": \(price), "currency": "USD", "country": "USA", "reason": "renewal", "ownership": "purchased"}
      """
  }
  if isRenewal {
    text += """
      , "renewal": {"auto_renew": true, "auto_renew_product_id": "premium.monthly", \
      "eligible_win_back_offers": ["b", "a"], "expiration_reason": null}
      """
  }
  return text + extra + "}"
}

/// The moment that tests take for now, unless they say otherwise.
let noon = Instant("2026-03-02T12:00:00Z")!
