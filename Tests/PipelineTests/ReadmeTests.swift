import Foundation
import TestSupport
import Testing

/// What the README tells a newcomer to type.
@Suite struct ReadmeTests {
  private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()

  /// The lines of the first block of shell commands that holds `word`.
  private func commands(holding word: String) throws -> [String] {
    let readme = try String(contentsOf: Self.root.appending(path: "README.md"), encoding: .utf8)
    let block = readme.components(separatedBy: "```").first { $0.hasPrefix("sh\n") && $0.contains(word) }
    return try #require(block).split(separator: "\n").dropFirst().map(String.init)
  }

  @Test("from the example's events to its figures, each command as the README shows it")
  func examples() async throws {
    let database = try await TestDatabase.clone()
    for command in try commands(holding: "tenure ingest --source tenure examples/") {
      let words = command.split(separator: " ").map(String.init)
      #expect(words[0] == "tenure")
      let outcome = try await TestProgram.run(
        Array(words.dropFirst()),
        environment: ["DATABASE_URL": database.connectionString, "TENURE_CONFIG": try configuration()],
        directory: Self.root.path)
      #expect(outcome.code == 0, "\(command): \(outcome.errors)")
      if words[1] == "report" {
        #expect(outcome.output.split(separator: "\n").count > 3, "\(command) shows nothing")
      }
    }
  }

  @Test("every report of the README's table exists, and every report is in it")
  func reports() async throws {
    let database = try await TestDatabase.clone()
    let listed = try await TestProgram.run(
      ["report", "--json"], environment: ["DATABASE_URL": database.connectionString])
    struct Listed: Decodable { let name: String }
    let names = Set(try JSONDecoder().decode([Listed].self, from: Data(listed.output.utf8)).map(\.name))
    let readme = try String(contentsOf: Self.root.appending(path: "README.md"), encoding: .utf8)
    let table = try #require(
      readme.components(separatedBy: "## Reports").last?.components(separatedBy: "\n\n").dropFirst().first)
    let told = table.split(separator: "\n").dropFirst(2).flatMap { row in
      row.split(separator: "|")[0].split(separator: "`").map(String.init).filter {
        $0.allSatisfy { $0.isLetter || $0 == "_" }
      }
    }
    #expect(Set(told) == names)
  }

  private func configuration() throws -> String {
    let file = FileManager.default.temporaryDirectory.appending(path: "tenure-readme-\(UUID()).json")
    try #"{ apps: [{ key: "example", sources: { tenure: {} } }] }"#.write(to: file, atomically: true, encoding: .utf8)
    return file.path
  }
}
