import Postgres
import Signatures
import Vocabulary

/// The identifiers of people who were erased, by their digests: what comes with one of them is stored without it.
struct ErasedIdentifiers: Sendable {
  /// The number of the last one that is known.
  private(set) var newest: Int64 = 0
  private var digests: Set<[UInt8]> = []

  /// Reads those that are not known yet.
  ///
  /// Within the transaction that stores a batch: an erasure waits for those that have looked (``Eraser``), so that none
  /// stores an identifier after it was looked for in the tables.
  ///
  /// - Returns: Whether there were any.
  func news(on connection: isolated Connection) throws -> ErasedIdentifiers? {
    let rows = try connection.query(
      "select erased_id, digest from ingest.erased where erased_id > $1 order by erased_id", [.int(newest)])
    guard !rows.isEmpty else { return nil }
    var known = self
    for row in rows {
      known.newest = try row.int("erased_id")
      known.digests.insert(try row.bytes("digest"))
    }
    return known
  }

  /// The event and its payload without what is erased. A payload that came with such an identifier holds it, and goes.
  func dropped(from event: Event, _ payload: StoredPayload, appID: Int64) -> (event: Event, payload: StoredPayload) {
    guard !digests.isEmpty else { return (event, payload) }
    let isSubscriberErased = event.subscriberID.map { isErased($0, appID) } ?? false
    let isAppTransactionErased = event.appTransactionID.map { isErased($0, appID) } ?? false
    let identity = event.identity.map { kept($0, appID) }
    guard isSubscriberErased || isAppTransactionErased || identity != event.identity else { return (event, payload) }
    var event = event
    if isSubscriberErased { event.subscriberID = nil }
    if isAppTransactionErased { event.appTransactionID = nil }
    event.identity = identity
    return (event, StoredPayload(plain: []))
  }

  private func kept(_ identity: IdentityFact, _ appID: Int64) -> IdentityFact {
    var kept = identity
    kept.aliases.removeAll { isErased($0, appID) }
    kept.transferredFrom.removeAll { isErased($0, appID) }
    if let original = kept.original, isErased(original, appID) { kept.original = nil }
    if let taker = kept.transferredTo, isErased(taker, appID) { kept.transferredTo = nil }
    return kept
  }

  private func isErased(_ identifier: String, _ appID: Int64) -> Bool {
    digests.contains(SHA256.digest("\(appID)\u{1F}\(identifier)"))
  }
}
