/// Reads amounts written with a unit.
enum Quantity {
  /// A length of time such as `30s`, `15m`, `24h`, `400d` or `2w`, in seconds; nil when it is none.
  static func seconds(_ text: String) -> Int64? {
    amount(text, units: ["s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800])
  }

  /// A size such as `512KiB`, `1MiB` or `2MB`, or a plain number of bytes; nil when it is none.
  static func bytes(_ text: String) -> Int64? {
    amount(
      text,
      units: [
        "": 1, "B": 1, "kB": 1_000, "KB": 1_000, "MB": 1_000_000, "GB": 1_000_000_000, "KiB": 1 << 10, "MiB": 1 << 20,
        "GiB": 1 << 30,
      ])
  }

  private static func amount(_ text: String, units: [String: Int64]) -> Int64? {
    let digits = text.prefix { $0.isASCII && $0.isNumber }
    guard let number = Int64(digits), let unit = units[String(text.dropFirst(digits.count))] else { return nil }
    let (amount, isTooLarge) = number.multipliedReportingOverflow(by: unit)
    return isTooLarge ? nil : amount
  }
}
