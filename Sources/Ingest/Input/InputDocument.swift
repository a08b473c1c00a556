/// Where a document stands in the input.
public struct Place: Sendable, Equatable, CustomStringConvertible {
  /// The file's path as it was given, `-` for standard input.
  public var file: String
  /// The line on which the document begins, counted from 1.
  public var line: Int

  /// Creates a place.
  public init(file: String, line: Int) {
    self.file = file
    self.line = line
  }

  /// `<file>:<line>`
  public var description: String { "\(file):\(line)" }
}

/// A piece of input: one document, or one that could not be taken out of its file.
public enum InputDocument: Sendable, Equatable {
  /// A document as it came: a JSON value, or a line of anything else. Whether it can be read is for a decoder to say.
  case document([UInt8], Place)
  /// A document longer than ``InputReader/maximumLength``; it was passed over.
  case tooLarge(Place)
  /// An array that is not closed or not separated by commas; the elements around it are documents of their own.
  case brokenArray(Place)
  /// The compressed data of a file is damaged or ends early: what follows in it is lost.
  case damagedGzip(Place)
}

extension InputDocument {
  /// The documents of a text that came whole, such as the body of a request: told apart as those of a file are.
  public static func all(in text: [UInt8]) -> [InputDocument] { all(in: text, atMost: .max) ?? [] }

  /// The same; nil when there are more than so many. A text of many more is not taken apart to its end.
  public static func all(in text: [UInt8], atMost limit: Int) -> [InputDocument]? {
    var splitter = DocumentSplitter(file: "http", maximumLength: text.count)
    var documents: [InputDocument] = []
    var rest = text[...]
    while !rest.isEmpty {
      let part = rest.prefix(1 << 14)
      rest = rest.dropFirst(part.count)
      part.withUnsafeBufferPointer { splitter.read($0, into: &documents) }
      if documents.count > limit { return nil }
    }
    splitter.finish(into: &documents)
    return documents.count > limit ? nil : documents
  }
}
