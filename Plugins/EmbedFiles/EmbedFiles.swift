import Foundation
import PackagePlugin

/// Turns a folder's files into one Swift source of the module that carries them, so that the program has its SQL and its
/// page with it and runs from any directory.
///
/// The inputs are the files themselves, not the folder: a changed file is embedded anew by the next build.
@main
struct EmbedFiles: BuildToolPlugin {
  /// The folder that each module carries.
  private static let folders = ["SQL": "sql", "Server": "dashboards/web"]
  private static let endings = [".sql", ".csv", ".html", ".css", ".js"]

  func createBuildCommands(context: PluginContext, target: any Target) throws -> [Command] {
    guard let folder = Self.folders[target.name] else { return [] }
    let root = context.package.directoryURL.appending(path: folder)
    let files = try FileManager.default.subpathsOfDirectory(atPath: root.path)
      .filter { file in Self.endings.contains { file.hasSuffix($0) } }
      .sorted()
    let output = context.pluginWorkDirectoryURL.appending(path: "EmbeddedFiles.swift")
    return [
      .buildCommand(
        displayName: "Embedding \(files.count) files of \(folder)/",
        executable: try context.tool(named: "embed-files").url,
        arguments: [root.path, output.path] + files,
        inputFiles: files.map { root.appending(path: $0) },
        outputFiles: [output])
    ]
  }
}
