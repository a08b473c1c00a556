import Signatures
import TestSupport
import Testing

@testable import Signatures

/// 2026-03-01T09:30:00Z in milliseconds, and a moment years after it.
private let signedDate: Int64 = 1_772_357_400_000
private let payload = "{\"signedDate\":\(signedDate),\"productId\":\"premium.monthly\"}"
private let now: Int64 = 1_900_000_000_000_000

private func verify(
  _ compact: String, roots: TrustedRoots, now: Int64 = now
) -> Result<VerifiedPayload, SignatureRejection> {
  SignedDataVerifier(roots: roots).verify(compact, now: now)
}

private func rejection(_ compact: String, roots: TrustedRoots, now: Int64 = now) -> SignatureRejection? {
  switch verify(compact, roots: roots, now: now) {
  case .success: nil
  case .failure(let rejection): rejection
  }
}

private func base64(_ certificate: Certificate) -> String { Base64.encode(certificate.der) }

@Suite("Signed data of a test authority")
struct SignedDataVerifierTests {
  private let authority = TestCertificateAuthority.shared

  @Test("A valid chain verifies, and its parts give back the signed text")
  func validChain() throws {
    let compact = authority.sign(payload)
    let verified = try verify(compact, roots: authority.roots).get()
    #expect(String(decoding: verified.bytes, as: UTF8.self) == payload)
    #expect(verified.signedAt == signedDate * 1000)
    #expect(verified.header.bytes == authority.header)
    #expect(verified.header.digest == SHA256.digest(authority.header))
    let parts = VerifiedPayload.compact(
      header: verified.header.bytes, payload: verified.bytes, signature: verified.signature)
    #expect(String(decoding: parts, as: UTF8.self) == compact)
  }

  @Test("The production authority's signed data verifies under its root")
  func productionAuthority() throws {
    let authority = CertificateAuthority(validFrom: 1_700_000_000, validUntil: 1_800_000_000)
    let roots = TrustedRoots(configured: Certificate.certificates(inFile: Array(authority.root.pem.utf8)))
    #expect(throws: Never.self) { try verify(authority.sign(payload), roots: roots).get() }
  }

  @Test("A certificate without its marker is refused")
  func markers() {
    let leaf = TestCertificateAuthority { $0.leafMarkers = ["1.2.840.113635.100.6.11.2"] }
    #expect(rejection(leaf.sign(payload), roots: leaf.roots) == .markerMissing)
    let intermediate = TestCertificateAuthority { $0.intermediateMarkers = [CertificateAuthority.leafMarker] }
    #expect(rejection(intermediate.sign(payload), roots: intermediate.roots) == .markerMissing)
  }

  @Test("A certificate that was not valid at the signed date is refused, whichever of the three it is")
  func expired() {
    for validity in [1_600_000_000...(signedDate / 1000 - 1), (signedDate / 1000 + 1)...2_000_000_000] {
      for certificate in [
        \TestCertificateAuthority.Shape.leafValidity, \.intermediateValidity, \.rootValidity,
      ] {
        let authority = TestCertificateAuthority { $0[keyPath: certificate] = validity }
        #expect(rejection(authority.sign(payload), roots: authority.roots) == .certificateExpired)
      }
    }
  }

  @Test("Certificates that were valid at the signed date to the second pass though they have expired since")
  func expiredSince() {
    let second = signedDate / 1000
    let authority = TestCertificateAuthority {
      $0.leafValidity = second...second
      $0.intermediateValidity = second...second
      $0.rootValidity = second...second
    }
    let verifier = SignedDataVerifier(roots: authority.roots)
    #expect(throws: Never.self) { try verifier.verify(authority.sign(payload), now: now).get() }
    // The same header, remembered now, with payloads of the seconds around.
    for (offset, expected) in [(-1, SignatureRejection.certificateExpired), (999, nil), (1000, .certificateExpired)] {
      let other = authority.sign("{\"signedDate\":\(signedDate + Int64(offset))}")
      let result = verifier.verify(other, now: now)
      if let expected {
        #expect(throws: expected) { try result.get() }
      } else {
        #expect(throws: Never.self) { try result.get() }
      }
    }
    #expect(verifier.verifiedChains == 1)
  }

