import CZlib

/// A zip archive that came whole, with one file in it.
///
/// What is read of the format are its central directory and the methods "stored" and "deflated": not encryption, not
/// the 64-bit fields of archives beyond 4 GiB, not archives in several parts.
struct ZipArchive {
  private let bytes: [UInt8]

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  /// Whether bytes begin as an archive does, an empty one included.
  static func isArchive(_ bytes: [UInt8]) -> Bool {
    bytes.starts(with: [0x50, 0x4B, 0x03, 0x04]) || bytes.starts(with: [0x50, 0x4B, 0x05, 0x06])
  }

  /// The contents of the one file in the archive; folders do not count.
  ///
  /// - Parameter limit: How many bytes it may hold. Not more than that is inflated.
  func onlyFile(limit: Int) throws(ImportProblem) -> [UInt8] {
    let files = try files()
    guard files.count == 1 else {
      let names = files.isEmpty ? "none" : files.map(\.name).joined(separator: ", ")
      throw ImportProblem("zip", "one file is needed in the archive, and there is \(names)")
    }
    return try contents(of: files[0], limit: limit)
  }

  /// A file as the central directory describes it: the fields before its contents may be empty.
  private struct File {
    var name: String
    var flags: Int
    var method: Int
    var check: [UInt8]
    var packedSize: Int
    var sizeBytes: [UInt8]
    var size: Int
    var offset: Int
  }

  private func files() throws(ImportProblem) -> [File] {
    let (count, start) = try directory()
    var files: [File] = []
    var position = start
    for _ in 0..<count {
      guard try number(position, 4) == 0x0201_4B50 else { throw Self.damaged }
      let nameLength = try number(position + 28, 2)
      let file = File(
        name: String(decoding: try slice(position + 46, nameLength), as: UTF8.self),
        flags: try number(position + 8, 2), method: try number(position + 10, 2),
        check: Array(try slice(position + 16, 4)), packedSize: try number(position + 20, 4),
        sizeBytes: Array(try slice(position + 24, 4)), size: try number(position + 24, 4),
        offset: try number(position + 42, 4))
      position += 46 + nameLength + (try number(position + 30, 2)) + (try number(position + 32, 2))
      if !file.name.hasSuffix("/") { files.append(file) }
    }
    return files
  }

  /// How many entries the central directory has, and where it begins. Its end is the archive's end, but for a comment.
  private func directory() throws(ImportProblem) -> (count: Int, start: Int) {
    var position = bytes.count - 22
    while position >= max(0, bytes.count - 22 - 0xFFFF) {
      if try number(position, 4) == 0x0605_4B50, try number(position + 20, 2) == bytes.count - position - 22 {
        return (try number(position + 10, 2), try number(position + 16, 4))
      }
      position -= 1
    }
    throw ImportProblem("zip", "the archive has no end: it was cut off; fetch it again")
  }

  private func contents(of file: File, limit: Int) throws(ImportProblem) -> [UInt8] {
    let place = "zip, \(file.name)"
    guard file.flags & 1 == 0 else { throw ImportProblem(place, "it is encrypted") }
    guard file.packedSize != 0xFFFF_FFFF, file.size != 0xFFFF_FFFF, file.offset != 0xFFFF_FFFF else {
      throw ImportProblem(place, "it has the 64-bit fields of large archives, which are not read")
    }
    let tooLarge = ImportProblem(place, "it holds more than \(limit >> 20) MiB, which no file of rates does")
    guard file.size <= limit else { throw tooLarge }
    guard try number(file.offset, 4) == 0x0403_4B50 else { throw Self.damaged }
    let start = try file.offset + 30 + number(file.offset + 26, 2) + number(file.offset + 28, 2)
    let packed = try slice(start, file.packedSize)
    switch file.method {
    case 0:
      let check = packed.withUnsafeBufferPointer { crc32(0, $0.baseAddress, UInt32($0.count)) }
      guard packed.count == file.size, (0..<4).allSatisfy({ UInt8(check >> ($0 * 8) & 0xFF) == file.check[$0] }) else {
        throw Self.damaged
      }
      return Array(packed)
    case 8:
      // A gzip member is the same with another head, and the same check and size behind it: zlib compares them.
      let head: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 0xFF]
      do throws(Gzip.Failure) {
        return try Gzip.inflated(head + packed + file.check + file.sizeBytes, limit: limit)
      } catch {
        throw error == .tooLarge ? tooLarge : Self.damaged
      }
    default:
      throw ImportProblem(place, "it is compressed by method \(file.method), and only deflate (8) is read")
    }
  }

  private static let damaged = ImportProblem("zip", "the archive is damaged; fetch it again")

  /// A whole number of so many bytes, the least first.
  private func number(_ position: Int, _ count: Int) throws(ImportProblem) -> Int {
    try slice(position, count).reversed().reduce(0) { $0 << 8 | Int($1) }
  }

  private func slice(_ position: Int, _ count: Int) throws(ImportProblem) -> ArraySlice<UInt8> {
    guard position >= 0, position <= bytes.count, count <= bytes.count - position else { throw Self.damaged }
    return bytes[position..<position + count]
  }
}
