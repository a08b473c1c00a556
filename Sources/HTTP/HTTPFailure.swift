/// Why a request has no answer. Its description never contains the address's path or query.
public enum HTTPFailure: Error, Sendable, Equatable, CustomStringConvertible {
  /// The host is one that requests must not go to; the text says which and why.
  case addressNotAllowed(String)
  /// The address is none that can be posted to.
  case unusableURL
  /// The other side's certificate does not prove that it is the host.
  case untrusted
  /// There was no answer in time.
  case timedOut
  /// The network or the other side failed, in libcurl's words for the kind of failure.
  case network(String)
  /// The program was stopped before there was an answer.
  case stopped

  /// One line for people.
  public var description: String {
    switch self {
    case .addressNotAllowed(let reason): "the address is not allowed: \(reason)"
    case .unusableURL: "the url cannot be used: an address like https://example.com/hooks is needed"
    case .untrusted:
      "no answer: its certificate is for another host, has ended, or comes from an authority that is not believed"
    case .timedOut: "no answer in time"
    case .network(let words): "no answer: \(words)"
    case .stopped: "no answer before the program was stopped"
    }
  }
}
