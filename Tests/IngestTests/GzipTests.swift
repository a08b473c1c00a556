import Foundation
import Ingest
import TestSupport
import Testing

/// Bodies of requests that come compressed.
@Suite("gzip")
struct GzipTests {
  private func packed(_ text: String) async throws -> [UInt8] {
    let folder = try TestFolder()
    let file = try folder.write(text, to: "text")
    _ = try await TestProgram.run(["-k", file], file: "/bin/gzip")
    return Array(try Data(contentsOf: URL(filePath: file + ".gz")))
  }

  @Test("data of one or several members is inflated up to the limit and not beyond it")
  func inflates() async throws {
    let text = String(repeating: "tenure ", count: 40_000)
    let data = try await packed(text)
    #expect(try Gzip.inflated(data, limit: text.utf8.count) == Array(text.utf8))
    #expect(throws: Gzip.Failure.tooLarge) { try Gzip.inflated(data, limit: text.utf8.count - 1) }
    let second = try await packed("and more")
    #expect(try Gzip.inflated(data + second, limit: 1 << 20) == Array((text + "and more").utf8))
    #expect(try Gzip.inflated(try await packed(""), limit: 0) == [])
  }

  @Test("data that is cut off, changed or followed by something else is damaged")
  func damaged() async throws {
    let data = try await packed(String(repeating: "tenure ", count: 1000))
    var changed = data
    changed[data.count - 6] ^= 1
    for broken in [[], Array(data.dropLast()), Array(data[..<4]), changed, data + Array("x".utf8), Array("plain".utf8)]
    {
      #expect(throws: Gzip.Failure.damaged) { try Gzip.inflated(broken, limit: 1 << 20) }
    }
  }
}
