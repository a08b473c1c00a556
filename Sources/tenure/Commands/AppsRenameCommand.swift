import Postgres

/// `tenure apps rename`: gives an app another key. Its identity, and with it every figure, stays.
struct AppsRenameCommand: Command {
  static let syntax = CommandSyntax(
    "apps rename", summary: "gives an app another key; its figures stay",
    operands: [OperandSyntax("OLD", help: "the key it has"), OperandSyntax("NEW", help: "the key it shall have")],
    notes: "Rename it in the configuration as well: data is stored under the key that stands there.")

  private let old: String
  private let new: String

  init(_ arguments: Arguments) throws(UsageError) {
    old = arguments.operands[0]
    new = arguments.operands[1]
    guard Configuration.isAppKey(new) else {
      throw UsageError("apps rename: NEW is a key of letters, digits, dots, dashes and underscores, at most 64")
    }
  }

  private struct Result: Encodable {
    let old: String
    let new: String
  }

  func run(_ context: Context) async throws -> ExitCode {
    try await context.withDatabase { database in
      let connection = try await database.open()
      let keys = try await connection.query("select app_key from ingest.app order by app_key").map {
        try $0.text("app_key")
      }
      guard keys.contains(old) else {
        throw Failure(
          "renaming an app: there is no app \"\(old)\"\(Suggestion.hint(for: old, among: keys)); tenure apps lists them"
        )
      }
      guard !keys.contains(new) else { throw Failure("renaming an app: there is already an app \"\(new)\"") }
      try await connection.query("update ingest.app set app_key = $2 where app_key = $1", [.text(old), .text(new)])
    }
    if context.isJSON {
      try context.output.json(Result(old: old, new: new))
    } else {
      try context.output.line("\(old) is now \(new)")
    }
    return .done
  }
}
