import Vocabulary

/// Tables with the columns app, product_id, group_id, level, period, price, currency, country, in any order; a row per
/// product and country, empty fields for what is not known.
extension Catalogue {
  private static let columns = ["app", "product_id", "group_id", "level", "period", "price", "currency", "country"]

  mutating func readTable(_ bytes: ArraySlice<UInt8>, app: String, _ problems: inout [ImportProblem]) {
    guard let text = String(validating: bytes, as: UTF8.self) else {
      problems.append(ImportProblem("file", "it is not UTF-8"))
      return
    }
    var rows = CSVRows(text)
    guard let header = rows.next() else {
      problems.append(
        ImportProblem("line 1", "the names of the columns are missing: \(Self.columns.joined(separator: ","))"))
      return
    }
    for name in header.fields where !Self.columns.contains(name) {
      problems.append(
        ImportProblem("line 1", "there is no column \"\(name)\"; they are \(Self.columns.joined(separator: ","))"))
    }
    for name in ["product_id"] where !header.fields.contains(name) {
      problems.append(ImportProblem("line 1", "the column \(name) is missing"))
    }
    if Set(header.fields).count < header.fields.count {
      problems.append(ImportProblem("line 1", "a column stands there twice"))
    }
    guard problems.isEmpty else { return }
    while let row = rows.next() {
      let place = "line \(row.line)"
      guard row.isSound, row.fields.count == header.fields.count else {
        let found = row.isSound ? "\(row.fields.count)" : "an open quotation mark"
        problems.append(ImportProblem(place, "\(header.fields.count) fields are needed, and there is \(found)"))
        continue
      }
      let fields = Dictionary(uniqueKeysWithValues: zip(header.fields, row.fields))
      if let rowApp = fields["app"], !rowApp.isEmpty, rowApp != app { continue }
      read(fields.filter { !$0.value.isEmpty }, place, &problems)
    }
  }

  private mutating func read(_ fields: [String: String], _ place: String, _ problems: inout [ImportProblem]) {
    guard let id = fields["product_id"] else {
      problems.append(ImportProblem(place, "product_id is missing"))
      return
    }
    var product = Product(productID: id)
    product.groupID = fields["group_id"]
    if let text = fields["level"] {
      product.level = Int32(text)
      if product.level.map({ $0 < 1 }) ?? true {
        problems.append(ImportProblem(place, "level: a whole number from 1 is needed"))
      }
    }
    product.period = fields["period"]
    if let period = product.period, !ISODuration.isValid(period) {
      problems.append(ImportProblem(place, "period: a duration is needed, such as P1M"))
    }
    if let known = products.first(where: { $0.productID == id }) {
      if known != product {
        problems.append(ImportProblem(place, "\(id): group_id, level or period differ from those of an earlier line"))
      }
    } else {
      products.append(product)
    }
    let country = fields["country"] ?? ""
    if !country.isEmpty, !Self.isCode(country) {
      problems.append(ImportProblem(place, "country: three capital letters are needed, such as USA"))
    }
    if let currency = fields["currency"], !Self.isCode(currency) {
      problems.append(ImportProblem(place, "currency: a code of ISO 4217 is needed, such as USD"))
    }
    guard let text = fields["price"] else { return }
    guard let amount = Self.amount(text) else {
      problems.append(ImportProblem(place, "price: a decimal number is needed, such as 9.99"))
      return
    }
    if prices.contains(where: { $0.productID == id && $0.country == country }) {
      problems.append(
        ImportProblem(place, "\(id): there is a price for \(country.isEmpty ? "no country" : country) already"))
    }
    prices.append(Price(productID: id, country: country, currency: fields["currency"], amount: amount))
  }
}

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

  init(_ text: String) { scalars = Array(text.unicodeScalars) }

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
