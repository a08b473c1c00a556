/// gzip data that came whole, such as the body of a request.
public enum Gzip {
  /// Why data was not inflated.
  public enum Failure: Error {
    /// It is damaged, ends early or is followed by something else.
    case damaged
    /// It is longer than the limit. Not more than the limit was inflated.
    case tooLarge
  }

  /// Inflates data (RFC 1952) of one or several members.
  ///
  /// - Parameter limit: How many bytes it may hold.
  public static func inflated(_ data: [UInt8], limit: Int) throws(Failure) -> [UInt8] {
    let inflater = Inflater()
    inflater.begin()
    var part = [UInt8](repeating: 0, count: 1 << 16)
    var text: [UInt8] = []
    var position = 0
    while position < data.count {
      if inflater.isBetweenMembers { inflater.begin() }
      let step = inflater.inflate(data, position..<data.count, into: &part)
      guard step.isSound, step.consumed > 0 || step.produced > 0 else { throw .damaged }
      position += step.consumed
      guard text.count + step.produced <= limit else { throw .tooLarge }
      text += part[..<step.produced]
    }
    // What is left in the window comes without further input.
    while !inflater.isBetweenMembers {
      let step = inflater.inflate(data, data.count..<data.count, into: &part)
      guard step.isSound, step.produced > 0 else { throw .damaged }
      guard text.count + step.produced <= limit else { throw .tooLarge }
      text += part[..<step.produced]
    }
    return text
  }
}
