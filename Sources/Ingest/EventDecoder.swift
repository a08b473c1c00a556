public import Vocabulary

/// Turns the documents of one source into canonical events.
///
/// A decoder is used by one task at a time and may remember what it needs from document to document.
public protocol EventDecoder {
  /// The source whose documents it reads.
  var source: Source { get }

  /// Reads one document: the events in it, and what of it is refused. Bad input is never thrown.
  mutating func decode(_ document: [UInt8]) -> [Decoded]
}
