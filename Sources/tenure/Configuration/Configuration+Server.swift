import Ingest
import Server
import Signatures
import Vocabulary

extension Configuration {
  /// Where events are received: of each app, the sources that are listed and can prove themselves.
  ///
  /// - Parameter file: what messages call the configuration's file.
  /// - Throws: ``ConfigurationError`` for secrets that are none, ``Failure`` when a file of root certificates cannot be
  ///   read.
  func ingestEndpoints(file: String) throws -> [IngestEndpoint] {
    var endpoints: [IngestEndpoint] = []
    var problems: [ConfigurationError.Problem] = []
    for (index, app) in try ingestApps(.appStore).enumerated() where apps[index].sources[.appStore] != nil {
      endpoints.append(.appStore(app))
    }
    for (index, app) in try ingestApps(.tenure).enumerated() {
      guard let text = apps[index].sources[.tenure]?.secret else { continue }
      if let secret = StandardWebhookSecret(text) {
        endpoints.append(.tenure(app, secret: secret))
      } else {
        problems.append(
          .init(
            path: "apps[\(index)].sources.tenure.secret",
            message: "must be \"whsec_\" and base64 text, such as \"whsec_\" and the output of: openssl rand -base64 32"
          ))
      }
    }
    if !problems.isEmpty { throw ConfigurationError(file: file, problems: problems) }
    return endpoints
  }
}
