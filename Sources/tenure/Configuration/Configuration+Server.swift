import Ingest
import Server
import Signatures
import Vocabulary

extension Configuration {
  /// Where events are received: of each app, the sources that are listed and can prove themselves.
  ///
  /// - Throws: ``Failure`` when a file of root certificates cannot be read.
  func ingestEndpoints() throws -> [IngestEndpoint] {
    var endpoints: [IngestEndpoint] = []
    for (index, app) in try ingestApps(.appStore).enumerated() where apps[index].sources[.appStore] != nil {
      endpoints.append(.appStore(app))
    }
    for (index, app) in try ingestApps(.appClient).enumerated() {
      if let settings = apps[index].sources[.appClient] { endpoints.append(.appClient(app, key: settings.key)) }
    }
    for (index, app) in try ingestApps(.tenure).enumerated() {
      if let secret = apps[index].sources[.tenure]?.secret.flatMap(StandardWebhookSecret.init) {
        endpoints.append(.tenure(app, secret: secret))
      }
    }
    return endpoints
  }
}
