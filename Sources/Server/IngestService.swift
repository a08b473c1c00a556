import Ingest
import Vocabulary

/// What the ingest listener serves: `POST /v1/ingest/{source}/{app}`, and health.
struct IngestService: HTTPService {
  private let endpoints: [String: IngestEndpoint]
  private let receivers: [Source: EventReceiver]
  private let commits: [Source: GroupCommit]
  private let maximumBody: Int
  private let health: Health
  private let rejectionLimit: RejectionLimit
  private let addressLimit: AddressLimit
  private let metrics: Metrics

  init(
    _ endpoints: [IngestEndpoint], receivers: [Source: EventReceiver], commits: [Source: GroupCommit],
    maximumBody: Int, rejectionsPerSecond: Int, requestsPerAddress: Int, health: Health, metrics: Metrics
  ) {
    self.endpoints = Dictionary(
      endpoints.map { ("/v1/ingest/\($0.source.rawValue)/\($0.app.key)", $0) }, uniquingKeysWith: { first, _ in first })
    self.receivers = receivers
    self.commits = commits
    self.maximumBody = maximumBody
    self.health = health
    rejectionLimit = RejectionLimit(perSecond: rejectionsPerSecond)
    addressLimit = AddressLimit(perMinute: requestsPerAddress)
    self.metrics = metrics
  }

  func admission(of head: HTTPHead) -> Admission {
    if let admission = health.admission(of: head) { return admission }
    guard let endpoint = endpoints[head.path] else {
      return .refuse(refusal(404, "there is nothing at this path", of: head))
    }
    guard head.method == "POST" else {
      return .refuse(refusal(405, "this path takes POST", headers: [("Allow", "POST")], of: head))
    }
    guard [nil, "identity", "gzip"].contains(head.header("content-encoding")?.lowercased()) else {
      return .refuse(
        refusal(
          415, "the body may be plain or gzip, and nothing else", headers: [("Accept-Encoding", "gzip")], of: head))
    }
    if case .appClient = endpoint.proof, let seconds = addressLimit.take(ClientAddress(head)) {
      metrics.add(1, to: .limitedRequests, ["source": endpoint.source.rawValue])
      return .refuse(
        .problem(
          429, "too many requests come from this address", headers: [("Retry-After", String(seconds))]))
    }
    return .read(limit: maximumBody)
  }

  func answer(_ head: HTTPHead, body: [UInt8]) async -> HTTPAnswer {
    if let answer = await health.answer(head) { return answer }
    guard let endpoint = endpoints[head.path], let receiver = receivers[endpoint.source] else {
      return refusal(404, "there is nothing at this path", of: head)
    }
    var plain = body
    if head.header("content-encoding")?.lowercased() == "gzip" {
      do throws(Gzip.Failure) {
        plain = try Gzip.inflated(body, limit: maximumBody)
      } catch {
        switch error {
        case .tooLarge: return await answerTooLarge(head)
        case .damaged:
          return await store(
            [rejection(.malformed, "the gzip data is damaged or ends early", endpoint)], of: endpoint, head)
        }
      }
    }
    switch await receiver.read(head, body: plain, sent: body, for: endpoint) {
    case .tooManyChains: return .tryAgain("too many certificates that are not known are being sent", after: 1)
    case .greeting: return .json("{}")
    case .items(let items, let isProven): return await store(items, of: endpoint, head, isProven: isProven)
    }
  }

  func answerTooLarge(_ head: HTTPHead) async -> HTTPAnswer {
    guard let endpoint = endpoints[head.path] else { return refusal(413, "this path takes no body", of: head) }
    return await store([rejection(.tooLarge, "longer than \(maximumBody) bytes", endpoint)], of: endpoint, head)
  }

  func answerAmbiguous(_ head: HTTPHead) -> HTTPAnswer {
    refusal(400, "the length of the body is not told in one way", of: head)
  }

