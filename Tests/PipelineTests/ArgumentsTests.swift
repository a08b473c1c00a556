import Testing
import Vocabulary

@testable import tenure

@Suite("Arguments")
struct ArgumentsTests {
  private let syntax = CommandSyntax(
    "paint", summary: "paints", operands: [OperandSyntax("FILE", .many, help: "what")],
    options: [
      OptionSyntax("colour", value: "WORD", help: "which"),
      OptionSyntax("coat", value: "N", isRepeatable: true, help: "how"),
      OptionSyntax("dry", help: "wait"),
    ])

  private func parse(_ words: String...) throws -> Arguments { try Arguments(words, syntax: syntax) }

  @Test("options take their value from the same word or the next")
  func values() throws {
    let arguments = try parse("a", "--colour=red=ish", "--coat", "1", "-", "--coat=2,3", "--dry")
    #expect(arguments.value("colour") == "red=ish")
    #expect(arguments.list("coat") == ["1", "2", "3"])
    #expect(arguments.flag("dry"))
    #expect(arguments.operands == ["a", "-"])
    #expect(try !parse("--colour=").flag("dry"))
    #expect(try parse("--colour=").value("colour") == "")
  }

  @Test("after two dashes nothing is an option")
  func terminator() throws {
    #expect(try parse("--dry", "--", "--colour", "-x").operands == ["--colour", "-x"])
  }

  @Test(
    "what cannot be understood says why",
    arguments: [
      (["--color", "red"], "unknown option \"--color\"; did you mean \"--colour\"?"),
      (["--jsn"], "unknown option \"--jsn\"; did you mean \"--json\"?"), (["-x"], "unknown option \"-x\""),
      (["--colour"], "--colour needs a value: --colour WORD"), (["--colour", "--dry"], "--colour needs a value"),
      (["--dry=yes"], "--dry takes no value"), (["--colour=a", "--colour=b"], "--colour is given twice"),
    ])
  func mistakes(words: [String], message: String) {
    let error = #expect(throws: UsageError.self) { try Arguments(words, syntax: syntax) }
    #expect(error?.description.contains(message) == true, "\(error?.description ?? "")")
  }

  @Test("operands are counted")
  func operands() throws {
    let two = CommandSyntax(
      "move", summary: "", operands: [OperandSyntax("OLD", help: ""), OperandSyntax("NEW", .optional, help: "")])
    #expect(throws: UsageError.self) { try Arguments([String](), syntax: two) }
    #expect(try Arguments(["a"], syntax: two).operands == ["a"])
    #expect(throws: UsageError.self) { try Arguments(["a", "b", "c"], syntax: two) }
    #expect(try Arguments(["--help"], syntax: two).flag("help"))
  }

  @Test("days, moments, lengths of time and words are read and checked")
  func typedValues() throws {
    #expect(try parse("--colour=2024-02-29").day("colour") == "2024-02-29")
    #expect(throws: UsageError.self) { try parse("--colour=2025-02-29").day("colour") }
    #expect(throws: UsageError.self) { try parse("--colour=2025-2-9").day("colour") }
    #expect(try parse("--colour=1970-01-02").instant("colour") == Instant(microseconds: 86_400_000_000))
    #expect(try parse("--colour=1970-01-01T01:00:01+01:00").instant("colour") == Instant(microseconds: 1_000_000))
    #expect(throws: UsageError.self) { try parse("--colour=soon").instant("colour") }
    #expect(try parse("--colour=15m").duration("colour") == 900)
    #expect(throws: UsageError.self) { try parse("--colour=15").duration("colour") }
    #expect(try parse("--colour=red").choice("colour", among: ["red", "blue"]) == "red")
    #expect(throws: UsageError.self) { try parse("--colour=rd").choice("colour", among: ["red", "blue"]) }
    #expect(try parse().day("colour") == nil)
  }

  @Test("amounts with a unit are read exactly, and nothing else")
  func quantities() {
    #expect(Quantity.seconds("400d") == 34_560_000)
    #expect(Quantity.seconds("2w") == 1_209_600)
    #expect(Quantity.seconds("0s") == 0)
    #expect(Quantity.seconds("") == nil)
    #expect(Quantity.seconds("h") == nil)
    #expect(Quantity.seconds("-1h") == nil)
    #expect(Quantity.seconds("1 h") == nil)
    #expect(Quantity.seconds("9223372036854775807d") == nil)
    #expect(Quantity.bytes("1MiB") == 1_048_576)
    #expect(Quantity.bytes("1MB") == 1_000_000)
    #expect(Quantity.bytes("17") == 17)
    #expect(Quantity.bytes("1Mi") == nil)
  }

  @Test("the nearest known word is found, and none when none is near")
  func suggestions() {
    #expect(Suggestion.nearest(to: "ingset", among: ["ingest", "migrate"]) == "ingest")
    #expect(Suggestion.nearest(to: "Migrate", among: ["ingest", "migrate"]) == "migrate")
    #expect(Suggestion.nearest(to: "mig", among: ["ingest", "migrate"]) == "migrate")
    #expect(Suggestion.nearest(to: "zzzzzz", among: ["ingest", "migrate"]) == nil)
    #expect(Suggestion.distance("abcd", "acbd") == 1)
    #expect(Suggestion.distance("", "abc") == 3)
    #expect(Suggestion.distance("kitten", "sitting") == 3)
  }
}
