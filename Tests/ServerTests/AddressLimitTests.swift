import Synchronization
import Testing

@testable import Server

@Suite("Limit per address")
struct AddressLimitTests {
  private func address(_ peer: String, forwarded: String...) -> ClientAddress {
    var head = HTTPHead(method: "POST", target: "/", headers: forwarded.map { ("x-forwarded-for", $0) })
    head.peer = peer
    return ClientAddress(head)
  }

  @Test("so many requests may come at once, and as many a minute after that, from each address by itself")
  func refills() {
    let clock = Mutex(ContinuousClock.now)
    let limit = AddressLimit(perMinute: 2) { clock.withLock { $0 } }
    let (one, other) = (address("203.0.113.1"), address("203.0.113.2"))
    #expect(limit.take(one) == nil)
    #expect(limit.take(one) == nil)
    #expect(limit.take(one) == 30)
    #expect(limit.take(other) == nil)
    clock.withLock { $0 += .seconds(20) }
    #expect(limit.take(one) == 10)
    clock.withLock { $0 += .seconds(10) }
    #expect(limit.take(one) == nil)
    #expect(limit.take(one) == 30)
    // No more is saved up than the first time.
    clock.withLock { $0 += .seconds(600) }
    #expect((1...3).map { _ in limit.take(one) } == [nil, nil, 30])
  }

  @Test("more addresses than are remembered do not lock anyone out")
  func manyAddresses() {
    let limit = AddressLimit(perMinute: 1)
    for number in 0..<(AddressLimit.capacity + 10) {
      #expect(limit.take(address("10.\(number >> 16).\(number >> 8 & 255).\(number & 255)")) == nil)
    }
  }

  @Test("a proxy nearby tells the address at the end of its header; what a stranger writes there is not looked at")
  func proxies() {
    #expect(address("203.0.113.1", forwarded: "198.51.100.7") == address("203.0.113.1"))
    for peer in ["127.0.0.1", "::1", "10.1.2.3", "172.20.0.2", "192.168.0.9", "::ffff:127.0.0.1", "fd00::2"] {
      #expect(address(peer, forwarded: "203.0.113.1") == address("203.0.113.1"), "\(peer)")
      #expect(address(peer, forwarded: "198.51.100.7, 203.0.113.1") == address("203.0.113.1"), "\(peer)")
      #expect(address(peer, forwarded: "198.51.100.7", "203.0.113.1") == address("203.0.113.1"), "\(peer)")
      #expect(address(peer, forwarded: "unknown") == address(peer), "\(peer)")
    }
    #expect(address("172.32.0.2", forwarded: "203.0.113.1") != address("203.0.113.1"))
    #expect(address("127.0.0.1", forwarded: "203.0.113.1:4711") == address("203.0.113.1"))
    #expect(address("127.0.0.1", forwarded: "[2001:db8::1]:4711") == address("2001:db8::1"))
  }

  @Test("a network of IPv6 counts as one address")
  func networks() {
    #expect(address("2001:db8:1:2::3") == address("2001:db8:1:2:4:5:6:7"))
    #expect(address("2001:db8:1:2::3") != address("2001:db8:1:3::3"))
  }
}
