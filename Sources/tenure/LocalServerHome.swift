import Foundation
import Glibc

/// Where the program's own server keeps its database, and as whom it runs.
struct LocalServerHome: Sendable {
  /// The folder that holds the database, the server's log and the locks; only its owner can enter it.
  let folder: String
  /// The user the server runs as.
  let user: ServerUser

  /// Finds the place, and makes its folders.
  ///
  /// `TENURE_HOME`, or else `tenure` in the user's data folder. Where root's data folder cannot be entered by the user the
  /// server runs as, `/var/lib/tenure`.
  init(environment: [String: String]) throws {
    let isRoot = geteuid() == 0
    if let given = environment["TENURE_HOME"], !given.isEmpty {
      try self.init(home: Self.absolute(given), isRoot: isRoot)
      return
    }
    let dataFolder = try Self.dataFolder(environment)
    if isRoot, let user = try? Self.serverUser(forHome: dataFolder), user.obstacle(onTheWayTo: dataFolder) != nil {
      try self.init(home: "/var/lib/tenure", isRoot: true)
    } else {
      try self.init(home: dataFolder, isRoot: isRoot)
    }
  }

  private init(home: String, isRoot: Bool) throws {
    if isRoot {
      user = try Self.serverUser(forHome: home)
    } else {
      guard let user = ServerUser(uid: geteuid()) else {
        throw Failure("PostgreSQL needs a user with a name, and user number \(geteuid()) has none")
      }
      self.user = user
    }
    try Self.makeFolder(home, for: user, isRoot: isRoot)
    if isRoot, let obstacle = user.obstacle(onTheWayTo: home) {
      throw Failure(
        "the server's user \(user.name) cannot enter \(obstacle): set TENURE_HOME to a folder it can reach, "
          + "such as /var/lib/tenure")
    }
    // The real path, so that all commands name the folder and its socket alike.
    folder =
      (realpath(home, nil).map { path in
        defer { free(path) }
        return String(cString: path)
      } ?? home) + "/postgres"
    try Self.makeFolder(folder, for: user, isRoot: isRoot)
    guard chmod(folder, 0o700) == 0 else {
      throw Failure(
        "the database in \(folder) belongs to another user: run tenure as that user, or set TENURE_HOME to a folder of "
          + "your own")
    }
  }

  // MARK: -

  /// The program's folder, for what is kept beside the database or without one.
  static func folder(_ environment: [String: String]) throws -> String {
    if let given = environment["TENURE_HOME"], !given.isEmpty { return absolute(given) }
    return try dataFolder(environment)
  }

  private static func absolute(_ path: String) -> String {
    path.hasPrefix("/") ? path : FileManager.default.currentDirectoryPath + "/" + path
  }

  private static func dataFolder(_ environment: [String: String]) throws -> String {
    if let folder = environment["XDG_DATA_HOME"], folder.hasPrefix("/") { return folder + "/tenure" }
    if let home = environment["HOME"], home.hasPrefix("/") { return home + "/.local/share/tenure" }
    guard let entry = getpwuid(geteuid()) else {
      throw Failure("there is no home folder to keep a database in: set TENURE_HOME, or DATABASE_URL")
    }
    return String(cString: entry.pointee.pw_dir) + "/.local/share/tenure"
  }

  /// As whom root runs the server: the owner of the database that is there, else of the folder or the nearest one above
  /// it, and where that is root or nobody, the user `postgres`. PostgreSQL refuses root.
  private static func serverUser(forHome home: String) throws -> ServerUser {
    var entry = stat()
    var path = home + "/postgres/data"
    while stat(path, &entry) != 0, path != "/", !path.isEmpty {
      path = (path as NSString).deletingLastPathComponent
    }
    if entry.st_uid != 0, let owner = ServerUser(uid: entry.st_uid), owner.name != "nobody" { return owner }
    guard let user = ServerUser(name: "postgres") else {
      throw Failure(
        "PostgreSQL does not run as root, and there is no user postgres: install the package postgresql, or set "
          + "TENURE_HOME to a folder of the user it shall run as")
    }
    return user
  }

  /// Makes a folder that only the user can enter, where there is none. An empty one of root's is given to the user.
  private static func makeFolder(_ path: String, for user: ServerUser, isRoot: Bool) throws {
    let files = FileManager.default
    do {
      if !files.fileExists(atPath: path) {
        try files.createDirectory(
          atPath: (path as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
        // Another command may make it at the same moment.
        guard mkdir(path, 0o700) == 0 || errno == EEXIST else {
          throw Failure(String(cString: strerror(errno)))
        }
      }
      guard isRoot else { return }
      var entry = stat()
      guard stat(path, &entry) == 0, entry.st_uid == 0 else { return }
      if try files.contentsOfDirectory(atPath: path).isEmpty {
        guard chown(path, user.uid, user.gid) == 0 else { throw Failure(String(cString: strerror(errno))) }
      }
    } catch {
      let reason = (error as? Failure)?.description ?? error.localizedDescription
      throw Failure(
        "making the folder \(path): \(reason). Set TENURE_HOME to a folder that can be written, or DATABASE_URL")
    }
  }
}
