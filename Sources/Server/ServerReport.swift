/// What a server tells while it works.
public enum ServerReport: Sendable {
  /// An app was put down at first sight.
  case appAdded(key: String)
  /// Events could not be stored, and their senders were told to come again. Told once until it has gone well again.
  case storingFailed(source: String, error: String)
  /// Events are stored again.
  case storingResumed(source: String)
  /// A report could not be read.
  case reportFailed(error: String)
}
