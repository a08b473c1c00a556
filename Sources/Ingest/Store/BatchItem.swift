import Vocabulary

/// One thing that came in, with its place.
public struct BatchItem: Sendable {
  /// What it is.
  public var decoded: Decoded
  /// Where it stood: `<file>:<line>`, or `http`.
  public var place: String

  /// Creates an item.
  public init(_ decoded: Decoded, place: String) {
    self.decoded = decoded
    self.place = place
  }

}

extension [BatchItem] {
  /// The keys of the apps that events belong to.
  var appKeys: Set<String> {
    Set(
      compactMap { item in
        if case .event(let event, _) = item.decoded { event.app } else { nil }
      })
  }

  /// The keys of the apps that refused input was for.
  var rejectedAppKeys: Set<String> {
    Set(
      compactMap { item in
        if case .rejection(let rejection) = item.decoded { rejection.app } else { nil }
      })
  }
}
