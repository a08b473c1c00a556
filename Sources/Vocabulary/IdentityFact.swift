/// What an event says of who customers are. Ids are the seller's, as in ``Event/subscriberID``.
public struct IdentityFact: Sendable, Equatable {
  /// Ids of one and the same customer.
  public var aliases: [String] = []
  /// The id that stands for all of them; nil where the event tells of no aliases.
  public var original: String?
  /// The ids of a customer whose purchases now belong to another.
  public var transferredFrom: [String] = []
  /// The id of the customer who has them now; nil where the event tells of no transfer.
  public var transferredTo: String?

  /// A fact that says nothing yet.
  public init() {}
}
