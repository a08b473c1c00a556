import Testing
import Vocabulary

@Suite("Money as people read it")
struct MoneyTextTests {
  @Test(
    "an amount has its currency's own digits and sign, groups of three, and a minus when it was returned",
    arguments: [
      (3_000_000_000, "JPY", "¥3,000"), (9_990_000, "EUR", "€9.99"), (9_990_000, "USD", "$9.99"),
      (3_300_000_000, "KRW", "₩3,300"), (1_490_000, "KWD", "KWD 1.490"), (-9_990_000, "USD", "-$9.99"),
      (-3_000_000_000, "JPY", "-¥3,000"), (0, "USD", "$0.00"), (50_000, "GBP", "£0.05"),
      (999_990_000, "CHF", "CHF 999.99"),
      (1_234_567_890_000, "USD", "$1,234,567.89"), (1_000_000, "CLF", "CLF 1.0000"),
      (129_000_000_000, "IDR", "IDR 129,000.00"),
      (990_000_000, "ISK", "ISK 990"), (99_000_000_000, "VND", "₫99,000"), (7_000_000, "XYZ", "XYZ 7.00"),
      (.max, "JPY", "¥9,223,372,036,855"), (.min, "KWD", "-KWD 9,223,372,036,854.776"),
    ] as [(Int64, String, String)])
  func text(micros: Int64, currency: String, text: String) {
    #expect(Money(amount: Micros(micros), currency: currency).description == text)
  }

  @Test("what is finer than the smallest coin is rounded half to even, for reading")
  func rounding() {
    for (micros, text) in [
      (4_999, "$0.00"), (5_000, "$0.00"), (5_001, "$0.01"), (15_000, "$0.02"), (-995_001, "-$1.00"),
    ] {
      #expect(Money(amount: Micros(Int64(micros)), currency: "USD").description == text)
    }
    #expect(Money(amount: Micros(2_500_000), currency: "JPY").description == "¥2")
  }
}
