import Vocabulary

/// Cuts from refused input what may be shown of it.
public enum Excerpt {
  /// How many characters are kept.
  static let length = 200
  /// A run of this many characters of base64url is taken for signed data, a token or a key.
  private static let longestWord = 40

  /// The beginning of a document without line breaks, and without anything that may be signed data or a secret.
  public static func of(_ document: [UInt8]) -> String {
    // A document may be megabytes of one signed text: only its beginning is looked at.
    let text = String(decoding: document.prefix(16 << 10), as: UTF8.self)
    var out = ""
    var count = 0
    var word = ""
    func flush() {
      guard !word.isEmpty else { return }
      let isSecret = word.utf8.count >= longestWord || word.hasPrefix("eyJ")
      let kept = isSecret ? "…" : word
      out += kept
      count += kept.count
      word = ""
    }
    for character in text {
      if count >= length { break }
      if character.isASCII, character.isLetter || character.isNumber || "-_.+/=".contains(character) {
        word.append(character)
        continue
      }
      flush()
      let isControl = character.unicodeScalars.contains { $0.value < 0x20 || $0.value == 0x7F }
      out.append(isControl ? " " : character)
      count += 1
    }
    flush()
    return count > length ? out.prefix(length - 1) + "…" : out
  }
}
