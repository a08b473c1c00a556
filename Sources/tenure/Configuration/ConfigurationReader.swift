import Foundation
import Vocabulary

/// Reads one section of a configuration file, and gathers what is wrong with it.
///
/// Every setting is asked for by name; ``finish()`` then reports those that nobody asked for. A setting with a problem
/// reads as nil: the problem is remembered, and reading goes on, so that all problems are told at once.
final class ConfigurationReader {
  /// What all sections of a file share.
  final class File {
    let environment: [String: String]
    /// The folder relative paths start from.
    let folder: String
    var problems: [ConfigurationError.Problem] = []
    /// Every setting that was asked for in the sections that there are, by its path.
    var known: Set<String> = []

    init(folder: String, environment: [String: String]) {
      self.folder = folder
      self.environment = environment
    }
  }

  let file: File
  private let path: String
  private let values: [String: ConfigurationValue]
  private var known: Set<String> = []
  private var ignoresUnknown = false

  init(_ values: [String: ConfigurationValue], path: String, file: File) {
    self.values = values
    self.path = path
    self.file = file
  }

  // MARK: - Problems

  /// Remembers a problem with a setting of this section.
  func problem(_ name: String, _ message: String) {
    file.problems.append(.init(path: join(name), message: message))
  }

  /// Whether a problem with a setting of this section was found already.
  func hasProblem(_ name: String) -> Bool { file.problems.contains { $0.path == join(name) } }

  /// Reports settings that are not known.
  func finish() {
    file.known.formUnion(known.map(join))
    for name in values.keys.sorted() where !known.contains(name) && !ignoresUnknown {
      problem(name, "unknown setting\(Suggestion.hint(for: name, among: known.sorted()))")
    }
  }

  /// Lets settings that nobody asks for pass: what this section is of is a problem of its own.
  func ignoreUnknown() { ignoresUnknown = true }

  private func join(_ name: String) -> String { path.isEmpty ? name : "\(path).\(name)" }

  private func wrongKind(_ name: String, _ value: ConfigurationValue, expected: String) {
    problem(name, "must be \(expected), and is \(value.kind)")
  }

  /// A setting's value; nil when it is missing or null.
  private func value(_ name: String) -> ConfigurationValue? {
    known.insert(name)
    guard let value = values[name] else { return nil }
    if case .null = value { return nil }
    return value
  }

  // MARK: - Values

  /// The names of all settings of this section, for one whose names are not ours.
  var names: [String] { values.keys.sorted() }

  /// A text, with `${NAME}` replaced by what the environment holds.
  func text(_ name: String) -> String? {
    guard let value = value(name) else { return nil }
    guard case .text(let raw) = value else {
      wrongKind(name, value, expected: "text")
      return nil
    }
    guard let text = substituted(raw, name) else { return nil }
    guard !text.isEmpty else {
      problem(name, "must not be empty")
      return nil
    }
    return text
  }

  /// A text that arrives in a header of HTTP: what stands around it there is lost on the way.
  func headerText(_ name: String) -> String? {
    guard let text = text(name) else { return nil }
    let isControl = text.unicodeScalars.contains { $0.value < 0x20 || $0.value == 0x7F }
    if isControl || text.first?.isWhitespace == true || text.last?.isWhitespace == true {
      problem(name, "must not begin or end with a space, nor hold a line break: no header of HTTP does")
    }
    return text
  }

  /// A text that must be there; empty when it is not, which is then a problem.
  func requiredText(_ name: String) -> String {
    if value(name) == nil { problem(name, "is missing") }
    return text(name) ?? ""
  }

  /// One of a few words.
  func choice(_ name: String, among words: [String]) -> String? {
    guard let text = text(name) else { return nil }
    guard words.contains(text) else {
      problem(name, "must be one of \(words.joined(separator: ", "))\(Suggestion.hint(for: text, among: words))")
      return nil
    }
    return text
  }

  /// A length of time in seconds.
  func duration(_ name: String) -> Int64? {
    guard let text = text(name) else { return nil }
    guard let seconds = Quantity.seconds(text) else {
      problem(name, "must be a length of time such as \"30s\", \"15m\", \"24h\" or \"400d\"")
      return nil
    }
    return seconds
  }

  /// A size in bytes.
  func size(_ name: String) -> Int64? {
    if case .number? = values[name] { return integer(name) }
    guard let text = text(name) else { return nil }
    guard let bytes = Quantity.bytes(text), bytes > 0 else {
      problem(name, "must be a size such as \"1MiB\" or \"512KiB\"")
      return nil
    }
    return bytes
  }

  /// A whole number; also as text, so that it can come from the environment.
  func integer(_ name: String) -> Int64? {
    guard let value = value(name) else { return nil }
    switch value {
    case .number(let number):
      if let integer = Int64(number.description) { return integer }
    case .text:
      guard let text = text(name) else { return nil }
      if let integer = Int64(text) { return integer }
    default:
      break
    }
    problem(name, "must be a whole number")
    return nil
  }

  /// A whole number from one up.
  func count(_ name: String, atMost most: Int64) -> Int64? {
    guard let number = integer(name) else { return nil }
    guard (1...most).contains(number) else {
      problem(name, "must be from 1 to \(most)")
      return nil
    }
    return number
  }

  /// A decimal number.
  func decimal(_ name: String) -> Decimal? {
    guard let value = value(name) else { return nil }
    guard case .number(let number) = value else {
      wrongKind(name, value, expected: "a number")
      return nil
    }
    return number
  }

