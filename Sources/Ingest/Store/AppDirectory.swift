import Postgres

/// The numbers of apps by their keys.
///
/// An app gets its number at first sight: from its key, or, where that number belongs to an app that has been renamed
/// since, from the key and a count. It keeps it for ever.
struct AppDirectory: Sendable {
  private(set) var ids: [String: Int64] = [:]
  /// The keys whose apps are not in the database yet.
  private(set) var newKeys: Set<String> = []

  /// The same directory with the numbers of these apps: taken from the database, or made.
  ///
  /// - Parameter mentioned: Apps that get no number when they have none.
  func adding(
    _ keys: Set<String>, mentioned: Set<String> = [], on connection: Connection
  ) async throws -> AppDirectory {
    var directory = self
    let unknown = keys.union(mentioned).filter { ids[$0] == nil }.sorted()
    guard !unknown.isEmpty else { return directory }
    let rows = try await connection.query(
      "select app_id, app_key from ingest.app where app_key = any ($1)", [.texts(unknown)])
    for row in rows { directory.ids[try row.text("app_key")] = try row.int("app_id") }
    for key in unknown where keys.contains(key) && directory.ids[key] == nil {
      var attempt = 1
      while true {
        let id = SubscriptionKey.ofApp(key, attempt: attempt)
        let taken = try await connection.query("select 1 as one from ingest.app where app_id = $1", [.int(id)])
        if taken.isEmpty, !directory.ids.values.contains(id) {
          directory.ids[key] = id
          break
        }
        attempt += 1
      }
      directory.newKeys.insert(key)
    }
    return directory
  }

  /// Notes that the apps are in the database now.
  mutating func settle(_ keys: Set<String>) { newKeys.subtract(keys) }
}
