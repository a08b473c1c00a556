import Postgres
import TestSupport
import Testing

@testable import Forward

@Suite("Addresses of targets")
struct TargetAddressTests {
  @Test("a refused address refuses the delivery and says so")
  func refusedDelivery() async throws {
    let receiver = HTTPReceiver()
    var target = TargetConfiguration.webhook(receiver)
    target.allowsPrivateNetwork = false
    let bench = try await DeliveryBench([target])
    try await bench.store(bench.event("e1"))
    #expect(try await bench.forward(target) == ForwardSummary(refused: 1))
    let row = try #require(try await bench.deliveries().first)
    #expect(
      try row.text("last_error")
        == "the address is not allowed: 127.0.0.1: it is loopback, and allow_private_network is not set")
    #expect(receiver.requests.isEmpty)
  }

  @Test("a connection that may go anywhere is not used by a target that may not")
  func separateConnections() async throws {
    let receiver = HTTPReceiver()
    let open = TargetConfiguration.webhook(receiver, name: "open")
    var guarded = TargetConfiguration.webhook(receiver, name: "guarded")
    guarded.allowsPrivateNetwork = false
    let bench = try await DeliveryBench([open, guarded])
    for number in 1...3 {
      try await bench.store(bench.event("e\(number)", transaction: "t\(number)"))
      _ = try await bench.forward(open, guarded)
    }
    #expect(receiver.requests.count == 3)
    #expect(try await bench.register.standings().map(\.delivered) == [0, 3])
  }
}
