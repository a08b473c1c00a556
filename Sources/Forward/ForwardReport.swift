/// What the forwarder tells while it works.
public enum ForwardReport: Sendable {
  /// A request ended; the verdict is that on this delivery.
  case attempted(target: String, eventID: String, status: Int?, verdict: Verdict)
  /// A delivery was refused without a request: its event is gone or cannot be read.
  case lost(target: String, eventID: String, reason: String)
  /// The database is away; it is tried again.
  case databaseLost(String)
}

/// What a pass of the forwarder did, and what is left.
public struct ForwardSummary: Sendable, Equatable, Encodable {
  /// Deliveries that their targets took in this pass.
  public var delivered = 0
  /// Deliveries that were refused in this pass.
  public var refused = 0
  /// Deliveries that wait for their time.
  public var waiting = 0
  /// Deliveries that wait for their target to be resumed.
  public var held = 0
}
