/// Chance that falls the same way each time: every number follows from the seed (SplitMix64).
struct Dice: RandomNumberGenerator {
  private var state: UInt64

  /// The dice of one life: lives do not change when others are added.
  init(seed: UInt64, life: Int) {
    state = seed &* 0x9E37_79B9_7F4A_7C15 ^ UInt64(life) &* 0xD1B5_4A32_D192_ED03
    _ = next()
  }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }

  /// Whether something happens that does so many times in a thousand.
  mutating func falls(_ thousandths: Int) -> Bool { number(in: 0...999) < thousandths }

  /// A whole number of a range.
  mutating func number(in range: ClosedRange<Int>) -> Int {
    // The bias of a remainder is far below anything that a story shows.
    range.lowerBound + Int(next() % UInt64(range.count))
  }

  /// One of several, as often as its weight says.
  mutating func pick<Value>(_ weighted: [(value: Value, weight: Int)]) -> Value {
    var left = number(in: 0...weighted.reduce(-1) { $0 + $1.weight })
    for (value, weight) in weighted {
      if left < weight { return value }
      left -= weight
    }
    return weighted[0].value
  }

  /// A UUID in the form that the App Store writes.
  mutating func uuid() -> String {
    let digits = Array((hexadecimal() + hexadecimal()))
    return [0..<8, 8..<12, 12..<16, 16..<20, 20..<32].map { String(digits[$0]) }.joined(separator: "-")
  }

  private mutating func hexadecimal() -> String {
    let text = String(next(), radix: 16)
    return String(repeating: "0", count: 16 - text.count) + text
  }
}
