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
    for (index, app) in try ingestApps(.revenueCat).enumerated() {
      guard let settings = apps[index].sources[.revenueCat] else { continue }
      let secret = settings.secret.flatMap(TimestampedWebhookSecret.init)
      if let endpoint = IngestEndpoint.revenueCat(app, authorization: settings.authorization, secret: secret) {
        endpoints.append(endpoint)
      }
    }
    for (index, app) in try ingestApps(.adapty).enumerated() {
      if let authorization = apps[index].sources[.adapty]?.authorization {
        endpoints.append(.adapty(app, authorization: authorization))
      }
    }
    for (index, app) in try ingestApps(.apphud).enumerated() {
      if let token = apps[index].sources[.apphud]?.token { endpoints.append(.apphud(app, token: token)) }
    }
    return endpoints
  }
}
