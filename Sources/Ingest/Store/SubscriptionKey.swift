import Signatures
import Vocabulary

/// The keys by which rows of one chain stand together: the first 8 bytes, as a signed big-endian integer, of a SHA-256
/// over what identifies the chain, joined by U+001F.
enum SubscriptionKey {
  /// The key of a chain.
  static func ofChain(
    appID: Int64, store: Store, environment: StoreEnvironment, originalTransactionID: String
  ) -> Int64 {
    key("\(appID)\u{1F}\(store.rawValue)\u{1F}\(environment.rawValue)\u{1F}\(originalTransactionID)")
  }

  /// The key of an event about no chain.
  static func ofEvent(appID: Int64, source: Source, eventID: String) -> Int64 {
    key("\(appID)\u{1F}\(source.rawValue)\u{1F}\(eventID)")
  }

  /// The number an app gets at first sight, unless it is taken: then the next attempt's.
  static func ofApp(_ appKey: String, attempt: Int = 1) -> Int64 {
    key(attempt == 1 ? appKey : "\(appKey)\u{1F}\(attempt)")
  }

  /// The number of a text by its digest.
  static func key(_ text: String) -> Int64 { key(SHA256.digest(text)) }

  /// The first 8 bytes of a digest.
  static func key(_ digest: [UInt8]) -> Int64 {
    Int64(bitPattern: digest[..<8].reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
  }
}
