/// The form of ISO 8601 durations that stores use for periods: `P3D`, `P1W`, `P1M`, `P1Y`.
public enum ISODuration {
  /// Whether a text is one number of days, weeks, months or years.
  public static func isValid(_ text: String) -> Bool {
    let bytes = Array(text.utf8)
    guard bytes.count >= 3, bytes.count <= 6, bytes[0] == UInt8(ascii: "P"),
      "DWMY".utf8.contains(bytes[bytes.count - 1])
    else { return false }
    let digits = bytes[1..<bytes.count - 1]
    return digits.allSatisfy { (48...57).contains($0) } && digits.contains { $0 != 48 }
  }
}
