import Foundation
import Postgres
import TestSupport

/// Rows that work left in tables, to be loaded into the same tables again with nothing but COPY: the limit for any way to
/// bring them there.
struct FinishedRows: Sendable {
  private let tables: [String]
  private let folder: TestFolder
  private let format: String

  /// Takes the rows of tables, and empties them.
  init(of tables: [String], on connection: Connection, _ plan: Plan) async throws {
    self.tables = tables
    folder = try TestFolder()
    format = plan.copiesBinary ? "binary" : "text"
    let (folder, format) = (folder, format)
    try await connection.transaction { connection in
      for table in tables {
        let path = folder.file(table)
        guard FileManager.default.createFile(atPath: path, contents: nil), let file = FileHandle(forWritingAtPath: path)
        else { throw BenchError("cannot write \(path)") }
        var piece = Data()
        try connection.copyOut("copy \(table) to stdout (format \(format))") { bytes in
          piece.append(contentsOf: bytes)
          guard piece.count > Self.pieceLength else { return }
          try file.write(contentsOf: piece)
          piece.removeAll(keepingCapacity: true)
        }
        try file.write(contentsOf: piece)
        try file.close()
      }
    }
    try await connection.execute("truncate \(tables.joined(separator: ", "))")
  }

  /// Loads the rows, each table in a transaction.
  func load(on connection: Connection) async throws {
    let (folder, format) = (folder, format)
    for table in tables {
      try await connection.transaction { connection in
        guard let file = FileHandle(forReadingAtPath: folder.file(table)) else {
          throw BenchError("cannot read \(folder.file(table))")
        }
        try connection.copyIn("copy \(table) from stdin (format \(format))") {
          try file.read(upToCount: Self.pieceLength).map { Array($0) }
        }
        try file.close()
      }
    }
  }

  private static let pieceLength = 1 << 18
}
