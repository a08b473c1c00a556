import Dispatch
import Foundation
import Glibc
import Postgres

/// The program's own PostgreSQL server, for trying out.
///
/// All commands that use a folder at the same time share one server. A shell, the keeper, starts it and stays beside it.
/// Four locked files keep them in order:
///
/// - `users.lock` is held shared by each command and awaited by the keeper: when it gets it exclusively, the last command
///   is gone, even if it was killed, and the keeper stops the server.
/// - `server.lock` is held by the server itself, from before it starts until its last process has ended. Who gets it knows
///   that no server runs, and that what a server left behind is stale.
/// - `start.lock` is held while a command looks for the server and starts it, or leaves.
/// - `present.lock` is held shared by each command and awaited by nobody: who can turn it exclusive is the last, and waits
///   for the server's end.
///
/// Should the keeper be killed, the kernel sends the server the signal for an orderly end.
final class LocalServer: Sendable {
  /// How to connect, as the program's role. It holds no password: the server asks the kernel who is calling.
  let connectionString: String
  private let home: LocalServerHome
  private let present: FileLock
  private let users: FileLock

  private init(home: LocalServerHome, present: FileLock, users: FileLock) throws {
    self.home = home
    self.present = present
    self.users = users
    connectionString = try Self.connectionString(home: home)
  }

  /// Joins the server of the folder the environment names, and starts it when it does not run.
  ///
  /// - Parameter isTemporary: whether the folder is removed when the last command is gone, however it ended.
  /// - Throws: ``Failure`` when there is no PostgreSQL on the machine, the database is of another major version, or the
  ///   server does not start.
  static func start(
    environment: [String: String], isTemporary: Bool = false, log: Log
  ) async throws -> LocalServer {
    let home = try LocalServerHome(environment: environment)
    func lock(_ name: String) throws -> FileLock { try FileLock(path: "\(home.folder)/\(name)", owner: home.user) }
    let start = try lock("start.lock")
    try await start.lock(.exclusive)
    let present = try lock("present.lock")
    try await present.lock(.shared)
    let users = try lock("users.lock")
    // Waits while a server that nobody uses any more is being stopped.
    try await users.lock(.shared)
    let serverLock = try lock("server.lock")
    var isStarted = false
    while true {
      if let string = try? connectionString(home: home), await Connection.isAccepting(string) { break }
      if serverLock.tryLock(.exclusive) {
        if isStarted { throw Failure("PostgreSQL did not start: \(logTail(home))") }
        serverLock.unlock()
        try await launch(home, isTemporary: isTemporary, log)
        isStarted = true
      } else {
        // A server is starting, recovering, or on its way out.
        try await Task.sleep(for: .milliseconds(20))
      }
    }
    start.unlock()
    return try LocalServer(home: home, present: present, users: users)
  }

  /// Leaves the server. The last command to leave returns when it has stopped.
  func leave() async {
    guard let start = try? FileLock(path: "\(home.folder)/start.lock", owner: home.user),
      let serverLock = try? FileLock(path: "\(home.folder)/server.lock", owner: home.user)
    else { return users.unlock() }
    await start.lockRegardless()
    let isLast = present.tryLock(.exclusive)
    users.unlock()
    if isLast {
      await serverLock.lockRegardless()
      serverLock.unlock()
    }
    present.unlock()
    start.unlock()
  }

  // MARK: -

  /// The longest path a socket can have, without the zero that ends it.
  private static let socketPathLimit = 107

  /// Where the running server's socket is: the keeper has written it down.
  private static func connectionString(home: LocalServerHome) throws -> String {
    let folder = try String(contentsOfFile: "\(home.folder)/socket", encoding: .utf8)
    let quoted = folder.replacing("\\", with: "\\\\").replacing("'", with: "\\'")
    // The socket may lie in a folder that all can write to: only a server of the right user is talked to. The rest is
    // what the environment could otherwise set to something that does not work here.
    return "host='\(quoted)' port=5432 user=tenure dbname=tenure sslmode=disable gssencmode=disable "
      + "channel_binding=disable options='' requirepeer='\(home.user.name)'"
  }

