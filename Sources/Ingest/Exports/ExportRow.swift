import Foundation

/// A row of a vendor's export, its fields by the names of their columns. Fields that are empty or say null are not there.
struct ExportRow: NamedFields {
  private let fields: [String: String]

  init(columns: [String], fields: [String]) {
    self.fields = Dictionary(
      zip(columns, fields).filter { !["", "null", "NULL", "\\N"].contains($0.1) },
      uniquingKeysWith: { first, _ in first })
  }

  func string(_ name: StaticString) -> String? { fields["\(name)"] }

  /// `true` or `false`; older exports have `t` or `f`.
  func flag(_ name: StaticString) throws(Rejection) -> Bool? {
    switch string(name)?.lowercased() {
    case nil: return nil
    case "true"?, "t"?, "1"?: return true
    case "false"?, "f"?, "0"?: return false
    default: throw Self.malformed(name)
    }
  }

  func decimal(_ name: StaticString) throws(Rejection) -> Decimal? {
    guard let text = string(name) else { return nil }
    guard text.utf8.allSatisfy({ "+-0123456789.eE".utf8.contains($0) }), let decimal = Decimal(string: text) else {
      throw Self.malformed(name)
    }
    return decimal
  }
}
