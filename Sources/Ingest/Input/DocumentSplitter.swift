/// Takes documents out of a stream of bytes, wherever the stream is cut.
///
/// What a file is, is recognised by its bytes: an object runs to the brace that closes it, over as many lines as it
/// takes; an array at the outside is taken apart into its elements; anything else, such as signed data, is a line. After a
/// first line that names columns every line is a row, whatever it begins with. A document that is broken ends where it cannot go on, so that those after it are still read: at a line break inside a
/// string, at a brace that closes something else, or before a line that begins with a brace where none may stand.
struct DocumentSplitter {
  private enum State {
    case between
    case value
    case scalar
    case line
    case restOfLine
  }

  /// What came last in the outermost array.
  private enum Element {
    case start
    case value
    case comma
    /// After something broken: anything may follow.
    case unknown
  }

  private let file: String
  private let maximumLength: Int
  private var state = State.between
  private var line = 1
  /// Whether documents of one line were met: then a line that begins with a brace is one, whatever is still open.
  private var hasLines = false
  /// Whether the first line was the head of a table; nil before its end.
  private var isTable: Bool?
  /// The outermost array that is open: where it begins, what came last in it, and whether it is known to be broken.
  private var array: (line: Int, last: Element, isBroken: Bool)?

  // The document being read.
  private var text: [UInt8] = []
  private var isTooLarge = false
  private var startLine = 1
  /// The containers that are open, true for an object.
  private var open: [Bool] = []
  private var isInString = false
  private var isEscaped = false
  /// The last byte that was no white space and not in a string; a string counts as its quotation mark.
  private var previous: UInt8 = 0
  private var isAtLineStart = false

  init(file: String, maximumLength: Int) {
    self.file = file
    self.maximumLength = maximumLength
  }

  /// The line that is being read.
  var place: Place { Place(file: file, line: state == .between ? line : startLine) }

  /// Reads the next bytes of the stream.
  mutating func read(_ bytes: UnsafeBufferPointer<UInt8>, into documents: inout [InputDocument]) {
    var at = 0
    while at < bytes.count {
      switch state {
      case .between: at = readBetween(bytes, at, &documents)
      case .value: at = readValue(bytes, at, &documents)
      case .scalar: at = readScalar(bytes, at, &documents)
      case .line: at = readLine(bytes, at, &documents)
      case .restOfLine:
        while at < bytes.count, bytes[at] != UInt8(ascii: "\n") { at += 1 }
        if at < bytes.count { state = .between }
      }
    }
  }

  /// Ends the stream: what is left is a document, though perhaps a broken one.
  mutating func finish(into documents: inout [InputDocument]) {
    switch state {
    case .between, .restOfLine: break
    case .value, .scalar, .line: end(&documents)
    }
    if let array, !array.isBroken { documents.append(.brokenArray(Place(file: file, line: array.line))) }
    array = nil
    state = .between
  }

  // MARK: - States

  private mutating func readBetween(
    _ bytes: UnsafeBufferPointer<UInt8>, _ start: Int, _ documents: inout [InputDocument]
  ) -> Int {
    var at = start
    while at < bytes.count {
      let byte = bytes[at]
      switch byte {
      case UInt8(ascii: "\n"): line += 1
      case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\r"): break
      case UInt8(ascii: ",") where array != nil:
        if array?.last == .start || array?.last == .comma { breakArray(&documents) }
        array?.last = .comma
      case UInt8(ascii: "]") where array != nil:
        if array?.last == .comma { breakArray(&documents) }
        array = nil
      case UInt8(ascii: "[") where array == nil && isTable != true:
        array = (line, .start, false)
      default:
        if array?.last == .value { breakArray(&documents) }
        begin(byte)
        return at
      }
      at += 1
    }
    return at
  }

  private mutating func begin(_ byte: UInt8) {
    text.removeAll(keepingCapacity: true)
    isTooLarge = false
    startLine = line
    open.removeAll(keepingCapacity: true)
    isInString = false
    isEscaped = false
    previous = 0
    isAtLineStart = false
    switch byte {
    case UInt8(ascii: "{"), UInt8(ascii: "["): state = isTable == true ? .line : .value
    default: state = array == nil ? .line : .scalar
    }
  }

