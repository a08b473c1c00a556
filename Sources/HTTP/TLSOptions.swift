/// How a target with certificates of its own is told and shown who is who; for gateways that one runs oneself.
///
/// A certificate is always verified: what can be changed is whom to believe.
public struct TLSOptions: Sendable, Equatable {
  /// A PEM file of the authorities that are believed, in place of the system's.
  public var authorityFile: String?
  /// A PEM file of the certificate that is shown to the target.
  public var certificateFile: String?
  /// A PEM file of that certificate's key.
  public var keyFile: String?

  /// The system's authorities, and no certificate to show.
  public init() {}
}
