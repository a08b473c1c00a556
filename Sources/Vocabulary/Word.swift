/// A word of the canonical vocabulary that stores may extend: the known words are constants, an unknown one is kept as
/// it came.
public protocol Word: RawRepresentable, Hashable, Sendable, Codable, CustomStringConvertible where RawValue == String {
  /// Creates the word from its spelling.
  init(rawValue: String)
}

extension Word {
  /// The word's spelling.
  public var description: String { rawValue }
}

/// Where a subscription is bought and billed.
public struct Store: Word {
  /// The word's spelling.
  public let rawValue: String

  /// Creates the word from its spelling.
  public init(rawValue: String) { self.rawValue = rawValue }

  /// Apple's App Store for iOS and its relatives.
  public static let appStore = Store(rawValue: "app_store")
  /// Apple's Mac App Store.
  public static let macAppStore = Store(rawValue: "mac_app_store")
  /// Google Play.
  public static let playStore = Store(rawValue: "play_store")
  /// Stripe Billing.
  public static let stripe = Store(rawValue: "stripe")
  /// Amazon Appstore.
  public static let amazon = Store(rawValue: "amazon")
  /// Roku.
  public static let roku = Store(rawValue: "roku")
  /// Paddle.
  public static let paddle = Store(rawValue: "paddle")
  /// The seller's own web shop.
  public static let web = Store(rawValue: "web")
  /// Access granted by the seller without a store.
  public static let promotional = Store(rawValue: "promotional")
  /// Any other.
  public static let other = Store(rawValue: "other")

  /// Every store that has a name here.
  public static let known: [Store] = [
    .appStore, .macAppStore, .playStore, .stripe, .amazon, .roku, .paddle, .web, .promotional, .other,
  ]
}

/// The store's environment. Production and the others never mix in a figure.
public struct StoreEnvironment: Word {
  /// The word's spelling.
  public let rawValue: String

  /// Creates the word from its spelling.
  public init(rawValue: String) { self.rawValue = rawValue }

  /// Real purchases.
  public static let production = StoreEnvironment(rawValue: "Production")
  /// The store's test environment.
  public static let sandbox = StoreEnvironment(rawValue: "Sandbox")
  /// StoreKit testing inside Xcode; its data is not signed by Apple.
  public static let xcode = StoreEnvironment(rawValue: "Xcode")
  /// StoreKit testing in unit tests; its data is not signed by Apple.
  public static let localTesting = StoreEnvironment(rawValue: "LocalTesting")

  /// Every environment there is.
  public static let known: [StoreEnvironment] = [.production, .sandbox, .xcode, .localTesting]
}

/// What kind of thing a transaction bought.
public struct TransactionType: Word {
  /// The word's spelling.
  public let rawValue: String

  /// Creates the word from its spelling.
  public init(rawValue: String) { self.rawValue = rawValue }

  /// A subscription that renews itself.
  public static let autoRenewable = TransactionType(rawValue: "auto_renewable")
  /// Used up once, such as coins.
  public static let consumable = TransactionType(rawValue: "consumable")
  /// Bought once, for ever.
  public static let nonConsumable = TransactionType(rawValue: "non_consumable")
  /// Access for a time, without renewal.
  public static let nonRenewing = TransactionType(rawValue: "non_renewing")
}

/// Whether the customer bought or the store renewed.
public struct PurchaseReason: Word {
  /// The word's spelling.
  public let rawValue: String

  /// Creates the word from its spelling.
  public init(rawValue: String) { self.rawValue = rawValue }

  /// The customer bought.
  public static let purchase = PurchaseReason(rawValue: "purchase")
  /// The store renewed.
  public static let renewal = PurchaseReason(rawValue: "renewal")
}

/// Whether the customer bought it or has it from a family member.
public struct Ownership: Word {
  /// The word's spelling.
  public let rawValue: String

  /// Creates the word from its spelling.
  public init(rawValue: String) { self.rawValue = rawValue }

  /// Bought by the customer.
  public static let purchased = Ownership(rawValue: "purchased")
  /// Shared by a family member, without a charge of its own.
  public static let familyShared = Ownership(rawValue: "family_shared")
}

/// What kind of offer a transaction used.
public struct OfferType: Word {
  /// The word's spelling.
  public let rawValue: String

  /// Creates the word from its spelling.
  public init(rawValue: String) { self.rawValue = rawValue }

  /// For customers who are new to the subscription group.
  public static let introductory = OfferType(rawValue: "introductory")
  /// Made by the app to present or past subscribers.
  public static let promotional = OfferType(rawValue: "promotional")
  /// Redeemed with a code.
  public static let code = OfferType(rawValue: "code")
  /// Made by the store to past subscribers.
  public static let winBack = OfferType(rawValue: "win_back")
}

/// How an offer is paid.
public struct OfferDiscount: Word {
  /// The word's spelling.
  public let rawValue: String

  /// Creates the word from its spelling.
  public init(rawValue: String) { self.rawValue = rawValue }

  /// Nothing is charged.
  public static let freeTrial = OfferDiscount(rawValue: "free_trial")
  /// A lower price for each of several periods.
  public static let payAsYouGo = OfferDiscount(rawValue: "pay_as_you_go")
  /// One price for the whole length of the offer.
  public static let payUpFront = OfferDiscount(rawValue: "pay_up_front")
}

/// What a revocation returns.
public struct RevocationType: Word {
  /// The word's spelling.
  public let rawValue: String

  /// Creates the word from its spelling.
  public init(rawValue: String) { self.rawValue = rawValue }

  /// The whole price.
  public static let full = RevocationType(rawValue: "full")
  /// A part of the price.
  public static let prorated = RevocationType(rawValue: "prorated")
  /// Nothing: Family Sharing ended.
  public static let family = RevocationType(rawValue: "family")
}

/// Why a subscription ended, by the store's word.
public struct ExpirationReason: Word {
  /// The word's spelling.
  public let rawValue: String

  /// Creates the word from its spelling.
  public init(rawValue: String) { self.rawValue = rawValue }

  /// The customer switched renewal off.
  public static let voluntary = ExpirationReason(rawValue: "voluntary")
  /// The charge failed for good.
  public static let billing = ExpirationReason(rawValue: "billing")
  /// The customer did not consent to a higher price.
  public static let priceIncrease = ExpirationReason(rawValue: "price_increase")
  /// The product could no longer be bought.
  public static let productUnavailable = ExpirationReason(rawValue: "product_unavailable")
  /// The money was returned.
  public static let refunded = ExpirationReason(rawValue: "refunded")
  /// Any other.
  public static let other = ExpirationReason(rawValue: "other")
}

/// Where a price increase stands.
public struct PriceIncrease: Word {
  /// The word's spelling.
  public let rawValue: String

  /// Creates the word from its spelling.
  public init(rawValue: String) { self.rawValue = rawValue }

  /// Consent is needed and has not been given.
  public static let pending = PriceIncrease(rawValue: "pending")
  /// Consented, or consent was not needed.
  public static let accepted = PriceIncrease(rawValue: "accepted")
}
