import Foundation
import Ingest

/// Reads a file that a person brings for the reference tables.
enum ImportFile {
  /// The file's bytes; `-` is standard input.
  static func read(_ path: String) throws -> [UInt8] {
    do {
      let data =
        path == "-" ? try FileHandle.standardInput.readToEnd() ?? Data() : try Data(contentsOf: URL(filePath: path))
      return Array(data)
    } catch {
      throw Failure("reading \(path == "-" ? "standard input" : path): \(error.localizedDescription)")
    }
  }

  /// Logs every problem of a file, and gives the failure that the command ends with.
  static func failure(_ error: ImportProblems, in path: String, _ log: Log) -> Failure {
    for problem in error.problems {
      log.error(
        "wrong file", ["file": .init(path), "place": .init(problem.place), "error": .init(problem.message)])
    }
    let count = error.problems.count
    return Failure("reading \(path): \(count == 1 ? "a problem" : "\(count) problems"); nothing was imported")
  }

  /// Refuses apps that are not configured, unless the database is the program's own.
  static func check(_ keys: Set<String>, _ configured: [AppConfiguration], _ database: Database) throws {
    for key in keys.sorted() where !database.isEmbedded && !configured.contains(where: { $0.key == key }) {
      throw Failure(
        "importing: there is no app \"\(key)\" in the configuration"
          + Suggestion.hint(for: key, among: configured.map(\.key)))
    }
  }
}
