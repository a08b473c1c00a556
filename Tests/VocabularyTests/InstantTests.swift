import Testing
import Vocabulary

@Suite struct InstantTests {
  @Test(
    "a moment is read exactly and written in UTC",
    arguments: [
      ("2026-03-01T09:30:00Z", "2026-03-01T09:30:00.000Z"),
      ("2026-03-01T09:30:00.25+01:00", "2026-03-01T08:30:00.250Z"),
      ("2026-03-01 09:30:00.123456-00:30", "2026-03-01T10:00:00.123456Z"),
      ("2024-02-29T23:59:59.999Z", "2024-02-29T23:59:59.999Z"),
      ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000Z"),
      ("1969-12-31T23:59:59.999999Z", "1969-12-31T23:59:59.999999Z"),
      ("9999-12-31T23:59:59.9999999Z", "9999-12-31T23:59:59.999999Z"),
    ])
  func reads(text: String, written: String) {
    #expect(Instant(text)?.description == written)
  }

  @Test(
    "what is no moment is refused",
    arguments: [
      "", "2026-03-01", "2026-03-01T09:30Z", "2026-02-29T00:00:00Z", "2026-13-01T00:00:00Z", "2026-00-01T00:00:00Z",
      "2026-03-01T24:00:00Z", "2026-03-01T09:60:00Z", "2026-03-01T09:30:00", "2026-03-01T09:30:00.Z",
      "2026-03-01T09:30:00+25:00", "2026-03-01T09:30:00Zx", "0000-01-01T00:00:00Z", "٢٠٢٦-03-01T09:30:00Z",
    ])
  func refuses(text: String) {
    #expect(Instant(text) == nil)
  }

  @Test("every day of four centuries is written as it is read")
  func everyDay() {
    var instant = Instant(microseconds: -11_676_096_000_000_000)  // 1600-01-01
    #expect(instant.description == "1600-01-01T00:00:00.000Z")
    for _ in 0..<146_097 {
      guard Instant(instant.description) == instant else {
        Issue.record("\(instant)")
        return
      }
      instant = instant.adding(seconds: 86_400)
    }
    #expect(instant.description == "2000-01-01T00:00:00.000Z")
  }

  @Test("milliseconds outside of the years 1 to 9999 are no moment, the year 1 is")
  func milliseconds() {
    #expect(Instant(milliseconds: -62_135_596_800_000)?.description == "0001-01-01T00:00:00.000Z")
    #expect(Instant(milliseconds: -62_135_596_800_001) == nil)
    #expect(Instant(milliseconds: .max) == nil)
    #expect(Instant(milliseconds: .min) == nil)
  }
}
