import Postgres
import SQL
import Vocabulary

/// What became of a batch.
struct StoredBatch: Sendable {
  var summary = IngestSummary()
  /// Whether nothing of it was there already: then the next batch is likely to be new as well.
  var isNew = true
  /// The events that were new, where they are asked for.
  var newEvents: Set<NewEvent> = []

  /// An event by what makes it one.
  struct NewEvent: Hashable, Sendable {
    let appID: Int64
    /// The id's bytes: texts that only look the same are two.
    let eventID: [UInt8]
  }

  /// What became of each item of the batch.
  func items(of batch: StagedBatch, appIDs: [String: Int64]) -> [StoredItem] {
    var left = newEvents
    return batch.items.map { item in
      switch item.decoded {
      case .rejection(let rejection): return .rejected(rejection)
      case .event(let event, _):
        let key = NewEvent(appID: event.app.flatMap { appIDs[$0] } ?? 0, eventID: Array(event.eventID.utf8))
        guard left.remove(key) != nil else { return .duplicate }
        return .stored(isUnrecognised: event.kind == .unrecognised)
      }
    }
  }
}

/// A batch is to be made anew without these identifiers.
struct ErasedMeanwhile: Error {
  let erased: ErasedIdentifiers
}

extension Connection {
  /// Stores a batch's rows. Runs in a transaction of its caller; the order of the tables is the same for every batch, so
  /// that two ingesters never wait for each other.
  ///
  /// - Throws: ``ErasedMeanwhile`` when there are identifiers to be left out that it does not know of.
  /// - Parameters:
  ///   - isLikelyNew: Whether it is worth trying to store the rows straight away.
  ///   - namesNew: Whether the answer is to name the events that were new.
  func store(
    _ batch: StagedBatch, isLikelyNew: Bool, newApps: [NewApp], afterStoring: [SQLFile], namesNew: Bool
  ) throws -> StoredBatch {
    if let erased = try batch.erased.news(on: self) { throw ErasedMeanwhile(erased: erased) }
    for app in newApps { try add(app, at: batch.receivedAt) }
    var stored = StoredBatch()
    stored.summary.received = batch.eventCount + batch.rejectionCount
    stored.summary.rejected = batch.rejectionCount
    if batch.eventCount > 0 {
      if try !isLikelyNew || !storeNew(batch, &stored.summary) {
        stored.isNew = false
        try storeStaged(batch, &stored)
      }
      if namesNew {
        for row in try query("select app_id, event_id from stored_event") {
          stored.newEvents.insert(
            .init(appID: try row.int("app_id"), eventID: Array(try row.text("event_id").utf8)))
        }
      }
      for file in afterStoring { try execute(file.text) }
      try query(
        SQLFiles.text("ingest/heard_day.sql"),
        [
          .ints(batch.heardDays.map(\.appID)), .texts(batch.heardDays.map(\.environment)),
          .ints(batch.heardDays.map(\.day)), .text(batch.source.rawValue),
        ])
    }
    if !batch.rejections.isEmpty {
      try copyIn(
        "copy ingest.rejection (app_id, source, received_at, reason, place, excerpt) from stdin (format binary)",
        batch.rejections)
    }
    return stored
  }

  /// Puts down an app at first sight.
  func add(_ app: NewApp, at moment: Instant) throws {
    try query(
      "insert into ingest.app (app_id, app_key, bundle_id, created_at) values ($1, $2, $3, $4) on conflict do nothing",
      [.int(app.id), .text(app.key), Parameter(app.bundleID), .timestamp(microseconds: moment.microseconds)])
    let rows = try query("select app_id from ingest.app where app_key = $1", [.text(app.key)])
    if let row = rows.first {
      guard try row.int("app_id") == app.id else {
        throw IngestError("adding the app \(app.key): it was renamed meanwhile; run the command again")
      }
      return
    }
    throw IngestError(
      "adding the app \(app.key): another app has its bundle id already; if it is the same app under a new key, "
        + "rename it with `tenure apps rename`")
  }

  // MARK: - New throughout

