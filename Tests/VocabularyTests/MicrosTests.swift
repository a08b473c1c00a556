import Foundation
import Testing
import Vocabulary

@Suite struct MicrosTests {
  @Test(
    "an amount is written with all its digits and no more",
    arguments: [
      (9_990_000, "9.99"), (3_000_000_000, "3000"), (-1, "-0.000001"), (0, "0"), (Int64.min, "-9223372036854.775808"),
      (1_490_000, "1.49"),
    ] as [(Int64, String)])
  func written(value: Int64, text: String) {
    #expect(Micros(value).description == text)
  }

  @Test(
    "decimal units are exact, and rounded half to even beyond a micro",
    arguments: [
      ("9.99", 9_990_000), ("0.0000005", 0), ("0.0000015", 2), ("0.0000025", 2), ("-0.0000015", -2),
      ("9223372036854.775807", .max),
    ] as [(String, Int64)])
  func units(text: String, value: Int64) throws {
    #expect(Micros(units: try #require(Decimal(string: text)))?.value == value)
  }

  @Test("an amount that does not fit is none", arguments: ["9223372036854.775808", "1e30", "-1e30"])
  func tooLarge(text: String) throws {
    #expect(Micros(units: try #require(Decimal(string: text))) == nil)
  }

  @Test("milliunits are thousandths; what does not fit is none")
  func milliunits() {
    #expect(Micros(milliunits: 9990)?.value == 9_990_000)
    #expect(Micros(milliunits: .max) == nil)
  }

  @Test(
    "a share is rounded half to even",
    arguments: [
      (9_990_000, 67_932, 100_000, 6_786_407), (1, 1, 2, 0), (3, 1, 2, 2), (-3, 1, 2, -2), (-1, 1, 2, 0), (5, 1, 2, 2),
      (Int64.max, 100_000, 100_000, .max), (7, 2, 3, 5),
    ] as [(Int64, Int64, Int64, Int64)])
  func share(amount: Int64, part: Int64, whole: Int64, result: Int64) {
    #expect(Micros(amount).share(part, of: whole).value == result)
  }
}