  private mutating func readValue(
    _ bytes: UnsafeBufferPointer<UInt8>, _ start: Int, _ documents: inout [InputDocument]
  ) -> Int {
    var at = start
    while at < bytes.count {
      let byte = bytes[at]
      if isInString {
        if isEscaped {
          isEscaped = false
        } else if byte == UInt8(ascii: "\\") {
          isEscaped = true
        } else if byte == UInt8(ascii: "\"") {
          isInString = false
        }
        if byte == UInt8(ascii: "\n") {
          // No JSON string goes over a line break: the document was cut off.
          take(bytes, start, at)
          end(&documents, isBroken: true)
          return at
        }
        at &+= 1
        continue
      }
      switch byte {
      case UInt8(ascii: "\""):
        isInString = true
        previous = byte
        isAtLineStart = false
      case UInt8(ascii: "{"), UInt8(ascii: "["):
        if let isObject = open.last {
          let mayStand =
            isObject ? previous == UInt8(ascii: ":") : previous == UInt8(ascii: "[") || previous == UInt8(ascii: ",")
          if isAtLineStart, byte == UInt8(ascii: "{"), isObject || hasLines || !mayStand {
            take(bytes, start, at)
            end(&documents, isBroken: true)
            return at
          }
        }
        open.append(byte == UInt8(ascii: "{"))
        previous = byte
        isAtLineStart = false
      case UInt8(ascii: "}"), UInt8(ascii: "]"):
        guard open.popLast() == (byte == UInt8(ascii: "}")) else {
          take(bytes, start, at + 1)
          end(&documents, isBroken: true)
          state = .restOfLine
          return at + 1
        }
        if open.isEmpty {
          take(bytes, start, at + 1)
          end(&documents)
          return at + 1
        }
        previous = byte
        isAtLineStart = false
      case UInt8(ascii: "\n"):
        line += 1
        isAtLineStart = true
      case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\r"):
        // An indented brace may well stand below its name.
        isAtLineStart = false
      default:
        previous = byte
        isAtLineStart = false
      }
      at &+= 1
    }
    take(bytes, start, at)
    return at
  }

  /// An element of the array that is neither an object nor an array.
  private mutating func readScalar(
    _ bytes: UnsafeBufferPointer<UInt8>, _ start: Int, _ documents: inout [InputDocument]
  ) -> Int {
    var at = start
    while at < bytes.count {
      let byte = bytes[at]
      if byte == UInt8(ascii: "\n") {
        take(bytes, start, at)
        end(&documents, isBroken: isInString)
        return at
      }
      if isEscaped {
        isEscaped = false
      } else if isInString, byte == UInt8(ascii: "\\") {
        isEscaped = true
      } else if byte == UInt8(ascii: "\"") {
        isInString.toggle()
      } else if !isInString, byte == UInt8(ascii: ",") || byte == UInt8(ascii: "]") {
        take(bytes, start, at)
        end(&documents)
        return at
      }
      at += 1
    }
    take(bytes, start, at)
    return at
  }

  private mutating func readLine(
    _ bytes: UnsafeBufferPointer<UInt8>, _ start: Int, _ documents: inout [InputDocument]
  ) -> Int {
    var at = start
    while at < bytes.count, bytes[at] != UInt8(ascii: "\n") { at &+= 1 }
    take(bytes, start, at)
    if at < bytes.count { end(&documents) }
    return at
  }

  // MARK: - Documents

  private mutating func take(_ bytes: UnsafeBufferPointer<UInt8>, _ start: Int, _ end: Int) {
    guard !isTooLarge else { return }
    if text.count + end - start > maximumLength {
      isTooLarge = true
      text = []
    } else {
      text.append(contentsOf: UnsafeBufferPointer(rebasing: bytes[start..<end]))
    }
  }

  private mutating func end(_ documents: inout [InputDocument], isBroken: Bool = false) {
    let place = Place(file: file, line: startLine)
    // Names of columns have commas between them and no brackets; signed data has no commas.
    isTable =
      isTable
      ?? (state == .line && text.contains(UInt8(ascii: ",")) && !text.contains { "{}[]".utf8.contains($0) })
    if isTooLarge {
      documents.append(.tooLarge(place))
    } else {
      while let last = text.last, [0x20, 0x0A, 0x0D, 0x09].contains(last) { text.removeLast() }
      documents.append(.document(text, place))
    }
    text = []
    if line == startLine, array == nil, !isBroken { hasLines = true }
    array?.last = isBroken ? .unknown : .value
    state = .between
  }

  /// Tells that the array is broken, once however often it is.
  private mutating func breakArray(_ documents: inout [InputDocument]) {
    if array?.isBroken == false { documents.append(.brokenArray(Place(file: file, line: line))) }
    array?.isBroken = true
    array?.last = .unknown
  }
}
