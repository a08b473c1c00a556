/// A CSV text whose first line names its columns, in any order.
struct CSVTable {
  struct Row {
    /// The line it stands in, as problems name it.
    var place: String
    /// Its fields by column; empty ones are left out.
    var fields: [String: String]
  }

  private var rows: CSVRows
  private let header: [String]

  /// Reads the names of the columns; nil, with the problems told, when they are not of those that there are.
  init?(_ bytes: ArraySlice<UInt8>, columns: [String], required: [String], _ problems: inout [ImportProblem]) {
    guard var rows = CSVRows(bytes) else {
      problems.append(ImportProblem("file", "it is not UTF-8"))
      return nil
    }
    guard let header = rows.next()?.fields else {
      problems.append(
        ImportProblem("line 1", "the names of the columns are missing: \(columns.joined(separator: ","))"))
      return nil
    }
    var found: [ImportProblem] = []
    for name in header where !columns.contains(name) {
      found.append(
        ImportProblem("line 1", "there is no column \"\(name)\"; they are \(columns.joined(separator: ","))"))
    }
    for name in required where !header.contains(name) {
      found.append(ImportProblem("line 1", "the column \(name) is missing"))
    }
    if Set(header).count < header.count { found.append(ImportProblem("line 1", "a column stands there twice")) }
    problems += found
    guard found.isEmpty else { return nil }
    self.rows = rows
    self.header = header
  }

  /// The next row; those that do not have a field for each column are told and passed over.
  mutating func next(_ problems: inout [ImportProblem]) -> Row? {
    while let row = rows.next() {
      let place = "line \(row.line)"
      guard row.isSound, row.fields.count == header.count else {
        let found = row.isSound ? "\(row.fields.count)" : "an open quotation mark"
        problems.append(ImportProblem(place, "\(header.count) fields are needed, and there is \(found)"))
        continue
      }
      let fields = Dictionary(uniqueKeysWithValues: zip(header, row.fields))
      return Row(place: place, fields: fields.filter { !$0.value.isEmpty })
    }
    return nil
  }
}
