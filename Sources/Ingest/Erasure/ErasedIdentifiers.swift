import Postgres
import Signatures
import Vocabulary

/// The identifiers of people who were erased, by their digests: what comes with one of them is stored without it.
struct ErasedIdentifiers: Sendable {
  /// The number of the last one that is known.
  private(set) var newest: Int64 = 0
  private var digests: Set<[UInt8]> = []
  /// The numbers of all apps there were with the newest one.
  private var appIDs: [Int64] = []

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
    known.appIDs = try connection.query("select app_id from ingest.app").map { try $0.int("app_id") }
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

  /// An excerpt of refused input; nil where it names what is erased, as an erasure leaves of those that it finds.
  ///
  /// - Parameter appID: The app that the input was for; nil where that is not known: then it may name a person of any.
  func dropped(from excerpt: String?, appID: Int64?) -> String? {
    guard let excerpt, !digests.isEmpty else { return excerpt }
    let apps = appID.map { [$0] } ?? appIDs
    for text in Self.texts(in: excerpt) {
      // Of a text that holds what is not shown nobody can say whom it names.
      if text.isString, text.bytes.count > Self.ellipsis.count, text.bytes.contains(Self.ellipsis) { return nil }
      for appID in apps where namesErased(text.bytes, appID) { return nil }
      guard text.isString, text.bytes.contains(UInt8(ascii: "\\")),
        let meant = try? JSONDocument(Array("\"".utf8) + text.bytes + Array("\"".utf8)).root.text
      else { continue }
      for appID in apps where namesErased(Array(meant.utf8), appID) { return nil }
    }
    return excerpt
  }

  private static let ellipsis = Array("…".utf8)

  /// The strings in an excerpt, as they are written, and what stands between them.
  private static func texts(in excerpt: String) -> [(bytes: [UInt8], isString: Bool)] {
    var texts: [(bytes: [UInt8], isString: Bool)] = [([], false)]
    var isEscaped = false
    for byte in excerpt.utf8 {
      if byte == UInt8(ascii: "\""), !isEscaped {
        texts.append(([], !texts.count.isMultiple(of: 2)))
      } else {
        texts[texts.count - 1].bytes.append(byte)
      }
      isEscaped = byte == UInt8(ascii: "\\") && !isEscaped
    }
    return texts
  }

  /// Whether an erased identifier stands in a text as a word of its own: the rule of `sql/ingest/erasure_names.sql`.
  private func namesErased(_ text: [UInt8], _ appID: Int64) -> Bool {
    let prefix = Array("\(appID)\u{1F}".utf8)
    var starts: [Int] = [0]
    var ends: [Int] = []
    var offset = 0
    for character in String(decoding: text, as: UTF8.self) {
      let next = offset + character.utf8.count
      if !character.isLetter, !character.isNumber {
        ends.append(offset)
        starts.append(next)
      }
      offset = next
    }
    ends.append(text.count)
    for start in starts {
      for end in ends where end > start && digests.contains(SHA256.digest(prefix + text[start..<end])) { return true }
    }
    return false
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