  /// A number, or one of a few words.
  func decimalOrText(_ name: String) -> (number: Decimal?, text: String?) {
    if case .number? = value(name) { return (decimal(name), nil) }
    return (nil, text(name))
  }

  /// A number or a text, as text.
  func integerOrText(_ name: String) -> String? {
    if case .number? = value(name) { return integer(name).map { String($0) } }
    return text(name)
  }

  func bool(_ name: String) -> Bool? {
    guard let value = value(name) else { return nil }
    guard case .bool(let flag) = value else {
      wrongKind(name, value, expected: "true or false")
      return nil
    }
    return flag
  }

  /// A list of at least one text.
  func texts(_ name: String) -> [String]? {
    guard let value = value(name) else { return nil }
    guard case .list(let items) = value else {
      wrongKind(name, value, expected: "a list")
      return nil
    }
    if items.isEmpty { problem(name, "must list at least one; leave it out, or write null, for the default") }
    return items.enumerated().compactMap { index, item in
      let place = "\(name)[\(index)]"
      guard case .text(let raw) = item, !raw.isEmpty else {
        wrongKind(place, item, expected: "text that is not empty")
        return nil
      }
      return substituted(raw, place)
    }
  }

  /// A list of texts, each of them known.
  func choices(_ name: String, among words: [String]) -> [String]? {
    texts(name)?.enumerated().compactMap { index, text in
      if words.contains(text) { return text }
      let known = words.count <= 8 ? ": \(words.joined(separator: ", "))" : ""
      problem("\(name)[\(index)]", "is not known\(known)\(Suggestion.hint(for: text, among: words))")
      return nil
    }
  }

  /// A moment: RFC 3339, or a day, which stands for its first moment in UTC.
  func instant(_ name: String) -> Instant? {
    guard let text = text(name) else { return nil }
    guard let instant = Instant(text) ?? Instant("\(text)T00:00:00Z") else {
      problem(name, "must be a moment such as \"2026-01-31T12:00:00Z\" or \"2026-01-31\"")
      return nil
    }
    return instant
  }

  /// The name of a time zone.
  func timezone(_ name: String) -> String? {
    guard let text = text(name) else { return nil }
    // App Store Connect's days are those of the Pacific coast.
    if text == "pacific" { return "America/Los_Angeles" }
    // Only names: of an offset or an abbreviation, such as GMT+2 or IST, the database has another opinion.
    guard text == "UTC" || text.contains("/") || TimeZone.knownTimeZoneIdentifiers.contains(text),
      TimeZone(identifier: text) != nil
    else {
      problem(name, "is not a time zone; write it as \"Europe/Berlin\", \"UTC\" or \"pacific\"")
      return nil
    }
    return text
  }

  /// A file that is there, as an absolute path; relative ones start from the folder of the configuration file.
  func existingFile(_ name: String) -> String? { text(name).flatMap { existing($0, name) } }

  /// Files that are there, as absolute paths.
  func existingFiles(_ name: String) -> [String]? {
    texts(name)?.enumerated().compactMap { existing($1, "\(name)[\($0)]") }
  }

  /// A web address. Never shown: it may hold a secret.
  func url(_ name: String, isRequired: Bool = false) -> String? {
    guard let text = isRequired ? requiredText(name) : text(name), !text.isEmpty else { return nil }
    guard let url = URL(string: text), let scheme = url.scheme?.lowercased(), ["http", "https"].contains(scheme),
      url.host()?.isEmpty == false
    else {
      problem(name, "must be an address that begins with https:// (it is not shown, since it may hold a secret)")
      return nil
    }
    return text
  }

  // MARK: - Sections

  /// A section of this one. The caller calls its ``finish()``.
  func section(_ name: String) -> ConfigurationReader? {
    guard let value = value(name) else { return nil }
    guard case .section(let values) = value else {
      wrongKind(name, value, expected: "a section { … }")
      return nil
    }
    return ConfigurationReader(values, path: join(name), file: file)
  }

  /// A list of sections.
  func sections(_ name: String) -> [ConfigurationReader] {
    guard let value = value(name) else { return [] }
    guard case .list(let items) = value else {
      wrongKind(name, value, expected: "a list of sections [{ … }]")
      return []
    }
    return items.enumerated().compactMap { index, item in
      guard case .section(let values) = item else {
        wrongKind("\(name)[\(index)]", item, expected: "a section { … }")
        return nil
      }
      return ConfigurationReader(values, path: join("\(name)[\(index)]"), file: file)
    }
  }

  // MARK: -

  /// Replaces each `${NAME}`; a problem when the environment lacks one.
  private func substituted(_ raw: String, _ name: String) -> String? {
    var result = ""
    var rest = raw[...]
    var isComplete = true
    while let start = rest.firstRange(of: "${") {
      result += rest[..<start.lowerBound]
      rest = rest[start.upperBound...]
      guard let end = rest.firstIndex(of: "}") else {
        problem(name, "has a \"${\" without its \"}\"")
        return nil
      }
      let variable = String(rest[..<end])
      rest = rest[rest.index(after: end)...]
      if let value = file.environment[variable], !value.isEmpty {
        result += value
      } else {
        problem(name, "the environment has no \(variable)")
        isComplete = false
      }
    }
    return isComplete ? result + rest : nil
  }

  private func existing(_ path: String, _ name: String) -> String? {
    let absolute = path.hasPrefix("/") ? path : "\(file.folder)/\(path)"
    guard FileManager.default.isReadableFile(atPath: absolute) else {
      problem(name, "there is no file \(absolute) that can be read")
      return nil
    }
    return absolute
  }
}
