public import HTTP

/// How an attempt to deliver ended.
public enum Verdict: Sendable, Equatable {
  /// The target took it.
  case delivered
  /// It may succeed later: it is sent again by the schedule.
  case retry(reason: String)
  /// The target asks for a wait, in seconds, or for one without saying how long. Nothing is sent to it before.
  case throttled(seconds: Int64?, reason: String)
  /// It will never succeed.
  case refused(reason: String)
  /// Nothing will succeed before someone has seen to the target: it is paused, and what is due waits.
  case paused(reason: String)
  /// As ``retry(reason:)``; but when the next attempt ends the same, as ``paused(reason:)``.
  case doubtful(reason: String)
  /// It is not taken in this form: it is sent again at once with another body.
  case reworded(body: String, reason: String)
  /// It was not taken for the sake of others in its request: it is sent again at once without them.
  case again(reason: String)
  /// It alone must wait, so many seconds; what else the request carried need not.
  case delayed(seconds: Int64, reason: String)
  /// The request was not taken as a whole, and the answer does not say for which of what it carried: all of it is sent
  /// again at once in smaller requests. Never the verdict on one delivery alone.
  case divided(reason: String)
  /// The target has moved, in place of its ``Target/address``: it is sent again at once, and all else goes there too.
  case moved(to: String, reason: String)

  /// The verdict that a status gives by itself, by what HTTP means by it.
  ///
  /// 401, 403, 404 and 410 say that the target is not what it was; 408, 409, 425, 429 and 5xx are of the moment; all
  /// else, redirects too, will be the same the next time.
  ///
  /// - Parameter retryAfter: the wait that the answer asks for, in seconds.
  public init(status: Int, retryAfter: Int64?) {
    let reason = "the target answered \(status)"
    switch status {
    case 200..<300: self = .delivered
    case 401, 403, 404, 410: self = .paused(reason: reason)
    case 429: self = .throttled(seconds: retryAfter, reason: reason)
    case 408, 409, 425, 500..<600: self = .retry(reason: reason)
    default: self = .refused(reason: reason)
    }
  }

  /// What the verdict on a message that tells of several events means for each: one that is not taken as it is, is sent
  /// again in parts, so that what is wrong with one event stays with it.
  var dividing: Verdict {
    switch self {
    case .refused(let reason), .reworded(_, let reason): .divided(reason: reason)
    default: self
    }
  }

  /// The same verdict, saying why in other words.
  func saying(_ reason: String) -> Verdict {
    switch self {
    case .delivered: .delivered
    case .retry: .retry(reason: reason)
    case .throttled(let seconds, _): .throttled(seconds: seconds, reason: reason)
    case .refused: .refused(reason: reason)
    case .paused: .paused(reason: reason)
    case .doubtful: .doubtful(reason: reason)
    case .reworded(let body, _): .reworded(body: body, reason: reason)
    case .again: .again(reason: reason)
    case .delayed(let seconds, _): .delayed(seconds: seconds, reason: reason)
    case .divided: .divided(reason: reason)
    case .moved(let destination, _): .moved(to: destination, reason: reason)
    }
  }

  /// The verdict on a request without an answer.
  public init(_ failure: HTTPFailure) {
    switch failure {
    case .addressNotAllowed, .unusableURL: self = .refused(reason: failure.description)
    case .untrusted: self = .retry(reason: "\(failure.description); ca_file of the target names others")
    case .timedOut, .network, .stopped: self = .retry(reason: failure.description)
    }
  }

  /// Why it was not delivered; `nil` when it was.
  public var reason: String? {
    switch self {
    case .delivered: nil
    case .retry(let reason), .throttled(_, let reason), .refused(let reason), .paused(let reason),
      .doubtful(let reason), .reworded(_, let reason), .moved(_, let reason), .again(let reason),
      .delayed(_, let reason), .divided(let reason):
      reason
    }
  }
}
