import Signatures
import Vocabulary

/// What one answer of verifyReceipt or one notification of version 1 holds about one customer.
///
/// Sources: https://developer.apple.com/documentation/appstorereceipts/responsebody,
/// https://developer.apple.com/documentation/appstoreservernotifications/responsebodyv1
struct Receipt {
  /// An entry with the moment as of which it speaks; nil where the data does not tell.
  typealias Entry = (json: JSONValue, asOf: Instant?)

  let bundleID: String?
  let appAppleID: String?
  let environment: StoreEnvironment
  /// The purchases, each once.
  let purchases: [Entry]
  let statuses: [Entry]
  /// The chain of a status that does not name its own.
  let onlyChain: String?

  init(_ root: JSONValue) throws(Rejection) {
    let body = root["unified_receipt"] ?? root
    let receipt = body["receipt"] ?? root["receipt"]
    let latest = body.receiptList("latest_receipt_info") + body.receiptList("latest_expired_receipt_info")
    var own = receipt?.receiptList("in_app") ?? []
    // Before 2013 a receipt was one purchase.
    if let receipt, receipt["transaction_id"] != nil { own.append(receipt) }
    var pending = body.receiptList("pending_renewal_info")
    let isOfOldForm = body["latest_receipt_info"]?.kind == .object || body["latest_expired_receipt_info"] != nil
    if pending.isEmpty, isOfOldForm, root["auto_renew_status"] != nil { pending = [root] }
    if receipt == nil, latest.isEmpty, pending.isEmpty, root["unified_receipt"] == nil {
      let status = try body.string("status")
      throw Rejection(
        .malformed,
        excerpt: status.map { "there is no receipt in the answer; its status is \($0.prefix(16))" }
          ?? "it is neither an answer of verifyReceipt nor a notification of version 1")
    }
    guard let environment = try Self.environment(root, body, receipt) else {
      throw Rejection(.fieldMissing, excerpt: "environment")
    }
    self.environment = environment
    let naming = [root["bid"], receipt?["bundle_id"], receipt?["bid"], latest.first?["bid"]]
    bundleID = naming.compactMap { $0?.text }.first { !$0.isEmpty }
    let adamID = try receipt?.string("adam_id")
    let number = adamID != nil ? adamID : try receipt?.string("app_item_id")
    appAppleID = number == "0" ? nil : number
    onlyChain = try latest.first?.string("original_transaction_id")

    let askedAt = try receipt?.receiptMoment("request_date_ms")
    let answeredAt = askedAt != nil ? askedAt : try Self.lastTold(root, latest + own, pending)
    // The receipt itself is as old as its making: what happened since stands beside it.
    let madeAt = try receipt?.receiptMoment("receipt_creation_date_ms") ?? answeredAt
    purchases = try Self.distinct(latest.map { ($0, answeredAt) } + own.map { ($0, madeAt) })
    statuses = pending.map { ($0, answeredAt) }
  }

  private static func environment(
    _ root: JSONValue, _ body: JSONValue, _ receipt: JSONValue?
  ) throws(Rejection) -> StoreEnvironment? {
    let outer = try root.string("environment")
    if let word = outer != nil ? outer : try body.string("environment") {
      switch word.lowercased() {
      case "prod", "production": return .production
      case "sandbox": return .sandbox
      default: return StoreEnvironment(rawValue: word)
      }
    }
    // Production, ProductionSandbox, ProductionVPP, ProductionVPPSandbox.
    return try receipt?.string("receipt_type").map { $0.hasSuffix("Sandbox") ? .sandbox : .production }
  }

  /// The last thing that the data says has happened: it was made then or later. A notification of version 1 does not name
  /// its moment, and a version must have the same moment whenever it comes in.
  private static func lastTold(
    _ root: JSONValue, _ purchases: [JSONValue], _ statuses: [JSONValue]
  ) throws(Rejection) -> Instant? {
    var moments = [
      try root.receiptMoment("auto_renew_status_change_date_ms"), try root.receiptMoment("cancellation_date_ms"),
    ]
    let isExpired = statuses.contains { $0["expiration_intent"] != nil }
    for purchase in purchases {
      moments += [
        try purchase.receiptMoment("purchase_date_ms"), try purchase.receiptMoment("cancellation_date_ms"),
      ]
      if isExpired { moments.append(try purchase.receiptMoment("expires_date_ms")) }
    }
    return moments.compactMap { $0 }.max()
  }

  /// Each purchase once: of two entries of one id the first, which is the later word, and of those that one purchase has
  /// got on several devices by restoring it, which share the number of its line, the one with the least id.
  private static func distinct(_ entries: [Entry]) throws(Rejection) -> [Entry] {
    var ids: Set<String> = []
    var places: [String: Int] = [:]
    var kept: [Entry] = []
    for entry in entries {
      let id = entry.json["transaction_id"]?.textOrNumber ?? ""
      guard id.isEmpty || ids.insert(id).inserted else { continue }
      guard let line = try entry.json.string("web_order_line_item_id"), line != "0",
        let chain = try entry.json.string("original_transaction_id")
      else {
        kept.append(entry)
        continue
      }
      let name = "\(chain)\u{1F}\(line)"
      guard let place = places[name] else {
        places[name] = kept.count
        kept.append(entry)
        continue
      }
      let other = kept[place].json["transaction_id"]?.textOrNumber ?? ""
      if (id.utf8.count, id) < (other.utf8.count, other) { kept[place] = entry }
    }
    return kept
  }
}
