public import Foundation

/// What a store keeps of a price after tax.
public enum Commission: Sendable, Equatable {
  /// What Apple takes of everyone: 30 %, and 15 % once a chain has a year of paid service. Of other stores nothing is known.
  ///
  /// https://developer.apple.com/app-store/subscriptions/
  case standard
  /// Apple's small business programme: 15 %. Of other stores nothing is known.
  ///
  /// https://developer.apple.com/app-store/small-business-program/
  case smallBusiness
  /// A share from 0 to 1, of every store.
  case share(Decimal)

  /// As the steps of a run read it.
  var text: String {
    switch self {
    case .standard: "standard"
    case .smallBusiness: "small_business"
    case .share(let share): "\(share)"
    }
  }
}
