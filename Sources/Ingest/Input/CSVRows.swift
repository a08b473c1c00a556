/// The rows of a CSV text (RFC 4180); empty lines are passed over.
struct CSVRows: IteratorProtocol {
  /// How a field in quotation marks holds some itself.
  enum Marks {
    /// Each twice, as RFC 4180 has it. What follows the closing one before the comma is a fault.
    case doubled
    /// Each twice or behind a backslash, as exports of vendors have it; one that neither a comma nor the end of the line
    /// follows closes nothing.
    case loose
  }

  struct Row {
    var line: Int
    var fields: [String]
    /// Whether every quotation mark is closed.
    var isSound: Bool
  }

  private let scalars: [Unicode.Scalar]
  private let marks: Marks
  private var at = 0
  private var line = 1

  /// Nil when the bytes are not UTF-8. A byte order mark in front of them is passed over.
  init?(_ bytes: ArraySlice<UInt8>, marks: Marks = .doubled) {
    self.marks = marks
    let text = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? bytes.dropFirst(3) : bytes
    guard let text = String(validating: text, as: UTF8.self) else { return nil }
    scalars = Array(text.unicodeScalars)
  }

  mutating func next() -> Row? {
    while at < scalars.count, scalars[at] == "\n" || scalars[at] == "\r" {
      if scalars[at] == "\n" { line += 1 }
      at += 1
    }
    guard at < scalars.count else { return nil }
    var row = Row(line: line, fields: [], isSound: true)
    while true {
      let field = readField(&row.isSound)
      row.fields.append(field)
      guard at < scalars.count, scalars[at] == "," else { return row }
      at += 1
    }
  }

  private mutating func readField(_ isSound: inout Bool) -> String {
    var field = String.UnicodeScalarView()
    guard at < scalars.count, scalars[at] == "\"" else {
      while at < scalars.count, scalars[at] != ",", scalars[at] != "\n", scalars[at] != "\r" {
        field.append(scalars[at])
        at += 1
      }
      return String(field)
    }
    at += 1
    while at < scalars.count {
      let scalar = scalars[at]
      let following = at + 1 < scalars.count ? scalars[at + 1] : nil
      at += 1
      switch scalar {
      case "\"" where following == "\"", "\\" where following == "\"" && marks == .loose:
        field.append("\"")
        at += 1
      case "\"" where following.map(Self.ends) ?? true:
        return String(field)
      case "\"" where marks == .doubled:
        isSound = false
        while at < scalars.count, !Self.ends(scalars[at]) { at += 1 }
        return String(field)
      default:
        if scalar == "\n" { line += 1 }
        field.append(scalar)
      }
    }
    isSound = false
    return String(field)
  }

  /// Whether a field is over before it.
  private static func ends(_ scalar: Unicode.Scalar) -> Bool { [",", "\n", "\r"].contains(scalar) }
}
