/// What is wrong with a file that a person brings, and where. Such a file is taken whole or not at all, and all its
/// problems are told at once.
public struct ImportProblem: Error, Sendable, Equatable, CustomStringConvertible {
  /// Where: a line of a table, or the path of a field.
  public let place: String
  /// What is wrong and what would be right.
  public let message: String

  init(_ place: String, _ message: String) {
    self.place = place
    self.message = message
  }

  /// Both in one line.
  public var description: String { "\(place): \(message)" }
}

/// The problems of a file; never empty.
public struct ImportProblems: Error, Sendable, Equatable {
  /// All of them, in the order of the file.
  public let problems: [ImportProblem]
}
