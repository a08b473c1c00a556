import COpenSSL

/// Verifies data signed by the App Store: notifications, transactions, renewal infos, app transactions.
///
/// The rules are those of Apple's own libraries without online checks: ES256, three certificates with Apple's markers up
/// to a trusted root, all valid when the payload was signed.
///
/// A chain costs 3 ms, a signature 0.09 ms, and everything signed with one certificate has the same protected header: a
/// header that was verified is remembered by its bytes, and its validity is checked against each payload. What is cheap
/// to refuse is refused first.
///
/// One verifier serves one thread at a time; each worker has its own.
public final class SignedDataVerifier {
  /// How many headers are remembered. Apple signs with a few at a time; only verified ones get in.
  static let capacity = 32

  private let roots: TrustedRoots
  private let allowance: ChainAllowance?
  /// The last used first.
  private var headers: [VerifiedHeader] = []
  private let digestContext: OpaquePointer
  /// How many chains were verified; the rest was remembered.
  private(set) var verifiedChains = 0

  /// A verifier that trusts these roots.
  ///
  /// - Parameter allowance: How many chains may be verified, where strangers can send something; nil for any number. What
  ///   it does not allow is refused as `chain`, and the allowance says that it was for want of it.
  public init(roots: TrustedRoots, allowance: ChainAllowance? = nil) {
    self.allowance = allowance
    guard let context = EVP_MD_CTX_new() else { preconditionFailure("libcrypto is out of memory") }
    self.roots = roots
    digestContext = context
  }

  deinit { EVP_MD_CTX_free(digestContext) }

  /// Verifies one signed text.
  ///
  /// - Parameters:
  ///   - compact: The text, without white space around it.
  ///   - now: Microseconds since 1970: when certificates must be valid if the payload does not say when it was signed.
  public func verify(_ compact: ArraySlice<UInt8>, now: Int64) -> Result<VerifiedPayload, SignatureRejection> {
    UnverifiedPayload.read(compact).flatMap { verify($0, now: now) }
  }

  /// Verifies one signed text.
  public func verify(_ compact: String, now: Int64) -> Result<VerifiedPayload, SignatureRejection> {
    verify(Array(compact.utf8)[...], now: now)
  }

  /// Verifies one signed text that was taken apart before.
  public func verify(_ payload: UnverifiedPayload, now: Int64) -> Result<VerifiedPayload, SignatureRejection> {
    do throws(SignatureRejection) {
      return .success(
        VerifiedPayload(
          document: payload.document, header: try verifiedHeader(of: payload, now: now), signature: payload.signature,
          signedAt: payload.signedAt))
    } catch {
      return .failure(error)
    }
  }

  private func verifiedHeader(
    of payload: UnverifiedPayload, now: Int64
  ) throws(SignatureRejection) -> ProtectedHeader {
    let text = payload.compact[..<payload.headerEnd]
    let known = remembered(text)
    let read = known == nil ? try readHeader(text) : nil
    guard !payload.signature.isEmpty else { throw .unsigned }
    guard payload.signature.count == 64 else { throw .signature }
    let moment = Self.seconds(payload.signedAt ?? now)

    if let known, known.chain.validity?.contains(moment) == true, known.rootValidity.contains(moment) {
      guard isSigned(payload, by: known) else { throw .signature }
      return known.header
    }
    // A known header of another moment goes the way of a new one: another root may have been valid then.
    let fresh: VerifiedHeader
    if let known { fresh = known } else if let read { fresh = try VerifiedHeader(read) } else { throw .malformed }
    guard fresh.chain.validity?.contains(moment) == true else { throw .certificateExpired }
    guard isSigned(payload, by: fresh) else { throw .signature }
    if let allowance, !allowance.take() { throw .chain }
    fresh.rootValidity = try fresh.chain.verify(at: moment)
    verifiedChains += 1
    if known == nil { remember(fresh) }
    return fresh.header
  }

  // MARK: The header

