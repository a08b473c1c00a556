import Forward
import Foundation
import Postgres

/// What a command works with.
struct Context: Sendable {
  let log: Log
  let output: Output
  /// Whether the result is printed as JSON.
  let isJSON: Bool
  /// The configuration the command line names, if any.
  private let configurationFile: String?
  private let environment: [String: String]

  init(
    arguments: Arguments, log: Log, output: Output,
    environment: [String: String] = ProcessInfo.processInfo.environment
  ) {
    self.log = log
    self.output = output
    self.environment = environment
    isJSON = arguments.flag("json")
    configurationFile = arguments.value("config") ?? environment["TENURE_CONFIG"].flatMap { $0.isEmpty ? nil : $0 }
  }

  /// The configuration: of the file the command line or `TENURE_CONFIG` names, else of `./tenure.json` when it exists,
  /// else an empty one.
  ///
  /// - Throws: ``ConfigurationError`` with every problem the file has.
  func configuration() throws -> Configuration {
    guard hasConfiguration else { return Configuration() }
    return try Configuration(file: configurationName, environment: environment)
  }

  /// What messages call the configuration's file.
  var configurationName: String { configurationFile ?? "tenure.json" }

  /// The program's folder: `TENURE_HOME`, else in the user's data folder.
  func home() throws -> String { try LocalServerHome.folder(environment) }

  /// Whether there is a configuration.
  private var hasConfiguration: Bool {
    configurationFile != nil || FileManager.default.fileExists(atPath: "tenure.json")
  }

  /// Runs `body` with the database: the one `DATABASE_URL` or the configuration names, else the program's own server,
  /// which runs as long as a command uses it.
  ///
  /// - Parameter isMigrationNeeded: whether the schema must be there and be the program's. The program's own database and
  ///   an empty one are migrated; any other must have been migrated by `tenure migrate`.
  func withDatabase<T: Sendable>(
    migrated isMigrationNeeded: Bool = true, _ body: @Sendable (Database) async throws -> T
  ) async throws -> T {
    let configured = try configuration().database
    let given = environment["DATABASE_URL"].flatMap { $0.isEmpty ? nil : $0 } ?? configured
    if let given {
      let database = Database(connectionString: given, isEmbedded: false)
      if isMigrationNeeded { try await prepare(database) }
      return try await body(database)
    }
    let server = try await LocalServer.start(environment: environment, log: log)
    do {
      let database = Database(connectionString: server.connectionString, isEmbedded: true)
      if isMigrationNeeded { try await prepare(database) }
      let value = try await body(database)
      await server.leave()
      return value
    } catch {
      await server.leave()
      throw error
    }
  }

  /// Runs `body` with a database in which there is nothing yet: the one `DATABASE_URL` names, else one of the program's
  /// own in a folder that is gone afterwards. The configuration is not read.
  ///
  /// - Throws: ``Failure`` when there is something in the named one.
  func withEmptyDatabase<T: Sendable>(_ body: @Sendable (Database) async throws -> T) async throws -> T {
    if let given = environment["DATABASE_URL"], !given.isEmpty {
      let database = Database(connectionString: given, isEmbedded: false)
      guard try await database.isEmpty() else {
        throw Failure(
          "there is something in the database that DATABASE_URL names, and this mixes with nothing: name an empty one, or "
            + "unset it for one that is made and removed")
      }
      try await database.prepare(log)
      do {
        return try await body(database)
      } catch is CancellationError {
        throw Failure(
          "interrupted by a signal; what was made so far is in the database that DATABASE_URL names, and is good for "
            + "nothing: drop that database")
      }
    }
    // The server's keeper removes it, too, should this process not come to it.
    let folder = "/tmp/tenure-\(UUID().uuidString.prefix(8).lowercased())"
    var environment = environment
    environment["TENURE_HOME"] = folder
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let server = try await LocalServer.start(environment: environment, isTemporary: true, log: log)
    do {
      let database = Database(connectionString: server.connectionString, isEmbedded: true)
      try await database.prepare(log)
      let value = try await body(database)
      await server.leave()
      return value
    } catch {
      await server.leave()
      throw error
    }
  }

  /// Makes sure that the database is ready and knows the configuration's targets.
  private func prepare(_ database: Database) async throws {
    try await database.prepare(log)
    try await registerTargets(database)
  }

  /// Puts down the configuration's targets: they exist from the first command that reads them.
  func registerTargets(_ database: Database) async throws {
    guard hasConfiguration else { return }
    let connection = try await database.open()
    do {
      try await TargetRegister(connection).register(
        try configuration().targets, at: Forwarder.systemClock())
    } catch let error as PostgresError where error.sqlState == "42501" || error.sqlState == "25006" {
      // A login that may only read reports makes no deliveries either, and in a replica there are those of its primary.
    }
    await connection.close()
  }
}
