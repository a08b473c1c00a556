/// The currencies' own rules: how many digits after the point, and the sign that stands for them.
///
/// From ISO 4217 itself and not from a locale library, which shows some currencies with fewer digits than the standard.
public enum Currency {
  /// How many digits the minor unit has, by ISO 4217; two for codes it does not list.
  public static func minorDigits(of code: String) -> Int { unusualMinorDigits[code] ?? 2 }

  /// The sign written before an amount, one that means no other currency; `nil` where the code itself is written.
  public static func sign(of code: String) -> String? { signs[code] }

  /// The codes whose minor unit has not two digits (ISO 4217, list one, column "minor unit").
  public static let unusualMinorDigits: [String: Int] = [
    "BIF": 0, "CLP": 0, "DJF": 0, "GNF": 0, "ISK": 0, "JPY": 0, "KMF": 0, "KRW": 0, "PYG": 0, "RWF": 0, "UGX": 0,
    "UYI": 0, "VND": 0, "VUV": 0, "XAF": 0, "XOF": 0, "XPF": 0, "BHD": 3, "IQD": 3, "JOD": 3, "KWD": 3, "LYD": 3,
    "OMR": 3, "TND": 3, "CLF": 4, "UYW": 4,
  ]

  private static let signs: [String: String] = [
    "AUD": "A$", "BRL": "R$", "CAD": "CA$", "CNY": "CN¥", "CRC": "₡", "EUR": "€", "GBP": "£", "HKD": "HK$", "ILS": "₪",
    "INR": "₹", "JPY": "¥", "KRW": "₩", "KZT": "₸", "MXN": "MX$", "NGN": "₦", "NZD": "NZ$", "PHP": "₱", "SGD": "S$",
    "TRY": "₺", "TWD": "NT$", "UAH": "₴", "USD": "$", "VND": "₫",
  ]
}

extension Money: CustomStringConvertible {
  /// The amount as people write it, with the currency's own digits: `€9.99`, `¥3,000`, `KWD 1.490`, `-$9.99`.
  ///
  /// What is finer than the currency's minor unit is rounded half to even: it is for reading, not for adding.
  public var description: String {
    let digits = Currency.minorDigits(of: currency)
    let scale = (digits..<6).reduce(UInt64(1)) { power, _ in power * 10 }
    var (minor, rest) = amount.value.magnitude.quotientAndRemainder(dividingBy: scale)
    if rest * 2 > scale || (rest * 2 == scale && minor % 2 == 1) { minor += 1 }
    let unit = (0..<digits).reduce(UInt64(1)) { power, _ in power * 10 }
    var text = String(minor / unit)
    var groups: [Substring] = []
    while text.count > 3 {
      groups.insert(text.suffix(3), at: 0)
      text.removeLast(3)
    }
    text = ([text[...]] + groups).joined(separator: ",")
    if digits > 0 {
      let fraction = String(minor % unit)
      text += "." + String(repeating: "0", count: digits - fraction.count) + fraction
    }
    return (amount.value < 0 ? "-" : "") + (Currency.sign(of: currency) ?? "\(currency) ") + text
  }
}
