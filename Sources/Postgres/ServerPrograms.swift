import Foundation

/// The PostgreSQL server programs installed on this machine.
public struct ServerPrograms: Sendable {
  /// The folder that holds `postgres`, `initdb` and the others.
  public let directory: String
  /// Their major version, such as 15.
  public let majorVersion: Int

  /// Finds the server programs: of Debian's folders the one with the greatest version, else those on the `PATH`.
  ///
  /// - Parameter majorVersion: only this one will do.
  public static func find(majorVersion: Int? = nil) -> ServerPrograms? {
    let debian = "/usr/lib/postgresql"
    let versions = (try? FileManager.default.contentsOfDirectory(atPath: debian)) ?? []
    var candidates = versions.compactMap(Int.init).sorted(by: >).map { "\(debian)/\($0)/bin" }
    let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
    candidates += path.split(separator: ":").map(String.init)
    for directory in candidates {
      guard FileManager.default.isExecutableFile(atPath: "\(directory)/initdb"),
        FileManager.default.isExecutableFile(atPath: "\(directory)/postgres"),
        let version = version(of: "\(directory)/postgres")
      else { continue }
      if let majorVersion, majorVersion != version { continue }
      return ServerPrograms(directory: directory, majorVersion: version)
    }
    return nil
  }

  /// Reads the major version from what `postgres --version` prints: `postgres (PostgreSQL) 15.18 (Debian …)`.
  private static func version(of program: String) -> Int? {
    let process = Process()
    let output = Pipe()
    process.executableURL = URL(filePath: program)
    process.arguments = ["--version"]
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    guard (try? process.run()) != nil else { return nil }
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    let word = text.split(separator: " ").first { $0.first?.isNumber == true }
    return word.flatMap { Int($0.prefix { $0.isNumber }) }
  }
}
