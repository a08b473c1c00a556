import HTTP
public import Vocabulary

/// A sample event sent to a target on the spot, outside of its deliveries: whether the way is open.
public struct Trial: Sendable, Equatable {
  /// How it ended.
  public let verdict: Verdict
  /// The HTTP status, when there was an answer.
  public let status: Int?

  /// Sends a sample event of a kind the target wants. It is marked as one by its id, which begins with `test_`, and by
  /// its environment.
  ///
  /// - Parameters:
  ///   - now: the moment of the event and of the attempt.
  ///   - timeout: how long to wait for the answer.
  public static func run(_ target: any Target, at now: Instant, timeout: Duration = .seconds(20)) async -> Trial {
    let configuration = target.configuration
    var event = Event(
      eventID: "test_\(now.microseconds)", kind: configuration.events?.first ?? .subscriptionRenewed, occurredAt: now,
      app: configuration.apps?.first ?? "example", store: .appStore, environment: .sandbox,
      originalTransactionID: "2000000000000001")
    event.subscriberID = "example"
    var transaction = TransactionFact(transactionID: "2000000000000002", signedAt: now)
    transaction.type = .value(.autoRenewable)
    transaction.productID = .value("example.monthly")
    transaction.period = .value("P1M")
    transaction.purchasedAt = .value(now)
    transaction.expiresAt = .value(now.adding(seconds: 30 * 86_400))
    transaction.price = .value(Money(amount: Micros(9_990_000), currency: "USD"))
    transaction.country = .value("USA")
    event.transaction = transaction
    var parcel = Parcel(eventID: event.eventID, body: target.body(for: Announcement(event)))
    let client = HTTPClient(allowsPrivateNetwork: configuration.allowsPrivateNetwork, timeout: timeout)
    var trial = Trial(verdict: .refused(reason: "no verdict"), status: nil)
    // What a delivery would be sent again for at once, it is here too; a target that goes on asking has had its chance.
    for _ in 1...3 {
      switch await client.send(target.outgoing([parcel], at: now)) {
      case .success(let response):
        guard let verdict = target.verdicts(on: response, carrying: [parcel], at: now).first else { return trial }
        trial = Trial(verdict: verdict, status: response.status)
      case .failure(let failure): return Trial(verdict: Verdict(failure), status: nil)
      }
      switch trial.verdict {
      case .reworded(let body, _): parcel.body = body
      case .moved(let destination, _): parcel.destination = destination
      default: return trial
      }
    }
    return trial
  }
}
