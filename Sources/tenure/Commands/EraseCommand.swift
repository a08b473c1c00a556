import Ingest
import Vocabulary

/// `tenure erase`: removes a person from the database.
struct EraseCommand: Command {
  static let syntax = CommandSyntax(
    "erase", summary: "removes a person's identifiers and raw payloads; the figures stay",
    options: [
      OptionSyntax("subscriber", value: "ID", help: "whom: the customer's id as reports show it"),
      OptionSyntax("app", value: "KEY", help: "of which app (needed where several know the id)"),
    ],
    notes: """
      Gone for good are the id, other ids that a vendor told of the same customer, the app transaction ids of subscriptions that were theirs alone, the raw payloads of those
      subscriptions and whatever else names them, deliveries that wait, and excerpts of refused input. Transactions stay, under
      a random name, and so does every figure; the next tenure measure settles it. Digests of the ids are kept: when they come
      again, they are dropped before anything is stored, and excerpts of refused input that name them are not kept. What was
      sent to targets is theirs to erase.
      """)

  private let subscriber: String
  private let app: String?

  init(_ arguments: Arguments) throws(UsageError) {
    guard let subscriber = arguments.value("subscriber"), !subscriber.isEmpty else {
      throw UsageError("erase: --subscriber is missing: the id of the person to erase")
    }
    self.subscriber = subscriber
    app = arguments.value("app")
  }

  private struct Result: Encodable {
    let apps: [String]
    let subscriptions: Int
    let events: Int
    let payloads: Int
    let deliveries: Int
    let excerpts: Int
  }

  func run(_ context: Context) async throws -> ExitCode {
    let erasure = try await context.withDatabase { database in
      do {
        return try await Eraser(database.open(), now: .now).erase(subscriber, app: app)
      } catch let failure as Eraser.Failure {
        switch failure {
        case .unknownApp:
          throw Failure("erasing a person: there is no app \(app.map { "\"\($0)\"" } ?? "yet"); tenure apps lists them")
        case .severalApps(let keys):
          throw Failure(
            "erasing a person: the apps \(keys.joined(separator: ", ")) know that id, and it may be another person's in "
              + "each; name one with --app, one after another")
        }
      }
    }
    if context.isJSON {
      try context.output.json(
        Result(
          apps: erasure.apps, subscriptions: erasure.subscriptions, events: erasure.events, payloads: erasure.payloads,
          deliveries: erasure.deliveries, excerpts: erasure.excerpts))
    } else {
      try context.output.line(
        "\(erasure.apps.joined(separator: ", ")): \(erasure.subscriptions) subscriptions, \(erasure.events) events, "
          + "\(erasure.payloads) payloads, \(erasure.deliveries) deliveries, \(erasure.excerpts) excerpts; what comes with "
          + "this id from now on is stored without it")
    }
    return .done
  }
}
