public import Foundation

/// Payloads really signed by Apple. They are not part of the package: tests read them from a folder beside it, named by
/// `TENURE_SHARED` or `../shared`, and are skipped where there is none.
public struct GenuinePayload: Sendable {
  /// What a skipped test says.
  public static let absence: String = "no genuine payloads: ../shared/samples/app-store/genuine is not there"

  /// The file's name without its ending.
  public let name: String
  /// The signed text.
  public let compact: String
  /// The decoded claims beside it, nested ones in place of their signed texts.
  public let claims: Data

  /// All of them in the order of their names; none where the folder is missing.
  public static let all: [GenuinePayload] = {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
    return names.filter { $0.hasSuffix(".jws") }.sorted().compactMap { file in
      let name = String(file.dropLast(".jws".count))
      guard let compact = try? String(contentsOf: folder.appending(path: file), encoding: .utf8),
        let claims = try? Data(contentsOf: folder.appending(path: name + ".decoded.json"))
      else { return nil }
      return GenuinePayload(
        name: name, compact: compact.trimmingCharacters(in: .whitespacesAndNewlines), claims: claims)
    }
  }()

  /// The folder they are in.
  public static let folder: URL = {
    let shared =
      ProcessInfo.processInfo.environment["TENURE_SHARED"].map { URL(filePath: $0) }
      ?? URL(filePath: #filePath).appending(path: "../../../../shared").standardizedFileURL
    return shared.appending(path: "samples/app-store/genuine")
  }()
}
