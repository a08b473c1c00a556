/// What a broker or the client library cannot do.
public struct KafkaError: Error, Sendable, CustomStringConvertible {
  /// What was being done, what went wrong and what to do. Never the value of an option.
  public let description: String

  init(_ description: String) { self.description = description }
}
