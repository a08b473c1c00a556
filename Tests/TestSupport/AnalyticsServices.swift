import Foundation
import Synchronization

/// An event that an analytics service of a test took.
public struct AnalyticsPost: Sendable {
  /// The event's name.
  public let name: String
  /// The user it belongs to.
  public let user: String
  /// What the service tells repetitions by.
  public let insertID: String
  /// The whole event as JSON text, its keys sorted.
  public let json: String

  fileprivate init(_ event: [String: Any], name: String, user: String, insertID: String) {
    self.name = name
    self.user = user
    self.insertID = insertID
    let data = try? JSONSerialization.data(withJSONObject: event, options: [.sortedKeys, .withoutEscapingSlashes])
    json = String(decoding: data ?? Data(), as: UTF8.self)
  }
}

/// An analytics service as the real ones behave: whom it knows, what it takes, what it has had already.
public protocol AnalyticsService: Sendable {
  /// What it answers to a request.
  func answer(_ request: HTTPReceiver.Request) -> HTTPReceiver.Answer
  /// What it has taken, without repetitions.
  var posts: [AnalyticsPost] { get }
}

/// Ids that the services refuse, since they mostly stand for a mistake.
private let placeholders: Set<String> = [
  "", "-1", "0", "00000000-0000-0000-0000-000000000000", "[]", "{}", "anon", "anonymous", "false", "n/a", "na", "nil",
  "none", "null", "true", "undefined", "unknown",
]

/// The ways in of Amplitude: HTTP V2 and batch.
public final class AmplitudeService: AnalyticsService {
  private let apiKey: String
  private let taken = Mutex<[String: AnalyticsPost]>([:])

  /// Creates the service with the one project it knows.
  public init(apiKey: String) { self.apiKey = apiKey }

  /// What it has taken, without repetitions.
  public var posts: [AnalyticsPost] { taken.withLock { Array($0.values) } }

  /// What it answers to a request.
  public func answer(_ request: HTTPReceiver.Request) -> HTTPReceiver.Answer {
    func refuse(_ status: Int, _ body: [String: Any]) -> HTTPReceiver.Answer {
      let body = body.merging(["code": status]) { $1 }
      let data = (try? JSONSerialization.data(withJSONObject: body)) ?? Data()
      return .status(status, body: String(decoding: data, as: UTF8.self))
    }
    let limit = ["/2/httpapi": 1_000_000, "/batch": 20_000_000][request.path]
    guard let limit else { return .status(404, body: "Not found") }
    guard request.body.count < limit else { return refuse(413, ["error": "Payload too large"]) }
    guard request.headers["content-type"]?.hasPrefix("application/json") == true,
      let body = try? JSONSerialization.jsonObject(with: Data(request.body)) as? [String: Any]
    else { return refuse(400, ["error": "Invalid JSON request body"]) }
    guard let key = body["api_key"] as? String else {
      return refuse(400, ["error": "Request missing required field", "missing_field": "api_key"])
    }
    guard key == apiKey else { return refuse(400, ["error": "Invalid API key"]) }
    guard let events = body["events"] as? [[String: Any]], !events.isEmpty else {
      return refuse(400, ["error": "Request missing required field", "missing_field": "events"])
    }
    guard events.count <= 2000 else { return refuse(413, ["error": "Payload too large"]) }
    let shortest = (body["options"] as? [String: Any])?["min_id_length"] as? Int ?? 5
    var invalid: [String: [Int]] = [:]
    var missing: [String: [Int]] = [:]
    var short: [String: [Int]] = [:]
    for (index, event) in events.enumerated() {
      if (event["event_type"] as? String ?? "").isEmpty { missing["event_type", default: []].append(index) }
      if let user = event["user_id"] as? String {
        if user.count < shortest { short["user_id", default: []].append(index) }
        if placeholders.contains(user.lowercased()) { invalid["user_id", default: []].append(index) }
      } else {
        missing["user_id", default: []].append(index)
      }
      // Milliseconds, and no seconds.
      if (event["time"] as? Int64 ?? 0) < 100_000_000_000 { invalid["time", default: []].append(index) }
      for name in ["price", "revenue", "quantity"] where event[name] != nil && !(event[name] is NSNumber) {
        invalid[name, default: []].append(index)
      }
      if event["event_properties"] as? [String: Any] == nil { invalid["event_properties", default: []].append(index) }
    }
    if !short.isEmpty {
      return refuse(
        400, ["error": "Invalid id length for user_id or device_id", "events_with_invalid_id_lengths": short])
    }
    if !invalid.isEmpty || !missing.isEmpty {
      return refuse(
        400,
        [
          "error": "Request missing required field", "events_with_invalid_fields": invalid,
          "events_with_missing_fields": missing,
        ])
    }
    taken.withLock { taken in
      for event in events {
        let (user, id) = (event["user_id"] as? String ?? "", event["insert_id"] as? String ?? UUID().uuidString)
        taken["\(user)\u{1F}\(id)"] = AnalyticsPost(
          event, name: event["event_type"] as? String ?? "", user: user, insertID: id)
      }
    }
    return .status(
      200,
      body: """
        {"code":200,"events_ingested":\(events.count),"payload_size_bytes":\(request.body.count),"server_upload_time":0}
        """)
  }
}

