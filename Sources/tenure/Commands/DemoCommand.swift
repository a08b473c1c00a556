import Demo
import Forward
import Foundation
import Ingest
import Report
import Server
import Vocabulary

/// `tenure demo`: the whole pipeline on a year that is made up and signed on the spot.
struct DemoCommand: Command {
  static let syntax = CommandSyntax(
    "demo", summary: "the whole pipeline on a made-up year of signed notifications, and whether its figures are right",
    options: [
      OptionSyntax("subscribers", value: "N", help: "how many customers there are (default: 3000)"),
      OptionSyntax("seed", value: "N", help: "which year is made up (default: 1); the same number gives the same year"),
      OptionSyntax(
        "serve", help: "stay up afterwards and serve the reports and the page that shows them, until a signal comes"),
      OptionSyntax(
        "reports-listen", value: "HOST:PORT", help: "where they are served (default: 127.0.0.1:8081; port 0 is any)"),
      OptionSyntax(
        "alter", help: "tell one charge with another price than the books have, to see that the comparison notices"),
    ],
    notes: """
      The notifications are signed by a certificate authority made for the occasion, read by the real verifier, measured,
      reported and forwarded to a receiver on this machine. Who makes the year up keeps books and never sees the database;
      in the end the two are compared, and the command fails when they differ. The database is one of its own that is
      removed afterwards, or the one DATABASE_URL names, where there must be nothing in it yet. No configuration is read.
      """)

  private let subscribers: Int
  private let seed: UInt64
  private let isAltered: Bool
  /// Where reports are served in the end; nil where they are not.
  private let reportsListen: ListenAddress?

  static let interruption = Interruption.finishesWork

  init(_ arguments: Arguments) throws(UsageError) {
    func number(_ name: String, _ range: ClosedRange<Int>, default value: Int) throws(UsageError) -> Int {
      guard let text = arguments.value(name) else { return value }
      guard let number = Int(text), range.contains(number) else {
        throw UsageError("demo: --\(name) is a whole number from \(range.lowerBound) to \(range.upperBound)")
      }
      return number
    }
    subscribers = try number("subscribers", 1...100_000, default: 3000)
    seed = UInt64(try number("seed", 0...Int.max, default: 1))
    isAltered = arguments.flag("alter")
    let place = arguments.value("reports-listen")
    guard let address = ListenAddress(place ?? "127.0.0.1:8081") else {
      throw UsageError("demo: --reports-listen is an address and a port, such as 127.0.0.1:8081 or [::1]:8081")
    }
    if place != nil, !arguments.flag("serve") { throw UsageError("demo: --reports-listen goes with --serve") }
    reportsListen = arguments.flag("serve") ? address : nil
  }

  private struct Result: Encodable {
    let subscribers: Int
    let notifications: Int
    let stored: Int
    let delivered: Int
    let compared: Int
    let differences: [FigureComparison.Difference]
    let seconds: Decimal
    /// The address of the page, where reports are served.
    var page: String?
  }

  func run(_ context: Context) async throws -> ExitCode {
    let start = ContinuousClock.now
    try reportsListen?.check()
    let year = Demonstration(subscribers: subscribers, seed: seed, isAltered: isAltered)
    if isAltered, !year.isAltered {
      throw Failure(
        "in this year of \(subscribers) customers there is no renewal whose price could be altered: give more "
          + "--subscribers or another --seed")
    }
    guard let receiver = DemoReceiver() else { throw Failure("no receiver can listen on the loopback interface") }
    defer { receiver.close() }
    return try await context.withEmptyDatabase { database in
      let stages = DemoStages(context: context, database: database, receiver: receiver)
      let mail = year.books.mail
      try stages.say(
        "\(subscribers) customers, \(mail.received) notifications of the year from \(Demonstration.start.description.prefix(10))"
      )
      var comparison = FigureComparison()
      let stored = try await stages.ingestAndMeasure(year)
      for (column, books, reported) in [
        ("received", mail.received, stored.received), ("stored", mail.stored, stored.stored),
        ("duplicates", mail.duplicates, stored.duplicates), ("rejected", mail.rejected, stored.rejected),
        ("unrecognised", mail.unrecognised, stored.unrecognised),
      ] {
        comparison.compare("ingest", row: "all", column, books: Decimal(books), reported: Decimal(reported))
      }
      let forwarded = try await stages.forward()
      comparison.compare(
        "forward", row: "all", "delivered", books: Decimal(mail.announced), reported: Decimal(forwarded.delivered))
      comparison.compare(
        "forward", row: "all", "accepted", books: Decimal(mail.announced), reported: Decimal(receiver.taken.accepted))
      let reporter = Reporter(connection: try await database.open())
      try await stages.show(reporter)
      for sheet in year.books.sheets { try await comparison.compare(sheet, reporter, app: Demonstration.app) }
      let elapsed = (ContinuousClock.now - start) / .milliseconds(1)
      let (server, page) = try reportsListen.map { try stages.server(at: $0) } ?? (nil, nil)
      if context.isJSON {
        try context.output.json(
          Result(
            subscribers: subscribers, notifications: mail.received, stored: stored.stored,
            delivered: forwarded.delivered,
            compared: comparison.count, differences: comparison.differences, seconds: Decimal(Int(elapsed)) / 1000,
            page: page))
      } else {
        try show(comparison, seconds: Int(elapsed / 1000), context)
        if let page { try context.output.line("reports: \(page)") }
      }
      if let server {
        await ServeCommand.untilCancelled()
        _ = await server.stop()
      }
      return comparison.differences.isEmpty ? .done : .failed
    }
  }

  private func show(_ comparison: FigureComparison, seconds: Int, _ context: Context) throws {
    guard !comparison.differences.isEmpty else {
      try context.output.line(
        "the figures agree: all \(comparison.count) are what the books say, which never saw the database (\(seconds) s)"
      )
      return
    }
    for difference in comparison.differences.prefix(40) {
      try context.output.line(
        "\(difference.report) \(difference.row) \(difference.column): the books say \(difference.books), the report says "
          + "\(difference.reported)")
    }
    try context.output.line(
      "the figures differ: \(comparison.differences.count) of \(comparison.count) are not what the books say")
  }
}
