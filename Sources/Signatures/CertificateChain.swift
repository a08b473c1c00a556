import COpenSSL

/// The three certificates that signed data carries in its protected header, and the rules for them.
struct CertificateChain {
  /// The extension that marks a certificate that signs App Store receipts and signed data.
  static let leafMarker = "1.2.840.113635.100.6.11.1"
  /// The extension that marks Apple's authority for developer relations.
  static let intermediateMarker = "1.2.840.113635.100.6.2.1"

  let leaf: Certificate
  let intermediate: Certificate
  /// Roots that may have issued the intermediate.
  let roots: [Certificate]
  /// When leaf and intermediate are both valid, in seconds since 1970; nil when that is never.
  let validity: ClosedRange<Int64>?

  /// Reads the header's list and checks all that costs nothing: number, form, markers, constraints, names.
  init(x5c: [JSONValue], trusted: TrustedRoots) throws(SignatureRejection) {
    guard x5c.count == 3 else { throw .chain }
    guard let leaf = Self.certificate(x5c[0]), let intermediate = Self.certificate(x5c[1]) else { throw .certificate }
    guard leaf.hasExtension(Self.leafMarker), intermediate.hasExtension(Self.intermediateMarker) else {
      throw .markerMissing
    }
    guard leaf.hasP256Key, intermediate.isAuthority, intermediate.pathLength == 0 else { throw .certificate }
    guard leaf.namesIssuer(intermediate) else { throw .chain }
    guard let ofLeaf = leaf.validity, let ofIntermediate = intermediate.validity else { throw .certificate }
    let roots = trusted.candidates(last: x5c[2].utf8.flatMap { Base64.decode($0) })
      .filter { intermediate.namesIssuer($0) }
    guard !roots.isEmpty else { throw .untrustedRoot }
    self.leaf = leaf
    self.intermediate = intermediate
    self.roots = roots
    validity = ofLeaf.overlaps(ofIntermediate) ? ofLeaf.clamped(to: ofIntermediate) : nil
  }

  private static func certificate(_ value: JSONValue) -> Certificate? {
    value.utf8.flatMap { Base64.decode($0) }.flatMap { Certificate(der: $0) }
  }

  /// Verifies the signatures from a root down (about 3 ms), and that all three certificates are valid at that moment.
  ///
  /// - Parameter moment: Seconds since 1970.
  /// - Returns: When the root that was found is valid, in seconds since 1970.
  func verify(at moment: Int64) throws(SignatureRejection) -> ClosedRange<Int64> {
    guard let validity, validity.contains(moment) else { throw .certificateExpired }
    // Of a root that was renewed with the same key, the one of that time.
    let roots = roots.filter { $0.validity?.contains(moment) == true }
    guard !roots.isEmpty else { throw .certificateExpired }
    guard let context = X509_STORE_CTX_new(), let trusted = OPENSSL_sk_new_null(), let others = OPENSSL_sk_new_null()
    else { preconditionFailure("libcrypto is out of memory") }
    // The stacks borrow: the certificates live as long as this chain.
    defer {
      X509_STORE_CTX_free(context)
      OPENSSL_sk_free(trusted)
      OPENSSL_sk_free(others)
      ERR_clear_error()
    }
    for root in roots { OPENSSL_sk_push(trusted, UnsafeRawPointer(root.x509)) }
    OPENSSL_sk_push(others, UnsafeRawPointer(intermediate.x509))
    guard X509_STORE_CTX_init(context, nil, leaf.x509, others) == 1 else { throw .chain }
    X509_STORE_CTX_set0_trusted_stack(context, trusted)
    let parameters = X509_STORE_CTX_get0_param(context)
    // Times were compared above: libcrypto takes the last second of validity for the first one after it.
    X509_VERIFY_PARAM_set_flags(parameters, UInt(X509_V_FLAG_X509_STRICT | X509_V_FLAG_NO_CHECK_TIME))
    // 112 bits: no SHA-1 and no short keys, from whatever root.
    X509_VERIFY_PARAM_set_auth_level(parameters, 2)
    guard X509_verify_cert(context) == 1 else {
      throw Self.rejection(
        X509_STORE_CTX_get_error(context), depth: X509_STORE_CTX_get_error_depth(context))
    }
    let path = X509_STORE_CTX_get0_chain(context)
    guard OPENSSL_sk_num(path) == 3, let root = OPENSSL_sk_value(path, 2) else { throw .chain }
    guard let found = roots.first(where: { $0.x509 == OpaquePointer(root) }), let ofRoot = found.validity else {
      throw .untrustedRoot
    }
    return ofRoot
  }

  private static func rejection(_ error: CInt, depth: CInt) -> SignatureRejection {
    switch error {
    case X509_V_ERR_CERT_SIGNATURE_FAILURE: depth == 0 ? .chain : .untrustedRoot
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT, X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY,
      X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE, X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN,
      X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT, X509_V_ERR_CERT_UNTRUSTED:
      .untrustedRoot
    default: .certificate
    }
  }
}
