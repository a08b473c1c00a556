import Foundation
import Ingest
import Signatures
import Vocabulary

extension Configuration {
  /// What ingest needs to know of the configured apps, for one source.
  ///
  /// - Throws: ``Failure`` when a file of root certificates cannot be read.
  func ingestApps(_ source: Source) throws -> [AppConfiguration] {
    try apps.map { app in
      let settings = app.sources[source] ?? App.SourceSettings()
      let roots = try settings.roots.flatMap { file in
        let bytes: Data
        do {
          bytes = try Data(contentsOf: URL(filePath: file))
        } catch {
          throw Failure("reading the root certificates of the app \(app.key): \(file): \(error.localizedDescription)")
        }
        let certificates = Certificate.certificates(inFile: Array(bytes))
        guard !certificates.isEmpty else {
          throw Failure("reading the root certificates of the app \(app.key): \(file) holds none, in PEM or DER")
        }
        return certificates
      }
      return AppConfiguration(
        key: app.key, bundleID: app.bundleID, appAppleID: app.appAppleID,
        environments: Set(settings.environments.map { StoreEnvironment(rawValue: $0) }),
        roots: TrustedRoots(configured: roots))
    }
  }
}