  private static func launch(_ home: LocalServerHome, isTemporary: Bool, _ log: Log) async throws {
    let programs = try programs(for: home)
    let isNew = !FileManager.default.fileExists(atPath: "\(home.folder)/data/PG_VERSION")
    if isNew { log.info("making a database for trying out", ["folder": .init(home.folder)]) }
    // A comma or a quote in a folder's name cannot be said in a list of socket folders.
    let isUnfit =
      "\(home.folder)/.s.PGSQL.5432".utf8.count > socketPathLimit || home.folder.contains { ",\"\n".contains($0) }
    let keeper = Process()
    let output = Pipe()
    keeper.executableURL = URL(filePath: "/bin/sh")
    // Away from the terminal: ^C is for the commands.
    var words = ["setsid"]
    if geteuid() == 0 {
      words += ["setpriv", "--reuid=\(home.user.name)", "--regid=\(home.user.gid)", "--init-groups"]
    }
    words += ["/bin/sh", "-c", script, "tenure-keeper"]
    words += [home.folder, programs.directory, home.user.name, isUnfit ? "elsewhere" : "here"]
    words.append(isTemporary ? "removed" : "kept")
    keeper.arguments = ["-c", "exec \"$@\"", "sh"] + words
    keeper.environment = [
      "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C", "TZ": "UTC",
    ]
    keeper.currentDirectoryURL = URL(filePath: "/")
    keeper.standardInput = FileHandle.nullDevice
    keeper.standardOutput = output
    keeper.standardError = output
    try keeper.run()
    // The keeper lets go of this pipe when it has started the server, or when it fails.
    let said = await withCheckedContinuation { continuation in
      DispatchQueue.global().async {
        continuation.resume(returning: output.fileHandleForReading.readDataToEndOfFile())
      }
    }
    let text = String(decoding: said, as: UTF8.self)
    guard text.contains("started\n") else {
      throw Failure("starting PostgreSQL: \(text.isEmpty ? logTail(home) : text)")
    }
  }

  /// Finds the server programs that can run the folder's database.
  private static func programs(for home: LocalServerHome) throws -> ServerPrograms {
    let install =
      "install the package postgresql (on Debian and Ubuntu: apt-get install postgresql), or set DATABASE_URL to a "
      + "PostgreSQL that runs"
    let versionFile = "\(home.folder)/data/PG_VERSION"
    guard let text = try? String(contentsOfFile: versionFile, encoding: .utf8) else {
      guard let programs = ServerPrograms.find() else {
        throw Failure("no DATABASE_URL is set, and no PostgreSQL server is installed to start one: \(install)")
      }
      guard programs.majorVersion >= 14 else {
        throw Failure("PostgreSQL \(programs.majorVersion) in \(programs.directory) is too old: \(install)")
      }
      return programs
    }
    let version = text.filter { !$0.isWhitespace }
    guard let major = Int(version), let programs = ServerPrograms.find(majorVersion: major) else {
      let installed = ServerPrograms.find().map { "here is PostgreSQL \($0.majorVersion)" } ?? "none is installed"
      let binaries = ServerPrograms.find().map(\.directory) ?? "/usr/lib/postgresql/NEW/bin"
      throw Failure(
        """
        the database in \(home.folder)/data was made by PostgreSQL \(version), and \(installed). Install PostgreSQL \
        \(version) beside it (postgresql-\(version)) and tenure goes on with it; or move the database. To move it, with \
        both versions installed and as the user \(home.user.name): make a new data folder with \
        \(binaries)/initdb --username=postgres --encoding=UTF8 --locale=C.UTF-8, run \(binaries)/pg_upgrade \
        --username=postgres with --old-datadir \(home.folder)/data, copy pg_hba.conf and pg_ident.conf over, and put the \
        new folder in the old one's place. Or, on a machine with PostgreSQL \(version), write it to a file with pg_dump \
        while tenure runs there, and read that with pg_restore into another database for DATABASE_URL
        """)
    }
    return programs
  }

