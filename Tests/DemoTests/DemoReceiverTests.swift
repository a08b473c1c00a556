import Demo
import Forward
import HTTP
import Signatures
import Testing
import Vocabulary

@Suite("The demo's receiver")
struct DemoReceiverTests {
  @Test("it takes what is signed with its secret, one after another on one connection, and refuses all else")
  func signatures() async throws {
    let receiver = try #require(DemoReceiver())
    let client = HTTPClient(allowsPrivateNetwork: true)
    func send(_ secret: String, body: String) async throws -> Int {
      var target = TargetConfiguration(name: "receiver", type: "webhook")
      target.url = receiver.url
      target.secret = secret
      let request = try target.makeTarget().request(
        carrying: [Parcel(eventID: "e", body: body)], at: Forwarder.systemClock())
      return try await client.send(request).get().status
    }
    #expect(try await send(receiver.secret, body: "one") == 204)
    #expect(try await send(receiver.secret, body: "two") == 204)
    #expect(try await send("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", body: "three") == 401)
    #expect(receiver.taken.accepted == 2)
    #expect(receiver.taken.refused == 1)
    #expect(receiver.taken.last == "three")
    receiver.close()
    #expect(await client.send(HTTPRequest(url: receiver.url, headers: [], body: [])).isFailure)
  }
}

extension Result {
  fileprivate var isFailure: Bool { if case .failure = self { true } else { false } }
}
