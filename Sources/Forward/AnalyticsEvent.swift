import Foundation
import Vocabulary

/// What analytics services are told about an event: the same for each, before its own form.
struct AnalyticsEvent {
  /// One value of a property.
  enum Property: Encodable {
    case text(String)
    case texts([String])
    case amount(Micros)
    case flag(Bool)

    func encode(to encoder: any Encoder) throws {
      var container = encoder.singleValueContainer()
      switch self {
      case .text(let text): try container.encode(text)
      case .texts(let texts): try container.encode(texts)
      // By its digits: a number of the machine would not hold them all.
      case .amount(let amount): try container.encode(Decimal(string: amount.description) ?? 0)
      case .flag(let flag): try container.encode(flag)
      }
    }
  }

  /// The longest text, in characters: services cut or refuse what is longer.
  static let longestText = 1024

  /// The kind, and when it happened.
  let name: String
  let occurredAt: Instant
  /// Who it happened to: the subscriber, else the chain; `nil` when neither is known, or is an id that services take for
  /// a mistake.
  let userID: String?
  /// The money it moved, a refund negative: in the reporting currency, else where there is no rate as it was charged.
  let revenue: Money?
  /// Whether ``revenue`` is in the reporting currency.
  let isConverted: Bool
  /// What kind of revenue it is: `purchase`, `renewal` or `refund`.
  let revenueType: String
  /// What was bought.
  let productID: String?
  /// The storefront, in three letters.
  let country: String?
  /// All else that is known.
  let properties: [String: Property]

  init(_ announcement: Announcement) {
    let event = announcement.event
    let transaction = event.transaction
    name = event.kind.rawValue
    occurredAt = event.occurredAt
    userID = [event.subscriberID, event.originalTransactionID, event.appTransactionID].compactMap { $0 }
      .map(Self.cut).first { !Self.isPlaceholder($0) }
    revenue = announcement.converted ?? event.amount
    isConverted = announcement.converted != nil
    revenueType =
      (event.amount?.amount.value ?? 0) < 0 ? "refund" : transaction?.reason.value == .renewal ? "renewal" : "purchase"
    productID = announcement.product?.id
    country = transaction?.country.value
    var properties: [String: Property] = [:]
    func say(_ name: String, _ text: String?) {
      if let text, !text.isBlank { properties[name] = .text(Self.cut(text)) }
    }
    say("app", event.app)
    say("store", event.store.rawValue)
    say("environment", event.environment.rawValue)
    say("original_transaction_id", event.originalTransactionID)
    say("transaction_id", transaction?.transactionID)
    say("product_id", productID)
    say("product_name", announcement.product?.name)
    say("next_product_id", announcement.nextProduct?.id)
    say("period", transaction?.period.value)
    say("expires_at", transaction?.expiresAt.value?.description)
    say("offer_type", transaction?.offer.value?.type.rawValue)
    say("offer_id", transaction?.offer.value?.id)
    say("reason", event.detail.reason)
    say("direction", event.detail.direction)
    say("effective", event.detail.effective)
    say("message", event.detail.message)
    if let amount = event.amount {
      properties["local_price"] = .amount(amount.amount)
      say("local_currency", amount.currency)
    }
    if let autoRenew = event.renewal?.autoRenew.value { properties["auto_renew"] = .flag(autoRenew) }
    if !event.also.isEmpty { properties["also"] = .texts(event.also.map(\.rawValue)) }
    self.properties = properties
  }

  /// A text that is not too long.
  static func cut(_ text: String) -> String {
    text.utf16.count <= longestText ? text : ChatMessage.cut(text, to: longestText)
  }

  /// Whether a text can be what a service knows a project by: what comes from a file often has a line end with it, and
  /// would be refused only when something is sent.
  static func isProjectKey(_ text: String) -> Bool {
    !text.isEmpty && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
  }

  /// Whether a service's words say that it does not know the project, or whoever speaks for it: what no other event of the
  /// same target gets past.
  static func isAboutProject(_ words: String) -> Bool {
    let words = words.lowercased().replacing("_", with: " ")
    return subjects.contains { subject in
      troubles.contains { words.contains("\($0) \(subject)") }
        || outcomes.contains { words.contains("\(subject) \($0)") || words.contains("\(subject) is \($0)") }
    }
  }

  private static let subjects = [
    "project", "api key", "api secret", "token", "secret", "credentials", "service account",
  ]
  private static let troubles = [
    "no such", "unknown", "invalid", "missing", "wrong", "incorrect", "expired", "revoked",
  ]
  private static let outcomes = [
    "unknown", "invalid", "missing", "wrong", "incorrect", "expired", "revoked", "required", "disabled", "not found",
    "does not exist", "not recognized",
  ]

  /// Whether an id is one that services refuse, since it mostly stands for a mistake of the sender
  /// (https://developer.mixpanel.com/reference/import-events, and likewise Amplitude).
  static func isPlaceholder(_ id: String) -> Bool {
    id.isBlank || placeholders.contains(id.trimmingCharacters(in: .whitespacesAndNewlines).lowercased())
  }

  private static let placeholders: Set<String> = [
    "-1", "0", "00000000-0000-0000-0000-000000000000", "[]", "{}", "anon", "anonymous", "false", "guest", "lmy47d",
    "n/a", "na", "nan", "nil", "none", "null", "true", "undefined", "unknown",
  ]
}
