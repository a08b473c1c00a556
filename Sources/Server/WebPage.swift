import Foundation
import Vocabulary

/// The page and its parts (`dashboards/web`, and Chart.js), embedded when the program was built.
enum WebPage {
  /// Nothing but its own parts and the reports is loaded, and nothing can be put into it.
  private static let policy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; "
    + "form-action 'none'; frame-ancestors 'none'"

  private static let types = [
    "html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml",
  ]

  /// The part at a path; nil where there is none.
  static func answer(to path: String) -> HTTPAnswer? {
    let name = path == "/" ? "index.html" : String(path.dropFirst())
    guard let text = text(of: name), let type = types[String(name.split(separator: ".").last ?? "")] else { return nil }
    return HTTPAnswer(
      200, type: "\(type); charset=utf-8", text,
      headers: [
        ("Content-Security-Policy", policy), ("Referrer-Policy", "no-referrer"),
        // The library changes with the program alone, and is most of what is sent.
        ("Cache-Control", name == "chart.js" ? "private, max-age=86400" : "no-store"),
      ])
  }

  private static func text(of name: String) -> String? {
    if name == "currencies.js" { return currencies }
    return EmbeddedFiles.texts.first { $0.path == name }?.text
  }

  /// A module of the page: the digits behind the point of the currencies that have not two.
  private static let currencies =
    "export const unusualMinorDigits = {"
    + Currency.unusualMinorDigits.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }.joined(separator: ", ")
    + "}\n"
}
