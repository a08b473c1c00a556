import Foundation
import Glibc
import Signatures

/// The token of the reports listener that the program made itself, in a file of the program's folder that only its owner can
/// read.
struct TokenFile {
  /// Reads the token, and makes one where there is none.
  ///
  /// - Parameter folder: the program's folder; made where it is missing.
  static func token(in folder: String) throws -> String {
    let path = "\(folder)/token"
    if let token = try read(path) { return token }
    let files = FileManager.default
    do {
      if !files.fileExists(atPath: folder) {
        try files.createDirectory(
          atPath: (folder as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
        // Root's own server runs as another user, who must be able to pass.
        guard mkdir(folder, geteuid() == 0 ? 0o711 : 0o700) == 0 || errno == EEXIST else {
          throw failure(path, "making")
        }
      }
    } catch let error as Failure {
      throw error
    } catch {
      throw Failure("making the folder \(folder): \(error.localizedDescription). Set TENURE_HOME, or server.token")
    }
    let token = Base64URL.encode(RandomBytes.make(count: 32))
    let aside = "\(path).\(getpid())"
    unlink(aside)
    let descriptor = open(aside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw failure(aside, "making") }
    defer { unlink(aside) }
    let line = token + [UInt8(ascii: "\n")]
    let written = line.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
    guard written == line.count, fsync(descriptor) == 0, close(descriptor) == 0 else { throw failure(aside, "writing") }
    // It is there whole or not at all, and of two programs that begin at once one makes it.
    guard link(aside, path) == 0 || errno == EEXIST else { throw failure(path, "making") }
    guard let token = try read(path) else { throw failure(path, "reading") }
    return token
  }

  /// The token of a file; nil when there is no file.
  private static func read(_ path: String) throws -> String? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
    guard descriptor >= 0 else {
      if errno == ENOENT { return nil }
      throw failure(path, "reading")
    }
    defer { close(descriptor) }
    var entry = stat()
    guard fstat(descriptor, &entry) == 0 else { throw failure(path, "reading") }
    guard entry.st_mode & 0o077 == 0 else {
      throw Failure("reading the token in \(path): others can read it. Remove the file, and a new one is made")
    }
    var bytes = [UInt8](repeating: 0, count: 256)
    let count = bytes.withUnsafeMutableBytes { Glibc.read(descriptor, $0.baseAddress, $0.count) }
    let token = String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
      .trimmingCharacters(in: .whitespacesAndNewlines)
    guard token.count >= 32 else {
      throw Failure("reading the token in \(path): there is none in it. Remove the file, and a new one is made")
    }
    return token
  }

  private static func failure(_ path: String, _ what: String) -> Failure {
    Failure(
      "\(what) \(path): \(String(cString: strerror(errno))). Set TENURE_HOME to a folder of your own, or server.token")
  }
}
