import Foundation
import Ingest
import Testing

@Suite("Input reader")
struct InputReaderTests {
  private let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  /// What a reader makes of files: each document's text with its place, without the folder.
  private func read(_ paths: [String], maximumLength: Int = InputReader.maximumLength) throws -> [String] {
    let reader = try InputReader(paths, maximumLength: maximumLength)
    var documents: [String] = []
    while let document = try reader.next() {
      let text =
        switch document {
        case .document(let bytes, let place): "\(place) \(String(decoding: bytes, as: UTF8.self))"
        case .tooLarge(let place): "\(place) too large"
        case .brokenArray(let place): "\(place) broken array"
        case .damagedGzip(let place): "\(place) damaged gzip"
        }
      documents.append(text.replacing(folder.path + "/", with: ""))
    }
    return documents
  }

  private func read(_ text: String, maximumLength: Int = InputReader.maximumLength) throws -> [String] {
    try read([folder.write("f", text)], maximumLength: maximumLength)
  }

  @Test("lines of JSON are documents; blank lines, carriage returns and a byte order mark are passed over")
  func lines() throws {
    #expect(
      try read("\u{FEFF}{\"a\":1}\r\n\n  {\"b\":\"}\\\"{\"}  \n{\"c\":[1,{}]}")
        == ["f:1 {\"a\":1}", "f:3 {\"b\":\"}\\\"{\"}", "f:4 {\"c\":[1,{}]}"])
  }

  @Test("one document may go over several lines, another may follow")
  func severalLines() throws {
    #expect(
      try read("\n{\n  \"a\":\n  {\"b\": 1},\n\"c\": [\n{\"d\": 2},\n{\"e\": 3}\n]\n}\n{\"f\":4}\n")
        == ["f:2 {\n  \"a\":\n  {\"b\": 1},\n\"c\": [\n{\"d\": 2},\n{\"e\": 3}\n]\n}", "f:10 {\"f\":4}"])
  }

  @Test("an array is taken apart into its elements, whatever they are")
  func array() throws {
    #expect(
      try read("[\n{\"a\":1}, {\"b\":[2]},\n\"eyJ.a,].b\", [3,4],\n5]\n[]\n[ {\"c\":1}]")
        == [
          "f:2 {\"a\":1}", "f:2 {\"b\":[2]}", "f:3 \"eyJ.a,].b\"", "f:3 [3,4]", "f:4 5", "f:6 {\"c\":1}",
        ])
  }

  @Test("anything else is a line each, such as signed data")
  func signed() throws {
    #expect(
      try read("eyJhbGc.e30.c2ln \neyJhbGc.e31.c2ln\n\nnonsense") == [
        "f:1 eyJhbGc.e30.c2ln", "f:2 eyJhbGc.e31.c2ln", "f:4 nonsense",
      ])
  }

  @Test("after a line that names columns every line is a row, whatever it begins with")
  func table() throws {
    let rows = ["{u,1", "[v,2", "{6B29FC40-CA47},3", "]w,4", ",5", "\"{x\",6", "y,7"]
    #expect(
      try read((["\u{FEFF}id,number"] + rows).joined(separator: "\r\n"))
        == ["f:1 id,number"] + rows.enumerated().map { "f:\($0 + 2) \($1)" })
    // The next file is of its own kind.
    let paths = try [folder.write("a", "id,number\n{u,1\n"), folder.write("b", "[{\"a\":1},{\"b\":2}]")]
    #expect(try read(paths) == ["a:1 id,number", "a:2 {u,1", "b:1 {\"a\":1}", "b:1 {\"b\":2}"])
  }

  @Test(
    "a broken document costs itself and nothing after it",
    arguments: [
      // cut off inside a string, after a value, after a comma, after a colon
      "{\"a\":\"b", "{\"a\":1", "{\"a\":1,", "{\"a\":", "{\"a\":{\"b\":[1,2", "{\"a\":[{\"b\":1},",
    ])
  func broken(text: String) throws {
    let documents = try read("{\"z\":0}\n\(text)\n{\"y\":1}\n{\"x\":2}\n")
    #expect(
      documents
        == ["f:1 {\"z\":0}", "f:2 \(text)", "f:3 {\"y\":1}", "f:4 {\"x\":2}"])
  }

  @Test("a brace that closes something else ends its line")
  func mismatched() throws {
    #expect(try read("{\"a\":1]} x\n{\"b\":2}\n") == ["f:1 {\"a\":1]", "f:2 {\"b\":2}"])
  }

  @Test("the last document may be cut off; it is still a document, and an array that is not closed is told")
  func truncated() throws {
    #expect(try read("{\"a\":1}\n{\"b\":") == ["f:1 {\"a\":1}", "f:2 {\"b\":"])
    #expect(try read("[{\"a\":1},\n{\"b\":2}") == ["f:1 {\"a\":1}", "f:2 {\"b\":2}", "f:1 broken array"])
    #expect(try read("[{\"a\":1} {\"b\":2}]") == ["f:1 {\"a\":1}", "f:1 broken array", "f:1 {\"b\":2}"])
    #expect(try read("[{\"a\":1},]") == ["f:1 {\"a\":1}", "f:1 broken array"])
    // Once, however often it is broken.
    #expect(try read("[,,,\n,,{\"a\":1}{\"b\":2},,\n") == ["f:1 broken array", "f:2 {\"a\":1}", "f:2 {\"b\":2}"])
    #expect(try read("[,]\n[,]") == ["f:1 broken array", "f:2 broken array"])
  }

  @Test("documents beyond the limit are passed over and told")
  func tooLarge() throws {
    let long = String(repeating: "x", count: 100)
    #expect(
      try read("{\"a\":1}\n{\"b\":\"\(long)\"}\n{\"c\":3}\n\(long)\n[{\"d\":\"\(long)\"},{\"e\":5}]", maximumLength: 50)
        == ["f:1 {\"a\":1}", "f:2 too large", "f:3 {\"c\":3}", "f:4 too large", "f:5 too large", "f:5 {\"e\":5}"])
  }

  @Test("a folder stands for all files below it, in the order of their paths, without hidden ones")
  func folders() throws {
    try folder.write("in/b.json", "{\"b\":1}")
    try folder.write("in/a/z.ndjson", "{\"z\":1}\n{\"z\":2}")
    try folder.write("in/.hidden", "{\"h\":1}")
    try folder.write("in/c.json.gz", gzip(Array("{\"c\":1}".utf8)))
    let documents = try read([folder.path + "/in"])
    #expect(
      documents == [
        "in/a/z.ndjson:1 {\"z\":1}", "in/a/z.ndjson:2 {\"z\":2}", "in/b.json:1 {\"b\":1}", "in/c.json.gz:1 {\"c\":1}",
      ])
  }

  @Test("gzip is recognised by its bytes, in one member or several, filled up with zeros or not")
  func gzipped() throws {
    let first = try gzip(Array("\u{FEFF}{\"a\":1}\n{\"b\"".utf8))
    let second = try gzip(Array(":2}\n{\"c\":3}".utf8))
    let expected = ["g:1 {\"a\":1}", "g:2 {\"b\":2}", "g:3 {\"c\":3}"]
    #expect(try read([folder.write("g", first + second)]) == expected)
    #expect(try read([folder.write("g", first + second + [UInt8](repeating: 0, count: 512))]) == expected)
  }

  @Test("damaged or cut gzip is told at its place, and the next file is read")
  func damagedGzip() throws {
    let lines = (1...20_000).map { "{\"n\":\($0)}\n" }.joined()
    let whole = try gzip(Array(lines.utf8))
    let next = try folder.write("next", "{\"next\":1}")
    let cut = try read([folder.write("g", Array(whole.dropLast(20))), next])
    #expect(cut.last == "next:1 {\"next\":1}")
    let told = cut[cut.count - 2]
    #expect(told.hasSuffix(" damaged gzip"))
    // Every document before the damage was read, and the damage is where the next would have been.
    #expect(told == "g:\(cut.count - 1) damaged gzip")
    var changed = whole
    changed[changed.count / 2] ^= 0xFF
    let damaged = try read([folder.write("g", changed), next])
    #expect(damaged.contains { $0.hasSuffix(" damaged gzip") })
    #expect(damaged.last == "next:1 {\"next\":1}")
    let trailing = try read([folder.write("g", try gzip(Array("{\"a\":1}\n".utf8)) + Array("junk".utf8))])
    #expect(trailing == ["g:1 {\"a\":1}", "g:2 damaged gzip"])
  }

  @Test("what does not exist is an error that names it")
  func missing() throws {
    let error = #expect(throws: InputError.self) { try InputReader([folder.path + "/nothing.json"]) }
    #expect(error?.description.contains("nothing.json") == true)
  }

  @Test("documents are the same wherever the bytes are cut: a large file of all forms")
  func chunks() throws {
    var text = ""
    var expected: [String] = []
    for number in 1...60_000 {
      let document = "{\"number\":\(number),\"text\":\"äöü\\\\\\\"{[\",\"list\":[1,{\"x\":null}]}"
      text += document + "\n"
      expected.append("f:\(number) \(document)")
    }
    #expect(try read(text) == expected)
    #expect(try read([folder.write("f", gzip(Array(text.utf8)))]) == expected)
    let array = "[" + text.split(separator: "\n").joined(separator: ",\n") + "]"
    #expect(
      try read(array)
        == expected.enumerated().map { $0.offset == 0 ? "f:1 " + $0.element.dropFirst(4) : $0.element })
  }
}
