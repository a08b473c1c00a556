/// What the program ends with.
enum ExitCode: Int32, Sendable {
  /// Done.
  case done = 0
  /// Failed, and nothing is half done.
  case failed = 1
  /// Wrong usage or configuration.
  case usage = 2
  /// Done, but some input was rejected.
  case rejected = 3
}
