import Foundation
import PackagePlugin

/// Turns a folder's files into one Swift source of the module that carries them, so that the program has its SQL and its
/// page with it and runs from any directory.
///
/// The inputs are the files themselves, not the folder: a changed file is embedded anew by the next build. The page's chart
/// library is no file of this package: it is taken from the system's package, so that the system keeps it up to date.
@main
struct EmbedFiles: BuildToolPlugin {
  /// The folder that each module carries.
  private static let folders = ["SQL": "sql", "Server": "dashboards/web"]
  private static let endings = [".sql", ".csv", ".html", ".css", ".js", ".svg"]
  /// What else a module carries: the file of the system, the name it is carried under, and the package that has it.
  private static let systemFiles = [
    "Server": (file: "/usr/share/javascript/chart.js/chart.min.js", name: "chart.js", package: "libjs-chart.js")
  ]

  private struct Missing: Error, CustomStringConvertible {
    let description: String
  }

  func createBuildCommands(context: PluginContext, target: any Target) throws -> [Command] {
    guard let folder = Self.folders[target.name] else { return [] }
    let root = context.package.directoryURL.appending(path: folder)
    var files = try FileManager.default.subpathsOfDirectory(atPath: root.path)
      .filter { file in Self.endings.contains { file.hasSuffix($0) } }
      .sorted()
      .map { (name: $0, url: root.appending(path: $0)) }
    if let system = Self.systemFiles[target.name] {
      guard FileManager.default.fileExists(atPath: system.file) else {
        throw Missing(
          description:
            "there is no \(system.file): install the package \(system.package) (scripts/install-packages does)")
      }
      files.append((system.name, URL(filePath: system.file)))
    }
    let output = context.pluginWorkDirectoryURL.appending(path: "EmbeddedFiles.swift")
    return [
      .buildCommand(
        displayName: "Embedding \(files.count) files of \(folder)/",
        executable: try context.tool(named: "embed-files").url,
        arguments: [output.path] + files.flatMap { [$0.name, $0.url.path] },
        inputFiles: files.map(\.url),
        outputFiles: [output])
    ]
  }
}
