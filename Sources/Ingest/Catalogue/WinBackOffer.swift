import Signatures
import Vocabulary

/// The rules of a win-back offer. Bounds are inclusive; nil is no bound.
public struct WinBackOffer: Sendable, Equatable {
  /// The offer's identifier at the store.
  public var offerID = ""
  /// The key of the app that makes it.
  public var app = ""
  /// The products it is for; nil for all.
  public var productIDs: [String]?
  /// Months of paid service that are needed.
  public var minimumPaidMonths: Int64?
  /// Whole months since access ended, at least.
  public var minimumMonthsSince: Int64?
  /// Whole months since access ended, at most.
  public var maximumMonthsSince: Int64?
  /// Months that must have passed since the end of the last use of the same offer.
  public var waitMonths: Int64?
  /// The first day of the offer, as `2026-01-31`.
  public var startsOn: String?
  /// The last day of the offer.
  public var endsOn: String?
  /// Storefronts, three letters each; nil for all.
  public var territories: [String]?
  /// Whether it comes before offers of normal priority.
  public var isHighPriority = false

  private static let keys: Set<String> = [
    "offer_id", "app", "product_ids", "min_paid_months", "min_months_since", "max_months_since", "wait_months",
    "starts_on", "ends_on", "territories", "priority",
  ]

  /// Reads an offer file: a JSON array of offers.
  ///
  /// - Throws: All that is wrong with the file.
  public static func read(_ bytes: [UInt8]) throws(ImportProblems) -> [WinBackOffer] {
    var problems: [ImportProblem] = []
    var offers: [WinBackOffer] = []
    do throws(JSONFault) {
      let root = try JSONDocument(bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? Array(bytes[3...]) : bytes).root
      if let elements = root.elements {
        for (index, element) in elements.enumerated() {
          offers.append(WinBackOffer(element, at: "[\(index)]", &problems))
        }
      } else {
        problems.append(ImportProblem("file", "an array of offers is needed"))
      }
    } catch {
      problems.append(ImportProblem("byte \(error.offset)", "it is not JSON that has one meaning"))
    }
    var seen: Set<[String]> = []
    for (index, offer) in offers.enumerated()
    where !offer.offerID.isEmpty && !seen.insert([offer.app, offer.offerID]).inserted {
      problems.append(ImportProblem("[\(index)].offer_id", "\(offer.offerID) stands there twice for \(offer.app)"))
    }
    if problems.isEmpty, offers.isEmpty { problems.append(ImportProblem("file", "there is no offer in it")) }
    if !problems.isEmpty { throw ImportProblems(problems: problems) }
    return offers
  }

  private init(_ value: JSONValue, at place: String, _ problems: inout [ImportProblem]) {
    guard value.kind == .object else {
      problems.append(ImportProblem(place, "an object is needed"))
      return
    }
    for member in value.members where !Self.keys.contains(member.name) {
      problems.append(
        ImportProblem("\(place).\(member.name)", "no such key; they are \(Self.keys.sorted().joined(separator: ", "))"))
    }
    var found: [ImportProblem] = []
    func problem(_ key: String, _ message: String) { found.append(ImportProblem("\(place).\(key)", message)) }
    func text(_ key: String) -> String? {
      guard let value = value.member(named: key) else { return nil }
      if let text = value.text, !text.isEmpty { return text }
      problem(key, "a text is needed")
      return nil
    }
    func required(_ key: String) -> String {
      if value.member(named: key) == nil { problem(key, "it is missing") }
      return text(key) ?? ""
    }
    func months(_ key: String) -> Int64? {
      guard let value = value.member(named: key) else { return nil }
      if let number = value.int64, (0...1200).contains(number) { return number }
      problem(key, "a whole number of months from 0 to 1200 is needed")
      return nil
    }
    func texts(_ key: String, _ what: String, _ isValid: (String) -> Bool) -> [String]? {
      guard let value = value.member(named: key) else { return nil }
      let texts = value.elements?.map { $0.text ?? "" }
      if let texts, !texts.isEmpty, texts.allSatisfy(isValid) { return texts }
      problem(key, "a list of \(what) is needed; null stands for all")
      return nil
    }
    func day(_ key: String) -> String? {
      guard let text = text(key) else { return nil }
      if text.utf8.count == 10, Instant("\(text)T00:00:00Z") != nil { return text }
      problem(key, "a day is needed, such as 2026-01-31")
      return nil
    }
    offerID = required("offer_id")
    app = required("app")
    productIDs = texts("product_ids", "product ids") { !$0.isEmpty }
    minimumPaidMonths = months("min_paid_months")
    minimumMonthsSince = months("min_months_since")
    maximumMonthsSince = months("max_months_since")
    waitMonths = months("wait_months")
    startsOn = day("starts_on")
    endsOn = day("ends_on")
    territories = texts("territories", "countries of three capital letters", Catalogue.isCode)
    switch text("priority") {
    case "high": isHighPriority = true
    case "normal", nil: break
    default: problem("priority", "\"high\" or \"normal\" is needed")
    }
    if let minimumMonthsSince, let maximumMonthsSince, minimumMonthsSince > maximumMonthsSince {
      problem("max_months_since", "it is less than min_months_since")
    }
    if let startsOn, let endsOn, startsOn > endsOn { problem("ends_on", "it lies before starts_on") }
    problems += found
  }
}
