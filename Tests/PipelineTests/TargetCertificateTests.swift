import Foundation
import Signatures
import TestSupport
import Testing
import Vocabulary

/// Whom targets believe and what they show, against a gateway that speaks TLS with the built program.
@Suite("Certificates of targets, by the built program", .fewAtOnce)
struct TargetCertificateTests {
  private let folder: TestFolder
  private let receiver = HTTPReceiver()
  private let authority = TLSAuthority()

  init() throws {
    folder = try TestFolder()
    try folder.write(authority.certificate.pem, to: "authority.pem")
    try folder.write(TLSAuthority().certificate.pem, to: "stranger.pem")
  }

  private func gateway(clients: TLSAuthority? = nil) async throws -> TLSGateway {
    try await TLSGateway(to: receiver, showing: authority.identity("localhost"), clients: clients, in: folder)
  }

  private func target(_ gateway: TLSGateway, host: String = "localhost", name: String = "backend", _ settings: String)
    -> String
  {
    """
    { name: "\(name)", type: "webhook", url: "https://\(host):\(gateway.port)/hooks/secret-path",
      secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", allow_private_network: true, \(settings) }
    """
  }

  private func installation(_ targets: String...) async throws -> Installation {
    let program = Installation(database: try await TestDatabase.clone(), folder: folder)
    try program.configure(targets: targets.joined(separator: ", "))
    try folder.write(TestCertificateAuthority.shared.root.pem, to: "root.pem")
    try await program.run(["migrate"])
    try await ingest(program, 1)
    return program
  }

  private func ingest(_ program: Installation, _ number: Int) async throws {
    let now = Instant(microseconds: Int64(Date().timeIntervalSince1970) * 1_000_000)
    try await program.ingest(lines: [
      """
      {"event_id": "e\(number)", "kind": "subscription_renewed", "occurred_at": "\(now)", "app": "video", \
      "store": "app_store", "environment": "Production", "original_transaction_id": "\(number)"}
      """
    ])
  }

  @Test("a gateway is believed when its certificate comes from the authority that the target names")
  func believed() async throws {
    let gateway = try await gateway()
    let program = try await installation(target(gateway, "ca_file: \"authority.pem\""))
    try await program.run(["targets", "test", "backend"])
    let output = try await program.run(["forward", "--once"])
    #expect(output == "delivered 1, refused 0, waiting 0, held 0\n")
    #expect(receiver.requests.count == 2)
    #expect(receiver.requests.last?.headers["webhook-id"] == "e1")
  }

  @Test(
    "nothing is sent to a gateway whose certificate proves nothing: of an unknown authority, or for another host",
    arguments: [
      ("localhost", ""), ("localhost", "ca_file: \"stranger.pem\""), ("127.0.0.1", "ca_file: \"authority.pem\""),
    ])
  func notBelieved(host: String, settings: String) async throws {
    let gateway = try await gateway()
    let program = try await installation(target(gateway, host: host, settings))
    let trial = try await program.run(["targets", "test", "backend"], ends: 1)
    #expect(trial.contains("certificate") && trial.contains("ca_file"), "\(trial)")
    let output = try await program.run(["forward", "--once"])
    #expect(output == "delivered 0, refused 0, waiting 1, held 0\n")
    let errors = try await program.lines("deliveries", "last_error")
    #expect(errors.count == 1 && errors[0].contains("certificate"), "\(errors)")
    #expect(!errors[0].contains("secret"))
    #expect(receiver.requests.isEmpty)
  }

  @Test(
    "the authorities that a target names take the place of the system's, which are believed where it names none",
    .enabled("only root can show a program other authorities of the system") {
      try await TestProgram.run(["--mount", "true"], file: "/usr/bin/unshare").code == 0
    })
  func inPlaceOfTheSystems() async throws {
    let gateway = try await gateway()
    // By the name under which OpenSSL looks for it, and in the file that is read first.
    let hash = try await TestProgram.run(
      ["x509", "-hash", "-noout", "-in", folder.file("authority.pem")], file: "/usr/bin/openssl")
    try FileManager.default.createDirectory(atPath: folder.file("system"), withIntermediateDirectories: true)
    for name in [hash.output.trimmingCharacters(in: .whitespacesAndNewlines) + ".0", "ca-certificates.crt"] {
      try folder.write(authority.certificate.pem, to: "system/\(name)")
    }
    let program = try await installation(
      target(gateway, name: "any", ""), target(gateway, name: "one", "ca_file: \"stranger.pem\""))
    try await program.run(["targets", "test", "any"], authorities: folder.file("system"))
    let trial = try await program.run(["targets", "test", "one"], ends: 1, authorities: folder.file("system"))
    #expect(trial.contains("certificate"), "\(trial)")
    #expect(receiver.requests.count == 1)
  }

  @Test("a gateway that asks for a certificate is shown the target's own, and takes no other")
  func shown() async throws {
    let clients = TLSAuthority()
    for (name, issuer) in [("known", clients), ("unknown", TLSAuthority())] {
      let identity = issuer.identity("tenure")
      try folder.write(identity.certificate, to: "\(name).pem")
      try folder.write(identity.key, to: "\(name).key")
    }
    let gateway = try await gateway(clients: clients)
    let believing = "ca_file: \"authority.pem\","
    let program = try await installation(
      target(gateway, name: "known", believing + "certificate_file: \"known.pem\", key_file: \"known.key\""),
      target(gateway, name: "unknown", believing + "certificate_file: \"unknown.pem\", key_file: \"unknown.key\""),
      target(gateway, name: "without", believing))
    let output = try await program.run(["forward", "--once"])
    #expect(output == "delivered 1, refused 0, waiting 2, held 0\n")
    try await expect(
      program.lines("deliveries", "target state").sorted(),
      is: ["known delivered", "unknown waiting", "without waiting"])
    #expect(receiver.requests.count == 1)
  }

  @Test("a connection that one target believes is not used for another that does not")
  func separateConnections() async throws {
    let gateway = try await gateway()
    let program = try await installation(
      target(gateway, name: "believing", "ca_file: \"authority.pem\""), target(gateway, name: "doubting", ""))
    for number in 2...4 { try await ingest(program, number) }
    let output = try await program.run(["forward", "--once"])
    #expect(output == "delivered 4, refused 0, waiting 4, held 0\n")
    #expect(receiver.requests.count == 4)
  }
}
