import Signatures
public import Vocabulary

/// Decodes the source `tenure`: canonical events, one JSON object each.
public struct TenureDecoder: EventDecoder {
  private let app: String?
  private let apps: (String) -> AppConfiguration?

  /// A decoder.
  ///
  /// - Parameters:
  ///   - app: The key of the app that events belong to; nil where each event says it itself. Events of another app are
  ///     refused then.
  ///   - apps: What is configured of the app with a key; nil where there is no such app.
  public init(app: String? = nil, apps: @escaping (_ key: String) -> AppConfiguration?) {
    self.app = app
    self.apps = apps
  }

  /// Reads one event.
  public mutating func decode(_ document: [UInt8], receivedAt: Instant) -> [Decoded] {
    do throws(Rejection) {
      let json: JSONDocument
      do throws(JSONFault) {
        json = try JSONDocument(document)
      } catch {
        throw Rejection(
          error.isSyntax ? .notJSON : .malformed, app: app, excerpt: Self.excerpt(error.problem, document))
      }
      return [try decode(json.root)]
    } catch {
      return [.rejection(error)]
    }
  }

  private func decode(_ root: JSONValue) throws(Rejection) -> Decoded {
    var event: Event
    do {
      event = try Event(from: JSONValueDecoder(value: root))
    } catch {
      guard let field = (error as? DecodingError)?.field else { throw Rejection(.malformed, app: app) }
      let problem = field.path.isEmpty ? field.problem : "\(field.path): \(field.problem)"
      throw Rejection(
        field.isMissing ? .fieldMissing : .malformed, app: app, excerpt: Self.excerpt(problem, Array(root.source)))
    }
    guard let key = event.app ?? app else {
      throw Rejection(.unknownApp, excerpt: Self.excerpt("app: it is missing, and no app was given", event))
    }
    if let app, app != key {
      throw Rejection(.otherApp, app: app, excerpt: Self.excerpt("app: \(key)", event))
    }
    guard let configuration = apps(key) else {
      throw Rejection(.unknownApp, excerpt: Self.excerpt("app: \(key)", event))
    }
    guard configuration.environments.contains(event.environment) else {
      throw Rejection(
        .environmentNotListed, app: key, excerpt: Self.excerpt("environment: \(event.environment)", event))
    }
    event.app = key
    return .event(event, payload: StoredPayload(plain: Self.saysMore(root, than: event) ? Array(root.source) : []))
  }

  private static func excerpt(_ problem: String, _ event: Event) -> String {
    Excerpt.of(Array("\(problem) (event_id \(event.eventID))".utf8))
  }

  private static func excerpt(_ problem: String, _ document: [UInt8]) -> String {
    Excerpt.of(Array("\(problem): ".utf8) + document)
  }

  // MARK: - What the canonical text does not say

  /// The members that the canonical text keeps, of the event and of the objects in it.
  private static let members: [String: Set<String>] = [
    "": [
      "event_id", "kind", "also", "occurred_at", "signed_at", "app", "store", "environment",
      "original_transaction_id", "subscriber_id", "app_transaction_id", "previous_original_transaction_id",
      "transaction", "renewal", "detail", "raw_kind",
    ],
    "transaction": [
      "transaction_id", "type", "product_id", "group_id", "period", "purchased_at", "expires_at", "price", "currency",
      "country", "reason", "ownership", "offer", "revoked_at", "revocation", "refund", "tax", "commission", "proceeds",
      "is_upgraded", "quantity",
    ],
    "renewal": [
      "auto_renew", "auto_renew_product_id", "renews_at", "renewal_price", "currency", "expiration_reason",
      "in_billing_retry", "grace_expires_at", "paused_at", "resumes_at", "price_increase", "eligible_win_back_offers",
    ],
    "detail": ["reason", "direction", "effective", "message", "state"],
    "offer": ["type", "id", "discount", "period"],
  ]

  /// Whether an event's text says anything that its canonical text does not: then it is kept as it came.
  private static func saysMore(_ root: JSONValue, than event: Event) -> Bool {
    if event.kind == .unrecognised, root["kind"]?.text != event.rawKind { return true }
    if let also = root["also"]?.elements, also.count != event.also.count { return true }
    return hasForeignMember(root, "")
  }

  private static func hasForeignMember(_ object: JSONValue, _ name: String) -> Bool {
    guard let known = members[name] else { return false }
    return object.members.contains { member in
      !known.contains(member.name) || (member.value.kind == .object && hasForeignMember(member.value, member.name))
    }
  }
}

extension JSONFault {
  /// What is wrong, in words.
  fileprivate var problem: String {
    let problem =
      switch kind {
      case .syntax: "no JSON"
      case .encoding: "no UTF-8, or half of a surrogate pair"
      case .repeatedName: "a name stands twice in one object"
      case .nul: "a text holds U+0000"
      case .tooDeep: "nested too deep"
      case .number: "a number that is too long"
      case .tooLong: "too long"
      }
    return "\(problem) (byte \(offset))"
  }
}
