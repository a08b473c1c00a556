import Foundation
import Vocabulary

extension OraclePurchase {
  /// What the running period is worth a month, rounded half to even to a micro; `nil` when its price is unknown.
  func mrr(catalogue: [LifeGenerator.Product]) -> Micros? {
    if isFree { return Micros(0) }
    guard let price else { return nil }
    let length = (offer?.discount == .payUpFront ? offer?.period : nil) ?? length(catalogue: catalogue)
    guard let unit = length.last, let count = Decimal(string: String(length.dropFirst().dropLast())) else { return nil }
    let amount = Decimal(price.amount.value)
    var exact: Decimal =
      switch unit {
      case "Y": amount / (count * 12)
      case "M": amount / count
      case "W": amount * 52 / (12 * count)
      default:
        // Days that are a multiple of 7 are weeks.
        Int("\(count)").map { $0 % 7 == 0 } == true ? amount * 52 * 7 / (12 * count) : amount * 365 / (12 * count)
      }
    var rounded = Decimal()
    NSDecimalRound(&rounded, &exact, 0, .bankers)
    return Micros(Int64("\(rounded)") ?? 0)
  }

  /// The transaction's own length, else the catalogue's, else the nearest usual one to its duration.
  func length(catalogue: [LifeGenerator.Product]) -> String {
    let listed = catalogue.first { $0.app == chain.app && $0.id == product }?.listedPeriod
    return period ?? listed ?? nearestUsualLength
  }

  private var nearestUsualLength: String {
    let days = Double(expiry.microseconds - start.microseconds) / 86_400_000_000
    let usual: [(Double, String)] = [
      (7, "P1W"), (14, "P2W"), (365.0 / 12, "P1M"), (365.0 / 6, "P2M"), (365.0 / 4, "P3M"), (365.0 / 2, "P6M"),
      (365, "P1Y"),
    ]
    return usual.min { abs($0.0 - days) < abs($1.0 - days) }?.1 ?? "P1M"
  }
}
