import Signatures
import Testing

private func fault(_ text: String) -> JSONFault.Kind? { fault(Array(text.utf8)) }

private func fault(_ bytes: [UInt8]) -> JSONFault.Kind? {
  do {
    _ = try JSONDocument(bytes)
    return nil
  } catch {
    return error.kind
  }
}

@Suite("JSON that has one meaning")
struct JSONDocumentTests {
  @Test("Values are read with their kinds, in their order")
  func values() throws {
    let text = #" { "a" : [ 1 , -2.5e1 , "x" , true , false , null , { } , [ ] ] , "b":{"c":"d"},"e":null } "#
    let root = try JSONDocument(Array(text.utf8)).root
    let elements = try #require(root["a"]?.elements)
    #expect(elements.map(\.kind) == [.number, .number, .string, .bool, .bool, .null, .object, .array])
    #expect(elements[0].int64 == 1)
    #expect(elements[1].int64 == -25)
    #expect(elements[2].text == "x")
    #expect(elements[3].bool == true)
    #expect(elements[4].bool == false)
    #expect(elements[7].elements?.isEmpty == true)
    #expect(root["b"]?["c"]?.text == "d")
    #expect(root["b"].map { String(decoding: $0.source, as: UTF8.self) } == #"{"c":"d"}"#)
    #expect(root["e"] == nil)
    #expect(root["missing"] == nil)
    #expect(root.member(named: "b")?["c"]?.utf8.map { Array($0) } == Array("d".utf8))
    #expect(root.members.map(\.name) == ["a", "b", "e"])
    #expect(root["a"]?["a"] == nil)
    #expect(root["a"]?.text == nil)
  }

