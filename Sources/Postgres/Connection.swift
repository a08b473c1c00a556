import CPostgres
import Dispatch

/// One connection to PostgreSQL.
///
/// Everything it does runs on its own queue, since libpq blocks. A transaction's body is synchronous, so that no other
/// task's statement can come between those of a transaction. Sessions run in UTC with ISO dates, UTF-8 and without JIT.
public actor Connection {
  private let executor: ConnectionExecutor
  private var pointer: OpaquePointer?
  private let cancelHandle: CancelHandle
  private let socket: SocketHandle
  private let noticeLog: NoticeLog

  /// The queue's executor: the connection's calls may block it and nothing else.
  public nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  /// A connected libpq connection on its way from the thread that opened it to the actor that will own it.
  ///
  /// `@unchecked Sendable`: libpq lets any thread use a connection as long as only one does at a time, and this is
  /// handed over once.
  private struct Opened: @unchecked Sendable {
    let pointer: OpaquePointer
    let socket: SocketHandle
    let noticeLog: NoticeLog
  }

  /// Connects.
  ///
  /// - Parameters:
  ///   - connectionString: any libpq connection string: a URI or `key=value` pairs. What it does not say is taken from
  ///     libpq's environment variables and password file. Unless it says otherwise the time to connect is limited to ten
  ///     seconds, and a server that is out of reach is taken for gone after a minute.
  ///   - applicationName: what the server's activity view shows, unless the string names another.
  /// - Throws: ``PostgresError``. The connection string is never part of it.
  public static func open(
    _ connectionString: String, applicationName: String = "tenure"
  ) async throws -> Connection {
    let executor = ConnectionExecutor()
    let opened: Opened = try await withCheckedThrowingContinuation { continuation in
      executor.queue.async {
        continuation.resume(with: Result { try connect(connectionString, applicationName: applicationName) })
      }
    }
    return Connection(opened, executor: executor)
  }

  /// Whether the server the string names lets anyone in: false while it does not run, is starting or is stopping.
  public static func isAccepting(_ connectionString: String) async -> Bool {
    await withCheckedContinuation { continuation in
      DispatchQueue.global().async { continuation.resume(returning: PQping(connectionString) == PQPING_OK) }
    }
  }

  private init(_ opened: Opened, executor: ConnectionExecutor) {
    self.executor = executor
    pointer = opened.pointer
    socket = opened.socket
    noticeLog = opened.noticeLog
    cancelHandle = CancelHandle(of: opened.pointer)
    cancelHandle.enlist()
  }

  isolated deinit { finish() }

  /// Closes the connection; later statements fail. Closing twice is allowed.
  public func close() { finish() }

  private func finish() {
    guard let pointer else { return }
    cancelHandle.delist()
    cancelHandle.free()
    PQfinish(pointer)
    socket.free()
    self.pointer = nil
  }

  /// Leaves the connection from any thread, without waiting for the server: the statement that is running, and later ones,
  /// fail as on a connection that is lost. The server learns of it when it next looks.
  public nonisolated func drop() { socket.drop() }

  /// Asks the server to stop the statement that is running, from any thread. The statement then throws a
  /// ``PostgresError`` whose `isCancelled` is true. Does nothing when none is running.
  public nonisolated func cancel() { cancelHandle.cancel() }

  /// Asks the server to stop the running statement of every connection this process has: what a signal to end does.
  public static func cancelAll() { CancelHandle.cancelAll() }

  /// Whether the connection was lost or closed, so that no statement can succeed on it.
  public var isLost: Bool { pointer.map { PQstatus($0) != CONNECTION_OK } ?? true }

  /// The process number of the server's side of this connection.
  public var serverProcess: Int32 { pointer.map { PQbackendPID($0) } ?? 0 }

  /// The server's version, such as 150018 for 15.18.
  public var serverVersion: Int { pointer.map { Int(PQserverVersion($0)) } ?? 0 }

  /// Takes the notices the server sent since they were last taken, at most the last hundred. They never go to stderr.
  public func takeNotices() -> [String] { noticeLog.take() }

  // MARK: - Statements

  /// Runs one or several statements without parameters, and drops their results.
  ///
  /// Several statements in one text run in one transaction, unless they say otherwise themselves.
  public func execute(_ sql: String) throws {
    let context = PostgresError.excerpt(of: sql)
    let pointer = try connected(context)
    let result = QueryResult(PQexec(pointer, sql))
    try check(result, pointer, context)
    if result.status == PGRES_COPY_IN || result.status == PGRES_COPY_OUT {
      // A COPY belongs to copyIn and copyOut; the connection must not stay in that state.
      abandon(pointer)
      throw PostgresError(message: "COPY needs copyIn or copyOut", context: context)
    }
  }

  /// Runs one statement and returns its rows.
  @discardableResult
  public func query(_ sql: String, _ parameters: [Parameter] = []) throws -> [Row] {
    let context = PostgresError.excerpt(of: sql)
    let pointer = try connected(context)
    let buffer = try ParameterBuffer(parameters, context: context)
    let result = buffer.withPointers { types, values, lengths, formats in
      QueryResult(PQexecParams(pointer, sql, buffer.count, types, values, lengths, formats, 0))
    }
    try check(result, pointer, context)
    let header = Row.Header(result.columnNames)
    return (0..<result.rowCount).map { result.row($0, header) }
  }

  /// Runs one statement and hands over its rows one after another as they arrive: memory does not grow with them.
  ///
  /// An error thrown by `body` stops the statement and is thrown on.
  public func forEachRow(_ sql: String, _ parameters: [Parameter] = [], _ body: (Row) throws -> Void) throws {
    let context = PostgresError.excerpt(of: sql)
    let pointer = try connected(context)
    let buffer = try ParameterBuffer(parameters, context: context)
    let isSent = buffer.withPointers { types, values, lengths, formats in
      PQsendQueryParams(pointer, sql, buffer.count, types, values, lengths, formats, 0) == 1
    }
    guard isSent, PQsetSingleRowMode(pointer) == 1 else { throw connectionError(pointer, context) }
    do {
      var header: Row.Header?
      while let next = PQgetResult(pointer) {
        let result = QueryResult(next)
        try check(result, pointer, context)
        let known = header ?? Row.Header(result.columnNames)
        header = known
        for index in 0..<result.rowCount { try body(result.row(index, known)) }
      }
    } catch {
      abandon(pointer)
      throw error
    }
  }

  /// Runs a `COPY … FROM STDIN (FORMAT binary)` with these rows.
  ///
  /// - Returns: the number of rows stored.
  @discardableResult
  public func copyIn(_ sql: String, _ rows: BinaryRows) throws -> Int {
    // Signature, flags and the length of the header extension: the file header of binary COPY.
    let header: [UInt8] = Array("PGCOPY\n".utf8) + [0xFF, 0x0D, 0x0A, 0] + [0, 0, 0, 0] + [0, 0, 0, 0]
    let trailer: [UInt8] = [0xFF, 0xFF]
    var parts = [header, rows.bytes, trailer][...]
    return try copyIn(sql) { parts.popFirst() }
  }

  /// Runs a `COPY … FROM STDIN` with data in the form that the statement names, taken piece by piece until there is none:
  /// memory does not grow with it. It is how to bring back what ``copyOut(_:_:)`` handed over.
  ///
  /// An error thrown by `next` stops the COPY, of which nothing is stored then, and is thrown on.
  ///
  /// - Returns: the number of rows stored.
  @discardableResult
  public func copyIn(_ sql: String, _ next: () throws -> [UInt8]?) throws -> Int {
    let context = PostgresError.excerpt(of: sql)
    let pointer = try connected(context)
    let start = QueryResult(PQexec(pointer, sql))
    try check(start, pointer, context)
    guard start.status == PGRES_COPY_IN else {
      abandon(pointer)
      throw PostgresError(message: "this is no COPY … FROM STDIN", context: context)
    }
    func piece() throws -> [UInt8]? {
      do { return try next() } catch {
        abandon(pointer)
        throw error
      }
    }
    while let part = try piece() {
      try part.withUnsafeBytes { raw in
        var offset = 0
        while offset < raw.count {
          // libpq buffers what it is given: small parts keep its buffer small.
          let length = min(raw.count - offset, 1 << 18)
          let address = raw.baseAddress?.advanced(by: offset).assumingMemoryBound(to: CChar.self)
          guard PQputCopyData(pointer, address, Int32(length)) == 1 else { throw connectionError(pointer, context) }
          offset += length
        }
      }
    }
    guard PQputCopyEnd(pointer, nil) == 1 else { throw connectionError(pointer, context) }
    return try finishCopy(pointer, context)
  }

  /// Runs a `COPY … TO STDOUT` and hands over its data, a row at a time as PostgreSQL sends it.
  ///
  /// The bytes are valid during the call of `body` only. An error thrown by `body` stops the COPY and is thrown on.
  public func copyOut(_ sql: String, _ body: (UnsafeRawBufferPointer) throws -> Void) throws {
    let context = PostgresError.excerpt(of: sql)
    let pointer = try connected(context)
    let start = QueryResult(PQexec(pointer, sql))
    try check(start, pointer, context)
    guard start.status == PGRES_COPY_OUT else {
      abandon(pointer)
      throw PostgresError(message: "this is no COPY … TO STDOUT", context: context)
    }
    while true {
      var data: UnsafeMutablePointer<CChar>?
      let length = PQgetCopyData(pointer, &data, 0)
      if length == -1 { break }
      guard length >= 0, let data else { throw connectionError(pointer, context) }
      defer { PQfreemem(data) }
      do {
        try body(UnsafeRawBufferPointer(start: data, count: Int(length)))
      } catch {
        abandon(pointer)
        throw error
      }
    }
    _ = try finishCopy(pointer, context)
  }

  /// Runs `body` in a transaction: committed when it returns, rolled back when it throws.
  ///
  /// The body is synchronous and cannot be interleaved with other tasks' statements. Transactions do not nest: beginning
  /// one inside another is a mistake in the program.
  ///
  /// - Throws: what `body` throws, or a ``PostgresError`` when the transaction cannot be begun or committed.
  public func transaction<T: Sendable>(
    _ isolation: Isolation = .readCommitted, _ body: @Sendable (isolated Connection) throws -> T
  ) throws -> T {
    let pointer = try connected("beginning a transaction")
    precondition(PQtransactionStatus(pointer) != PQTRANS_INTRANS, "transactions do not nest")
    try execute(isolation.begin)
    let value: T
    do {
      value = try body(self)
    } catch {
      // The error that matters is the first; a rollback that fails means the connection is gone, and with it the
      // transaction.
      try? execute("rollback")
      throw error
    }
    let result = QueryResult(PQexec(pointer, "commit"))
    try check(result, pointer, "committing")
    // A transaction in which a statement failed is rolled back by COMMIT, without an error.
    guard result.commandStatus == "COMMIT" else {
      throw PostgresError(
        message: "the transaction was rolled back since a statement in it had failed", context: "committing")
    }
    return value
  }

  // MARK: - libpq

  /// A result of libpq, freed when it is let go.
  private final class QueryResult {
    private let pointer: OpaquePointer?
    init(_ pointer: OpaquePointer?) { self.pointer = pointer }
    deinit { PQclear(pointer) }

    var status: ExecStatusType { PQresultStatus(pointer) }
    var rowCount: Int32 { PQntuples(pointer) }
    var columnNames: [String] { (0..<PQnfields(pointer)).map { String(cString: PQfname(pointer, $0)) } }
    var commandStatus: String { PQcmdStatus(pointer).map { String(cString: $0) } ?? "" }
    var affectedRows: Int { PQcmdTuples(pointer).flatMap { Int(String(cString: $0)) } ?? 0 }

    func field(_ code: Character) -> String? {
      PQresultErrorField(pointer, Int32(code.asciiValue ?? 0)).map { String(cString: $0) }
    }

    func row(_ row: Int32, _ header: Row.Header) -> Row {
      let values: [String?] = (0..<PQnfields(pointer)).map { column in
        if PQgetisnull(pointer, row, column) == 1 { return nil }
        let length = Int(PQgetlength(pointer, row, column))
        return String(
          decoding: UnsafeRawBufferPointer(start: PQgetvalue(pointer, row, column), count: length), as: UTF8.self)
      }
      return Row(header: header, values: values)
    }
  }

  private func connected(_ context: String) throws -> OpaquePointer {
    guard let pointer else {
      throw PostgresError(message: "the connection is closed", context: context, isConnectionLost: true)
    }
    return pointer
  }

  private func check(_ result: QueryResult, _ pointer: OpaquePointer, _ context: String) throws {
    switch result.status {
    case PGRES_COMMAND_OK, PGRES_TUPLES_OK, PGRES_SINGLE_TUPLE, PGRES_EMPTY_QUERY, PGRES_COPY_IN, PGRES_COPY_OUT:
      return
    default:
      guard let sqlState = result.field("C") else { throw connectionError(pointer, context) }
      throw PostgresError(
        sqlState: sqlState, message: result.field("M") ?? "unknown error", detail: result.field("D"),
        hint: result.field("H"), context: context, isConnectionLost: PQstatus(pointer) == CONNECTION_BAD)
    }
  }

  private func connectionError(_ pointer: OpaquePointer, _ context: String) -> PostgresError {
    PostgresError(
      message: socket.isDropped ? Self.noAnswer : Self.firstLines(PQerrorMessage(pointer)), context: context,
      isConnectionLost: PQstatus(pointer) == CONNECTION_BAD)
  }

  private func finishCopy(_ pointer: OpaquePointer, _ context: String) throws -> Int {
    var rows = 0
    var failure: (any Error)?
    while let next = PQgetResult(pointer) {
      let result = QueryResult(next)
      do { try check(result, pointer, context) } catch { failure = failure ?? error }
      rows = result.affectedRows
    }
    if let failure { throw failure }
    return rows
  }

  /// Stops what is running and reads away what is left of it, so that the connection can be used again.
  private func abandon(_ pointer: OpaquePointer) {
    cancelHandle.cancel()
    while let next = PQgetResult(pointer) {
      let result = QueryResult(next)
      if result.status == PGRES_COPY_IN {
        if PQputCopyEnd(pointer, "abandoned") != 1 { return }
      } else if result.status == PGRES_COPY_OUT {
        var data: UnsafeMutablePointer<CChar>?
        while PQgetCopyData(pointer, &data, 0) > 0 { PQfreemem(data) }
      } else if PQstatus(pointer) == CONNECTION_BAD {
        return
      }
    }
  }

  private static func firstLines(_ text: UnsafePointer<CChar>?) -> String {
    let text = text.map { String(cString: $0) } ?? "unknown error"
    return text.split(separator: "\n").map { $0.trimmed }.joined(separator: "; ")
  }

  // MARK: - Connecting

  private static func connect(_ connectionString: String, applicationName: String) throws -> Opened {
    let context = "connecting to PostgreSQL"
    let password = try password(in: connectionString, context)
    // What comes later wins: the string overrides the time limits and cannot override the encoding.
    let options =
      [("connect_timeout", "10"), ("fallback_application_name", applicationName)] + lossSettings
      + [("dbname", connectionString), ("client_encoding", "UTF8")]
    let pointer = withCStrings(options.map(\.0)) { keys in
      withCStrings(options.map(\.1)) { values in PQconnectdbParams(keys, values, 1) }
    }
    guard let pointer else { throw PostgresError(message: "out of memory", context: context) }
    guard PQstatus(pointer) == CONNECTION_OK else {
      defer { PQfinish(pointer) }
      var message = firstLines(PQerrorMessage(pointer))
      // No message of libpq or the server holds the password; should one ever do, it must not get out.
      if let password, !password.isEmpty { message = message.replacing(password, with: "…") }
      throw PostgresError(message: message, context: context, isConnectionLost: true)
    }
    let noticeLog = NoticeLog()
    // The log lives as long as the connection that hands it out: the actor keeps both.
    PQsetNoticeReceiver(
      pointer,
      { log, result in
        guard let log, let message = PQresultErrorField(result, Int32(UInt8(ascii: "M"))) else { return }
        Unmanaged<NoticeLog>.fromOpaque(log).takeUnretainedValue().append(String(cString: message))
      }, Unmanaged.passUnretained(noticeLog).toOpaque())
    // To libpq the time to connect is over when it has been let in, and a pooler does that for a server that hangs.
    let socket = SocketHandle(of: pointer)
    let watch = DispatchWorkItem { socket.drop() }
    if let limit = timeToConnect(of: pointer) {
      DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(limit), execute: watch)
    }
    defer { watch.cancel() }
    let result = withExtendedLifetime(noticeLog) { QueryResult(PQexec(pointer, sessionSettings)) }
    guard result.status == PGRES_COMMAND_OK else {
      defer { PQfinish(pointer) }
      throw PostgresError(
        sqlState: result.field("C"),
        message: socket.isDropped ? noAnswer : firstLines(PQerrorMessage(pointer)), context: "setting up the session",
        isConnectionLost: PQstatus(pointer) == CONNECTION_BAD)
    }
    return Opened(pointer: pointer, socket: socket, noticeLog: noticeLog)
  }

  /// How long connecting may take, in seconds; `nil` for no limit.
  private static func timeToConnect(of pointer: OpaquePointer) -> Int? {
    guard let options = PQconninfo(pointer) else { return nil }
    defer { PQconninfoFree(options) }
    var option = options
    while let keyword = option.pointee.keyword {
      if String(cString: keyword) == "connect_timeout" {
        return option.pointee.val.flatMap { Int(String(cString: $0)) }.flatMap { $0 > 0 ? $0 : nil }
      }
      option = option.advanced(by: 1)
    }
    return nil
  }

  /// What is said of a connection that was left.
  private static let noAnswer = "the server did not answer in time, and the connection was left"

  /// When a connection over TCP counts as lost: where nothing has come for half a minute the other side's system is probed,
  /// and what it has not confirmed for a minute it does not get. Without them that takes a quarter of an hour, and where
  /// one only waits for an answer, two hours.
  private static let lossSettings = [
    ("keepalives_idle", "30"), ("keepalives_interval", "10"), ("keepalives_count", "3"), ("tcp_user_timeout", "60000"),
  ]

  /// Results are read as text: these settings fix how it is written.
  private static let sessionSettings = """
    set timezone = 'UTC'; set datestyle = 'ISO, YMD'; set intervalstyle = 'postgres'; set bytea_output = 'hex';
    set standard_conforming_strings = on; set jit = off
    """

  /// Reads the connection string for the one thing that must not get out.
  ///
  /// libpq quotes the place where it stops understanding a string, and takes a password with an unescaped `@`, `/` or
  /// `:` in a URI for a part of the host or database. Its messages would then show the password, so ours are used.
  private static func password(in connectionString: String, _ context: String) throws -> String? {
    let unreadable = PostgresError(
      message: "the connection string cannot be read (it is not shown, since it may hold a password)",
      hint: "Write postgresql://USER:PASSWORD@HOST:PORT/DATABASE with special characters percent-encoded, "
        + "or key=value pairs such as host=HOST dbname=DATABASE",
      context: context)
    // PQconnectdbParams takes a string without "=" and "://" for the name of a database.
    guard connectionString.contains("=") || connectionString.contains("://") else { throw unreadable }
    var message: UnsafeMutablePointer<CChar>?
    guard let options = PQconninfoParse(connectionString, &message) else {
      PQfreemem(message)
      throw unreadable
    }
    defer { PQconninfoFree(options) }
    var password: String?
    var option = options
    while let keyword = option.pointee.keyword {
      if let value = option.pointee.val.map({ String(cString: $0) }) {
        switch String(cString: keyword) {
        case "password": password = value
        case "host", "user", "dbname":
          if connectionString.contains("://"), value.contains("@") { throw unreadable }
        case "port":
          if !value.allSatisfy({ $0.isNumber || $0 == "," }) { throw unreadable }
        default: break
        }
      }
      option = option.advanced(by: 1)
    }
    return password
  }

  /// Calls `body` with a null-terminated array of C strings.
  private static func withCStrings<T>(
    _ strings: [String], _ body: ([UnsafePointer<CChar>?]) throws -> T
  ) rethrows -> T {
    var copies: [UnsafeMutablePointer<CChar>] = []
    defer { for copy in copies { copy.deallocate() } }
    for string in strings {
      let utf8 = string.utf8CString
      let copy = UnsafeMutablePointer<CChar>.allocate(capacity: utf8.count)
      utf8.withUnsafeBufferPointer { copy.initialize(from: $0.baseAddress!, count: utf8.count) }
      copies.append(copy)
    }
    return try body(copies.map { UnsafePointer($0) } + [nil])
  }
}

extension Substring {
  /// Without spaces and tabs at its ends.
  fileprivate var trimmed: String {
    var text = self
    while text.first?.isWhitespace == true { text.removeFirst() }
    while text.last?.isWhitespace == true { text.removeLast() }
    return String(text)
  }
}
