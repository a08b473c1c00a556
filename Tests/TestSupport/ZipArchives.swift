import Foundation

/// Zip archives, put together byte by byte around what gzip deflates.
public enum ZipArchives {
  /// How a file lies in an archive.
  public enum Method: UInt8, Sendable {
    /// As it is.
    case stored = 0
    /// Compressed.
    case deflated = 8
  }

  /// An archive of files, as programs make it that write it in one go: sizes and check stand behind a file's contents,
  /// not before.
  ///
  /// - Throws: when gzip cannot be run.
  public static func archive(
    _ files: [(name: String, text: String)], method: Method = .deflated, comment: String = ""
  ) async throws -> [UInt8] {
    var archive: [UInt8] = []
    var directory: [UInt8] = []
    for (name, text) in files {
      let folder = try TestFolder()
      let file = try folder.write(text, to: "text")
      _ = try await TestProgram.run(["--no-name", "--keep", file], file: "/bin/gzip")
      let packed = Array(try Data(contentsOf: URL(filePath: file + ".gz")))
      // Ten bytes in front, check and size behind.
      let contents = method == .deflated ? Array(packed[10..<packed.count - 8]) : Array(text.utf8)
      let check = Array(packed[(packed.count - 8)..<(packed.count - 4)])
      let sizes = check + bytes(contents.count, 4) + bytes(text.utf8.count, 4)
      // Version 2.0, sizes behind the contents, the method, no time.
      let head: [UInt8] = [20, 0, 8, 0, method.rawValue, 0, 0, 0, 0, 0]
      let nameBytes = Array(name.utf8)
      directory += [0x50, 0x4B, 1, 2, 20, 0] + head + sizes + bytes(nameBytes.count, 2)
      directory += [UInt8](repeating: 0, count: 12) + bytes(archive.count, 4) + nameBytes
      archive += [0x50, 0x4B, 3, 4] + head + [UInt8](repeating: 0, count: 12) + bytes(nameBytes.count, 2) + [0, 0]
      archive += nameBytes + contents + [0x50, 0x4B, 7, 8] + sizes
    }
    let start = archive.count
    archive += directory + [0x50, 0x4B, 5, 6, 0, 0, 0, 0] + bytes(files.count, 2) + bytes(files.count, 2)
    return archive + bytes(directory.count, 4) + bytes(start, 4) + bytes(comment.utf8.count, 2) + Array(comment.utf8)
  }

  private static func bytes(_ number: Int, _ count: Int) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
  }
}
