import Foundation
public import HTTP
public import Vocabulary

/// A project of Amplitude (https://amplitude.com/docs/apis/analytics/http-v2 and .../batch-event-upload).
public struct AmplitudeTarget: Target {
  /// What the configuration says.
  public let configuration: TargetConfiguration
  private let apiKey: String
  private let url: String
  private let isBatch: Bool

  /// Where projects are kept.
  public static let regions = ["us", "eu"]
  /// The ways in: `httpapi` for what comes as it happens, `batch` for more at once.
  public static let endpoints = ["httpapi", "batch"]

  /// Creates the target.
  ///
  /// - Throws: ``TargetProblem`` when `api_key` is missing, or the region or the endpoint is none of Amplitude's.
  public init(_ configuration: TargetConfiguration) throws(TargetProblem) {
    guard let key = configuration.projectKey, AnalyticsEvent.isProjectKey(key) else {
      throw configuration.problem("api_key", "the project's API key is needed, without spaces or line ends")
    }
    let region = configuration.region ?? "us"
    guard Self.regions.contains(region) else {
      throw configuration.problem("region", "one of \(Self.regions.joined(separator: ", ")) is needed")
    }
    let endpoint = configuration.endpoint ?? "httpapi"
    guard Self.endpoints.contains(endpoint) else {
      throw configuration.problem("endpoint", "one of \(Self.endpoints.joined(separator: ", ")) is needed")
    }
    self.configuration = configuration
    apiKey = key
    isBatch = endpoint == "batch"
    let base = try configuration.base(region == "eu" ? "https://api.eu.amplitude.com" : "https://api2.amplitude.com")
    url = base + (isBatch ? "/batch" : "/2/httpapi")
  }

  /// Amplitude's limit.
  public var batchSize: Int { 2000 }

  /// A request stays under 1 MB, one to the batch endpoint under 20 MB.
  public func batch(of parcels: ArraySlice<Parcel>) -> Int {
    parcels.fitting((isBatch ? 20_000_000 : 1_000_000) - 1000, atMost: batchSize) { $0.body.utf8.count + 1 }
  }

  /// One event. Its id is the same on every attempt: Amplitude leaves out what it has had within seven days.
  public func body(for announcement: Announcement) -> String {
    let event = AnalyticsEvent(announcement)
    let id = AnalyticsEvent.cut(announcement.event.eventID)
    return JSONForm.text(
      Body(
        userID: event.userID ?? id, eventType: event.name, time: event.occurredAt.microseconds / 1000,
        insertID: id == announcement.event.eventID ? id : WebhookTarget.messageID(of: announcement.event.eventID),
        eventProperties: event.properties, platform: Self.platforms[announcement.event.store], country: event.country,
        price: event.revenue.map { .amount($0.amount) }, quantity: event.revenue == nil ? nil : 1,
        revenue: event.revenue.map { .amount($0.amount) }, currency: event.revenue?.currency,
        productID: event.productID,
        revenueType: event.revenue == nil ? nil : event.revenueType))
  }