  /// The answer to a request that is refused. Adapty takes every status from 200 to 404 for a delivery and never sends the
  /// event again: all that it is refused with asks it to.
  private func refusal(
    _ status: Int, _ detail: String, headers: [(name: String, value: String)] = [], of head: HTTPHead
  ) -> HTTPAnswer {
    .problem(head.path.hasPrefix("/v1/ingest/\(Source.adapty.rawValue)/") ? 503 : status, detail, headers: headers)
  }

  private func rejection(_ reason: Rejection.Reason, _ excerpt: String, _ endpoint: IngestEndpoint) -> BatchItem {
    BatchItem(.rejection(Rejection(reason, app: endpoint.app.key, excerpt: excerpt)), place: "http")
  }

  /// Stores what a request brought, and answers when it is committed.
  ///
  /// - Parameter isProven: Whether whoever sent it knows a secret. What strangers are refused is stored as far as there is
  ///   room for it.
  private func store(
    _ items: [BatchItem], of endpoint: IngestEndpoint, _ head: HTTPHead, isProven: Bool = false
  ) async -> HTTPAnswer {
    let refused = items.compactMap(\.rejection)
    var room = isProven ? refused.count : rejectionLimit.take(refused.count)
    if room < refused.count {
      metrics.add(refused.count - room, to: .droppedRejections, ["source": endpoint.source.rawValue])
    }
    var kept: [BatchItem] = []
    var dropped: [StoredItem] = []
    for item in items {
      if let rejection = item.rejection {
        room -= 1
        if room < 0 {
          dropped.append(.rejected(rejection))
          continue
        }
      }
      kept.append(item)
    }
    var stored: [StoredItem] = []
    if !kept.isEmpty {
      do {
        stored = try await commits[endpoint.source]?.store(kept) ?? []
      } catch {
        return .tryAgain("the event cannot be stored now: send it again", after: 5)
      }
    }
    stored += dropped
    let summary = IngestSummary(stored)
    for (outcome, count) in [
      ("stored", summary.stored), ("duplicate", summary.duplicates), ("rejected", summary.rejected),
    ] {
      metrics.add(count, to: .events, ["source": endpoint.source.rawValue, "outcome": outcome])
    }
    let rejections = stored.compactMap { if case .rejected(let rejection) = $0 { rejection } else { nil } }
    if summary.received == summary.rejected {
      guard let first = rejections.first else { return refusal(400, "there is no event in the body", of: head) }
      return refusal(first.reason.status, first.reason.explanation, of: head)
    }
    return .json(
      "{\"stored\":\(summary.stored),\"duplicates\":\(summary.duplicates),\"rejected\":\(summary.rejected),"
        + "\"unrecognised\":\(summary.unrecognised),\"received\":\(summary.received)}")
  }
}

extension BatchItem {
  fileprivate var rejection: Rejection? { if case .rejection(let rejection) = decoded { rejection } else { nil } }
}

extension Rejection.Reason {
  /// The status with which a request is refused for it.
  fileprivate var status: Int {
    switch self {
    case .notJSON, .malformed, .fieldMissing: 400
    case .unsigned, .algorithm, .chain, .certificate, .markerMissing, .certificateExpired, .untrustedRoot, .signature,
      .secret:
      401
    case .unknownApp, .otherApp, .environmentNotListed: 422
    case .tooLarge: 413
    }
  }

  /// What the sender is told; `report.rejections` has more.
  fileprivate var explanation: String {
    let words =
      switch self {
      case .notJSON: "the body is not JSON in UTF-8"
      case .malformed: "the body is not of the shape that this source sends"
      case .fieldMissing: "a field without which there is no event is missing"
      case .unsigned: "the data is not signed"
      case .algorithm: "the data is signed by another algorithm than ES256"
      case .chain, .certificate, .markerMissing, .untrustedRoot: "the certificates do not lead to a trusted root"
      case .certificateExpired: "a certificate was not valid when the data was signed"
      case .signature: "the signature is wrong"
      case .secret:
        "the secret, the key or the webhook signature is missing or wrong, or its timestamp is too far from now"
      case .unknownApp, .otherApp: "the data belongs to another app than this address"
      case .environmentNotListed: "the app does not take data of this environment"
      case .tooLarge: "the body is larger than what is read"
      }
    return "\(words) (\(rawValue))"
  }
}
