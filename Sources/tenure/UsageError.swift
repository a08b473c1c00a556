/// A command line that cannot be understood.
struct UsageError: Error, Equatable, CustomStringConvertible {
  /// What is wrong, and what would be right.
  let description: String

  init(_ description: String) { self.description = description }
}
