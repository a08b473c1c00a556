import Vocabulary

/// Tables with the columns app, product_id, group_id, level, period, price, currency, country, in any order; a row per
/// product and country, empty fields for what is not known.
extension Catalogue {
  private static let columns = ["app", "product_id", "group_id", "level", "period", "price", "currency", "country"]

  mutating func readTable(_ bytes: ArraySlice<UInt8>, app: String, _ problems: inout [ImportProblem]) {
    guard var table = CSVTable(bytes, columns: Self.columns, required: ["product_id"], &problems) else { return }
    while let row = table.next(&problems) {
      if let rowApp = row.fields["app"], rowApp != app { continue }
      read(row.fields, row.place, &problems)
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
