import Foundation
import Ingest
import Signatures
import Vocabulary

/// Verifying and decoding signed notifications of three signatures each, against as many bare verifications.
enum VerifyBenchmark: Benchmark {
  static let name = "verify"
  static let summary = "verify and decode signed notifications, against libcrypto verifying as many signatures"
  static let size = 3000
  static let unit = "notifications of 3 signatures"

  private static let receivedAt = Instant(microseconds: 1_767_225_600_000_000)  // 2026-01-01

  static func run(_ plan: Plan) throws {
    // 2020 to 2040, around everything that is signed here.
    let authority = CertificateAuthority(validFrom: 1_577_836_800, validUntil: 2_208_988_800)
    let app = AppConfiguration(
      key: "video", bundleID: "com.example.video", roots: TrustedRoots(configured: [authority.root], trustsApple: false)
    )
    let notifications = (0..<plan.size).map { notification($0, authority) }
    let key = SigningKey(.p256)
    var comparison = Comparison("verify, limit to work", .share, reach: 0.85)
    for _ in 0..<plan.repetitions {
      // A new decoder each time: verifying the certificates, once, is part of the work.
      let decoder = AppStoreDecoder { _ in app }
      var work = Cost(cpu: 0)
      var limit = Cost(cpu: 0)
      // In slices, since the clock rate of a processor that others use as well changes by the second.
      for start in stride(from: 0, to: notifications.count, by: 100) {
        let slice = notifications[start..<min(start + 100, notifications.count)]
        limit = limit + Cost.measureThread { key.verifySignature(times: 3 * slice.count) }
        work =
          try work
          + Cost.measureThread {
            for notification in slice {
              let decoded = decoder.decode(notification, receivedAt: receivedAt)
              guard case .event? = decoded.first, decoded.count == 1 else {
                throw BenchError("a notification was not taken: \(decoded)")
              }
            }
          }
      }
      comparison.add(work: work, limit: limit)
    }
    comparison.conclude()
  }

  /// A renewal as the App Store tells it: the body of a request.
  private static func notification(_ number: Int, _ authority: CertificateAuthority) -> [UInt8] {
    let purchased = receivedAt.microseconds / 1000 - 86_400_000 + Int64(number)
    let chain = 2_000_000_000_000_000 + number / 3
    let transaction = authority.sign(
      """
      {"transactionId":"\(2_000_001_000_000_000 + number)","originalTransactionId":"\(chain)",\
      "webOrderLineItemId":"\(2_000_000_100_000_000 + number)","bundleId":"com.example.video",\
      "productId":"com.example.video.monthly","subscriptionGroupIdentifier":"21000001","purchaseDate":\(purchased),\
      "originalPurchaseDate":\(purchased - 5_184_000_000),"expiresDate":\(purchased + 2_592_000_000),"quantity":1,\
      "type":"Auto-Renewable Subscription","inAppOwnershipType":"PURCHASED","signedDate":\(purchased + 1200),\
      "environment":"Production","transactionReason":"RENEWAL","storefront":"USA","storefrontId":"143441",\
      "price":9990,"currency":"USD","appTransactionId":"\(704_000_000_000_000_000 + number / 3)"}
      """)
    let renewal = authority.sign(
      """
      {"originalTransactionId":"\(chain)","autoRenewProductId":"com.example.video.monthly",\
      "productId":"com.example.video.monthly","autoRenewStatus":1,"renewalPrice":9990,"currency":"USD",\
      "signedDate":\(purchased + 1200),"environment":"Production",\
      "recentSubscriptionStartDate":\(purchased - 5_184_000_000),"renewalDate":\(purchased + 2_592_000_000),\
      "appTransactionId":"\(704_000_000_000_000_000 + number / 3)"}
      """)
    let payload = authority.sign(
      """
      {"notificationType":"DID_RENEW","notificationUUID":"\(UUID().uuidString.lowercased())","version":"2.0",\
      "signedDate":\(purchased + 1250),"data":{"appAppleId":1234567890,"bundleId":"com.example.video",\
      "bundleVersion":"412","environment":"Production","signedTransactionInfo":"\(transaction)",\
      "signedRenewalInfo":"\(renewal)","status":1}}
      """)
    return Array("{\"signedPayload\":\"\(payload)\"}".utf8)
  }
}
