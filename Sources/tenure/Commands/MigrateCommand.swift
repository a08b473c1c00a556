import Postgres

/// `tenure migrate`: brings the database to the program's version.
struct MigrateCommand: Command {
  static let syntax = CommandSyntax(
    "migrate", summary: "brings the database to this version",
    options: [OptionSyntax("status", help: "only tell where the database stands")],
    notes: """
      A database newer than the program is refused, and so is one with a migration whose text has changed since. The
      login needs the right to create roles, or finds the roles tenure_writer, tenure_reader and tenure_support made.
      """)

  private let isStatusOnly: Bool

  init(_ arguments: Arguments) throws(UsageError) { isStatusOnly = arguments.flag("status") }

  private struct Result: Encodable {
    let applied: [String]
    let pending: [String]
    let views: String
  }

  func run(_ context: Context) async throws -> ExitCode {
    let result = try await context.withDatabase(migrated: false) { database in
      let connection = try await database.open()
      if isStatusOnly {
        let status = try await Database.migrator.status(on: connection)
        return Result(
          applied: status.applied.map(\.name), pending: status.pending,
          views: status.isRepeatableDue ? "due" : "current")
      }
      let outcome = try await Database.migrator.migrate(on: connection)
      try await context.registerTargets(database)
      return Result(applied: outcome.applied, pending: [], views: outcome.didRepeat ? "made" : "current")
    }
    if context.isJSON {
      try context.output.json(result)
    } else if isStatusOnly {
      try context.output.line("applied: \(result.applied.count)")
      for name in result.pending { try context.output.line("pending: \(name)") }
      try context.output.line("report views: \(result.views)")
    } else {
      for name in result.applied { try context.output.line("applied \(name)") }
      try context.output.line(
        result.applied.isEmpty && result.views == "current"
          ? "nothing to do: the database is current" : "the database is current")
    }
    return .done
  }
}