  private static func logTail(_ home: LocalServerHome) -> String {
    let text = (try? String(contentsOfFile: "\(home.folder)/server.log", encoding: .utf8)) ?? ""
    let lines = text.split(separator: "\n").suffix(5).joined(separator: "; ")
    return "\(lines.isEmpty ? "it said nothing" : lines) (\(home.folder)/server.log)"
  }

  /// What the keeper does. Arguments: the folder, the server programs' folder, the user's name, whether the socket
  /// must be put elsewhere, and whether the folder is removed in the end.
  private static let script = """
    set -eu
    umask 077
    trap '' PIPE
    folder=$1 bin=$2 user=$3 place=$4 end=$5
    for tool in flock setpriv mktemp; do
      command -v "$tool" >/dev/null || { echo "the program $tool is missing: install util-linux and coreutils"; exit 1; }
    done
    cd "$folder"
    exec 2>server.log 8>>server.lock 9>>users.lock
    # From here on no server process exists in this folder: whatever one has left behind is stale.
    flock -x 8
    rm -f data/postmaster.pid
    remove_socket() {
      old=$(cat socket 2>/dev/null) || return 0
      rm -f "$old/.s.PGSQL.5432" "$old/.s.PGSQL.5432.lock" socket
      [ "$old" = "$folder" ] || rmdir "$old" || true
    }
    remove_socket
    if [ ! -e data/PG_VERSION ]; then
      # Made aside and then renamed: a database is there whole or not at all.
      rm -rf data.new
      "$bin/initdb" --pgdata=data.new --username=postgres --auth=peer --encoding=UTF8 --locale=C.UTF-8 >&2
      echo 'local all all peer map=tenure' >data.new/pg_hba.conf
      for name in root "$user"; do
        printf 'tenure "%s" tenure\\ntenure "%s" postgres\\n' "$name" "$name"
      done >data.new/pg_ident.conf
      printf 'create role tenure login createrole\\ncreate database tenure owner tenure\\n' |
        "$bin/postgres" --single -D data.new postgres >&2
      sync data.new/pg_hba.conf data.new/pg_ident.conf
      mv data.new data
      sync "$folder"
    fi
    sockets=$folder
    [ "$place" = here ] || sockets=$(mktemp -d /tmp/tenure-XXXXXXXXXX)
    printf %s "$sockets" >socket.new
    mv socket.new socket
    # Between the fork and the order for a signal this shell may end: then the server must not even begin.
    setpriv --pdeathsig INT /bin/sh -c '[ "$PPID" = "$1" ] || exit 1; shift; exec "$@"' sh $$ \
      "$bin/postgres" -D "$folder/data" -c listen_addresses= \
      -c "unix_socket_directories=\\"$sockets\\"" -c unix_socket_permissions=0700 -c max_connections=50 \
      -c wal_level=minimal -c max_wal_senders=0 -c max_logical_replication_workers=0 -c max_wal_size=2GB \
      </dev/null >>server.log 2>&1 9>&- &
    server=$!
    # The server keeps this lock for as long as one of its processes lives. Who waits for it waits for the removal, too.
    [ "$end" = removed ] || exec 8>&-
    # Nobody may be listening any more; the wait for the last command then ends at once.
    echo started || true
    exec >&2
    flock -x 9
    # What is not yet the server ignores INT, as all that a shell starts beside itself, and ends by TERM; the server takes
    # TERM for an order to end when nobody uses it, and INT for one to end now.
    kill -TERM "$server" || true
    kill -INT "$server" || true
    wait "$server" || true
    # Not what stands in the file now: after a crash another server may have been started beside this keeper.
    if [ "$sockets" != "$folder" ]; then
      [ "$(cat socket 2>/dev/null)" != "$sockets" ] || rm -f socket
      rmdir "$sockets" || true
    fi
    if [ "$end" = removed ]; then
      cd /
      rm -rf "$folder"
      rmdir "${folder%/*}" || true
    fi
    """
}
