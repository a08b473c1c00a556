import Signatures
import Synchronization
import TestSupport
import Testing

/// What strangers can make a verifier do.
@Suite("Chain allowance")
struct ChainAllowanceTests {
  private final class Clock: Sendable {
    let moment = Mutex<Int64>(0)
  }

  @Test("new chains are verified up to the allowance of any one second, and known ones without it")
  func allowance() {
    let clock = Clock()
    let allowance = ChainAllowance(perSecond: 2) { clock.moment.withLock { $0 } }
    let authorities = (0..<4).map { _ in TestCertificateAuthority() }
    let verifier = SignedDataVerifier(
      roots: TrustedRoots(configured: authorities.map(\.root), trustsApple: false), allowance: allowance)
    func isVerified(_ number: Int) -> Bool {
      let text = authorities[number].sign(#"{"signedDate":1738368000000}"#)
      guard case .success = verifier.verify(text, now: 0) else { return false }
      return true
    }
    #expect(isVerified(0))
    clock.moment.withLock { $0 = 600_000 }
    #expect(isVerified(1))
    #expect(!allowance.isExhausted)
    #expect(!isVerified(2))
    #expect(allowance.isExhausted)
    #expect(isVerified(0))
    // The first was a second ago, the second was not.
    clock.moment.withLock { $0 = 1_000_000 }
    #expect(isVerified(2))
    #expect(!isVerified(3))
    clock.moment.withLock { $0 = 1_600_000 }
    #expect(isVerified(3))
  }

  @Test("a forged signature costs no allowance")
  func forged() {
    let allowance = ChainAllowance(perSecond: 1) { 0 }
    let authority = TestCertificateAuthority.shared
    let verifier = SignedDataVerifier(roots: authority.roots, allowance: allowance)
    let text = authority.sign(#"{"signedDate":1738368000000}"#)
    for _ in 0..<3 {
      let forged = String(text.dropLast(8)) + (text.suffix(8).hasPrefix("A") ? "B" : "A") + text.suffix(7)
      guard case .failure(.signature) = verifier.verify(forged, now: 0) else {
        Issue.record("a forged signature was not refused as one")
        return
      }
    }
    #expect(!allowance.isExhausted)
    guard case .success = verifier.verify(text, now: 0) else {
      Issue.record("a true signature was refused")
      return
    }
  }
}
