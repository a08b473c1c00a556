/// Why something asked of PostgreSQL was not done.
///
/// Its description is safe to show and to log: it holds neither the connection string nor values of rows or parameters.
/// PostgreSQL quotes offending values in the messages of data errors (SQLSTATE classes 22 and 23); those quotes are cut.
public struct PostgresError: Error, Sendable, CustomStringConvertible {
  /// The five-character SQLSTATE code; nil when the error did not come from the server.
  public let sqlState: String?
  /// What went wrong, in the server's or libpq's words, or in ours.
  public let message: String
  /// More about it, where the server gave some that holds no values.
  public let detail: String?
  /// What to do about it, where known.
  public let hint: String?
  /// What was being done, such as "connecting" or the beginning of the statement.
  public let context: String
  /// Whether the connection is gone, so that only a new one can help.
  public let isConnectionLost: Bool

  /// Makes an error.
  ///
  /// - Parameters:
  ///   - sqlState: the SQLSTATE code, if the server gave one.
  ///   - message: what went wrong, without secrets.
  ///   - detail: more about it, without secrets.
  ///   - hint: what to do about it.
  ///   - context: what was being done.
  ///   - isConnectionLost: whether the connection is gone.
  public init(
    sqlState: String? = nil, message: String, detail: String? = nil, hint: String? = nil, context: String,
    isConnectionLost: Bool = false
  ) {
    let sqlClass = sqlState?.prefix(2)
    let quotesValues = sqlClass == "22" || sqlClass == "23"
    self.sqlState = sqlState
    self.message = quotesValues ? Self.withoutQuotedValue(message) : message
    self.detail = quotesValues ? nil : detail
    self.hint = hint
    self.context = context
    self.isConnectionLost = isConnectionLost
  }

  /// Whether the statement was stopped by ``Connection/cancel()`` or a time limit of the server.
  public var isCancelled: Bool { sqlState == "57014" }

  /// One line: what was being done, what went wrong, what to do.
  public var description: String {
    var text = "\(context): \(message)"
    if let detail { text += " (\(detail))" }
    if let hint { text += ". \(hint)" }
    if let sqlState { text += " [\(sqlState)]" }
    return text
  }

  /// Cuts the value PostgreSQL quotes at the end of messages such as `invalid input syntax for type integer: "x"`.
  private static func withoutQuotedValue(_ message: String) -> String {
    var end = message.startIndex
    while end < message.endIndex {
      if message[end...].hasPrefix(": \"") { return String(message[..<end]) }
      end = message.index(after: end)
    }
    return message
  }

  /// The beginning of a statement, to say which one failed. A password literal and what follows it is left out.
  static func excerpt(of sql: String) -> String {
    let words = sql.split(whereSeparator: \.isWhitespace)
    var text = ""
    for word in words {
      if word.lowercased() == "password" {
        text += " password …"
        break
      }
      if text.count + word.count > 100 {
        text += " …"
        break
      }
      text += text.isEmpty ? String(word) : " \(word)"
    }
    return "running \"\(text)\""
  }
}
