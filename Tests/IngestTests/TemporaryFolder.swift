import Foundation

/// A folder that is removed when it is let go.
final class TemporaryFolder {
  let path: String

  init() throws {
    path = FileManager.default.temporaryDirectory.appending(path: "tenure-ingest-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  /// Writes a file and returns its path.
  @discardableResult
  func write(_ name: String, _ bytes: [UInt8]) throws -> String {
    let file = path + "/" + name
    try FileManager.default.createDirectory(
      atPath: (file as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
    guard FileManager.default.createFile(atPath: file, contents: Data(bytes)) else {
      throw CocoaError(.fileWriteUnknown)
    }
    return file
  }

  @discardableResult
  func write(_ name: String, _ text: String) throws -> String { try write(name, Array(text.utf8)) }
}

/// The bytes as gzip, by the program of that name.
func gzip(_ bytes: [UInt8]) throws -> [UInt8] {
  let folder = try TemporaryFolder()
  let file = try folder.write("plain", bytes)
  let process = Process()
  process.executableURL = URL(filePath: "/usr/bin/env")
  process.arguments = ["gzip", "-nk", file]
  try process.run()
  process.waitUntilExit()
  return Array(try Data(contentsOf: URL(filePath: file + ".gz")))
}
