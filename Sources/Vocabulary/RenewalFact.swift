/// A version of a chain's renewal status: what a source said of it at one moment.
public struct RenewalFact: Sendable, Equatable {
  /// When the source said this: the order of versions.
  public var signedAt: Instant
  /// Whether the subscription will renew.
  public var autoRenew: Stated<Bool> = .unstated
  /// The product it will renew with.
  public var autoRenewProductID: Stated<String> = .unstated
  /// When it will renew.
  public var renewsAt: Stated<Instant> = .unstated
  /// What the renewal will cost.
  public var renewalPrice: Stated<Money> = .unstated
  /// Why the subscription ended.
  public var expirationReason: Stated<ExpirationReason> = .unstated
  /// Whether the store is trying a failed charge again.
  public var inBillingRetry: Stated<Bool> = .unstated
  /// Until when access goes on after a failed charge.
  public var graceExpiresAt: Stated<Instant> = .unstated
  /// When a pause begins.
  public var pausedAt: Stated<Instant> = .unstated
  /// When a pause ends.
  public var resumesAt: Stated<Instant> = .unstated
  /// Where a price increase stands.
  public var priceIncrease: Stated<PriceIncrease> = .unstated
  /// The win-back offers that the store would make, best first. An empty list is a list; absent means that the store
  /// gave none.
  public var eligibleWinBackOffers: Stated<[String]> = .unstated

  /// Creates a version that says nothing yet.
  public init(signedAt: Instant) { self.signedAt = signedAt }

  /// A field of a renewal status, numbered as in the column `stated` of `fact.renewal`: bit `rawValue` is set when a
  /// version states the field. A number never changes its meaning.
  public enum Field: Int, CaseIterable, Sendable {
    /// `auto_renew`
    case autoRenew = 0
    /// `auto_renew_product_id`
    case autoRenewProductID = 1
    /// `renews_at`
    case renewsAt = 2
    /// `renewal_price` and its currency
    case renewalPrice = 3
    /// `expiration_reason`
    case expirationReason = 4
    /// `in_billing_retry`
    case inBillingRetry = 5
    /// `grace_expires_at`
    case graceExpiresAt = 6
    /// `paused_at`
    case pausedAt = 7
    /// `resumes_at`
    case resumesAt = 8
    /// `price_increase`
    case priceIncrease = 9
    /// `eligible_win_back_offers`
    case eligibleWinBackOffers = 10
  }

  /// The fields that this version states, as the bits of `Field`.
  public var stated: Int64 {
    var bits: Int64 = 0
    func mark<Value>(_ field: Field, _ statement: Stated<Value>) {
      if statement.isStated { bits |= 1 << Int64(field.rawValue) }
    }
    mark(.autoRenew, autoRenew)
    mark(.autoRenewProductID, autoRenewProductID)
    mark(.renewsAt, renewsAt)
    mark(.renewalPrice, renewalPrice)
    mark(.expirationReason, expirationReason)
    mark(.inBillingRetry, inBillingRetry)
    mark(.graceExpiresAt, graceExpiresAt)
    mark(.pausedAt, pausedAt)
    mark(.resumesAt, resumesAt)
    mark(.priceIncrease, priceIncrease)
    mark(.eligibleWinBackOffers, eligibleWinBackOffers)
    return bits
  }
}
