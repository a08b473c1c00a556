/// Finds what a mistyped word was meant to be.
enum Suggestion {
  /// The known word nearest to `word`, or nil when none is near.
  static func nearest(to word: String, among known: [String]) -> String? {
    let word = word.lowercased()
    let best = known.map { (word: $0, distance: distance(word, $0.lowercased())) }.min { $0.distance < $1.distance }
    guard let best else { return nil }
    let isBeginning = word.count >= 2 && best.word.lowercased().hasPrefix(word)
    return isBeginning || best.distance <= max(2, word.count / 2) ? best.word : nil
  }

  /// The end of a message about an unknown word: `; did you mean "…"?`, or nothing.
  static func hint(for word: String, among known: [String], prefix: String = "") -> String {
    nearest(to: word, among: known).map { "; did you mean \"\(prefix)\($0)\"?" } ?? ""
  }

  /// How many letters must be put in, taken out, replaced or swapped with their neighbour to get from one to the other.
  static func distance(_ left: String, _ right: String) -> Int {
    let left = Array(left)
    let right = Array(right)
    var beforePrevious: [Int] = []
    var previous = Array(0...right.count)
    for i in 0..<left.count {
      var current = [i + 1]
      for j in 0..<right.count {
        var cost = min(previous[j + 1] + 1, current[j] + 1, previous[j] + (left[i] == right[j] ? 0 : 1))
        if i > 0, j > 0, left[i] == right[j - 1], left[i - 1] == right[j] {
          cost = min(cost, beforePrevious[j - 1] + 1)
        }
        current.append(cost)
      }
      beforePrevious = previous
      previous = current
    }
    return previous[right.count]
  }
}