  /// What a protected header says, before anything costly is done about it.
  struct ReadHeader {
    let text: [UInt8]
    let bytes: [UInt8]
    let chain: CertificateChain
  }

  private func readHeader(_ text: ArraySlice<UInt8>) throws(SignatureRejection) -> ReadHeader {
    guard let bytes = Base64URL.decode(text) else { throw .malformed }
    let document: JSONDocument
    do { document = try JSONDocument(bytes) } catch { throw .malformed }
    let root = document.root
    // `crit` names extensions that must be understood (RFC 7515 section 4.1.11): none is.
    guard root.kind == .object, root["crit"] == nil else { throw .malformed }
    guard root["alg"]?.text == "ES256" else { throw .algorithm }
    guard let x5c = root["x5c"]?.elements else { throw .chain }
    return ReadHeader(text: Array(text), bytes: bytes, chain: try CertificateChain(x5c: x5c, trusted: roots))
  }

  private func remembered(_ text: ArraySlice<UInt8>) -> VerifiedHeader? {
    if let last = headers.first, last.isText(text) { return last }
    guard let index = headers.firstIndex(where: { $0.isText(text) }) else { return nil }
    let header = headers.remove(at: index)
    headers.insert(header, at: 0)
    return header
  }

  private func remember(_ header: VerifiedHeader) {
    headers.insert(header, at: 0)
    if headers.count > Self.capacity { headers.removeLast() }
  }

  private static func seconds(_ microseconds: Int64) -> Int64 {
    let (quotient, remainder) = microseconds.quotientAndRemainder(dividingBy: 1_000_000)
    return remainder < 0 ? quotient - 1 : quotient
  }

  // MARK: The signature

  private func isSigned(_ payload: UnverifiedPayload, by header: VerifiedHeader) -> Bool {
    withUnsafeTemporaryAllocation(of: UInt8.self, capacity: SHA256.byteCount + 72) { buffer in
      guard let digest = buffer.baseAddress else { return false }
      let signed = payload.compact[..<payload.payloadEnd]
      guard EVP_DigestInit_ex(digestContext, SHA256.algorithm, nil) == 1,
        signed.withUnsafeBytes({ EVP_DigestUpdate(digestContext, $0.baseAddress, $0.count) }) == 1,
        EVP_DigestFinal_ex(digestContext, digest, nil) == 1
      else { preconditionFailure("libcrypto could not compute SHA-256") }
      let der = digest + SHA256.byteCount
      let length = ECDSASignature.writeDER(of: payload.signature, to: der)
      // Anything but 1 is a refusal; the error queue would keep the reason for a later caller.
      if EVP_PKEY_verify(header.context, der, length, digest, SHA256.byteCount) == 1 { return true }
      ERR_clear_error()
      return false
    }
  }
}

/// A protected header with what is needed to verify signatures under it.
final class VerifiedHeader {
  /// The header as it stands in the signed text.
  let text: [UInt8]
  let header: ProtectedHeader
  let chain: CertificateChain
  /// A verifying context of the leaf's key, made ready once.
  let context: OpaquePointer
  /// When the root is valid, in seconds since 1970; empty until the chain was verified.
  var rootValidity: ClosedRange<Int64> = .min ... .min

  init(_ read: SignedDataVerifier.ReadHeader) throws(SignatureRejection) {
    text = read.text
    header = ProtectedHeader(read.bytes)
    chain = read.chain
    guard let context = EVP_PKEY_CTX_new(X509_get0_pubkey(chain.leaf.x509), nil) else { throw .certificate }
    self.context = context
    guard EVP_PKEY_verify_init(context) == 1 else { throw .certificate }
  }

  deinit { EVP_PKEY_CTX_free(context) }

  func isText(_ other: ArraySlice<UInt8>) -> Bool {
    other.count == text.count
      && other.withUnsafeBytes { other in
        // No header is empty.
        guard let base = other.baseAddress else { return false }
        return memcmp(text, base, other.count) == 0
      }
  }
}
