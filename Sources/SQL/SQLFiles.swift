/// A file of `sql/`, as it was when the program was built.
public struct SQLFile: Sendable {
  /// The path below `sql/`, such as `measure/01_window.sql`.
  public let path: String
  /// The file's text, byte for byte.
  public let text: String

  /// A file that was not embedded.
  public init(path: String, text: String) {
    self.path = path
    self.text = text
  }

  /// The file's name without folders and without its ending, such as `01_window`.
  public var name: String {
    let last = path.split(separator: "/").last ?? ""
    return String(last.prefix { $0 != "." })
  }
}

/// The files of `sql/`, embedded when the program was built.
public enum SQLFiles {
  /// Every file, in the order of their paths.
  public static let all: [SQLFile] = EmbeddedFiles.texts.map { SQLFile(path: $0.path, text: $0.text) }

  /// The files of one folder of `sql/`, in the order of their names.
  public static func folder(_ name: String) -> [SQLFile] {
    all.filter { $0.path.hasPrefix(name + "/") }
  }

  /// The text of one file.
  ///
  /// - Parameter path: The path below `sql/`. A path that does not exist is a mistake in the program and stops it.
  public static func text(_ path: String) -> String {
    guard let file = all.first(where: { $0.path == path }) else { preconditionFailure("no embedded file \(path)") }
    return file.text
  }
}
