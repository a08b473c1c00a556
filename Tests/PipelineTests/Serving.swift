import Foundation
import Signatures
import TestSupport
import Testing

/// A running `tenure serve` with a configuration of its own: the app `video` with signed notifications of the tests'
/// authority, a secret for canonical events and a public key, and the app `audio` with neither secret nor root.
struct Serving {
  static let token = "a-token-that-is-long-enough-for-tests"
  static let publicKey = "the-key-that-is-in-the-app"
  static let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

  let folder: TestFolder
  let program: TestProgram
  let ingestPort: UInt16
  let reportsPort: UInt16
  /// The address of the page, as it was printed.
  let page: String

  /// Starts it; returns when it listens.
  ///
  /// - Parameters:
  ///   - server: settings of the section `server`, beside the token.
  ///   - sources: further sources of the app `video`, each with a comma after it.
  ///   - environment: the database: `DATABASE_URL`, or `TENURE_HOME` for the program's own.
  init(
    server: String = "token: \"\(Serving.token)\"", sources: String = "", environment: [String: String]
  ) async throws {
    folder = try TestFolder()
    try folder.write(TestCertificateAuthority.shared.root.pem, to: "root.pem")
    try folder.write(
      """
      { server: { \(server) }, apps: [
        { key: "video", bundle_id: "com.example.video", app_apple_id: 1234567890,
          sources: { app_store: { roots: ["root.pem"] }, app_client: { key: "\(Self.publicKey)", roots: ["root.pem"] },
            tenure: { secret: "\(Self.secret)" }, \(sources) } },
        { key: "audio", bundle_id: "com.example.audio", sources: { app_store: {}, tenure: {} } },
      ] }
      """, to: "tenure.json")
    program = try TestProgram(
      [
        "serve", "--listen", "127.0.0.1:0", "--reports-listen", "127.0.0.1:0", "--json", "--config",
        folder.file("tenure.json"),
      ], environment: environment)
    struct Listening: Decodable { let ingest, reports, page: String }
    guard let line = await program.outputLine(containing: "ingest") else {
      let outcome = await program.ended()
      throw Ended(description: "serve ended with \(outcome.code): \(outcome.errors)")
    }
    let listening = try JSONDecoder().decode(Listening.self, from: Data(line.utf8))
    ingestPort = try #require(UInt16(listening.ingest.split(separator: ":").last ?? ""))
    reportsPort = try #require(UInt16(listening.reports.split(separator: ":").last ?? ""))
    page = listening.page
  }

  private struct Ended: Error, CustomStringConvertible {
    let description: String
  }

  /// Ends it in order, and expects that it does.
  func end() async {
    program.send(SIGTERM)
    let outcome = await program.ended()
    #expect(outcome.code == 0, "\(outcome.errors)")
  }

  /// Posts a body.
  func post(
    _ body: [UInt8], to path: String = "app_store/video", headers: [String: String] = [:]
  ) async throws -> HTTPConnection.Answer {
    try #require(
      try await HTTPConnection.request(
        "POST", "/v1/ingest/\(path)", port: ingestPort, headers: headers, body: body))
  }

  /// Posts a text.
  func post(
    _ body: String, to path: String = "app_store/video", headers: [String: String] = [:]
  ) async throws -> HTTPConnection.Answer {
    try await post(Array(body.utf8), to: path, headers: headers)
  }

  /// Gets something of the reports listener, with the token unless other headers are given.
  func get(
    _ target: String, headers: [String: String] = ["Authorization": "Bearer \(Serving.token)"]
  ) async throws -> HTTPConnection.Answer {
    try #require(try await HTTPConnection.request("GET", target, port: reportsPort, headers: headers))
  }
}
