import Foundation
import Glibc
import Postgres

/// A PostgreSQL server of one test, which can be stopped and started again. It does not outlive the test's process.
public final class StoppableServer: Sendable {
  /// How to connect to its database.
  public let connectionString: String
  private let folder: String
  private let input: Pipe
  private let output: Pipe

  private struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  /// Reads orders, a line each, until the other end is gone.
  private static let script = """
    set -eu
    bin=$1 folder=$2
    shift 2
    cd "$folder"
    control() {
      "$@" "$bin/pg_ctl" --pgdata "$folder/data" --log "$folder/log" --wait --timeout 300 \
        --options "-c listen_addresses= -c unix_socket_directories=$folder -c fsync=off" $order >/dev/null </dev/null
    }
    "$@" "$bin/initdb" --pgdata data --username postgres --auth trust --encoding UTF8 --locale C.UTF-8 --no-sync >initdb.log
    while read -r word; do
      case $word in
        start) order=start ;;
        stop) order='stop --mode fast' ;;
      esac
      control "$@" && echo "$word"
    done
    order='stop --mode immediate'
    control "$@" || true
    cd /
    rm -rf "$folder"
    """

  /// Makes the server and starts it.
  public init() async throws {
    guard let programs = ServerPrograms.find() else {
      throw Failure(description: "the tests need PostgreSQL's server programs: install the package postgresql")
    }
    var template = Array("/tmp/tenure-test-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw Failure(description: "cannot make a folder in /tmp") }
    folder = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    var prefix = ["env"]
    if getuid() == 0 {
      guard let user = getpwnam("postgres") else {
        throw Failure(description: "run as root, the tests need the user postgres: install the package postgresql")
      }
      chown(folder, user.pointee.pw_uid, user.pointee.pw_gid)
      prefix = ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups"]
    }
    connectionString = "host=\(folder) user=postgres dbname=postgres"
    input = Pipe()
    output = Pipe()
    // No child may hold the end that this process writes to: its closing is what ends the server.
    _ = fcntl(input.fileHandleForWriting.fileDescriptor, F_SETFD, FD_CLOEXEC)
    let shell = Process()
    shell.executableURL = URL(filePath: "/bin/sh")
    shell.arguments = ["-c", Self.script, "sh", programs.directory, folder] + prefix
    shell.standardInput = input
    shell.standardOutput = output
    try shell.run()
    try await start()
  }

  deinit { try? input.fileHandleForWriting.close() }

  /// Stops it; returns when it has stopped.
  public func stop() async throws { try await order("stop") }

  /// Starts it again; returns when it lets anyone in.
  public func start() async throws { try await order("start") }

  private func order(_ word: String) async throws {
    try input.fileHandleForWriting.write(contentsOf: Data("\(word)\n".utf8))
    let handle = output.fileHandleForReading
    let answer = await withCheckedContinuation { continuation in
      Thread.detachNewThread {
        continuation.resume(returning: (try? handle.read(upToCount: word.utf8.count + 1)) ?? Data())
      }
    }
    guard String(decoding: answer, as: UTF8.self) == "\(word)\n" else {
      throw Failure(description: "the test's own PostgreSQL did not \(word)")
    }
  }
}
