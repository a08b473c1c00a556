import Vocabulary

/// What the books hold of one subscription: written down while its life is told, never read from anywhere else.
struct SubscriptionRecord: Sendable {
  /// A stretch of time; without an end it goes on.
  struct Span: Sendable {
    var product: Product
    var from: Instant
    var to: Instant?

    func covers(_ moment: Instant) -> Bool {
      // The last moment before `moment` is the one asked about.
      from < moment && to.map { $0 >= moment } ?? true
    }
  }

  /// A change, by the name that the report of movements has for it.
  struct Move: Sendable {
    let at: Instant
    let name: String
    /// 1 when access began, -1 when it ended, 0 for what is neither.
    let active: Int
  }

  /// A charge.
  struct Charge: Sendable {
    let at: Instant
    let kind: String
    let currency: String?
    /// In millionths of the currency's unit; nil where the store does not tell it.
    let amount: Int64?
  }

  /// Money given back (negative), or taken again.
  struct Return: Sendable {
    let at: Instant
    let kind: String
    let currency: String
    let amount: Int64
  }

  /// What a period brings in a month, as long as it runs.
  struct Income: Sendable {
    var from: Instant
    var to: Instant?
    let currency: String?
    /// In millionths of the currency's unit; nil where the price is not known.
    let amount: Int64?
  }

  /// A change of what comes in in a month, by the name that the report has for it.
  struct IncomeMove: Sendable {
    let at: Instant
    let name: String
    let currency: String
    let amount: Int64
  }

  /// What becomes of a trial.
  enum TrialEnd: String, Sendable, CaseIterable {
    case converted, expired, cancelled, running
    case inRetry = "in_retry"
  }

  /// Paid time that counts for win-back offers.
  struct Service: Sendable {
    let transaction: String
    let from: Instant
    var to: Instant
    /// Whether it goes on where the one before ended.
    let isJoined: Bool
  }

  /// Where it stands in the end.
  enum Standing: String, Sendable {
    case trial
    case active
    case grace
    case billingRetry = "billing_retry"
    case expired
    case revoked
  }

  /// Who the customer is: by the app's own id, else by the store's id of the app's copy.
  let person: String
  let storefront: Storefront
  var moves: [Move] = []
  var access: [Span] = []
  var income: [Income] = []
  var incomeMoves: [IncomeMove] = []
  var trials: [Span] = []
  /// What became of each of them.
  var trialEnds: [TrialEnd] = []
  var grace: [Span] = []
  var retry: [Span] = []
  var setToCancel: [Span] = []
  var family: [Span] = []
  var charges: [Charge] = []
  var returns: [Return] = []
  var service: [Service] = []
  /// The transactions whose whole price was given back in the end.
  var fullyRefunded: Set<String> = []
  /// The end of the last use of each win-back offer.
  var usedOffers: [String: Instant] = [:]
  var standing = Standing.active
  /// When access was lost last.
  var lostAt: Instant?
  var isFamilyShared = false
  /// Whether it is one: a thing bought once is not.
  var isSubscription = true
  var isOn = true
  var listedOffers: [String]?
  var lastProduct: Product

  init(person: String, storefront: Storefront, product: Product) {
    self.person = person
    self.storefront = storefront
    lastProduct = product
  }

  /// Whether anything was ever paid for.
  var hasPaid: Bool { !access.isEmpty }

  /// Months of paid service: the whole calendar months of each unbroken stretch, the rests added at 30 days a month.
  var paidMonths: Int {
    var stretches: [(from: Instant, to: Instant)] = []
    var isBroken = true
    for piece in service {
      if fullyRefunded.contains(piece.transaction) {
        isBroken = true
        continue
      }
      if piece.isJoined, !isBroken, let last = stretches.popLast() {
        stretches.append((last.from, piece.to))
      } else {
        stretches.append((piece.from, piece.to))
      }
      isBroken = false
    }
    var months = 0
    var rest: Int64 = 0
    for stretch in stretches {
      let whole = stretch.from.wholeMonths(to: stretch.to)
      months += whole
      rest += stretch.to - stretch.from.adding(months: whole)
    }
    return months + Int(rest / (30 * Instant.day))
  }
}
