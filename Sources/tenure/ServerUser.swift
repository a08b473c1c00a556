import Glibc

/// The user of the system that the program's own server runs as.
struct ServerUser: Sendable, Equatable {
  let uid: uid_t
  let gid: gid_t
  let name: String

  init(_ entry: passwd) {
    uid = entry.pw_uid
    gid = entry.pw_gid
    name = String(cString: entry.pw_name)
  }

  init?(uid: uid_t) {
    guard let entry = getpwuid(uid) else { return nil }
    self.init(entry.pointee)
  }

  init?(name: String) {
    guard let entry = getpwnam(name) else { return nil }
    self.init(entry.pointee)
  }

  /// Whether the folder's mode lets the user pass through it.
  func canEnter(_ folder: stat) -> Bool {
    if uid == folder.st_uid { return folder.st_mode & S_IXUSR != 0 }
    var count: Int32 = 256
    var groups = [gid_t](repeating: 0, count: Int(count))
    if getgrouplist(name, gid, &groups, &count) < 0 { count = 0 }
    if groups.prefix(Int(count)).contains(folder.st_gid) { return folder.st_mode & S_IXGRP != 0 }
    return folder.st_mode & S_IXOTH != 0
  }

  /// The first folder on the way to `path`, itself included, that the user cannot pass through; nil when there is none.
  func obstacle(onTheWayTo path: String) -> String? {
    var folder = ""
    for part in path.split(separator: "/") {
      folder += "/\(part)"
      var entry = stat()
      guard stat(folder, &entry) == 0 else { return nil }
      if !canEnter(entry) { return folder }
    }
    return nil
  }
}