  @Test("An app transaction is verified at its receiptCreationDate, and a payload without a date now")
  func moments() throws {
    let second = signedDate / 1000
    let authority = TestCertificateAuthority { $0.leafValidity = second...(second + 60) }
    let appTransaction = authority.sign(
      "{\"receiptCreationDate\":\(signedDate).5,\"originalPurchaseDate\":-62135769600000}")
    #expect(try verify(appTransaction, roots: authority.roots).get().signedAt == signedDate * 1000 + 500)
    let undated = authority.sign("{\"signedDate\":null}")
    #expect(rejection(undated, roots: authority.roots) == .certificateExpired)
    #expect(try verify(undated, roots: authority.roots, now: second * 1_000_000).get().signedAt == nil)
  }

  @Test("A chain to another root is refused, also when nothing is trusted, and by Apple's root alone")
  func otherRoot() {
    let compact = authority.sign(payload)
    #expect(rejection(compact, roots: TestCertificateAuthority().roots) == .untrustedRoot)
    #expect(rejection(compact, roots: TrustedRoots(trustsApple: false)) == .untrustedRoot)
    #expect(rejection(compact, roots: TrustedRoots()) == .untrustedRoot)
  }

  @Test("With a configured root the third certificate is not looked at")
  func thirdCertificate() {
    for third in [base64(TestCertificateAuthority().root), Base64.encode(Array("junk".utf8)), "?"] {
      let header = TestCertificateAuthority.header(
        x5c: [base64(authority.leaf), base64(authority.intermediate), third])
      #expect(rejection(authority.sign(payload, header: header), roots: authority.roots) == nil)
    }
  }

  @Test("A forged certificate is refused though its names fit")
  func forged() {
    let leaf = TestCertificateAuthority { $0.isLeafForged = true }
    #expect(rejection(leaf.sign(payload), roots: leaf.roots) == .chain)
    let intermediate = TestCertificateAuthority { $0.isIntermediateForged = true }
    #expect(rejection(intermediate.sign(payload), roots: intermediate.roots) == .untrustedRoot)
  }

  @Test("A leaf under another authority's intermediate is refused")
  func strangersIntermediate() {
    let other = TestCertificateAuthority()
    let header = TestCertificateAuthority.header(
      x5c: [authority.leaf, other.intermediate, other.root].map(base64))
    // Names alike, key identifiers not.
    #expect(rejection(authority.sign(payload, header: header), roots: other.roots) == .chain)
  }

  @Test("A chain of any other number than three is refused", arguments: [0, 1, 2, 4])
  func chainLength(count: Int) {
    let all = [authority.leaf, authority.intermediate, authority.root, authority.root].map(base64)
    let header = TestCertificateAuthority.header(x5c: Array(all.prefix(count)))
    #expect(rejection(authority.sign(payload, header: header), roots: authority.roots) == .chain)
  }

  @Test("A header without a list of certificates is refused")
  func noChain() {
    for header in ["{\"alg\":\"ES256\"}", "{\"alg\":\"ES256\",\"x5c\":\"a\"}", "{\"alg\":\"ES256\",\"x5c\":null}"] {
      #expect(rejection(authority.sign(payload, header: header), roots: authority.roots) == .chain)
    }
  }

  @Test("A certificate that cannot be read is refused")
  func unreadable() {
    let good = [authority.leaf, authority.intermediate, authority.root].map(base64)
    let der = authority.leaf.der
    for broken in [
      "not base64!", "", String(good[0].dropLast()), Base64.encode(Array("junk".utf8)),
      Base64.encode(der.dropLast()), Base64.encode(der + [0]),
    ] {
      for place in 0..<2 {
        var x5c = good
        x5c[place] = broken
        let compact = authority.sign(payload, header: TestCertificateAuthority.header(x5c: x5c))
        #expect(rejection(compact, roots: authority.roots) == .certificate)
      }
    }
    let number = "{\"alg\":\"ES256\",\"x5c\":[1,2,3]}"
    #expect(rejection(authority.sign(payload, header: number), roots: authority.roots) == .certificate)
  }

