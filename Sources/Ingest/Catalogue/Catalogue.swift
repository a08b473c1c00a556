public import Vocabulary

/// An app's products with their list prices, as a `.storekit` file or a CSV table describes them.
public struct Catalogue: Sendable, Equatable {
  /// A product.
  public struct Product: Sendable, Equatable {
    /// The product's id at its store.
    public var productID: String
    /// The subscription group's id.
    public var groupID: String?
    /// The group's name.
    public var groupName: String?
    /// The product's name.
    public var name: String?
    /// Rank within the group; 1 is the highest.
    public var level: Int32?
    /// What the price is for, as an ISO 8601 duration such as `P1M`.
    public var period: String?
    /// What kind of thing it is.
    public var type: TransactionType?

    /// A product of which nothing but its id is known.
    public init(productID: String) { self.productID = productID }
  }

  /// A list price.
  public struct Price: Sendable, Equatable {
    /// The product's id at its store.
    public var productID: String
    /// The storefront's country, three letters; empty where the file names none.
    public var country: String
    /// The currency's ISO 4217 code; nil where the file names none.
    public var currency: String?
    /// The price.
    public var amount: Micros
  }

  /// The products, in the order of the file.
  public var products: [Product] = []
  /// The prices, in the order of the file.
  public var prices: [Price] = []

  /// Reads a file: a `.storekit` file begins with a brace, anything else is CSV.
  ///
  /// - Parameter app: The key of the app; rows of a table about other apps are left out.
  /// - Throws: All that is wrong with the file.
  public init(reading bytes: [UInt8], app: String) throws(ImportProblems) {
    var problems: [ImportProblem] = []
    let text = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? bytes[3...] : bytes[...]
    if text.first(where: { ![0x20, 0x09, 0x0A, 0x0D].contains($0) }) == UInt8(ascii: "{") {
      readStoreKit(Array(text), &problems)
    } else {
      readTable(text, app: app, &problems)
    }
    if problems.isEmpty, products.isEmpty { problems.append(ImportProblem("file", "there is no product in it")) }
    if !problems.isEmpty { throw ImportProblems(problems: problems) }
  }

  /// An amount written as a decimal number, such as `9.99`.
  static func amount(_ text: String) -> Micros? {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count <= 2, !text.isEmpty, parts.allSatisfy({ !$0.isEmpty }) else { return nil }
    guard parts.allSatisfy({ $0.utf8.allSatisfy { (48...57).contains($0) } }) else { return nil }
    let fraction = parts.count == 2 ? String(parts[1]) : ""
    guard fraction.count <= 6, parts[0].count <= 12 else { return nil }
    let digits = "\(parts[0])\(fraction)\(String(repeating: "0", count: 6 - fraction.count))"
    return Int64(digits).map { Micros($0) }
  }

  /// Whether a text consists of three capital letters, as codes of countries and currencies do.
  static func isCode(_ text: String) -> Bool {
    text.utf8.count == 3 && text.utf8.allSatisfy { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) }
  }
}
