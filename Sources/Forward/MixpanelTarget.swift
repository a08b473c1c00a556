import Foundation
public import HTTP
internal import Signatures
public import Vocabulary

/// A project of Mixpanel (https://developer.mixpanel.com/reference/import-events).
public struct MixpanelTarget: Target {
  /// What the configuration says.
  public let configuration: TargetConfiguration
  private let url: String
  private let token: String
  /// What the token is sent as: the user's name of basic authentication, with an empty password.
  private let credentials: String

  private static let hosts = [
    "us": "https://api.mixpanel.com", "eu": "https://api-eu.mixpanel.com", "in": "https://api-in.mixpanel.com",
  ]

  /// Where projects are kept.
  public static let regions = ["us", "eu", "in"]

  /// Creates the target.
  ///
  /// - Throws: ``TargetProblem`` when `project_token` is missing, or the region is none of Mixpanel's.
  public init(_ configuration: TargetConfiguration) throws(TargetProblem) {
    guard let token = configuration.projectKey, AnalyticsEvent.isProjectKey(token) else {
      throw configuration.problem("project_token", "the project's token is needed, without spaces or line ends")
    }
    guard let host = Self.hosts[configuration.region ?? "us"] else {
      throw configuration.problem("region", "one of \(Self.regions.joined(separator: ", ")) is needed")
    }
    self.configuration = configuration
    self.token = token
    credentials = Data("\(token):".utf8).base64EncodedString()
    url = try configuration.base(host) + "/import?strict=1"
  }

  /// Mixpanel's limit.
  public var batchSize: Int { 2000 }

  /// A request stays under 2 MB, the lower of the two limits that Mixpanel's pages name.
  public func batch(of parcels: ArraySlice<Parcel>) -> Int {
    parcels.fitting(2_000_000 - 2, atMost: batchSize) { $0.body.utf8.count + 1 }
  }

  /// One event. Mixpanel takes events of the same name, time, user and `$insert_id` for one.
  public func body(for announcement: Announcement) -> String {
    let event = AnalyticsEvent(announcement)
    var properties = event.properties.mapValues(Value.property)
    // Without it Mixpanel would make a user of the sender's address, and with it the user's place.
    properties["distinct_id"] = .property(.text(event.userID ?? ""))
    properties["ip"] = .property(.text("0"))
    properties["time"] = .whole(event.occurredAt.microseconds / 1_000_000)
    properties["$insert_id"] = .property(.text(Self.insertID(of: announcement.event.eventID)))
    if let country = event.country { properties["country"] = .property(.text(country)) }
    // A sum over currencies would mean nothing: without a rate there is only the local amount.
    if let revenue = event.revenue, event.isConverted {
      properties["revenue"] = .property(.amount(revenue.amount))
      properties["currency"] = .property(.text(revenue.currency))
      properties["revenue_type"] = .property(.text(event.revenueType))
    }
    return JSONForm.text(Body(event: event.name, properties: properties))
  }

  /// The events in one list.
  public func request(carrying parcels: [Parcel], at now: Instant) -> HTTPRequest {
    HTTPRequest(
      url: url,
      headers: [.init("content-type", "application/json"), .init("authorization", "Basic \(credentials)")],
      body: Array("[\(parcels.map(\.body).joined(separator: ","))]".utf8), secrets: [credentials, token])
  }

  /// What the status says. A 400 refuses those that it names, and has taken the others; one about the project is for all.
  public func verdicts(on response: HTTPResponse, carrying parcels: [Parcel], at now: Instant) -> [Verdict] {
    let answer = JSONForm.read(Answer.self, from: response.body)
    func said(_ words: String?) -> String {
      ChatMessage.words(words, without: [credentials, token]).map { ": \($0)" } ?? ""
    }
    let reason = "Mixpanel answered \(response.status)"
    func all(_ verdict: Verdict) -> [Verdict] { parcels.map { _ in verdict } }
    switch response.status {
    case 200..<300:
      // A page of a proxy on the way is no answer of Mixpanel.
      return all(response.body.first == UInt8(ascii: "<") ? .retry(reason: "\(reason) with a page") : .delivered)
    case 400:
      let failed = Dictionary(
        (answer?.failedRecords ?? []).map { ($0.index, $0.message ?? $0.field ?? answer?.error) },
        uniquingKeysWith: { first, _ in first })
      if parcels.indices.contains(where: { failed[$0] != nil }) {
        return parcels.indices.map { index in
          failed[index].map { .refused(reason: reason + said($0)) } ?? .delivered
        }
      }
      if let words = answer?.error, AnalyticsEvent.isAboutProject(words) {
        return all(.paused(reason: reason + said(words)))
      }
      // Of an answer that names nobody it is not known whom it refuses. What is sent again is the same to Mixpanel.
      fallthrough
    case 413:
      return all(
        parcels.count > 1
          ? .divided(reason: reason + said(answer?.error)) : .refused(reason: reason + said(answer?.error)))
    default:
      return all(
        Verdict(status: response.status, retryAfter: response.retryAfter(now: now)).saying(reason + said(answer?.error))
      )
    }
  }

  /// An event's id where Mixpanel takes it, else the beginning of its digest: at most 36 letters, digits and hyphens, and
  /// none that it takes for a mistake.
  static func insertID(of eventID: String) -> String {
    let isPlain = eventID.utf8.allSatisfy { $0.isLetterOrDigit || $0 == UInt8(ascii: "-") }
    if isPlain, (1...36).contains(eventID.utf8.count), !AnalyticsEvent.isPlaceholder(eventID) { return eventID }
    return String(SHA256.hexadecimalDigest(eventID.utf8).prefix(36))
  }

  private enum Value: Encodable {
    case property(AnalyticsEvent.Property)
    case whole(Int64)

    func encode(to encoder: any Encoder) throws {
      switch self {
      case .property(let property): try property.encode(to: encoder)
      case .whole(let number): try number.encode(to: encoder)
      }
    }
  }

  private struct Body: Encodable {
    let event: String
    let properties: [String: Value]
  }

  private struct Answer: Decodable {
    struct Failure: Decodable {
      let index: Int
      let field: String?
      let message: String?
    }

    let error: String?
    let failedRecords: [Failure]?

    enum CodingKeys: String, CodingKey {
      case error
      case failedRecords = "failed_records"
    }
  }
}