  @Test("An intermediate that is no authority, or may have authorities below it, is refused")
  func constraints() {
    for usage in [CertificateRequest.Usage.signing, .authority(pathLength: nil), .authority(pathLength: 1)] {
      let authority = TestCertificateAuthority { $0.intermediateUsage = usage }
      #expect(rejection(authority.sign(payload), roots: authority.roots) == .certificate)
    }
  }

  @Test("A signing key that is not on P-256 is refused")
  func otherCurve() {
    let other = TestCertificateAuthority { $0.leafCurve = .p384 }
    let header = TestCertificateAuthority.header(x5c: [other.leaf, other.intermediate, other.root].map(base64))
    #expect(rejection(authority.sign(payload, header: header), roots: other.roots) == .certificate)
  }

  @Test(
    "Any algorithm but ES256 is refused",
    arguments: ["none", "HS256", "RS256", "ES384", "es256", ""])
  func algorithms(algorithm: String) {
    let x5c = [authority.leaf, authority.intermediate, authority.root].map(base64)
    let header = TestCertificateAuthority.header(algorithm: algorithm, x5c: x5c)
    #expect(rejection(authority.sign(payload, header: header), roots: authority.roots) == .algorithm)
  }

  @Test("HS256 with the public certificate as its secret is refused")
  func publicKeyAsSecret() {
    let x5c = [authority.leaf, authority.intermediate, authority.root].map(base64)
    let header = TestCertificateAuthority.header(algorithm: "HS256", x5c: x5c)
    let signed = Base64URL.encode(header.utf8) + [UInt8(ascii: ".")] + Base64URL.encode(payload.utf8)
    let code = HMACSHA256.code(signed, key: authority.leaf.der)
    let compact = String(decoding: signed + [UInt8(ascii: ".")] + Base64URL.encode(code), as: UTF8.self)
    #expect(rejection(compact, roots: authority.roots) == .algorithm)
  }

  @Test("Anything but three parts of base64url is refused")
  func parts() {
    let compact = authority.sign(payload)
    for text in [
      "", ".", "..", "a.b.c", "a.b.c.d", "a.b", compact + ".", "." + compact, compact + ".e30", compact + "=",
      compact + "\n", " " + compact, String(compact.dropLast()),
    ] {
      #expect(rejection(text, roots: authority.roots) == .malformed, "\(text.prefix(8))")
    }
    let parts = compact.split(separator: ".")
    #expect(rejection("\(parts[0]).\(parts[1]).", roots: authority.roots) == .unsigned)
    #expect(rejection("\(parts[0]).\(parts[1])", roots: authority.roots) == .malformed)
    #expect(rejection("\(parts[0]).\(parts[1]).\(parts[2].dropLast(2))", roots: authority.roots) != nil)
    #expect(rejection("\(parts[0]).\(parts[1]).AAAA", roots: authority.roots) == .signature)
    let zeros = String(repeating: "A", count: 86)
    #expect(rejection("\(parts[0]).\(parts[1]).\(zeros)", roots: authority.roots) == .signature)
  }

