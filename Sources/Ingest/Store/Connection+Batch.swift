import Postgres
import SQL
import Vocabulary

extension Connection {
  /// Stores a batch's rows. Runs in a transaction of its caller; the order of the tables is the same for every batch, so
  /// that two ingesters never wait for each other.
  func store(_ batch: StagedBatch, newApps: [NewApp], afterStoring: [SQLFile]) throws -> IngestSummary {
    for app in newApps { try add(app, at: batch.receivedAt) }
    var summary = IngestSummary()
    summary.received = batch.eventCount + batch.rejectionCount
    summary.rejected = batch.rejectionCount
    if batch.eventCount > 0 {
      try storeEvents(batch, &summary)
      try storeFacts(batch, hasKnownEvents: summary.duplicates > 0)
      for file in afterStoring { try execute(file.text) }
    }
    if !batch.rejections.isEmpty {
      try copyIn(
        "copy ingest.rejection (app_id, source, received_at, reason, place, excerpt) from stdin (format binary)",
        batch.rejections)
    }
    return summary
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

  private func storeEvents(_ batch: StagedBatch, _ summary: inout IngestSummary) throws {
    try copyIn("copy staged_event from stdin (format binary)", batch.events)
    let counts = try query(SQLFiles.text("ingest/event.sql"))[0]
    summary.stored = Int(try counts.int("stored"))
    summary.unrecognised = Int(try counts.int("unrecognised"))
    summary.duplicates = batch.eventCount - summary.stored
    guard !batch.payloads.isEmpty else { return }
    if !batch.headers.isEmpty {
      try copyIn("copy staged_header from stdin (format binary)", batch.headers)
    }
    try copyIn("copy staged_payload from stdin (format binary)", batch.payloads)
    try query(SQLFiles.text("ingest/payload.sql"))
    if !batch.headers.isEmpty, !(try query(SQLFiles.text("ingest/header_check.sql")).isEmpty) {
      throw IngestError("storing payloads: two protected headers have the same id; the payloads cannot be kept")
    }
  }

  private func storeFacts(_ batch: StagedBatch, hasKnownEvents: Bool) throws {
    if !batch.chains.isEmpty {
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
    if !batch.transactions.isEmpty {
      try copyIn("copy staged_transaction from stdin (format binary)", batch.transactions)
    }
    if !batch.renewals.isEmpty { try copyIn("copy staged_renewal from stdin (format binary)", batch.renewals) }
    // An event that was known may have been received when the version was still ahead.
    if batch.isClockAhead || hasKnownEvents { try query(SQLFiles.text("ingest/clock_ahead.sql")) }
    if !batch.transactions.isEmpty {
      try query(SQLFiles.text("ingest/transaction.sql"))
      try query(SQLFiles.text("ingest/transaction_event.sql"))
    }
    if !batch.renewals.isEmpty {
      try query(SQLFiles.text("ingest/renewal.sql"))
      try query(SQLFiles.text("ingest/renewal_event.sql"))
    }
    if !batch.subscribers.isEmpty {
      try copyIn("copy staged_subscriber from stdin (format binary)", batch.subscribers)
      try query(SQLFiles.text("ingest/subscriber.sql"))
    }
    if !batch.links.isEmpty {
      try copyIn("copy staged_link from stdin (format binary)", batch.links)
      try query(SQLFiles.text("ingest/link.sql"))
      try query(SQLFiles.text("ingest/link_event.sql"))
    }
  }
}
