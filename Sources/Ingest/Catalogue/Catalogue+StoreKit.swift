import Signatures
import Vocabulary

/// Xcode's StoreKit configuration files, versions 3 to 5.
///
/// Prices are decimal texts without a currency: they hold in the storefront of the file's settings, and the currency
/// stays unknown. Keys that are not needed are passed over; the private key for offers is never looked at.
extension Catalogue {
  private static let versions: ClosedRange<Int64> = 3...5

  mutating func readStoreKit(_ bytes: [UInt8], _ problems: inout [ImportProblem]) {
    let root: JSONValue
    do throws(JSONFault) {
      root = try JSONDocument(bytes).root
    } catch {
      problems.append(ImportProblem("byte \(error.offset)", "it is not JSON that has one meaning"))
      return
    }
    let version = root["version"]?["major"]?.int64
    guard let version, Self.versions.contains(version) else {
      let found = version.map { "\($0)" } ?? "none"
      problems.append(ImportProblem("version.major", "versions 3, 4 and 5 are read, and this is \(found)"))
      return
    }
    let storefront = root["settings"]?["_storefront"]?.text ?? ""
    if !storefront.isEmpty, !Self.isCode(storefront) {
      problems.append(ImportProblem("settings._storefront", "a country of three letters is needed, such as USA"))
    }
    for (index, group) in (root["subscriptionGroups"]?.elements ?? []).enumerated() {
      for (number, item) in (group["subscriptions"]?.elements ?? []).enumerated() {
        let place = "subscriptionGroups[\(index)].subscriptions[\(number)]"
        guard var product = product(item, place, storefront, &problems) else { continue }
        product.type = .autoRenewable
        product.groupID = item["subscriptionGroupID"]?.text ?? group["id"]?.text
        product.groupName = group["name"]?.text
        product.level = item["groupNumber"]?.int64.flatMap { Int32(exactly: $0) }
        if product.level.map({ $0 < 1 }) ?? (item["groupNumber"] != nil) {
          problems.append(ImportProblem("\(place).groupNumber", "a whole number from 1 is needed"))
        }
        product.period = item["recurringSubscriptionPeriod"]?.text
        if !(product.period.map(ISODuration.isValid) ?? false) {
          problems.append(
            ImportProblem("\(place).recurringSubscriptionPeriod", "a duration is needed, such as P1M"))
        }
        products.append(product)
      }
    }
    for list in ["products", "nonRenewingSubscriptions"] {
      for (number, item) in (root.member(named: list)?.elements ?? []).enumerated() {
        let place = "\(list)[\(number)]"
        guard var product = product(item, place, storefront, &problems) else { continue }
        switch item["type"]?.text {
        case "Consumable": product.type = .consumable
        case "NonConsumable": product.type = .nonConsumable
        case "NonRenewingSubscription": product.type = .nonRenewing
        case let other:
          if list == "products" {
            problems.append(
              ImportProblem("\(place).type", "Consumable or NonConsumable is needed, not \(other ?? "none")"))
          } else {
            product.type = .nonRenewing
          }
        }
        products.append(product)
      }
    }
  }

  /// What all kinds of products have: an id, a name and a price.
  private mutating func product(
    _ item: JSONValue, _ place: String, _ storefront: String, _ problems: inout [ImportProblem]
  ) -> Product? {
    guard let id = item["productID"]?.text, !id.isEmpty else {
      problems.append(ImportProblem("\(place).productID", "it is missing"))
      return nil
    }
    if products.contains(where: { $0.productID == id }) {
      problems.append(ImportProblem("\(place).productID", "\(id) stands in the file twice"))
    }
    var product = Product(productID: id)
    product.name = item["referenceName"]?.text.flatMap { $0.isEmpty ? nil : $0 }
    if let text = item["displayPrice"]?.text {
      if let amount = Self.amount(text) {
        prices.append(Price(productID: id, country: storefront, currency: nil, amount: amount))
      } else {
        problems.append(ImportProblem("\(place).displayPrice", "a decimal number is needed, such as 9.99"))
      }
    }
    return product
  }
}