  /// The events in one list, with the key of their project. Ids may be of any length.
  public func request(carrying parcels: [Parcel], at now: Instant) -> HTTPRequest {
    let events = parcels.map(\.body).joined(separator: ",")
    return HTTPRequest(
      url: url, headers: [.init("content-type", "application/json")],
      body: Array(
        #"{"api_key":\#(JSONForm.text(apiKey)),"events":[\#(events)],"options":{"min_id_length":1}}"#.utf8),
      secrets: [apiKey])
  }

  /// What the status says, and by Amplitude's lists which of the events it is about.
  public func verdicts(on response: HTTPResponse, carrying parcels: [Parcel], at now: Instant) -> [Verdict] {
    let answer = JSONForm.read(Answer.self, from: response.body)
    let words = ChatMessage.words(answer?.error, without: [apiKey])
    func reason(_ more: String? = nil) -> String {
      "Amplitude answered \(response.status)" + (words.map { ": \($0)" } ?? "") + (more.map { " (\($0))" } ?? "")
    }
    func all(_ verdict: Verdict) -> [Verdict] { parcels.map { _ in verdict } }
    switch response.status {
    case 200..<300:
      // A page of a proxy on the way is no answer of Amplitude.
      return all(response.body.first == UInt8(ascii: "<") ? .retry(reason: reason("a page")) : .delivered)
    case 400, 429:
      if let answer, let verdicts = verdicts(by: answer, carrying: parcels, reason) { return verdicts }
      if response.status == 429 { return all(.throttled(seconds: response.retryAfter(now: now), reason: reason())) }
      if answer?.missingField == "api_key" || answer?.error.map(isAboutProject) == true {
        return all(.paused(reason: reason()))
      }
      return all(parcels.count > 1 ? .divided(reason: reason()) : .refused(reason: reason()))
    case 413: return all(parcels.count > 1 ? .divided(reason: reason()) : .refused(reason: reason()))
    default: return all(Verdict(status: response.status, retryAfter: nil).saying(reason()))
    }
  }

  private func isAboutProject(_ words: String) -> Bool {
    words.lowercased().contains("api key") || AnalyticsEvent.isAboutProject(words)
  }

  /// How long those wait that Amplitude throttles, in seconds, and those that are beyond a day's quota.
  private static let throttledWait: Int64 = 30
  private static let quotaWait: Int64 = 86_400

  /// What the lists say; `nil` when they name none of what was carried.
  private func verdicts(by answer: Answer, carrying parcels: [Parcel], _ reason: (String?) -> String) -> [Verdict]? {
    let users =
      answer.throttledUsers.isEmpty && answer.quotaUsers.isEmpty
      ? [] : parcels.map { JSONForm.read(User.self, from: Array($0.body.utf8))?.id }
    let named = parcels.indices.map { index -> Verdict? in
      if let field = answer.fields[index] { return .refused(reason: reason(field)) }
      if answer.silenced.contains(index) { return .refused(reason: reason("silenced")) }
      let user = users.isEmpty ? nil : users[index]
      if let user, answer.quotaUsers.contains(user) {
        return .delayed(seconds: Self.quotaWait, reason: reason("beyond the daily quota"))
      }
      if answer.throttled.contains(index) || user.map(answer.throttledUsers.contains) == true {
        return .delayed(seconds: Self.throttledWait, reason: reason("throttled"))
      }
      return nil
    }
    guard named.contains(where: { $0 != nil }) else { return nil }
    return named.map { $0 ?? .again(reason: reason("for others of the same request")) }
  }

  private static let platforms: [Store: String] = [.appStore: "iOS", .macAppStore: "macOS", .playStore: "Android"]

  private struct Body: Encodable {
    let userID: String
    let eventType: String
    let time: Int64
    let insertID: String
    let eventProperties: [String: AnalyticsEvent.Property]
    let platform: String?
    let country: String?
    /// Amplitude takes price x quantity for revenue where all three are sent.
    let price: AnalyticsEvent.Property?
    let quantity: Int?
    let revenue: AnalyticsEvent.Property?
    let currency: String?
    let productID: String?
    let revenueType: String?

    enum CodingKeys: String, CodingKey {
      case userID = "user_id"
      case eventType = "event_type"
      case time
      case insertID = "insert_id"
      case eventProperties = "event_properties"
      case platform, country, price, quantity, revenue, currency
      case productID = "productId"
      case revenueType
    }
  }

  private struct User: Decodable {
    let id: String

    enum CodingKeys: String, CodingKey { case id = "user_id" }
  }

  /// The parts of an answer. A part of another form than expected is left out: the others still count.
  private struct Answer: Decodable {
    let error: String?
    let missingField: String?
    /// What is wrong with the events that are refused, by their place in the request.
    let fields: [Int: String]
    let silenced: Set<Int>
    let throttled: Set<Int>
    let throttledUsers: Set<String>
    let quotaUsers: Set<String>

    enum CodingKeys: String, CodingKey {
      case error
      case missingField = "missing_field"
      case invalidFields = "events_with_invalid_fields"
      case missingFields = "events_with_missing_fields"
      case invalidLengths = "events_with_invalid_id_lengths"
      case silenced = "silenced_events"
      case throttled = "throttled_events"
      case throttledUsers = "throttled_users"
      case quotaUsers = "exceeded_daily_quota_users"
    }

    init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: CodingKeys.self)
      error = try? container.decode(String.self, forKey: .error)
      missingField = try? container.decode(String.self, forKey: .missingField)
      var fields: [Int: String] = [:]
      for key in [CodingKeys.invalidFields, .missingFields, .invalidLengths] {
        let lists = (try? container.decode([String: [Int]].self, forKey: key)) ?? [:]
        for (field, indexes) in lists.sorted(by: { $0.key < $1.key }) {
          for index in indexes { fields[index] = fields[index].map { "\($0), \(field)" } ?? field }
        }
      }
      self.fields = fields
      silenced = Set((try? container.decode([Int].self, forKey: .silenced)) ?? [])
      throttled = Set((try? container.decode([Int].self, forKey: .throttled)) ?? [])
      throttledUsers = Set(((try? container.decode([String: Int].self, forKey: .throttledUsers)) ?? [:]).keys)
      quotaUsers = Set(((try? container.decode([String: Int].self, forKey: .quotaUsers)) ?? [:]).keys)
    }
  }
}
