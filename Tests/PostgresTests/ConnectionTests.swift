import Foundation
import Glibc
import Postgres
import TestSupport
import Testing

@Suite("Connection")
struct ConnectionTests {
  @Test("every kind of parameter arrives as it was given")
  func parameters() async throws {
    let connection = try await TestDatabase.empty().connect()
    let row = try await connection.query(
      """
      select $1 as flag, $2 + 1 as number, $3::text as words, $4::jsonb ->> 'a' as json, $5 as bytes, $6 as moment,
        ($7)[2] is null and ($7)[3] = 'x"\\,{}' as texts, $8 as ints, $9::text as missing, $10::date as day
      """,
      [
        true, .int(.max - 1), .text("é\n'\\"), .json(#"{"a": "b"}"#), .bytes([0, 1, 255]),
        .timestamp(microseconds: 1_767_323_045_123_456), .texts(["", nil, #"x"\,{}"#]), .ints([1, -2]), nil,
        "2024-02-29",
      ])[0]
    #expect(try row.bool("flag"))
    #expect(try row.int("number") == .max)
    #expect(try row.text("words") == "é\n'\\")
    #expect(try row.text("json") == "b")
    #expect(try row.bytes("bytes") == [0, 1, 255])
    #expect(try row.timestamp("moment") == 1_767_323_045_123_456)
    #expect(try row.text("moment") == "2026-01-02 03:04:05.123456+00")
    #expect(try row.bool("texts"))
    #expect(try row.text("ints") == "{1,-2}")
    #expect(row["missing"] == nil)
    #expect(try row.text("day") == "2024-02-29")
  }

  @Test("empty arrays, empty texts and empty byte strings are not null")
  func emptyValues() async throws {
    let connection = try await TestDatabase.empty().connect()
    let row = try await connection.query(
      "select cardinality($1) as texts, cardinality($2) as ints, $3::text as text, $4 as bytes",
      [.texts([]), .ints([]), "", .bytes([])])[0]
    #expect(try row.int("texts") == 0)
    #expect(try row.int("ints") == 0)
    #expect(try row.text("text") == "")
    #expect(try row.bytes("bytes") == [])
  }

  @Test("moments are read to the microsecond, before 1970 too")
  func moments() async throws {
    let connection = try await TestDatabase.empty().connect()
    for microseconds: Int64 in [0, -1, 1, 951_782_400_000_000, -62_135_596_800_000_000, 253_402_300_799_999_999] {
      let row = try await connection.query("select $1 as moment", [.timestamp(microseconds: microseconds)])[0]
      #expect(try row.timestamp("moment") == microseconds)
    }
  }

  @Test("a text with a NUL character is refused and not cut short")
  func nul() async throws {
    let connection = try await TestDatabase.empty().connect()
    let error = await #expect(throws: PostgresError.self) { try await connection.query("select $1", ["a\0b"]) }
    #expect(error?.sqlState == "22021")
  }

  @Test("reading a null or a wrong type as something else is an error that names the column")
  func wrongTypes() async throws {
    let connection = try await TestDatabase.empty().connect()
    let row = try await connection.query("select null as nothing, 'x' as word")[0]
    #expect(throws: PostgresError.self) { try row.text("nothing") }
    #expect(throws: PostgresError.self) { try row.int("word") }
    #expect(throws: PostgresError.self) { try row.bool("word") }
    #expect(throws: PostgresError.self) { try row.timestamp("word") }
    let error = #expect(throws: PostgresError.self) { try row.text("absent") }
    #expect(error?.description.contains("\"absent\"") == true)
  }

  @Test("binary COPY stores every kind of field")
  func copyIn() async throws {
    let connection = try await TestDatabase.empty().connect()
    try await connection.execute(
      """
      create table thing (a smallint, b integer, c bigint, d boolean, e text, f bytea, g uuid, h timestamptz, i date,
        j text[], k bigint[], l json, m jsonb)
      """)
    var rows = BinaryRows()
    rows.startRow(columns: 13)
    rows.int16(-1)
    rows.int32(2)
    rows.int64(.min)
    rows.bool(true)
    rows.text("é")
    rows.bytes([9])
    rows.uuid(Array(0..<16))
    rows.timestamp(microseconds: 1)
    rows.date(days: -1)
    rows.texts(["a", ""])
    rows.int64s([7])
    rows.json(#"{"a":1, "a":2}"#)
    rows.jsonb(#"{"a": 1}"#)
    rows.startRow(columns: 13)
    rows.int16(nil)
    rows.int32(nil)
    rows.int64(nil)
    rows.bool(nil)
    rows.text(nil)
    rows.bytes(nil)
    rows.uuid(nil)
    rows.timestamp(microseconds: nil)
    rows.date(days: nil)
    rows.texts(nil)
    rows.int64s(nil)
    rows.json(nil)
    rows.jsonb(nil)
    #expect(rows.count == 2)
    #expect(try await connection.copyIn("copy thing from stdin (format binary)", rows) == 2)
    let stored = try await connection.query("select thing::text as line from thing order by a nulls last")
    #expect(
      try stored.map { try $0.text("line") } == [
        #"(-1,2,-9223372036854775808,t,é,"\\x09",00010203-0405-0607-0809-0a0b0c0d0e0f,"#
          + #""1970-01-01 00:00:00.000001+00",1969-12-31,"{a,""""}",{7},"{""a"":1, ""a"":2}","{""a"": 1}")"#,
        "(,,,,,,,,,,,,)",
      ])
  }

  @Test("a COPY larger than libpq's buffers arrives whole")
  func largeCopy() async throws {
    let connection = try await TestDatabase.empty().connect()
    try await connection.execute("create table thing (number bigint, text text)")
    var rows = BinaryRows()
    for number in 0..<20_000 {
      rows.startRow(columns: 2)
      rows.int64(Int64(number))
      rows.text(String(repeating: "x", count: 100))
    }
    try await connection.copyIn("copy thing from stdin (format binary)", rows)
    let row = try await connection.query("select count(*) as rows, sum(length(text)) as letters from thing")[0]
    #expect(try row.int("rows") == 20_000)
    #expect(try row.int("letters") == 2_000_000)
  }

  @Test("a COPY that fails leaves the connection usable and its error shows no data")
  func failedCopy() async throws {
    let connection = try await TestDatabase.empty().connect()
    try await connection.execute("create table thing (number bigint primary key, secret text)")
    var rows = BinaryRows()
    for _ in 0..<2 {
      rows.startRow(columns: 2)
      rows.int64(424_242)
      rows.text("confidential")
    }
    let batch = rows
    let error = await #expect(throws: PostgresError.self) {
      try await connection.copyIn("copy thing from stdin (format binary)", batch)
    }
    #expect(error?.sqlState == "23505")
    #expect(error?.description.contains("thing_pkey") == true)
    #expect(error?.description.contains("424242") == false)
    #expect(error?.description.contains("confidential") == false)
    #expect(try await connection.query("select 1 as one")[0].int("one") == 1)
  }

  @Test("COPY out hands over every byte, and can be stopped")
  func copyOut() async throws {
    let connection = try await TestDatabase.empty().connect()
    let lines = Collected()
    try await connection.copyOut("copy (select generate_series(1, 3)) to stdout") {
      lines.append(String(decoding: $0, as: UTF8.self))
    }
    #expect(lines.values == ["1\n", "2\n", "3\n"])
    await #expect(throws: Stop.self) {
      try await connection.copyOut("copy (select generate_series(1, 10000000)) to stdout") { _ in throw Stop() }
    }
    #expect(try await connection.query("select 1 as one")[0].int("one") == 1)
  }

  @Test("COPY takes back piece by piece what it handed over, and can be stopped by its source")
  func copyInPieces() async throws {
    let connection = try await TestDatabase.empty().connect()
    try await connection.execute(
      "create table thing as select n, 'line ' || n as text from generate_series(1, 1000) n; create table other (like thing)"
    )
    let rows = try await connection.transaction { connection in
      var pieces: [[UInt8]] = []
      try connection.copyOut("copy thing to stdout (format binary)") { pieces.append(Array($0)) }
      var left = pieces[...]
      return try connection.copyIn("copy other from stdin (format binary)") { left.popFirst() }
    }
    #expect(rows == 1000)
    #expect(try await connection.query("select from (table thing except table other) as different").isEmpty)
    await #expect(throws: Stop.self) {
      try await connection.copyIn("copy other from stdin") { throw Stop() }
    }
    #expect(try await connection.query("select count(*) as rows from other")[0].int("rows") == 1000)
  }

  @Test("COPY through a plain statement is refused and leaves the connection usable")
  func misplacedCopy() async throws {
    let connection = try await TestDatabase.empty().connect()
    try await connection.execute("create table thing (number bigint)")
    await #expect(throws: PostgresError.self) { try await connection.execute("copy thing from stdin") }
    await #expect(throws: PostgresError.self) { try await connection.execute("copy thing to stdout") }
    await #expect(throws: PostgresError.self) { try await connection.copyIn("select 1", BinaryRows()) }
    #expect(try await connection.query("select 1 as one")[0].int("one") == 1)
  }

  @Test("rows are handed over as they arrive, and reading can stop early")
  func forEachRow() async throws {
    let connection = try await TestDatabase.empty().connect()
    let seen = Collected()
    try await connection.forEachRow("select n from generate_series(1, $1) n", [3]) { seen.append(try $0.text("n")) }
    #expect(seen.values == ["1", "2", "3"])
    await #expect(throws: Stop.self) {
      try await connection.forEachRow("select generate_series(1, 100000000) as n") { row in
        if try row.int("n") == 2 { throw Stop() }
      }
    }
    let error = await #expect(throws: PostgresError.self) {
      try await connection.forEachRow("select 1 / (3 - n) as quotient from generate_series(1, 5) n") { _ in }
    }
    #expect(error?.sqlState == "22012")
    #expect(try await connection.query("select 1 as one")[0].int("one") == 1)
  }

  @Test("a transaction is committed when its body returns and rolled back when it throws")
  func transactions() async throws {
    let connection = try await TestDatabase.empty().connect()
    try await connection.execute("create table thing (number bigint)")
    let answer = try await connection.transaction { connection in
      try connection.query("insert into thing values (1)")
      return 42
    }
    #expect(answer == 42)
    await #expect(throws: Stop.self) {
      try await connection.transaction(.repeatableRead) { connection in
        try connection.query("insert into thing values (2)")
        throw Stop()
      }
    }
    #expect(try await connection.query("select sum(number) as total from thing")[0].int("total") == 1)
  }

  @Test("a transaction whose body swallows a failed statement does not pass for committed")
  func swallowedFailure() async throws {
    let connection = try await TestDatabase.empty().connect()
    await #expect(throws: PostgresError.self) {
      try await connection.transaction { connection in
        _ = try? connection.query("select 1 / 0")
      }
    }
    #expect(try await connection.query("select 1 as one")[0].int("one") == 1)
  }

  @Test("a running statement can be cancelled from elsewhere")
  func cancel() async throws {
    let database = try await TestDatabase.empty()
    let connection = try await database.connect()
    let observer = try await database.connect()
    let process = await connection.serverProcess
    async let sleep = connection.query("select pg_sleep(600)")
    try await waiting(for: "the statement to run") {
      try await !observer.query(
        "select 1 from pg_stat_activity where pid = $1 and wait_event = 'PgSleep'", [.int(Int64(process))]
      ).isEmpty
    }
    connection.cancel()
    do {
      _ = try await sleep
      Issue.record("the statement was not stopped")
    } catch let error as PostgresError {
      #expect(error.isCancelled)
      #expect(!error.isConnectionLost)
    }
    #expect(try await connection.query("select 1 as one")[0].int("one") == 1)
  }

  @Test("connections that wait do not keep each other or other tasks waiting")
  func independence() async throws {
    let database = try await TestDatabase.empty()
    let holder = try await database.connect()
    try await holder.query("select pg_advisory_lock(1)")
    // More waiting connections than Swift has threads: only when none of them takes such a thread does the release run.
    let waiting = try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<16 {
        let connection = try await database.connect()
        group.addTask {
          try await connection.query("select pg_advisory_lock(1)")
          try await connection.query("select pg_advisory_unlock(1)")
        }
      }
      try await holder.query("select pg_advisory_unlock(1)")
      try await group.waitForAll()
      return true
    }
    #expect(waiting)
  }

  @Test("notices are kept for who asks")
  func notices() async throws {
    let connection = try await TestDatabase.empty().connect()
    try await connection.execute("do $$ begin raise notice 'so it goes'; end $$")
    #expect(await connection.takeNotices() == ["so it goes"])
    #expect(await connection.takeNotices() == [])
  }

  @Test("a connection the server ended says that it is lost")
  func lostConnection() async throws {
    let database = try await TestDatabase.empty()
    let connection = try await database.connect()
    let process = await connection.serverProcess
    try await database.connect().query("select pg_terminate_backend($1::int)", [.int(Int64(process))])
    let error = await #expect(throws: PostgresError.self) {
      // The server may end it during the first statement or before it.
      try await connection.query("select 1")
      try await connection.query("select 1")
    }
    #expect(error?.isConnectionLost == true)
    #expect(await connection.isLost)
  }

  @Test("a closed connection refuses statements")
  func closed() async throws {
    let connection = try await TestDatabase.empty().connect()
    await connection.close()
    await connection.close()
    connection.cancel()
    let error = await #expect(throws: PostgresError.self) { try await connection.execute("select 1") }
    #expect(error?.isConnectionLost == true)
  }

  @Test(
    "no error about a connection string shows the password in it",
    arguments: [
      "postgresql://user:s3cr3t@/nowhere?host=/nonexistent", "postgresql://user:s3cr3t@x@/nowhere?host=/nonexistent",
      "postgresql://user:s3cr3t/x@localhost/nowhere", "postgresql://user:s3cr3t%zz@localhost/nowhere",
      "host=/nonexistent password=s3cr3t", "host=/nonexistent password='s3cr3t", "s3cr3t",
      "host=/nonexistent passwort=s3cr3t", "host=/nonexistent = s3cr3t", "postgresql://u:s3cr3t@[::1/x",
      "postgresql://user:12s3cr3t:x@localhost/nowhere", "postgres://user@s3cr3t@localhost:1/x",
    ])
  func secrets(connectionString: String) async throws {
    let error = await #expect(throws: PostgresError.self) { try await Connection.open(connectionString) }
    #expect(error.map { "\($0)".contains("s3cr3t") } == false)
    #expect(error.map { String(reflecting: $0).contains("s3cr3t") } == false)
  }

  @Test("errors say what was being done, without passwords and values")
  func errors() async throws {
    let connection = try await TestDatabase.empty().connect()
    let syntax = await #expect(throws: PostgresError.self) { try await connection.execute("selekt 1") }
    #expect(syntax?.description.hasPrefix("running \"selekt 1\": syntax error") == true)
    let role = await #expect(throws: PostgresError.self) {
      try await connection.execute("alter role nobody_here password 's3cr3t'")
    }
    #expect(role?.description.contains("s3cr3t") == false)
    let value = await #expect(throws: PostgresError.self) {
      try await connection.query("select $1::text::bigint", ["confidential"])
    }
    #expect(value?.description.contains("confidential") == false)
    #expect(value?.description.contains("invalid input syntax for type bigint") == true)
  }
}

