public import Signatures

/// A payload as it is stored: signed data without its protected headers, which are the same in nearly every payload and
/// make up half of it; anything else as it came.
///
/// The stored form of signed data is `#0.<signature>.<the payload's JSON>`, where `#0` stands for the first of its
/// headers, and in the JSON each signed text has its own header replaced in the same way: `"#1.<payload>.<signature>"`.
/// Any other `"#` in the JSON is written as `"##`, so that nothing else can look like a reference.
public struct StoredPayload: Sendable, Equatable {
  /// The text to store.
  public var body: [UInt8]
  /// The headers that it refers to, by their places.
  public var headers: [ProtectedHeader]

  /// Data that is kept as it came.
  public init(plain body: [UInt8]) {
    self.body = body
    headers = []
  }

  /// Signed data.
  ///
  /// - Parameter nested: The signed texts in its payload that were verified too, and where they stand in it.
  public init(_ outer: VerifiedPayload, nested: [(range: Range<Int>, payload: VerifiedPayload)] = []) {
    headers = [outer.header]
    body = Array("#0.".utf8) + Base64URL.encode(outer.signature) + [UInt8(ascii: ".")]
    body.reserveCapacity(body.count + outer.bytes.count)
    var end = 0
    for (range, payload) in nested.sorted(by: { $0.range.lowerBound < $1.range.lowerBound }) {
      append(outer.bytes[end..<range.lowerBound])
      let place = headers.firstIndex { $0.digest == payload.header.digest } ?? headers.count
      if place == headers.count { headers.append(payload.header) }
      body += Array("#\(place).".utf8)
      // The rest of the signed text stands there already, after its header and a dot.
      body +=
        outer.bytes[(range.lowerBound + Base64URL.count(encoding: payload.header.bytes.count) + 1)..<range.upperBound]
      end = range.upperBound
    }
    append(outer.bytes[end...])
  }

  private mutating func append(_ json: ArraySlice<UInt8>) {
    var rest = json
    while let end = Self.endOfMark(in: rest) {
      body += rest[..<end]
      body.append(UInt8(ascii: "#"))
      rest = rest[end...]
    }
    body += rest
  }

  /// Where the next `"#` ends.
  private static func endOfMark(in text: ArraySlice<UInt8>) -> Int? {
    var rest = text
    while let place = rest.firstIndex(of: UInt8(ascii: "#")) {
      if place > text.startIndex, text[place - 1] == UInt8(ascii: "\"") { return place + 1 }
      rest = rest[(place + 1)...]
    }
    return nil
  }

  /// The text as it came, byte for byte; nil when the stored text is not of this form.
  ///
  /// - Parameter headers: The JSON of the headers that it refers to, by their places.
  public static func original(body: [UInt8], headers: [[UInt8]]) -> [UInt8]? {
    guard body.first == UInt8(ascii: "#") else { return body }
    let parts = body.split(separator: UInt8(ascii: "."), maxSplits: 2, omittingEmptySubsequences: false)
    guard parts.count == 3, let outer = header(parts[0].dropFirst(), headers),
      let signature = Base64URL.decode(parts[1])
    else {
      return nil
    }
    var payload: [UInt8] = []
    var rest = parts[2]
    while let end = endOfMark(in: rest) {
      payload += rest[..<(end - 2)]
      rest = rest[end...]
      if rest.first == UInt8(ascii: "#") {
        payload += Array("\"#".utf8)
        rest = rest.dropFirst()
      } else if let dot = rest.firstIndex(of: UInt8(ascii: ".")), let nested = header(rest[..<dot], headers) {
        payload += [UInt8(ascii: "\"")] + Base64URL.encode(nested)
        rest = rest[dot...]
      } else {
        return nil
      }
    }
    payload += rest
    return VerifiedPayload.compact(header: outer, payload: payload, signature: signature)
  }

  private static func header(_ place: ArraySlice<UInt8>, _ headers: [[UInt8]]) -> [UInt8]? {
    guard let place = Int(String(decoding: place, as: UTF8.self)), headers.indices.contains(place) else { return nil }
    return headers[place]
  }
}
