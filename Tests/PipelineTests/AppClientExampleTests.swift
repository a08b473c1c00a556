import Foundation
import TestSupport
import Testing

/// The lines of Swift that docs/app-client.md gives to apps.
@Suite("App client: the lines for the app")
struct AppClientExampleTests {
  /// What these lines use of StoreKit, as Apple documents it (https://developer.apple.com/documentation/storekit), and what
  /// comes with it on Apple's systems.
  private static let storeKit = """
    @_exported import Foundation
    @_exported import FoundationNetworking

    public enum VerificationResult<SignedType> {
      case unverified(SignedType, any Error)
      case verified(SignedType)
    }
    extension VerificationResult where SignedType == Transaction {
      public var jwsRepresentation: String { fatalError() }
      public var unsafePayloadValue: Transaction { fatalError() }
    }
    extension VerificationResult where SignedType == Product.SubscriptionInfo.RenewalInfo {
      public var jwsRepresentation: String { fatalError() }
    }
    extension VerificationResult: Sendable where SignedType: Sendable {}

    public struct Product: Sendable {
      public typealias ID = String
      public struct SubscriptionInfo: Sendable {
        public struct RenewalInfo: Sendable {}
        public struct Status: Sendable {
          public var renewalInfo: VerificationResult<RenewalInfo> { fatalError() }
        }
      }
    }

    public struct Transaction: Sendable {
      public struct Transactions: AsyncSequence, Sendable {
        public typealias Element = VerificationResult<Transaction>
        public struct AsyncIterator: AsyncIteratorProtocol {
          public mutating func next() async -> Element? { nil }
        }
        public func makeAsyncIterator() -> AsyncIterator { AsyncIterator() }
      }
      public static var updates: Transactions { Transactions() }
      public static func latest(for productID: String) async -> VerificationResult<Transaction>? { nil }
      public var subscriptionStatus: Product.SubscriptionInfo.Status? { get async { nil } }
      public func finish() async {}
    }

    public struct Message: Sendable {
      public struct Reason: RawRepresentable, Hashable, Sendable {
        public let rawValue: Int
        public init(rawValue: Int) { self.rawValue = rawValue }
        public static let priceIncreaseConsent = Reason(rawValue: 1)
        public static let generic = Reason(rawValue: 0)
        public static let billingIssue = Reason(rawValue: 2)
        public static let winBackOffer = Reason(rawValue: 3)
      }
      public let reason: Reason
    }
    """

  private static func lines() throws -> String {
    let page = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().appending(path: "docs/app-client.md")
    let blocks = try String(contentsOf: page, encoding: .utf8).components(separatedBy: "\n```")
    return String(try #require(blocks.first { $0.hasPrefix("swift\n") }).dropFirst(6))
  }

  /// What the compiler says of a text beside the stand-in for StoreKit.
  private func compiled(_ text: String) async throws -> TestProgram.Outcome {
    let folder = try TestFolder()
    let searched = ProcessInfo.processInfo.environment["PATH"] ?? ""
    let compiler = try #require(
      searched.split(separator: ":").map { "\($0)/swiftc" }.first { FileManager.default.isExecutableFile(atPath: $0) },
      "there is no swiftc on the path \(searched)")
    func compile(_ words: [String]) async throws -> TestProgram.Outcome {
      try await TestProgram.run(
        ["-swift-version", "6", "-warnings-as-errors", "-module-cache-path", folder.file("cache")] + words,
        environment: ["PATH": searched, "HOME": folder.path], directory: folder.path, file: compiler)
    }
    let stand = try await compile([
      "-emit-module", "-module-name", "StoreKit", "-emit-module-path", folder.file("StoreKit.swiftmodule"),
      "-parse-as-library", try folder.write(Self.storeKit, to: "StoreKit.swift"),
    ])
    try #require(stand.code == 0, "\(stand.errors)")
    return try await compile([
      "-typecheck", "-parse-as-library", "-I", folder.path, try folder.write(text, to: "Tenure.swift"),
    ])
  }

  @Test("they compile without a warning, and send the address, the key and the names that are documented")
  func compiles() async throws {
    let lines = try Self.lines()
    let outcome = try await compiled(lines)
    #expect(outcome.code == 0, "\(outcome.errors)")
    for word in [
      "/v1/ingest/app_client/", "Bearer ", "signedTransactionInfo", "signedRenewalInfo", "store_message", "occurred_at",
      "billing_issue", "price_increase_consent", "win_back_offer", "generic",
    ] {
      #expect(lines.contains(word), "\(word)")
    }
    // The compiler is asked in earnest.
    let broken = try await compiled(lines.replacing("jwsRepresentation", with: "jwsText"))
    #expect(broken.code != 0)
  }
}
