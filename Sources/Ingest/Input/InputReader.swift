import Foundation

/// Reads documents from files, folders and standard input, plain or gzip, one after another.
///
/// A folder stands for the files in it and below it, in the order of their paths; names that begin with a dot are left
/// out. The whole input is never in memory: only a piece of a file and the documents in it.
public final class InputReader {
  /// The longest document that is read; longer ones are rejected as `too_large`.
  public static let maximumLength = 16 << 20

  private var paths: ArraySlice<String>
  private var source: ByteSource?
  private var splitter: DocumentSplitter?
  private var path = ""
  private var documents: [InputDocument] = []
  private var position = 0
  private let maximumLength: Int

  /// Creates a reader of files and folders; `-` is standard input.
  ///
  /// - Throws: ``InputError`` when one of them does not exist or a folder cannot be read.
  public init(_ paths: [String], maximumLength: Int = InputReader.maximumLength) throws {
    let files: [String] = try paths.flatMap { path in try Self.files(path) }
    self.paths = files[...]
    self.maximumLength = maximumLength
  }

  /// The next document; nil when there is none left.
  ///
  /// - Throws: ``InputError`` when a file cannot be read.
  public func next() throws -> InputDocument? {
    while position == documents.count {
      documents.removeAll(keepingCapacity: true)
      position = 0
      if source == nil {
        guard let path = paths.popFirst() else { return nil }
        try open(path)
      }
      try readMore()
    }
    position += 1
    return documents[position - 1]
  }

  private func open(_ path: String) throws {
    self.path = path
    do {
      source = try ByteSource(path: path == "-" ? nil : path)
    } catch {
      throw failure(error)
    }
    splitter = DocumentSplitter(file: path, maximumLength: maximumLength)
  }

  private func readMore() throws {
    do throws(ByteSource.Failure) {
      let isMore = try source?.read { bytes in
        var bytes = bytes
        // Inflated text may begin with a byte order mark as well; plain text has lost it already.
        if isAtStart, bytes.starts(with: [0xEF, 0xBB, 0xBF]) { bytes = UnsafeBufferPointer(rebasing: bytes[3...]) }
        isAtStart = false
        splitter?.read(bytes, into: &documents)
      }
      if isMore == true { return }
      splitter?.finish(into: &documents)
    } catch {
      guard case .damagedGzip = error else { throw failure(error) }
      // A document that was cut off by the damage is the place of the damage.
      if let splitter { documents.append(.damagedGzip(splitter.place)) }
    }
    source = nil
    splitter = nil
    isAtStart = true
  }

  private var isAtStart = true

  private func failure(_ error: ByteSource.Failure) -> InputError {
    let name = path == "-" ? "standard input" : path
    guard case .unreadable(let number) = error else { return InputError("reading \(name): it is damaged") }
    return InputError("reading \(name): \(String(cString: strerror(number)))")
  }

  private static func files(_ path: String) throws -> [String] {
    if path == "-" { return [path] }
    var isFolder: ObjCBool = false
    guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) else {
      throw InputError("reading \(path): no such file or folder")
    }
    guard isFolder.boolValue else { return [path] }
    return try files(inFolder: path)
  }

  private static func files(inFolder folder: String) throws -> [String] {
    let names: [String]
    do {
      names = try FileManager.default.contentsOfDirectory(atPath: folder)
    } catch {
      throw InputError("reading the folder \(folder): \(error.localizedDescription)")
    }
    let prefix = folder.hasSuffix("/") ? folder : folder + "/"
    return try names.filter { !$0.hasPrefix(".") }
      .sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
      .flatMap { name -> [String] in
        let path = prefix + name
        var status = stat()
        // A link to a folder is not followed: it could lead back.
        guard lstat(path, &status) == 0 else {
          throw InputError("reading \(path): \(String(cString: strerror(errno)))")
        }
        switch status.st_mode & S_IFMT {
        case S_IFDIR: return try files(inFolder: path)
        case S_IFREG: return [path]
        case S_IFLNK:
          var isFolder: ObjCBool = false
          return FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) && !isFolder.boolValue
            ? [path] : []
        default: return []
        }
      }
  }
}

/// Input that cannot be read at all: the command ends with it, naming the file.
public struct InputError: Error, Sendable, CustomStringConvertible {
  /// What was being read, and what went wrong.
  public let description: String

  init(_ description: String) { self.description = description }
}
