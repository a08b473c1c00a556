import Report
import Vocabulary

/// What is asked by the part of an address behind the question mark.
struct QueryParameters: Sendable {
  /// What is wrong with it.
  struct Problem: Error {
    let description: String
  }

  private let values: [String: String]

  /// Takes what is known by those names.
  ///
  /// - Throws: ``Problem`` when a name is another, or is given twice.
  init(_ parameters: [(name: String, value: String)], known: [String]) throws(Problem) {
    var values: [String: String] = [:]
    for (name, value) in parameters {
      guard known.contains(name) else {
        throw Problem(description: "there is no parameter of that name; there are \(known.joined(separator: ", "))")
      }
      guard values[name] == nil else { throw Problem(description: "\(name) is given twice") }
      // No text of the database holds one.
      guard !value.utf8.contains(0) else { throw Problem(description: "\(name) holds a NUL character") }
      values[name] = value
    }
    // A form sends what was left empty too.
    self.values = values.filter { !$0.value.isEmpty }
  }

  subscript(name: String) -> String? { values[name] }

  func day(_ name: String) throws(Problem) -> String? {
    guard let value = values[name] else { return nil }
    guard value.utf8.count == 10, Instant("\(value)T00:00:00Z") != nil else {
      throw Problem(description: "\(name) is a day, such as 2026-01-31")
    }
    return value
  }

  func instant(_ name: String) throws(Problem) -> Instant? {
    guard let value = values[name] else { return nil }
    guard let moment = Instant(value) else {
      throw Problem(description: "\(name) is a moment, such as 2026-01-31T12:00:00Z")
    }
    return moment
  }

  func choice<Value: RawRepresentable<String>>(_ name: String, _ known: [Value]) throws(Problem) -> Value? {
    guard let value = values[name] else { return nil }
    guard let found = known.first(where: { $0.rawValue == value }) else {
      throw Problem(description: "\(name) is one of \(known.map(\.rawValue).joined(separator: ", "))")
    }
    return found
  }

  func flag(_ name: String) throws(Problem) -> Bool {
    guard let value = values[name] else { return false }
    guard let flag = Bool(value) else { throw Problem(description: "\(name) is true or false") }
    return flag
  }

  func number(_ name: String) throws(Problem) -> Int? {
    guard let value = values[name] else { return nil }
    guard let number = Int(value), number > 0 else { throw Problem(description: "\(name) is a number, such as 20") }
    return number
  }

  /// The store's environment; Production where none is given.
  func environment() throws(Problem) -> StoreEnvironment {
    guard let value = values["environment"] else { return .production }
    guard StoreEnvironment.known.contains(StoreEnvironment(rawValue: value)) else {
      throw Problem(
        description: "environment is one of \(StoreEnvironment.known.map(\.rawValue).joined(separator: ", "))")
    }
    return StoreEnvironment(rawValue: value)
  }
}