  @Test("Escapes and characters beyond ASCII are read")
  func strings() throws {
    let text = #"["\"\\\/\b\f\n\r\t\u00e9\u20AC\ud83c\udf89é€🎉", "plain and longer than eight bytes é and on and on"]"#
    let elements = try #require(JSONDocument(Array(text.utf8)).root.elements)
    #expect(elements[0].text == "\"\\/\u{8}\u{C}\n\r\té€🎉é€🎉")
    #expect(elements[1].text == "plain and longer than eight bytes é and on and on")
    let escaped = try JSONDocument(Array(#"{"\u0061b":1}"#.utf8)).root
    #expect(escaped["ab"]?.int64 == 1)
    #expect(escaped.members.first?.name == "ab")
  }

  @Test("Numbers are exact to the last digit, or not read")
  func numbers() throws {
    func scaled(_ number: String, _ power: Int, _ rounding: JSONValue.Rounding = .exact) throws -> Int64? {
      try JSONDocument(Array(number.utf8)).root.integer(scaledBy: power, rounding: rounding)
    }
    #expect(try scaled("9.99", 6) == 9_990_000)
    #expect(try scaled("0.1", 6) == 100_000)
    #expect(try scaled("-0.000001", 6) == -1)
    #expect(try scaled("0.0000001", 6) == nil)
    #expect(try scaled("1.50", 1) == 15)
    #expect(try scaled("1e3", 0) == 1000)
    #expect(try scaled("1.0", 0) == 1)
    #expect(try scaled("1E-2", 2) == 1)
    #expect(try scaled("12e-1", 0) == nil)
    #expect(try scaled("9223372036854775807", 0) == .max)
    #expect(try scaled("-9223372036854775808", 0) == .min)
    #expect(try scaled("9223372036854775808", 0) == nil)
    #expect(try scaled("9007199254740993", 0) == 9_007_199_254_740_993)
    #expect(try scaled("0e999", 0) == 0)
    #expect(try scaled("1e999", 0) == nil)
    #expect(try scaled("1e-999", 0) == nil)
    #expect(try scaled("1e-999", 0, .down) == 0)
    #expect(try scaled("1698148900000.1239", 3, .down) == 1_698_148_900_000_123)
    #expect(try scaled("-1.0001", 3, .down) == -1001)
    #expect(try scaled("-62135769600000", 3) == -62_135_769_600_000_000)
    #expect(try scaled("\"1\"", 0) == nil)
  }

  @Test(
    "What is not JSON is refused",
    arguments: [
      "", " ", "{", "}", "[1,]", "[,1]", "{\"a\":1,}", "{\"a\"}", "{a:1}", "{'a':1}", "[1 2]", "[1]]", "nul", "nulll",
      "True", "01", "-", "-01", "1.", ".5", "1e", "1e+", "+1", "0x1", "NaN", "\"", "\"\\\"", "\"\\x\"", "\"\\u12\"",
      "\"\\u12g4\"", "\"\n\"", "\"\t\"", "[1]//", "\u{FEFF}1",
    ])
  func syntax(text: String) {
    let kind = fault(text)
    #expect(kind == .syntax)
  }

  @Test("Bytes that are not UTF-8, and halves of surrogate pairs, are refused")
  func encoding() {
    let sequences: [[UInt8]] = [
      [0x80], [0xC0, 0x80], [0xC1, 0xBF], [0xE0, 0x80, 0x80], [0xED, 0xA0, 0x80], [0xF0, 0x80, 0x80, 0x80],
      [0xF4, 0x90, 0x80, 0x80], [0xF5, 0x80, 0x80, 0x80], [0xFF], [0xC3], [0xE2, 0x82], [0xF0, 0x9F, 0x8E],
      [0xC3, 0x28], [0xE2, 0x28, 0xAC], [0xF0, 0x9F, 0x28, 0x89],
    ]
    for sequence in sequences { #expect(fault([0x22] + sequence + [0x22]) == .encoding, "\(sequence)") }
    for text in [#""\ud800""#, #""\udc00""#, #""\ud800\u0041""#, #""\ud800x""#, #""\ud800\ud800""#] {
      #expect(fault(text) == .encoding)
    }
    for scalar in ["\u{7FF}", "\u{800}", "\u{D7FF}", "\u{E000}", "\u{FFFF}", "\u{10000}", "\u{10FFFF}"] {
      #expect(fault("\"\(scalar)\"") == nil)
    }
  }

  @Test("The same name twice in one object is refused however it is written, in two objects it is not")
  func repeatedNames() {
    #expect(fault(#"{"a":1,"a":1}"#) == .repeatedName)
    #expect(fault(#"{"a":1,"b":{"c":1,"d":[{"e":1,"e":2}]}}"#) == .repeatedName)
    #expect(fault(#"{"a":1,"\u0061":1}"#) == .repeatedName)
    #expect(fault(#"{"a":{"a":{"a":1}},"b":{"a":1}}"#) == nil)
    // Alike to the eye, other bytes: two names, to jsonb too.
    #expect(fault("{\"\u{E9}\":1,\"e\u{301}\":1}") == nil)
    let many = (0..<500).map { "\"name\($0)\":\($0)" }.joined(separator: ",")
    #expect(fault("{\(many)}") == nil)
    #expect(fault("{\(many),\"name250\":0}") == .repeatedName)
  }

  @Test("U+0000 is refused, written as an escape or as a byte")
  func nul() {
    #expect(fault(#"{"a":"b\u0000"}"#) == .nul)
    #expect(fault(#"{"\u0000":1}"#) == .nul)
    #expect(fault("\"\u{0}\"") == .syntax)
    #expect(fault(#""\\u0000""#) == nil)
  }

  @Test("Nesting has its limit")
  func depth() {
    let limit = JSONDocument.maximumDepth
    func nested(_ depth: Int) -> String {
      String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
    }
    #expect(fault(nested(limit)) == nil)
    #expect(fault(nested(limit + 1)) == .tooDeep)
    #expect(fault(String(repeating: "[{\"a\":", count: 100_000)) == .tooDeep)
  }

  @Test("Numbers beyond any use are refused")
  func hugeNumbers() {
    #expect(fault("1e1000") == .number)
    #expect(fault(String(repeating: "9", count: 1001)) == .number)
    #expect(fault(String(repeating: "9", count: 1000)) == nil)
  }

  @Test("A fault tells where it is")
  func offsets() {
    #expect(throws: JSONFault.self) { try JSONDocument(Array("[1,x]".utf8)) }
    do {
      _ = try JSONDocument(Array("[1,x]".utf8))
    } catch {
      #expect(error.offset == 3)
    }
  }
}
