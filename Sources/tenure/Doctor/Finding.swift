/// What was found out about one thing that the program needs.
struct Finding: Encodable, Sendable, Equatable {
  /// What was looked at: configuration, certificates, database, clock, targets, runs, rates or products.
  let check: String
  /// Whether it is as it should be.
  let ok: Bool
  /// What was found, without secrets.
  let found: String
  /// What to do about it; nil where nothing is to be done.
  let `do`: String?

  static func good(_ check: String, _ found: String) -> Finding {
    Finding(check: check, ok: true, found: found, do: nil)
  }

  static func bad(_ check: String, _ found: String, do remedy: String) -> Finding {
    Finding(check: check, ok: false, found: found, do: remedy)
  }

  private enum CodingKeys: String, CodingKey {
    case check, ok, found, `do`
  }

  /// Every name is there, also where nothing is to be done: null.
  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(check, forKey: .check)
    try container.encode(ok, forKey: .ok)
    try container.encode(found, forKey: .found)
    try container.encode(self.do, forKey: .do)
  }
}