private struct Stop: Error {
  // MARK: - Connections that hang

  @Test("a connection can be left while the server works, and nothing succeeds on it any more")
  func drop() async throws {
    let database = try await TestDatabase.empty()
    let (connection, watcher) = try await (database.connect(), database.connect())
    try await connection.beNoticedWhenGone()
    let process = await connection.serverProcess
    let statement = Task { try await connection.query("select pg_sleep(3600)") }
    func sessions() async throws -> Int {
      try await watcher.query(
        "select from pg_stat_activity where pid = $1 and state = 'active'", [.int(Int64(process))]
      )
      .count
    }
    try await waiting(for: "the statement to run") { try await sessions() == 1 }
    connection.drop()
    let error = await #expect(throws: PostgresError.self) { try await statement.value }
    #expect(error?.isConnectionLost == true)
    #expect(error?.description.contains("did not answer in time") == true, "\(error?.description ?? "")")
    let later = await #expect(throws: PostgresError.self) { try await connection.execute("select 1") }
    #expect(later?.isConnectionLost == true)
    // The server has noticed, though it was asleep.
    try await waiting(for: "the session to end") { try await sessions() == 0 }
    await connection.close()
    connection.drop()
    await watcher.close()
  }

  @Test("what takes no longer than it may leaves the connection as it was")
  func patience() async throws {
    let connection = try await TestDatabase.empty().connect()
    for _ in 1...3 {
      let rows = try await connection.within(.seconds(600)) { try await connection.query("select 1 as one") }
      #expect(try rows[0].int("one") == 1)
    }
    let error = await #expect(throws: PostgresError.self) {
      try await connection.within(.milliseconds(50)) { try await connection.query("select pg_sleep(3600)") }
    }
    #expect(error?.isConnectionLost == true)
  }

  @Test("connecting ends in its time, too, when the server lets one in and then says nothing more")
  func silentServer() async throws {
    let proxy = try await TestDatabase.empty().proxy()
    proxy.loseWhenReady()
    // libpq's shortest.
    let error = await #expect(throws: PostgresError.self) {
      try await Connection.open(proxy.connectionString + " connect_timeout=2")
    }
    #expect(error?.isConnectionLost == true)
    #expect(error?.description.contains("did not answer in time") == true, "\(error?.description ?? "")")
    proxy.thaw()
    let connection = try await Connection.open(proxy.connectionString + " connect_timeout=2")
    #expect(try await connection.query("select 1 as one").count == 1)
  }

  @Test(
    "a connection over TCP that is lost is known to be within a minute, unless the connection string says otherwise")
  func keepalives() async throws {
    let proxy = try await TestDatabase.empty().proxy()
    func settings(_ more: String) async throws -> [Int32] {
      let connection = try await Connection.open(proxy.connectionString + more)
      var found: [[Int32]] = []
      for name in try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd") {
        guard let descriptor = Int32(name) else { continue }
        var address = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isTheirs = withUnsafeMutablePointer(to: &address) { pointer in
          pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getpeername(descriptor, $0, &length) == 0 }
        }
        guard isTheirs, address.sin_family == sa_family_t(AF_INET), address.sin_port.bigEndian == proxy.port else {
          continue
        }
        found.append(
          [TCP_KEEPIDLE, TCP_KEEPINTVL, TCP_KEEPCNT, TCP_USER_TIMEOUT].map { option in
            var value: Int32 = -1
            var size = socklen_t(MemoryLayout<Int32>.size)
            getsockopt(descriptor, Int32(IPPROTO_TCP), option, &value, &size)
            return value
          })
      }
      await connection.close()
      return try #require(found.first)
    }
    #expect(try await settings("") == [30, 10, 3, 60_000])
    #expect(
      try await settings(" keepalives_idle=7 keepalives_interval=8 keepalives_count=9 tcp_user_timeout=12000")
        == [7, 8, 9, 12_000])
  }
}