  /// Stores a batch of which everything is new straight into the tables, as a first load does: staging and looking for
  /// conflicts cost more than the rows themselves.
  ///
  /// - Returns: False when something of it was there already; then nothing was stored.
  private func storeNew(_ batch: StagedBatch, _ summary: inout IngestSummary) throws -> Bool {
    guard !batch.isClockAhead, batch.payloads.isEmpty, batch.links.isEmpty, batch.aliases.isEmpty,
      batch.transfers.isEmpty
    else { return false }
    let known = try query(
      SQLFiles.text("ingest/known.sql"),
      [.ints(batch.eventAppIDs), .texts(batch.eventIDs), .text(batch.source.rawValue)])
    guard try known[0].int("known") == 0 else { return false }
    try execute("savepoint all_new")
    do {
      try copyIn("copy ingest.event from stdin (format binary)", batch.events)
      try storeChains(batch)
      try copyIn("copy fact.transaction from stdin (format binary)", batch.transactions)
      try copyIn("copy fact.renewal from stdin (format binary)", batch.renewals)
      try copyIn("copy fact.subscriber from stdin (format binary)", batch.subscribers)
      if !batch.storeMessages.isEmpty {
        try copyIn("copy fact.store_message from stdin (format binary)", batch.storeMessages)
      }
      try copyIn("copy ledger.unsettled from stdin (format binary)", batch.unsettled)
      try copyIn("copy stored_event from stdin (format binary)", batch.newEvents)
    } catch let error as PostgresError where error.sqlState == "23505" {
      // A version was there already, or another ingester stored the same meanwhile.
      try execute("rollback to savepoint all_new")
      return false
    }
    try execute("release savepoint all_new")
    summary.stored = batch.events.count
    summary.unrecognised = batch.unrecognisedCount
    summary.duplicates = batch.eventCount - summary.stored
    return true
  }

  // MARK: - Staged

  /// Stores what is new of a batch.
  private func storeStaged(_ batch: StagedBatch, _ stored: inout StoredBatch) throws {
    try copyIn("copy staged_event from stdin (format binary)", batch.events)
    let counts = try query(SQLFiles.text("ingest/event.sql"))[0]
    stored.summary.stored = Int(try counts.int("stored"))
    stored.summary.unrecognised = Int(try counts.int("unrecognised"))
    stored.summary.duplicates = batch.eventCount - stored.summary.stored
    try storePayloads(batch)
    try storeChains(batch)
    let facts = try storeFacts(batch, hasKnownEvents: stored.summary.duplicates > 0)
    if try stage(batch.aliases, "alias") > 0 { try query(SQLFiles.text("ingest/alias.sql")) }
    if try stage(batch.transfers, "transfer") > 0 { try query(SQLFiles.text("ingest/transfer.sql")) }
    stored.isNew = facts && stored.summary.duplicates == 0
  }

  private func storePayloads(_ batch: StagedBatch) throws {
    guard !batch.payloads.isEmpty else { return }
    try copyIn("copy staged_header from stdin (format binary)", batch.headers)
    try copyIn("copy staged_payload from stdin (format binary)", batch.payloads)
    try query(SQLFiles.text("ingest/payload.sql"))
    if !batch.headers.isEmpty, !(try query(SQLFiles.text("ingest/header_check.sql")).isEmpty) {
      throw IngestError("storing payloads: two protected headers have the same id; the payloads cannot be kept")
    }
  }

  private func storeChains(_ batch: StagedBatch) throws {
    guard !batch.chains.isEmpty else { return }
    try copyIn("copy staged_chain from stdin (format binary)", batch.chains)
    try query(SQLFiles.text("ingest/chain.sql"))
    if let row = try query(SQLFiles.text("ingest/chain_check.sql")).first {
      throw IngestError(
        "storing chains: the subscription key \(try row.text("subscription_key")) stands for the chain "
          + "\(try row.text("other_original_transaction_id")) and would stand for "
          + "\(try row.text("original_transaction_id")) too; nothing of the batch was stored")
    }
    try query(SQLFiles.text("ingest/chain_app_transaction.sql"))
  }

  /// Returns whether all facts were new.
  private func storeFacts(_ batch: StagedBatch, hasKnownEvents: Bool) throws -> Bool {
    let transactionCount = try stage(batch.transactions, "transaction")
    let renewalCount = try stage(batch.renewals, "renewal")
    // An event that was known may have been received when the version was still ahead.
    if batch.isClockAhead || hasKnownEvents { try query(SQLFiles.text("ingest/clock_ahead.sql")) }
    let areNew = [
      try storeStaged("transaction", transactionCount), try storeStaged("renewal", renewalCount),
      try storeStaged("subscriber", stage(batch.subscribers, "subscriber")),
      try storeStaged("link", stage(batch.links, "link")),
      try storeStaged("store_message", stage(batch.storeMessages, "store_message")),
    ]
    return areNew.allSatisfy { $0 }
  }

  private func stage(_ rows: BinaryRows, _ fact: String) throws -> Int {
    if !rows.isEmpty { try copyIn("copy staged_\(fact) from stdin (format binary)", rows) }
    return rows.count
  }

  /// Stores the staged rows of a kind of fact; returns whether all of them were new.
  private func storeStaged(_ fact: String, _ count: Int) throws -> Bool {
    guard count > 0 else { return true }
    let stored = try query(SQLFiles.text("ingest/\(fact).sql"))[0].int("stored")
    if stored == count { return true }
    // Customers and messages have no event to agree on: it is part of their key.
    if !["subscriber", "store_message"].contains(fact) { try query(SQLFiles.text("ingest/\(fact)_event.sql")) }
    return false
  }
}
