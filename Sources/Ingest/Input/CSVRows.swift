/// The rows of a CSV text (RFC 4180); empty lines are passed over.
struct CSVRows: IteratorProtocol {
  struct Row {
    var line: Int
    var fields: [String]
    /// Whether every quotation mark is closed.
    var isSound: Bool
  }

  private let scalars: [Unicode.Scalar]
  private var at = 0
  private var line = 1

  /// Nil when the bytes are not UTF-8. A byte order mark in front of them is passed over.
  init?(_ bytes: ArraySlice<UInt8>) {
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
      at += 1
      if scalar == "\"" {
        guard at < scalars.count, scalars[at] == "\"" else {
          // Only a comma or the end of the line may follow.
          if at < scalars.count, ![",", "\n", "\r"].contains(scalars[at]) { isSound = false }
          while at < scalars.count, ![",", "\n", "\r"].contains(scalars[at]) { at += 1 }
          return String(field)
        }
        at += 1
      }
      if scalar == "\n" { line += 1 }
      field.append(scalar)
    }
    isSound = false
    return String(field)
  }
}
