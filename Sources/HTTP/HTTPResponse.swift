internal import CCurl
public import Vocabulary

/// What the other side answered.
public struct HTTPResponse: Sendable, Equatable {
  /// The status code.
  public var status: Int
  /// The headers; of one that comes several times the last. Names are in small letters.
  public var headers: [String: String]
  /// The beginning of the body, at most as much as the client keeps.
  public var body: [UInt8]

  /// Creates an answer.
  public init(status: Int, headers: [String: String] = [:], body: [UInt8] = []) {
    self.status = status
    self.headers = headers
    self.body = body
  }

  /// How long `Retry-After` asks to wait, in seconds: it says so in seconds or as a date, which is seen from `now`.
  /// `nil` when there is none or it is neither (RFC 9110, section 10.2.3).
  public func retryAfter(now: Instant) -> Int64? {
    guard let text = headers["retry-after"] else { return nil }
    if let seconds = Int64(text) { return seconds >= 0 ? seconds : nil }
    // libcurl reads the three forms of a date that HTTP allows. Others it reads too are no harm.
    let date = Int64(curl_getdate(text, nil))
    guard date >= 0, text.contains(":") else { return nil }
    return max(0, date - now.microseconds / 1_000_000)
  }
}
