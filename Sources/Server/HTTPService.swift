/// What a listener's requests are for. Called from any thread.
protocol HTTPService: Sendable {
  /// Says by a request's head whether its body is wanted.
  func admission(of head: HTTPHead) -> Admission

  /// Answers a request that came whole.
  func answer(_ head: HTTPHead, body: [UInt8]) async -> HTTPAnswer

  /// Answers a request whose body is longer than was admitted; the rest of it is not read.
  func answerTooLarge(_ head: HTTPHead) async -> HTTPAnswer

  /// Answers a request of which it cannot be told where its body ends; nothing of it is read.
  func answerAmbiguous(_ head: HTTPHead) -> HTTPAnswer
}

extension HTTPService {
  func answerAmbiguous(_ head: HTTPHead) -> HTTPAnswer {
    .problem(400, "the length of the body is not told in one way")
  }
}

/// What is done about a request by its head.
enum Admission: Sendable {
  /// Its body is read, up to so many bytes.
  case read(limit: Int)
  /// It is refused.
  case refuse(HTTPAnswer)
}