  @Test("A payload or a header of more than one meaning is refused, though truly signed")
  func ambiguous() {
    for payload in [
      "{\"signedDate\":1,\"signedDate\":2}", "{\"a\":\"\\u0000\"}", "{\"a\":", "[]", "1", "", "{\"a\":\"\\ud800\"}",
      "{\"signedDate\":\"2026\"}", "{\"a\":1,\"\\u0061\":1}",
    ] {
      #expect(rejection(authority.sign(payload), roots: authority.roots) == .malformed, "\(payload)")
    }
    let header = String(decoding: authority.header, as: UTF8.self)
    for changed in [
      header.dropLast() + ",\"alg\":\"ES256\"}", header.dropLast() + ",\"crit\":[\"b64\"]}", header.dropLast(),
    ] {
      #expect(rejection(authority.sign(payload, header: String(changed)), roots: authority.roots) == .malformed)
    }
    #expect(
      rejection(authority.sign(payload, header: header.dropLast() + ",\"typ\":\"JWT\"}"), roots: authority.roots) == nil
    )
  }

  @Test("A payload under another's signature is refused, also when the header is remembered")
  func exchanged() {
    let verifier = SignedDataVerifier(roots: authority.roots)
    let first = authority.sign(payload)
    let second = authority.sign("{\"signedDate\":\(signedDate + 1)}")
    let mixed =
      second[..<(second.lastIndex(of: ".") ?? second.endIndex)]
      + first[(first.lastIndex(of: ".") ?? first.startIndex)...]
    for _ in 0..<2 {
      #expect(throws: SignatureRejection.signature) { try verifier.verify(String(mixed), now: now).get() }
      #expect(throws: Never.self) { try verifier.verify(first, now: now).get() }
    }
  }

  @Test("Only verified headers are remembered, at most so many, each verified once")
  func remembering() {
    let authorities = (0...SignedDataVerifier.capacity).map { _ in TestCertificateAuthority() }
    let verifier = SignedDataVerifier(roots: TrustedRoots(configured: authorities.dropFirst().map(\.root)))
    let stranger = authorities[0].sign(payload)
    for _ in 0..<2 {
      #expect(throws: SignatureRejection.untrustedRoot) { try verifier.verify(stranger, now: now).get() }
    }
    for _ in 0..<3 {
      for authority in authorities.dropFirst() {
        #expect(throws: Never.self) { try verifier.verify(authority.sign(payload), now: now).get() }
      }
    }
    #expect(verifier.verifiedChains == SignedDataVerifier.capacity)
    // One more header of a known root, by another payload header: the one used longest ago makes room.
    let header = String(decoding: authorities[1].header.dropLast(), as: UTF8.self) + ",\"typ\":\"JWT\"}"
    for _ in 0..<2 {
      #expect(throws: Never.self) { try verifier.verify(authorities[1].sign(payload, header: header), now: now).get() }
    }
    #expect(verifier.verifiedChains == SignedDataVerifier.capacity + 1)
    #expect(throws: Never.self) { try verifier.verify(authorities[1].sign(payload), now: now).get() }
    #expect(verifier.verifiedChains == SignedDataVerifier.capacity + 2)
  }

  @Test("A root renewed with the same key is used for the time it is valid, whatever was verified before")
  func renewedRoot() {
    let old: ClosedRange<Int64> = 1_600_000_000...(signedDate / 1000 - 1)
    let key = SigningKey(.p384)
    func root(_ validity: ClosedRange<Int64>) -> Certificate {
      CertificateRequest(
        name: "Test Root", key: key, usage: .authority(pathLength: nil), validFrom: validity.lowerBound,
        validUntil: validity.upperBound
      ).issued(by: key, issuer: nil)
    }
    let roots = [root(old), root(old.upperBound + 1...2_000_000_000)]
    let intermediateKey = SigningKey(.p384)
    let intermediate = CertificateRequest(
      name: "Test Developer Relations", key: intermediateKey, usage: .authority(pathLength: 0),
      validFrom: old.lowerBound, validUntil: 2_000_000_000, markers: [CertificateAuthority.intermediateMarker]
    ).issued(by: key, issuer: roots[0])
    let leafKey = SigningKey(.p256)
    let leaf = CertificateRequest(
      name: "Test Receipt Signing", key: leafKey, usage: .signing, validFrom: old.lowerBound,
      validUntil: 2_000_000_000, markers: [CertificateAuthority.leafMarker]
    ).issued(by: intermediateKey, issuer: intermediate)
    let authority = CertificateAuthority(chain: [leaf, intermediate, roots[0]], root: roots[0], key: leafKey)
    let verifier = SignedDataVerifier(roots: TrustedRoots(configured: roots))
    for date in [signedDate - 5000, signedDate + 5000, signedDate - 5000] {
      #expect(throws: Never.self) { try verifier.verify(authority.sign("{\"signedDate\":\(date)}"), now: now).get() }
    }
  }

  @Test("One byte changed anywhere in a signed text is refused")
  func everyByte() {
    let compact = Array(authority.sign(payload).utf8)
    let fresh = SignedDataVerifier(roots: authority.roots)
    let remembering = SignedDataVerifier(roots: authority.roots)
    #expect(throws: Never.self) { try remembering.verify(compact[...], now: now).get() }
    let replacements = Array("A9_=.".utf8) + [0xFF]
    for position in compact.indices {
      for replacement in replacements + [compact[position] ^ 1] where replacement != compact[position] {
        var changed = compact
        changed[position] = replacement
        for verifier in [fresh, remembering] {
          guard case .success = verifier.verify(changed[...], now: now) else { continue }
          Issue.record("byte \(position) changed to \(replacement) was accepted")
        }
      }
    }
  }
}

