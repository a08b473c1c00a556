import Signatures
public import Vocabulary

/// Decodes the webhooks of vendors that stand between the stores and the seller: RevenueCat, Adapty, Apphud.
///
/// Their data is not signed: whoever hands it over vouches for it. Each document is one event.
///
/// A vendor's event is an assertion: its facts speak only for the fields that the event's kind means. What it repeats
/// beside that (the price on an event without a charge, the expiry on one about something else) is left out.
public struct VendorDecoder: EventDecoder {
  private let makeEvent: (JSONValue, Instant) throws(Rejection) -> (any VendorEvent)?
  private let find: (String?) -> AppConfiguration?

  /// A decoder of one vendor's events.
  ///
  /// - Parameters:
  ///   - source: `revenuecat`, `adapty` or `apphud`; of any other every document is refused.
  ///   - app: The app of a bundle id. Most vendors name none: nil then, and the answer is the app that was given, if any.
  public init(_ source: Source, app find: @escaping (_ bundleID: String?) -> AppConfiguration?) {
    self.find = find
    makeEvent =
      switch source {
      case .revenueCat: { (root, at) throws(Rejection) in try RevenueCatEvent(root, receivedAt: at) }
      case .adapty: { (root, at) throws(Rejection) in try AdaptyEvent(root, receivedAt: at) }
      case .apphud: { (root, at) throws(Rejection) in try ApphudEvent(root, receivedAt: at) }
      case .appStore, .appClient, .appStoreReceipt, .tenure: { (_, _) throws(Rejection) in throw Rejection(.malformed) }
      }
  }

  /// Reads one event; nothing from a document that only asks whether anyone is there.
  public mutating func decode(_ document: [UInt8], receivedAt: Instant) -> [Decoded] {
    do throws(Rejection) {
      let root: JSONValue
      do throws(JSONFault) {
        root = try JSONDocument(document).root
      } catch {
        throw Rejection(
          error.isSyntax ? .notJSON : .malformed, app: find(nil)?.key,
          excerpt: Excerpt.of(Array("\(error.problem): ".utf8) + document))
      }
      guard root.kind == .object else {
        throw Rejection(.malformed, app: find(nil)?.key, excerpt: Excerpt.of(Array("no object: ".utf8) + document))
      }
      let vendors: (any VendorEvent)?
      do throws(Rejection) {
        vendors = try makeEvent(root, receivedAt)
      } catch {
        throw Rejection(
          error.reason, app: find(nil)?.key,
          excerpt: Excerpt.of(Array("\(error.excerpt ?? error.reason.rawValue): ".utf8) + document))
      }
      guard let vendors else { return [] }
      return [try decode(vendors, document)]
    } catch {
      return [.rejection(error)]
    }
  }

  private func decode(_ vendors: any VendorEvent, _ document: [UInt8]) throws(Rejection) -> Decoded {
    var event = vendors.event
    func rejection(_ reason: Rejection.Reason, _ app: String?, _ problem: String) -> Rejection {
      Rejection(reason, app: app, excerpt: Excerpt.of(Array("\(problem) (event_id \(event.eventID))".utf8)))
    }
    guard let app = find(nil) ?? vendors.bundleIDs.lazy.compactMap({ find($0) }).first else {
      throw rejection(
        .unknownApp, nil,
        vendors.bundleIDs.isEmpty
          ? "the event does not name its app: give its key" : "bundle id: \(vendors.bundleIDs.joined(separator: ", "))")
    }
    if let bundleID = app.bundleID, !vendors.bundleIDs.isEmpty, !vendors.bundleIDs.contains(bundleID) {
      throw rejection(.otherApp, app.key, "bundle id: \(vendors.bundleIDs.joined(separator: ", "))")
    }
    guard vendors.isTest || app.environments.contains(event.environment) else {
      throw rejection(.environmentNotListed, app.key, "environment: \(event.environment)")
    }
    event.app = app.key
    return .event(event, payload: StoredPayload(plain: document))
  }
}

/// One event as a vendor tells it, on its way to the canonical one.
protocol VendorEvent {
  /// The ids under which the stores know the app; empty where the vendor names none.
  var bundleIDs: [String] { get }
  /// Whether it only tries out the connection: then it belongs to no environment.
  var isTest: Bool { get }
  /// The canonical event, but for its app.
  var event: Event { get }
}

extension TransactionFact {
  /// What a refund returns, or its reversal takes back; 0 says nothing. It is no word on the price: it may be a part of it.
  mutating func states(returned money: Money) {
    guard money.amount.value > 0 else { return }
    refund = .value(money.amount)
    refundCurrency = money.currency
  }
}

extension JSONFault {
  /// What is wrong, in words.
  fileprivate var problem: String {
    isSyntax ? "no JSON in UTF-8 (byte \(offset))" : "JSON that can be understood in two ways (byte \(offset))"
  }
}
