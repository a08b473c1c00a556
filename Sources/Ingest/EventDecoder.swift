public import Vocabulary

/// Turns the documents of one source into canonical events.
///
/// A decoder is used by one task at a time and may remember what it needs from document to document.
public protocol EventDecoder {
  /// Reads one document: the events in it, and what of it is refused. Bad input is never thrown.
  ///
  /// An event whose payload is empty has none to keep: its canonical text says all of it.
  ///
  /// - Parameter receivedAt: When it came in.
  mutating func decode(_ document: [UInt8], receivedAt: Instant) -> [Decoded]

  /// Ends the input: what is left of a document that was not whole. Nothing, of sources whose documents always are.
  mutating func finish() -> [Decoded]
}

extension EventDecoder {
  /// Nothing.
  public mutating func finish() -> [Decoded] { [] }
}

extension AppStoreDecoder: EventDecoder {}
