/// The page and its parts (`dashboards/web`), embedded when the program was built.
enum WebPage {
  /// Nothing but its own parts and the reports is loaded, and nothing can be put into it.
  private static let policy =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    + "frame-ancestors 'none'"

  private static let types = ["html": "text/html", "css": "text/css", "js": "text/javascript"]

  /// The part at a path; nil where there is none.
  static func answer(to path: String) -> HTTPAnswer? {
    let name = path == "/" ? "index.html" : String(path.dropFirst())
    guard let file = EmbeddedFiles.texts.first(where: { $0.path == name }),
      let type = types[String(name.split(separator: ".").last ?? "")]
    else { return nil }
    return HTTPAnswer(
      200, type: "\(type); charset=utf-8", file.text,
      headers: [("Content-Security-Policy", policy), ("Referrer-Policy", "no-referrer")])
  }
}
