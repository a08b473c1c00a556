import Vocabulary

/// How what is due becomes requests: the same when it is sent and when it is only shown.
extension Target {
  /// The deliveries of each request, in the order in which they leave.
  ///
  /// What has been due the longest goes first, and within what one look takes in, what happened first.
  ///
  /// - Parameters:
  ///   - due: what is due, the longest due first.
  ///   - limit: how many deliveries one request may carry at most, beside what the target says.
  ///   - most: how many requests to make at most; what is left over is due as before.
  func requests(for due: [HeldDelivery], limit: Int = .max, atMost most: Int = .max) -> [[HeldDelivery]] {
    guard configuration.isOrdered else { return looks(at: due, limit: limit, atMost: most) }
    var left = due
    var requests: [[HeldDelivery]] = []
    while !left.isEmpty, requests.count < most {
      // What comes after it of the same subscription is taken when it has arrived.
      let next = looks(at: Self.firstOfEach(left), limit: limit, atMost: pace == nil ? most - requests.count : 1)
      requests += next
      let sent = Set(next.joined().map(\.deliveryID))
      left.removeAll { sent.contains($0.deliveryID) }
    }
    return requests
  }

  /// As far as a request reaches is looked at once. With a pace each request is taken for itself, and what it leaves is
  /// looked at again with what is due by then.
  private func looks(at due: [HeldDelivery], limit: Int, atMost most: Int) -> [[HeldDelivery]] {
    let reach = batchSize == 1 && pace == nil ? max(due.count, 1) : batchSize
    var rest = due[...]
    var seen: [HeldDelivery] = []
    var requests: [[HeldDelivery]] = []
    while requests.count < most {
      let more = rest.prefix(reach - seen.count)
      rest = rest.dropFirst(more.count)
      seen += more
      guard !seen.isEmpty else { break }
      var happened = seen.sorted(by: Self.happenedBefore)[...]
      for count in batches(of: happened.map(\.parcel), limit: limit).prefix(pace == nil ? most - requests.count : 1) {
        requests.append(Array(happened.prefix(count)))
        happened = happened.dropFirst(count)
      }
      let left = Set(happened.map(\.deliveryID))
      seen.removeAll { !left.contains($0.deliveryID) }
    }
    return requests
  }

  private static func happenedBefore(_ one: HeldDelivery, _ other: HeldDelivery) -> Bool {
    (one.occurredAt?.microseconds ?? .max, one.deliveryID) < (other.occurredAt?.microseconds ?? .max, other.deliveryID)
  }

  /// Of each subscription what happened first.
  private static func firstOfEach(_ due: [HeldDelivery]) -> [HeldDelivery] {
    let first = Dictionary(
      due.map { ($0.subscription, $0) }, uniquingKeysWith: { happenedBefore($1, $0) ? $1 : $0 })
    return due.filter { first[$0.subscription]?.deliveryID == $0.deliveryID }
  }

  /// How many of these deliveries each of the next requests carries.
  ///
  /// - Parameter limit: how many one request may carry at most, beside what the target says.
  private func batches(of parcels: [Parcel], limit: Int) -> [Int] {
    var counts: [Int] = []
    var start = 0
    while start < parcels.count {
      let count = batch(of: parcels[start..<min(parcels.count, start + min(batchSize, limit))])
      counts.append(count)
      start += count
    }
    return counts
  }
}
