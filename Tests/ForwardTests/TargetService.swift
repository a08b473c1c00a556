import Foundation
import Signatures
import Synchronization
import TestSupport
import Vocabulary

@testable import Forward

/// The service behind a type of target, as the real one behaves, and how a target is configured to reach it.
final class TargetService: Sendable {
  let type: String
  private let telegram = TelegramService(
    token: "12345:secret-token", chats: ["17", "-1001234567890", "-1001557912345"])
  private let amplitude = AmplitudeService(apiKey: "secret-token")
  private let mixpanel: MixpanelService
  private let clock: TestClock
  private let taken = Mutex<[String]>([])

  init(_ type: String, clock: TestClock = TestClock()) {
    self.type = type
    self.clock = clock
    mixpanel = MixpanelService(token: "secret-token") { clock.now.microseconds / 1_000_000 }
  }

  /// How many messages or events it has taken, repetitions left out where it tells them.
  var count: Int {
    switch type {
    case "amplitude": amplitude.posts.count
    case "mixpanel": mixpanel.posts.count
    default: taken.withLock { $0.count }
    }
  }

  /// The analytics events it has taken.
  var posts: [AnalyticsPost] { type == "amplitude" ? amplitude.posts : mixpanel.posts }

  func answer(_ request: HTTPReceiver.Request) -> HTTPReceiver.Answer {
    let (answer, text): (HTTPReceiver.Answer, String?)
    switch type {
    case "slack":
      let said = SlackService.answer(request)
      (answer, text) = (said.answer, said.post?.text)
    case "telegram":
      let said = telegram.answer(request)
      (answer, text) = (said.answer, said.post?.text)
    case "discord":
      let said = DiscordService.answer(request)
      (answer, text) = (said.answer, said.post?.text)
    case "amplitude": return amplitude.answer(request)
    case "mixpanel": return mixpanel.answer(request)
    default:
      let fault = WebhookVerifier(secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
        .fault(of: request, now: clock.now.microseconds / 1_000_000)
      (answer, text) = fault == nil ? (.status(200), request.text) : (.status(401), nil)
    }
    if let text { taken.withLock { $0.append(text) } }
    return answer
  }

  /// How a target of its type is configured to reach a receiver.
  func configuration(_ receiver: HTTPReceiver) -> TargetConfiguration {
    var target: TargetConfiguration
    switch type {
    case "webhook": return .webhook(receiver)
    case "slack": return .slack(receiver)
    // A person, not a group: the pace is no longer than the shortest wait.
    case "telegram": return .telegram(receiver, chatID: "17")
    case "discord":
      target = TargetConfiguration(name: "guild", type: type)
      target.url = receiver.url
    default:
      target = TargetConfiguration(name: "product", type: type)
      target.projectKey = "secret-token"
      target.baseURL = "http://127.0.0.1:\(receiver.port)"
    }
    target.allowsPrivateNetwork = true
    return target
  }
}

/// Accepts requests as the specification of Standard Webhooks asks of a receiver, by means of its own
/// (https://github.com/standard-webhooks/standard-webhooks, "Verifying signatures" and "Payload structure").
struct WebhookVerifier {
  private let key: [UInt8]

  init(secret: String) { key = Base64.decode(String(secret.dropFirst("whsec_".count))) ?? [] }

  /// What is wrong with a request; nil when nothing is.
  ///
  /// - Parameter now: seconds since 1970.
  func fault(of request: HTTPReceiver.Request, now: Int64) -> String? {
    guard let id = request.headers["webhook-id"], !id.isEmpty, !id.contains(".") else { return "webhook-id" }
    guard let timestamp = request.headers["webhook-timestamp"], let moment = Int64(timestamp), abs(now - moment) <= 300
    else { return "webhook-timestamp" }
    let signed = Array("\(id).\(timestamp).".utf8) + request.body
    let right = "v1," + Base64.encode(HMACSHA256.code(signed, key: key))
    guard request.headers["webhook-signature"]?.split(separator: " ").contains(Substring(right)) == true else {
      return "webhook-signature"
    }
    guard request.headers["content-type"] == "application/json",
      let body = try? JSONSerialization.jsonObject(with: Data(request.body)) as? [String: Any],
      let type = body["type"] as? String, type.wholeMatch(of: /[a-zA-Z0-9_]+(\.[a-zA-Z0-9_]+)*/) != nil,
      let occurredAt = body["timestamp"] as? String, Instant(occurredAt) != nil, body["data"] is [String: Any],
      request.body.count < 20_000
    else { return "payload" }
    return nil
  }
}