@Suite("Signed data of Apple", .enabled(if: !GenuinePayload.all.isEmpty, Comment(rawValue: GenuinePayload.absence)))
struct GenuineSignedDataTests {
  @Test("Each genuine payload and each payload nested in it verifies at its own signed date")
  func verifies() throws {
    let verifier = SignedDataVerifier(roots: TrustedRoots())
    #expect(GenuinePayload.all.count == 6)
    var nested = 0
    for genuine in GenuinePayload.all {
      let verified = try verifier.verify(genuine.compact, now: now).get()
      let parts = VerifiedPayload.compact(
        header: verified.header.bytes, payload: verified.bytes, signature: verified.signature)
      #expect(String(decoding: parts, as: UTF8.self) == genuine.compact)
      let claims = try JSONDocument(Array(genuine.claims)).root
      #expect(verified.document.root["notificationType"]?.text == claims["notificationType"]?.text)
      #expect(verified.signedAt == claims["signedDate"]?.int64.map { $0 * 1000 })
      for name: StaticString in ["signedTransactionInfo", "signedRenewalInfo"] {
        guard let inner = verified.document.root["data"]?[name]?.utf8 else { continue }
        let payload = try verifier.verify(inner, now: now).get()
        #expect(payload.signedAt == claims["data"]?[name]?["signedDate"]?.int64.map { $0 * 1000 })
        nested += 1
      }
    }
    #expect(nested == 8)
  }

  @Test("Apple's root configured as a file gives the same")
  func configuredRoot() throws {
    let first = try #require(GenuinePayload.all.first)
    let header = try #require(Base64URL.decode(String(first.compact.prefix { $0 != "." })))
    let der = try #require(JSONDocument(header).root["x5c"]?.elements?.last?.utf8.flatMap { Base64.decode($0) })
    let roots = TrustedRoots(configured: Certificate.certificates(inFile: der), trustsApple: false)
    for genuine in GenuinePayload.all {
      #expect(throws: Never.self) { try verify(genuine.compact, roots: roots).get() }
    }
  }

  @Test("One byte changed anywhere in a genuine payload is refused")
  func everyByte() {
    let verifier = SignedDataVerifier(roots: TrustedRoots())
    for (number, genuine) in GenuinePayload.all.enumerated() {
      let compact = Array(genuine.compact.utf8)
      // All bytes of one, a sample of the others.
      for position in stride(from: 0, to: compact.count, by: number == 1 ? 1 : 97) {
        for replacement in [compact[position] ^ 1, UInt8(ascii: "A"), UInt8(ascii: ".")]
        where replacement != compact[position] {
          var changed = compact
          changed[position] = replacement
          guard case .success = verifier.verify(changed[...], now: now) else { continue }
          Issue.record("\(genuine.name): byte \(position) changed to \(replacement) was accepted")
        }
      }
    }
  }
}
