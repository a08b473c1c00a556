import Foundation
import Glibc
public import Signatures

/// A gateway on the loopback interface, such as one runs before a service of one's own: it speaks TLS with whom comes, and
/// passes on to a receiver what it hears. It does not outlive the test's process.
public final class TLSGateway: Sendable {
  /// The port it listens on.
  public let port: UInt16
  private let process: SpawnedProcess

  private struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  /// Tells its port, and ends when there is nobody any more who could write to it.
  private static let script = """
    import asyncio, ssl, sys
    certificate, key, receiver, clients = sys.argv[1:]
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    if clients:
        context.load_verify_locations(clients)
        context.verify_mode = ssl.CERT_REQUIRED
    async def pump(reader, writer):
        try:
            while part := await reader.read(65536):
                writer.write(part)
                await writer.drain()
        except OSError:
            pass
        finally:
            writer.close()
    async def serve(reader, writer):
        inner = await asyncio.open_connection('127.0.0.1', int(receiver))
        await asyncio.gather(pump(reader, inner[1]), pump(inner[0], writer))
    async def main():
        server = await asyncio.start_server(serve, '127.0.0.1', 0, ssl=context)
        print(server.sockets[0].getsockname()[1], flush=True)
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    asyncio.run(main())
    """

  /// Starts a gateway; returns when it listens.
  ///
  /// - Parameters:
  ///   - receiver: where it passes requests on to.
  ///   - identity: what it shows.
  ///   - clients: the authority that must have issued what others show it; nil where they need not show anything.
  ///   - folder: where its files go.
  public init(
    to receiver: HTTPReceiver, showing identity: TLSAuthority.Identity, clients: TLSAuthority? = nil,
    in folder: TestFolder
  ) async throws {
    let files = [
      try folder.write(identity.certificate, to: "gateway.pem"), try folder.write(identity.key, to: "gateway.key"),
    ]
    let authority = try clients.map { try folder.write($0.certificate.pem, to: "gateway-clients.pem") } ?? ""
    let process = try SpawnedProcess(
      ["/usr/bin/python3", "-c", Self.script] + files + ["\(receiver.port)", authority],
      environment: ["PATH": "/usr/bin:/bin"], directory: "/", hasInput: true)
    self.process = process
    let line = await withCheckedContinuation { continuation in
      Thread.detachNewThread {
        let handle = FileHandle(fileDescriptor: process.output)
        var line = Data()
        while let part = try? handle.read(upToCount: 1), !part.isEmpty, part != Data("\n".utf8) { line += part }
        continuation.resume(returning: String(decoding: line, as: UTF8.self))
      }
    }
    guard let port = UInt16(line) else {
      throw Failure(description: "the gateway did not start: the tests need python3, and what it says is \(line)")
    }
    self.port = port
  }

  deinit {
    for descriptor in [process.input, process.output, process.errors] { if let descriptor { close(descriptor) } }
    Thread.detachNewThread { [process] in _ = process.wait() }
  }
}

/// An authority of a test that says which host is which.
public struct TLSAuthority: Sendable {
  /// What someone shows to prove who they are.
  public struct Identity: Sendable {
    /// The certificate, as PEM text.
    public let certificate: String
    /// Its key, as PEM text.
    public let key: String
  }

  /// When its certificates are valid, in seconds since 1970 (2020 to 2040).
  public static let validity: ClosedRange<Int64> = 1_577_836_800...2_208_988_800

  /// What whoever believes it must know.
  public let certificate: Certificate
  private let key = SigningKey(.p384)

  /// Makes the authority.
  public init() {
    certificate = Self.request("Test Authority", key, .authority(pathLength: 0)).issued(by: key, issuer: nil)
  }

  /// Issues a certificate for a host or a client of that name.
  ///
  /// - Parameter end: the last second of its validity since 1970.
  public func identity(_ name: String, until end: Int64 = validity.upperBound) -> Identity {
    let own = SigningKey(.p256)
    var request = Self.request(name, own, .signing)
    request.validUntil = end
    return Identity(certificate: request.issued(by: key, issuer: certificate).pem, key: own.pem)
  }

  private static func request(
    _ name: String, _ key: SigningKey, _ usage: CertificateRequest.Usage
  ) -> CertificateRequest {
    CertificateRequest(
      name: name, key: key, usage: usage, validFrom: validity.lowerBound, validUntil: validity.upperBound)
  }
}
