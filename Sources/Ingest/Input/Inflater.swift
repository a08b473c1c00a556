import CZlib

/// zlib's inflation of gzip members.
final class Inflater {
  private var stream = z_stream()
  private(set) var isBetweenMembers = true
  private(set) var hasFinishedMember = false

  init() {
    // 15 bits of window, 16 for a gzip header. It can only fail for want of memory.
    let result = inflateInit2_(&stream, 15 + 16, zlibVersion(), Int32(MemoryLayout<z_stream>.size))
    precondition(result == Z_OK, "zlib could not be set up")
  }

  deinit { inflateEnd(&stream) }

  func begin() {
    inflateReset(&stream)
    isBetweenMembers = false
  }

  func inflate(
    _ input: [UInt8], _ range: Range<Int>, into output: inout [UInt8]
  ) -> (consumed: Int, produced: Int, isSound: Bool) {
    input.withUnsafeBufferPointer { source in
      output.withUnsafeMutableBufferPointer { target in
        // zlib's input is not const in its older headers; it is only read.
        stream.next_in = source.baseAddress.map { UnsafeMutablePointer(mutating: $0 + range.lowerBound) }
        stream.avail_in = UInt32(range.count)
        stream.next_out = target.baseAddress
        stream.avail_out = UInt32(target.count)
        let result = CZlib.inflate(&stream, Z_NO_FLUSH)
        if result == Z_STREAM_END {
          isBetweenMembers = true
          hasFinishedMember = true
        }
        return (
          range.count - Int(stream.avail_in), target.count - Int(stream.avail_out),
          result == Z_OK || result == Z_STREAM_END || result == Z_BUF_ERROR
        )
      }
    }
  }
}
