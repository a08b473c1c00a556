public import Signatures
public import Vocabulary

/// An invented year of an app's subscriptions: the notifications that the App Store would have posted, in the order they
/// arrive, and books that say what the figures must be.
///
/// The same number of subscribers and the same seed give the same year. Nothing here knows of a database.
public struct Demonstration: Sendable {
  /// The app's key, its bundle id and its number at the App Store.
  public static let app = Shop.app
  /// The bundle id that the notifications name.
  public static let bundleID = Shop.bundleID
  /// Apple's number of the app.
  public static let appAppleID = Shop.appAppleID
  /// The catalogue as CSV.
  public static var catalogue: String { Shop.catalogue }
  /// The win-back offers as JSON.
  public static var winBackOffers: String { Shop.winBackOffers }
  /// The first moment of the year.
  public static var start: Instant { year.start }
  /// The moments at which figures are made: in the middle of the year, and at its end.
  public static var asOf: [Instant] { [middle, year.end] }
  /// From when and until when the demo's certificates must be valid, in seconds since 1970.
  public static var validity: ClosedRange<Int64> {
    year.start.microseconds / 1_000_000 - 86_400...year.end.microseconds / 1_000_000 + 10 * 365 * 86_400
  }

  static let year = Year(start: moment("2025-01-01T00:00:00Z"), end: moment("2026-01-01T00:00:00Z"))
  private static let middle = moment("2025-07-01T00:00:00Z")

  private static func moment(_ text: String) -> Instant { Instant(text) ?? Instant(microseconds: 0) }

  /// How many customers there are.
  public let subscribers: Int
  /// What the books say.
  public let books: Books
  /// Whether one charge is told with another price than the books have: false where no such charge was asked for, or there
  /// is none.
  public let isAltered: Bool
  let notices: [Notice]
  /// The order of arrival, one list per moment of ``asOf``: places in `notices`, some of them twice.
  let arrivals: [[Int]]
  private let forged: Int

  /// Makes up a year.
  ///
  /// - Parameters:
  ///   - subscribers: how many customers, at least 1.
  ///   - seed: which year.
  ///   - isAltered: whether one charge is told with another price than the books have, so that they must disagree.
  public init(subscribers: Int, seed: UInt64, isAltered: Bool = false) {
    var chance = Dice(seed: seed, life: 0)
    var records: [SubscriptionRecord] = []
    var notices: [Notice] = []
    for number in 1...max(subscribers, 1) {
      var customer = Customer(number, seed: seed)
      customer.tell(in: Self.year)
      records += customer.records
      notices += customer.notices
    }
    notices += Self.curiosities(&chance, of: notices)
    self.isAltered = isAltered && Self.alter(&notices)

    // What was signed in the first half arrives in it, but for a few that come half a year late; within a half in no
    // order at all, and some of it twice.
    var arrivals: [[Int]] = [[], []]
    var repeated = 0
    for index in notices.indices {
      let isEarly = notices[index].signedAt < Self.middle && !chance.falls(40)
      arrivals[isEarly ? 0 : 1].append(index)
      if chance.falls(30) {
        repeated += 1
        arrivals[isEarly && chance.falls(500) ? 0 : 1].append(index)
      }
    }
    for half in arrivals.indices { arrivals[half].shuffle(using: &chance) }
    forged = min(3, arrivals[0].count)
    self.subscribers = subscribers
    self.notices = notices
    self.arrivals = arrivals
    books = Books(
      records: records, year: Self.year,
      mail: Books.Mail(
        received: notices.count + repeated + forged, stored: notices.count, duplicates: repeated, rejected: forged,
        unrecognised: notices.count { $0.type == "GIFT_RECEIVED" },
        announced: Set(
          notices.filter { $0.environment == "Production" && ["REFUND", "REFUND_REVERSED"].contains($0.type) }
            .map { "\($0.type) \($0.transaction?.id ?? "")" }
        ).count))
  }

  /// How many notifications arrive before a moment of ``asOf`` and after the one before it.
  public func count(of half: Int) -> Int { arrivals[half].count + (half == 0 ? forged : 0) }

  /// Signs a part of what arrives: one line for each notification, as the App Store posts it.
  ///
  /// - Parameters:
  ///   - half: which moment of ``asOf`` they arrive before.
  ///   - range: which of them, by their order.
  ///   - authority: who signs.
  ///   - stranger: who signs what is forged: the first few of all.
  public func lines(
    of half: Int, _ range: Range<Int>, signedBy authority: CertificateAuthority, forgedBy stranger: CertificateAuthority
  ) -> String {
    let first = half == 0 ? forged : 0
    return range.map { place in
      place < first
        ? notices[arrivals[half][place]].signed(by: stranger)
        : notices[arrivals[half][place - first]].signed(by: authority)
    }.map { $0 + "\n" }.joined()
  }

  /// What the books have nothing to say of: a test, a kind of a later day, purchases in the sandbox.
  private static func curiosities(_ chance: inout Dice, of notices: [Notice]) -> [Notice] {
    guard let known = notices.first(where: { $0.transaction != nil }) else { return [] }
    return ["TEST", "GIFT_RECEIVED"].map { type in
      Notice(
        type: type, subtype: nil, uuid: chance.uuid(), signedAt: known.signedAt, environment: "Production",
        transaction: type == "TEST" ? nil : known.transaction, renewal: type == "TEST" ? nil : known.renewal)
    }
  }

  /// Tells one charge with a price that is a unit of its currency too high, wherever it is told.
  private static func alter(_ notices: inout [Notice]) -> Bool {
    guard
      let charge = notices.first(where: {
        $0.type == "DID_RENEW" && $0.environment == "Production" && $0.transaction?.price ?? 0 > 0
      })?.transaction
    else { return false }
    for index in notices.indices where notices[index].transaction?.id == charge.id {
      notices[index].transaction?.price = (charge.price ?? 0) + 1000
    }
    return true
  }
}
