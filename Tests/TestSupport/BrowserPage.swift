public import Foundation
import Synchronization

/// A page in a ``Browser``: what it asks for, what it complains of, and what can be read off it.
public final class BrowserPage: Sendable {
  private struct State {
    var complaints: [String] = []
    var requests: [String] = []
  }

  private let browser: Browser
  private let session: String
  private let state = Mutex(State())

  init(_ browser: Browser, session: String) {
    self.browser = browser
    self.session = session
  }

  /// Errors and warnings of the console, exceptions that nothing caught, and what a policy forbade.
  public var complaints: [String] { state.withLock(\.complaints) }
  /// The addresses it has asked for.
  public var requests: [String] { state.withLock(\.requests) }

  func prepare(width: Int, height: Int) async throws {
    browser.listen(to: session) { [weak self] method, data in self?.take(method, data) }
    for domain in ["Page", "Runtime", "Log", "Network"] { try await browser.send("\(domain).enable", session: session) }
    try await resize(width: width, height: height)
  }

  private func take(_ method: String, _ data: Data) {
    struct Event: Decodable {
      struct Parameters: Decodable {
        struct Entry: Decodable { let level, text: String }
        struct Request: Decodable { let url: String }
        struct Argument: Decodable { let description: String? }
        let type: String?
        let entry: Entry?
        let request: Request?
        let args: [Argument]?
      }
      let params: Parameters
    }
    guard let event = try? JSONDecoder().decode(Event.self, from: data).params else { return }
    state.withLock { state in
      switch method {
      case "Network.requestWillBeSent": state.requests.append(event.request?.url ?? "")
      case "Runtime.exceptionThrown": state.complaints.append(String(decoding: data, as: UTF8.self))
      case "Runtime.consoleAPICalled" where ["error", "warning", "assert"].contains(event.type ?? ""):
        state.complaints.append(String(decoding: data, as: UTF8.self))
      case "Log.entryAdded" where ["error", "warning"].contains(event.entry?.level ?? ""):
        state.complaints.append(String(decoding: data, as: UTF8.self))
      default: break
      }
    }
  }

  private static func quoted(_ text: String) throws -> String {
    String(decoding: try JSONEncoder().encode(text), as: UTF8.self)
  }

  /// Gives it another size, in pixels of the page.
  public func resize(width: Int, height: Int) async throws {
    try await browser.send(
      "Emulation.setDeviceMetricsOverride",
      "{\"width\":\(width),\"height\":\(height),\"deviceScaleFactor\":1,\"mobile\":\(width < 600)}", session: session)
  }

  /// Prefers dark or light.
  public func prefer(dark: Bool) async throws {
    try await browser.send(
      "Emulation.setEmulatedMedia",
      "{\"features\":[{\"name\":\"prefers-color-scheme\",\"value\":\"\(dark ? "dark" : "light")\"}]}", session: session)
  }

  /// Goes to an address.
  public func open(_ address: String) async throws {
    try await browser.send("Page.navigate", "{\"url\":\(try Self.quoted(address))}", session: session)
  }

  private struct Thrown: Decodable {
    struct Result: Decodable {
      struct Details: Decodable {
        struct Exception: Decodable { let description: String? }
        let text: String
        let exception: Exception?
      }
      let exceptionDetails: Details?
    }
    let result: Result
  }

  private struct Returned<Value: Decodable>: Decodable {
    struct Result: Decodable {
      struct Remote: Decodable { let value: Value }
      let result: Remote
    }
    let result: Result
  }

  /// What an expression of JavaScript comes to, or what its promise brings.
  ///
  /// - Throws: ``Browser/Failure`` with what the script threw.
  public func value<Value: Decodable>(_ type: Value.Type = Value.self, of expression: String) async throws -> Value {
    let data = try await browser.send(
      "Runtime.evaluate",
      "{\"expression\":\(try Self.quoted(expression)),\"awaitPromise\":true,\"returnByValue\":true}", session: session)
    if let details = try JSONDecoder().decode(Thrown.self, from: data).result.exceptionDetails {
      throw Browser.Failure(description: details.exception?.description ?? details.text)
    }
    return try JSONDecoder().decode(Returned<Value>.self, from: data).result.result.value
  }

  /// Presses a key, such as `Tab` or `Enter`.
  public func press(_ key: String) async throws {
    let codes = ["Tab": 9, "Enter": 13, "Escape": 27]
    let text = key == "Enter" ? ",\"text\":\"\\r\"" : ""
    for type in ["keyDown", "keyUp"] {
      try await browser.send(
        "Input.dispatchKeyEvent",
        "{\"type\":\"\(type)\",\"key\":\"\(key)\",\"code\":\"\(key)\",\"windowsVirtualKeyCode\":\(codes[key] ?? 0)\(type == "keyDown" ? text : "")}",
        session: session)
    }
  }

  /// A picture of the whole page, as PNG.
  public func picture() async throws -> Data {
    struct Taken: Decodable {
      struct Result: Decodable { let data: Data }
      let result: Result
    }
    let data = try await browser.send(
      "Page.captureScreenshot", "{\"format\":\"png\",\"captureBeyondViewport\":true}", session: session)
    return try JSONDecoder().decode(Taken.self, from: data).result.data
  }
}
