import Forward
import Foundation
import Postgres
import SQL
import TestSupport
import Testing
import Vocabulary

@testable import tenure

/// The reference says of the program what it is, no more and no less.
@Suite("Reference", .fewAtOnce)
struct ReferenceTests {
  @Test("docs/commands.md is what the program says of its commands")
  func commands() throws {
    let page = try DocumentationPage("docs/commands.md")
    guard page.text != CommandsPage.text else { return }
    let made = FileManager.default.temporaryDirectory.appending(path: "tenure-commands.md")
    try CommandsPage.text.write(to: made, atomically: true, encoding: .utf8)
    Issue.record("after a wanted change, copy the new page: cp \(made.path) docs/commands.md")
  }

  @Test("a command that is named in a text is one, with options that it has")
  func namedCommands() throws {
    var found = 0
    for page in DocumentationPage.all where page.path != "docs/commands.md" {
      let prose = page.text.replacing(/(?s)```.*?```/, with: "")
      for span in prose.matches(of: /`(tenure [^`]+)`/) {
        found += 1
        let words = span.output.1.split { $0.isWhitespace }.map(String.init).dropFirst()
        #expect(Self.complaint(of: Array(words)) == nil, "\(page.path): \(span.output.1)")
      }
      // Those of other programs stand in CONTRIBUTING.md.
      guard page.path != "CONTRIBUTING.md" else { continue }
      let options = Set(Program.commands.flatMap { $0.syntax.options.map(\.name) } + OptionSyntax.global.map(\.name))
      for span in prose.matches(of: /`--([a-z-]+)[^`]*`/) {
        #expect(options.contains(String(span.output.1)), "\(page.path): --\(span.output.1)")
      }
    }
    #expect(found > 50)
  }

  @Test("docs/configuration.md shows every setting that the program knows")
  func settings() throws {
    let page = try DocumentationPage("docs/configuration.md")
    let value = try JSON5Parser.parse(Data(try #require(page.blocks.first).text.utf8))
    guard case .section(let values) = value else {
      Issue.record("it shows no configuration")
      return
    }
    let file = ConfigurationReader.File(folder: "/nowhere", environment: [:])
    _ = Configuration(ConfigurationReader(values, path: "", file: file))
    // Every source has its environments.
    func told(_ path: String) -> String {
      path.replacing(/\[\d+\]/, with: "[]").replacing(/sources\.\w+\.environments/, with: "sources.*.environments")
    }
    let shown = Set(value.paths().map(told))
    #expect(Set(file.known.map(told)).subtracting(shown) == [], "not shown")
    #expect(Source.allCases.allSatisfy { shown.contains("apps[].sources.\($0.rawValue)") })
    guard case .list(let targets)? = values["targets"] else {
      Issue.record("it shows no targets")
      return
    }
    let types = targets.compactMap { target -> String? in
      guard case .section(let settings) = target, case .text(let type)? = settings["type"] else { return nil }
      return type
    }
    #expect(Set(types) == Set(TargetConfiguration.types))
  }

  @Test("docs/events.md lists every kind of event")
  func kinds() throws {
    let section = try DocumentationPage("docs/events.md").section("Kinds")
    let listed = Self.firstCells(section).flatMap { $0.matches(of: /`(\w+)`/).map { String($0.output.1) } }
    #expect(listed.count == Set(listed).count)
    #expect(Set(listed) == Set(EventKind.allCases.map(\.rawValue)))
  }

  @Test("docs/data-quality.md lists every check")
  func checks() throws {
    let listed = Self.firstCells(try DocumentationPage("docs/data-quality.md").text).map { $0.replacing("`", with: "") }
    let told = SQLFiles.text("report/data_quality.sql").matches(of: /(?m)^ +when '(\w+)'$/).map { String($0.output.1) }
    #expect(Set(listed) == Set(told))
  }

  @Test("sql/report/README.md has a section for every report, with its columns, and the README names each")
  func reports() async throws {
    let database = try await TestDatabase.clone()
    let connection = try await database.connect()
    let views = try await connection.query(
      """
      select table_name::text as name, string_agg('`' || column_name || '`', ', ' order by ordinal_position) as columns
      from information_schema.columns where table_schema = 'report' group by table_name
      order by table_name collate "C"
      """
    ).map { (name: try $0.text("name"), columns: try $0.text("columns")) }
    await connection.close()
    let page = try DocumentationPage("sql/report/README.md")
    let sections = page.text.matches(of: /(?m)^## ([a-z_]+)$/).map { String($0.output.1) }
    #expect(Set(sections) == Set(views.map(\.name)))
    for (name, columns) in views {
      let section = try page.section(name).split { $0.isWhitespace }.joined(separator: " ")
      #expect(section.contains("**Columns.** \(columns)."), "\(name) has not the line: **Columns.** \(columns).")
    }
    let named = Self.firstCells(try DocumentationPage("README.md").section("Reports"))
      .flatMap { $0.matches(of: /`(\w+)`/).map { String($0.output.1) } }
    #expect(named.sorted() == views.map(\.name))
  }

  @Test("what a page links to is there")
  func links() throws {
    var found = 0
    for page in DocumentationPage.all {
      let folder = DocumentationPage.root.appending(path: page.path).deletingLastPathComponent()
      for link in page.text.matches(of: /\]\(([^)\s:]+)\)/) {
        found += 1
        let parts = link.output.1.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        let file =
          parts[0].isEmpty ? DocumentationPage.root.appending(path: page.path) : folder.appending(path: parts[0])
        #expect(FileManager.default.fileExists(atPath: file.standardizedFileURL.path), "\(page.path): \(link.output.1)")
        guard parts.count == 2 else { continue }
        let text = try String(contentsOf: file.standardizedFileURL, encoding: .utf8)
        #expect(Self.anchors(of: text).contains(parts[1]), "\(page.path): \(link.output.1)")
      }
    }
    #expect(found > 50)
  }

  // MARK: -

  /// What the program has against a command; nil also where it is cut short, for what all its uses have in common.
  private static func complaint(of words: [String]) -> String? {
    do {
      _ = try Call(words, commands: Program.commands)
      return nil
    } catch {
      return error.description.contains(/is missing|needs another word|needs a value/) ? nil : error.description
    }
  }

  /// The first cell of each row of the tables of a text, their heads left out.
  private static func firstCells(_ text: String) -> [String] {
    text.components(separatedBy: "\n").filter { $0.hasPrefix("| `") }
      .map { $0.split(separator: "|")[0].trimmingCharacters(in: .whitespaces) }
  }

  /// What headings can be linked to by: small letters, without punctuation, dashes for spaces.
  private static func anchors(of text: String) -> Set<String> {
    Set(
      text.matches(of: /(?m)^#+ (.+)$/).map { heading in
        String(
          heading.output.1.lowercased().filter { $0.isLetter || $0.isNumber || " -_".contains($0) }
            .map { $0 == " " ? "-" : $0 })
      })
  }
}
