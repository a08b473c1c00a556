/// Everything that is wrong with a configuration file.
struct ConfigurationError: Error, CustomStringConvertible {
  struct Problem: Equatable, Sendable {
    /// Where in the file, such as `apps[0].sources.app_store.roots[1]`; empty for the file as a whole.
    let path: String
    /// What is wrong and what would be right. It never shows a value that may be a secret.
    let message: String
  }

  /// The file.
  let file: String
  let problems: [Problem]

  var description: String {
    problems.map { "\(file): \($0.path.isEmpty ? "" : "\($0.path): ")\($0.message)" }.joined(separator: "\n")
  }
}
