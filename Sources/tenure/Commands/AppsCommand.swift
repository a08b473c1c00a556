import Postgres

/// `tenure apps`: lists the apps of which there are events or that are configured.
struct AppsCommand: Command {
  static let syntax = CommandSyntax("apps", summary: "lists the apps")

  init(_ arguments: Arguments) throws(UsageError) {}

  private struct App: Encodable, Sendable {
    let app: String
    let bundleID: String?
    let createdAt: String?
    let isConfigured: Bool
  }

  func run(_ context: Context) async throws -> ExitCode {
    let configured = try context.configuration().apps
    let stored = try await context.withDatabase { database in
      try await database.open().query(
        """
        select app_key, bundle_id, to_char(created_at, 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as created_at
        from ingest.app order by app_key
        """)
    }
    var apps = try stored.map { row in
      let key = try row.text("app_key")
      return App(
        app: key, bundleID: row["bundle_id"], createdAt: row["created_at"],
        isConfigured: configured.contains { $0.key == key })
    }
    for app in configured where !apps.contains(where: { $0.app == app.key }) {
      apps.append(App(app: app.key, bundleID: app.bundleID, createdAt: nil, isConfigured: true))
    }
    apps.sort { $0.app < $1.app }
    if context.isJSON {
      try context.output.json(apps)
    } else {
      try context.output.table(
        ["app", "bundle_id", "created_at", "is_configured"],
        apps.map { [$0.app, $0.bundleID ?? "", $0.createdAt ?? "", String($0.isConfigured)] })
    }
    return .done
  }
}
