/// A JSON text (RFC 8259) that has one meaning, whoever reads it.
///
/// Readers differ about repeated names in an object (the first or the last counts), about `\u0000` (PostgreSQL's `jsonb`
/// refuses it, and a whole batch with it), about lone surrogates and about depth. Such a text is refused here, at the
/// door, so that what was decoded and what was stored can never say different things.
///
/// The text is read once into a flat list of its values; nothing is copied until it is asked for.
public final class JSONDocument: Sendable {
  /// How deep values may be nested.
  public static let maximumDepth = 100

  /// The text.
  public let bytes: [UInt8]
  let nodes: [Node]

  /// Reads a text.
  ///
  /// - Throws: What is wrong with it and where.
  public init(_ bytes: [UInt8]) throws(JSONFault) {
    guard bytes.count < Int(Int32.max) else { throw JSONFault(.tooLong, at: 0) }
    let parsed = bytes.withUnsafeBufferPointer { text -> Result<[Node], JSONFault> in
      guard let base = text.baseAddress else { return .failure(JSONFault(.syntax, at: 0)) }
      var parser = JSONParser(text: base, count: text.count)
      do throws(JSONFault) {
        try parser.parse()
        return .success(parser.nodes)
      } catch {
        return .failure(error)
      }
    }
    self.nodes = try parsed.get()
    self.bytes = bytes
  }

  /// The outermost value.
  public var root: JSONValue { JSONValue(document: self, index: 0) }

  /// One value or one name of an object. A name is followed by its value, a container by its content.
  struct Node {
    enum Kind: UInt8 {
      case object
      case array
      case name
      case string
      case number
      case bool
      case null
    }
    var kind: Kind
    /// Whether a string or name holds escapes, so that its bytes are not its text.
    var isEscaped: Bool
    /// Where the value's bytes are; of strings and names without the quotation marks.
    var start: Int32
    var end: Int32
    /// The index after the value and all it holds; of a name, a hash of its bytes.
    var next: Int32
  }
}

/// What is wrong with a JSON text, and where.
public struct JSONFault: Error, Sendable, Equatable {
  /// The kinds of fault.
  public enum Kind: Sendable, Equatable {
    /// Not JSON.
    case syntax
    /// Not UTF-8, or half of a surrogate pair.
    case encoding
    /// JSON, but one object has the same name twice.
    case repeatedName
    /// JSON, but a string holds U+0000.
    case nul
    /// JSON, but nested deeper than ``JSONDocument/maximumDepth``.
    case tooDeep
    /// JSON, but a number has an exponent or a length beyond any use.
    case number
    /// Longer than 2 GB.
    case tooLong
  }

  /// The kind of fault.
  public let kind: Kind
  /// How many bytes precede it.
  public let offset: Int

  init(_ kind: Kind, at offset: Int) {
    self.kind = kind
    self.offset = offset
  }

  /// Whether the text is no JSON at all; otherwise it is JSON that is refused.
  public var isSyntax: Bool { kind == .syntax || kind == .encoding }
}
