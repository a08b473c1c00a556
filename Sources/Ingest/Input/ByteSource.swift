import Glibc

/// Reads a file or standard input, and inflates what is gzip.
///
/// gzip is recognised by its first two bytes (RFC 1952), and may consist of several members.
final class ByteSource {
  enum Failure: Error {
    /// The compressed data is damaged, ends early or is followed by something else.
    case damagedGzip
    /// The system's error number.
    case unreadable(Int32)
  }

  private static let chunk = 1 << 18
  private let descriptor: Int32
  private let closesDescriptor: Bool
  private var input = [UInt8](repeating: 0, count: ByteSource.chunk)
  private var inputRange = 0..<0
  private var output: [UInt8] = []
  private var inflater: Inflater?
  private var isStarted = false
  private var isAtEnd = false

  /// Opens a file; `nil` is standard input.
  init(path: String?) throws(Failure) {
    guard let path else {
      descriptor = STDIN_FILENO
      closesDescriptor = false
      return
    }
    descriptor = open(path, O_RDONLY | O_CLOEXEC)
    closesDescriptor = true
    guard descriptor >= 0 else { throw .unreadable(errno) }
  }

  deinit {
    if closesDescriptor, descriptor >= 0 { close(descriptor) }
  }

  /// Hands over the next bytes; false at the end.
  func read(_ body: (UnsafeBufferPointer<UInt8>) -> Void) throws(Failure) -> Bool {
    if !isStarted { try start() }
    guard let inflater else {
      if inputRange.isEmpty { try fill() }
      guard !inputRange.isEmpty else { return false }
      input.withUnsafeBufferPointer { body(UnsafeBufferPointer(rebasing: $0[inputRange])) }
      inputRange = 0..<0
      return true
    }
    while true {
      if inputRange.isEmpty { try fill() }
      guard !inputRange.isEmpty else {
        guard inflater.isBetweenMembers else { throw .damagedGzip }
        return false
      }
      if inflater.isBetweenMembers, try !startMember(of: inflater) { return false }
      let step = inflater.inflate(input, inputRange, into: &output)
      inputRange = inputRange.lowerBound + step.consumed..<inputRange.upperBound
      guard step.isSound else {
        if step.produced > 0 {
          output.withUnsafeBufferPointer { body(UnsafeBufferPointer(rebasing: $0[..<step.produced])) }
        }
        throw .damagedGzip
      }
      if step.produced > 0 {
        output.withUnsafeBufferPointer { body(UnsafeBufferPointer(rebasing: $0[..<step.produced])) }
        return true
      }
    }
  }

  private func start() throws(Failure) {
    isStarted = true
    // A pipe may give one byte at a time, and two are needed to tell.
    while inputRange.count < 4, !isAtEnd { try fill() }
    if input[inputRange].starts(with: [0x1F, 0x8B]) {
      inflater = Inflater()
      output = [UInt8](repeating: 0, count: Self.chunk)
    } else if input[inputRange].starts(with: [0xEF, 0xBB, 0xBF]) {
      inputRange = 3..<inputRange.upperBound
    }
  }

  /// Begins the next member; false when only the zeros follow with which some programs fill up a file.
  private func startMember(of inflater: Inflater) throws(Failure) -> Bool {
    guard inflater.hasFinishedMember else {
      inflater.begin()
      return true
    }
    if input[inputRange.lowerBound] == 0 {
      while !inputRange.isEmpty {
        guard input[inputRange].allSatisfy({ $0 == 0 }) else { throw .damagedGzip }
        inputRange = 0..<0
        try fill()
      }
      return false
    }
    guard input[inputRange.lowerBound] == 0x1F else { throw .damagedGzip }
    inflater.begin()
    return true
  }

  /// Reads more bytes behind those there are.
  private func fill() throws(Failure) {
    guard !isAtEnd else { return }
    if inputRange.isEmpty { inputRange = 0..<0 }
    let end = inputRange.upperBound
    let count = input.withUnsafeMutableBytes { buffer -> Int in
      while true {
        let count = Glibc.read(descriptor, buffer.baseAddress?.advanced(by: end), buffer.count - end)
        if count >= 0 || errno != EINTR { return count }
      }
    }
    guard count >= 0 else { throw .unreadable(errno) }
    isAtEnd = count == 0
    inputRange = inputRange.lowerBound..<end + count
  }
}
