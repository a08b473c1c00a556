import Signatures
import Vocabulary

/// Reading the fields of old receipts, in which numbers, flags and moments are texts, and some programs that kept them have
/// made numbers of them.
extension JSONValue {
  /// Milliseconds since 1970. A moment outside of years 1 to 9999 is none that happened.
  func receiptMoment(_ name: StaticString) throws(Rejection) -> Instant? {
    guard let text = try string(name) else { return nil }
    guard let milliseconds = Int64(text) else { throw JSONValue.malformed(name) }
    return Instant(milliseconds: milliseconds)
  }

  /// `"true"` or `"false"`, `"1"` or `"0"`, also as a JSON value of those kinds.
  func receiptFlag(_ name: StaticString) throws(Rejection) -> Bool? {
    guard let value = self[name] else { return nil }
    switch value.bool.map({ $0 ? "1" : "0" }) ?? value.textOrNumber {
    case "true"?, "1"?: return true
    case "false"?, "0"?: return false
    case ""?: return nil
    default: throw JSONValue.malformed(name)
    }
  }

  /// A list of objects: the oldest answers have one object in its place.
  func receiptList(_ name: StaticString) -> [JSONValue] {
    guard let value = self[name] else { return [] }
    if let elements = value.elements { return elements.filter { $0.kind == .object } }
    return value.kind == .object ? [value] : []
  }
}
