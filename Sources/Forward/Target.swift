public import HTTP
public import Vocabulary

/// A place that events are sent to: what is sent, and what its answers mean. No input, no output, no state.
///
/// Claiming, sending, pacing and trying again are the ``Forwarder``'s.
public protocol Target: Sendable {
  /// What it is, where it goes and what it wants.
  var configuration: TargetConfiguration { get }

  /// How many deliveries one request may carry.
  var batchSize: Int { get }

  /// How many of these deliveries, of the first ones, the next request carries: at least one and at most ``batchSize``.
  /// There is at least one.
  func batch(of parcels: ArraySlice<Parcel>) -> Int

  /// How fast the service wants to be sent to; `nil` when it sets no pace. What the configuration says comes first.
  var usualPace: Pace? { get }

  /// How long nothing may be sent after an answer that took what was sent, in microseconds; `nil` for no longer than the
  /// pace says.
  func rest(after response: HTTPResponse) -> Int64?

  /// What an answer may replace of where requests go (``Verdict/moved(to:reason:)``), as the configuration has it; `nil`
  /// for a target that never moves.
  var address: String? { get }

  /// What is sent about an event. It is stored before the first attempt, so every attempt sends the same.
  func body(for announcement: Announcement) -> String

  /// The request that carries these deliveries, at most ``batchSize`` of them.
  ///
  /// - Parameter now: when the attempt is made.
  func request(carrying parcels: [Parcel], at now: Instant) -> HTTPRequest

  /// What an answer means for each of the deliveries that the request carried, in their order.
  func verdicts(on response: HTTPResponse, carrying parcels: [Parcel], at now: Instant) -> [Verdict]
}

extension Target {
  /// One request for each delivery.
  public var batchSize: Int { 1 }
  /// As many as a request may carry.
  public func batch(of parcels: ArraySlice<Parcel>) -> Int { min(parcels.count, batchSize) }
  /// No pace.
  public var usualPace: Pace? { nil }
  /// No rest.
  public func rest(after response: HTTPResponse) -> Int64? { nil }
  /// It never moves.
  public var address: String? { nil }
}

extension Target {
  /// How fast it is sent to; `nil` for as fast as it answers.
  var pace: Pace? { configuration.pace ?? usualPace }

  /// Whether requests to it are counted: by a pace or a day's quota.
  var isMetered: Bool { pace != nil || configuration.dailyQuota != nil }

  /// The request that carries these deliveries, as it leaves.
  func outgoing(_ parcels: [Parcel], at now: Instant) -> HTTPRequest {
    var request = request(carrying: parcels, at: now)
    request.tls = configuration.tls
    return request
  }
}

extension ArraySlice<Parcel> {
  /// How many of the first parcels a request can carry when their sizes together must not go beyond a limit: at least
  /// one, however large.
  func fitting(_ limit: Int, atMost count: Int, size: (Parcel) -> Int) -> Int {
    var total = 0
    for (taken, parcel) in prefix(count).enumerated() {
      total += size(parcel)
      if total > limit { return Swift.max(taken, 1) }
    }
    return Swift.min(self.count, count)
  }
}

/// What one delivery sends.
public struct Parcel: Sendable, Equatable {
  /// The event it was made from: the same on every attempt, so that the target can tell a repetition.
  public var eventID: String
  /// The body the target made for it.
  public var body: String
  /// Where the target has moved, in place of its ``Target/address``; `nil` when it has not.
  public var destination: String?

  /// Creates a parcel.
  public init(eventID: String, body: String, destination: String? = nil) {
    self.eventID = eventID
    self.body = body
    self.destination = destination
  }
}
