import Glibc

/// A socket that listens on the loopback interface, at a port that was free; nil where there is none to be had.
func loopbackListener() -> (descriptor: Int32, port: UInt16)? {
  let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
  var address = sockaddr_in()
  address.sin_family = sa_family_t(AF_INET)
  address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
  var length = socklen_t(MemoryLayout<sockaddr_in>.size)
  return withUnsafeMutablePointer(to: &address) { pointer in
    pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
      guard listener >= 0, bind(listener, pointer, length) == 0, listen(listener, 128) == 0,
        getsockname(listener, pointer, &length) == 0
      else { return nil }
      return (listener, UnsafeRawPointer(pointer).loadUnaligned(as: sockaddr_in.self).sin_port.bigEndian)
    }
  }
}
