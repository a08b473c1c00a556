import Vocabulary

/// Cuts from refused input what may be shown of it.
public enum Excerpt {
  /// How many characters are kept.
  static let length = 200
  /// A run of this many characters of base64url is taken for signed data, a token or a key.
  private static let longestWord = 40

  /// How many bytes of a document are looked at: it may be megabytes of one signed text.
  private static let reach = 16 << 10

  /// The beginning of a document without line breaks, and without anything that may be signed data or a secret.
  ///
  /// It ends before the text or the word that it would break off: half of an identifier would be found by no erasure.
  public static func of(_ document: [UInt8]) -> String {
    let text = String(decoding: document.prefix(reach), as: UTF8.self)
    var isWhole = document.count <= reach
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
      if count >= length {
        isWhole = false
        break
      }
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
    return isWhole && count <= length ? out : whole(out) + "…"
  }

  /// As much of a text as there is room for, without the string, the item of a list or the word that is not whole.
  private static func whole(_ text: String) -> Substring {
    let kept = text.prefix(length - 1)
    var opening: Substring.Index?
    var isEscaped = false
    for index in kept.indices {
      if kept[index] == "\"", !isEscaped { opening = opening == nil ? index : nil }
      isEscaped = kept[index] == "\\" && !isEscaped
    }
    if let opening { return kept[...opening] }
    let separators = kept.contains(where: { ",;{}[]()".contains($0) }) ? ",;{}[]()" : " :"
    if kept.endIndex < text.endIndex, separators.contains(text[kept.endIndex]) { return kept }
    return kept.lastIndex { separators.contains($0) }.map { kept[...$0] } ?? ""
  }
}