/// Mixpanel's way in for events from servers.
public final class MixpanelService: AnalyticsService {
  private let token: String
  private let now: @Sendable () -> Int64
  private let taken = Mutex<[String: AnalyticsPost]>([:])

  /// Creates the service with the one project it knows.
  ///
  /// - Parameter now: its clock, in seconds.
  public init(token: String, now: @escaping @Sendable () -> Int64) {
    self.token = token
    self.now = now
  }

  /// What it has taken, without repetitions.
  public var posts: [AnalyticsPost] { taken.withLock { Array($0.values) } }

  /// What it answers to a request.
  public func answer(_ request: HTTPReceiver.Request) -> HTTPReceiver.Answer {
    guard request.path == "/import?strict=1" else { return .status(404, body: "Not found") }
    guard request.headers["authorization"] == "Basic \(Data("\(token):".utf8).base64EncodedString())" else {
      return .status(401, body: #"{"code":401,"error":"Unauthorized","status":"Unauthorized"}"#)
    }
    guard request.body.count <= 2_000_000 else {
      return .status(413, body: #"{"code":413,"error":"Request entity too large","status":"Request Entity Too Large"}"#)
    }
    guard request.headers["content-type"] == "application/json",
      let events = try? JSONSerialization.jsonObject(with: Data(request.body)) as? [[String: Any]]
    else { return .status(400, body: #"{"code":400,"error":"invalid JSON","status":"Bad Request"}"#) }
    guard events.count <= 2000 else { return .status(413, body: "") }
    var failed: [[String: Any]] = []
    var good: [AnalyticsPost] = []
    for (index, event) in events.enumerated() {
      let properties = event["properties"] as? [String: Any] ?? [:]
      let insertID = properties["$insert_id"] as? String ?? ""
      func fail(_ field: String, _ message: String) {
        failed.append(["index": index, "$insert_id": insertID, "field": field, "message": message])
      }
      let time = properties["time"] as? Int64 ?? 0
      let user = properties["distinct_id"] as? String
      if (event["event"] as? String ?? "").isEmpty {
        fail("event", "'event' is required")
      } else if time < 31_536_000 || time > now() + 3600 {
        fail("properties.time", "'properties.time' is invalid: must be specified as seconds since epoch")
      } else if user == nil || (user != "" && placeholders.contains((user ?? "").lowercased())) {
        fail("properties.distinct_id", "'properties.distinct_id' is invalid: must not be an invalid distinct id")
      } else if insertID.wholeMatch(of: /[A-Za-z0-9-]{1,36}/) == nil || placeholders.contains(insertID.lowercased()) {
        fail("properties.$insert_id", "'properties.$insert_id' is invalid")
      } else if properties.count > 255 {
        fail("properties", "too many properties")
      } else {
        good.append(AnalyticsPost(event, name: event["event"] as? String ?? "", user: user ?? "", insertID: insertID))
      }
    }
    taken.withLock { taken in
      for post in good { taken["\(post.name)\u{1F}\(post.user)\u{1F}\(post.insertID)"] = post }
    }
    if failed.isEmpty {
      return .status(200, body: #"{"code":200,"num_records_imported":\#(good.count),"status":"OK"}"#)
    }
    let answer: [String: Any] = [
      "code": 400, "error": "some data points in the request failed validation", "failed_records": failed,
      "num_records_imported": good.count, "status": "Bad Request",
    ]
    let data = (try? JSONSerialization.data(withJSONObject: answer)) ?? Data()
    return .status(400, body: String(decoding: data, as: UTF8.self))
  }
}
