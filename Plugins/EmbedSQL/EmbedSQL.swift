import Foundation
import PackagePlugin

/// Turns the files of `sql/` into one Swift source of the module `SQL`, so that the program carries its SQL with it
/// and runs from any directory.
///
/// The inputs are the files themselves, not the folder: a changed file is embedded anew by the next build.
@main
struct EmbedSQL: BuildToolPlugin {
  func createBuildCommands(context: PluginContext, target: any Target) throws -> [Command] {
    let root = context.package.directoryURL.appending(path: "sql")
    let files = try FileManager.default.subpathsOfDirectory(atPath: root.path)
      .filter { $0.hasSuffix(".sql") || $0.hasSuffix(".csv") }
      .sorted()
    let output = context.pluginWorkDirectoryURL.appending(path: "EmbeddedFiles.swift")
    return [
      .buildCommand(
        displayName: "Embedding \(files.count) files of sql/",
        executable: try context.tool(named: "embed-sql").url,
        arguments: [root.path, output.path] + files,
        inputFiles: files.map { root.appending(path: $0) },
        outputFiles: [output])
    ]
  }
}
