public import Vocabulary

/// What became of one thing that came in: an event to store, or a reason not to. Bad input is a value: it is stored and
/// counted as well, and what comes after it goes on.
public enum Decoded: Sendable {
  /// An event with its facts; its `app` is the key of a known app. The payload is what it was made from.
  case event(Event, payload: StoredPayload)
  /// Input that was refused.
  case rejection(Rejection)
}

/// Why input was refused. The caller knows where it stood.
public struct Rejection: Error, Sendable, Equatable {
  /// The reason.
  public var reason: Reason
  /// The key of the app that it was for; nil where that is not known.
  public var app: String?
  /// Enough to find it again: identifiers, or the field that is wrong. Never signed data or secrets.
  public var excerpt: String?

  /// A rejection.
  public init(_ reason: Reason, app: String? = nil, excerpt: String? = nil) {
    self.reason = reason
    self.app = app
    self.excerpt = excerpt
  }

  /// The reason codes of `report.rejections`.
  public enum Reason: String, Sendable, CaseIterable {
    /// Not JSON, or not UTF-8.
    case notJSON = "not_json"
    /// JSON or signed data of no shape that is known, or of more than one meaning.
    case malformed
    /// Not signed, where a signature is needed.
    case unsigned
    /// Signed with another algorithm than ES256.
    case algorithm
    /// The list of certificates is missing, has not exactly three, or they do not belong together.
    case chain
    /// A certificate cannot be read or is not fit for its place.
    case certificate
    /// A certificate lacks Apple's marker.
    case markerMissing = "marker_missing"
    /// A certificate was not valid when the payload was signed.
    case certificateExpired = "certificate_expired"
    /// The chain does not lead to a trusted root.
    case untrustedRoot = "untrusted_root"
    /// The signature is wrong.
    case signature
    /// No app is known by that bundle id, or the data names none and no app was given.
    case unknownApp = "unknown_app"
    /// The data belongs to another app than the one that it was given for.
    case otherApp = "other_app"
    /// The app does not take data of that environment.
    case environmentNotListed = "environment_not_listed"
    /// A field without which there is no event is missing.
    case fieldMissing = "field_missing"
    /// A secret or webhook signature is missing or wrong.
    case secret
    /// Larger than what is read.
    case tooLarge = "too_large"
  }
}
