import Vocabulary

/// One thing that came in, with its place.
public struct BatchItem: Sendable {
  /// What it is.
  public var decoded: Decoded
  /// Where it stood: `<file>:<line>`, or `http`.
  public var place: String

  /// Creates an item.
  public init(_ decoded: Decoded, place: String) {
    self.decoded = Self.checked(decoded)
    self.place = place
  }

  /// What was decoded, or a rejection where the event cannot be right whatever its source.
  private static func checked(_ decoded: Decoded) -> Decoded {
    guard case .event(let event, _) = decoded, let fault = event.fault else { return decoded }
    return .rejection(
      Rejection(.malformed, app: event.app, excerpt: Excerpt.of(Array("\(fault) (event_id \(event.eventID))".utf8))))
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
