/// A command of the program. Its file in `Commands/` is all there is to it, but for its line in ``Program/commands``.
protocol Command: Sendable {
  /// How it is written.
  static var syntax: CommandSyntax { get }

  /// What a signal to end does to it.
  static var interruption: Interruption { get }

  /// Reads its options and operands.
  ///
  /// - Throws: ``UsageError`` when they make no sense.
  init(_ arguments: Arguments) throws(UsageError)

  /// Does its work.
  func run(_ context: Context) async throws -> ExitCode
}

extension Command {
  static var interruption: Interruption { .stopsStatements }
}

/// What the first TERM or INT does to a command; a second one ends the program at once.
enum Interruption: Sendable {
  /// The command's task is cancelled, and what its database connections are running is stopped.
  case stopsStatements
  /// The command's task is cancelled; it finishes what it has in hand and returns.
  case finishesWork
}
