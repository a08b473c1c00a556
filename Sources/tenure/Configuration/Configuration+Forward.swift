import Forward
import Vocabulary

extension Configuration {
  /// The targets as the stage that sends to them takes them.
  var targetConfigurations: [TargetConfiguration] { targets.compactMap(targetConfiguration) }

  private func targetConfiguration(_ target: Target) -> TargetConfiguration? {
    var configuration = TargetConfiguration(target)
    configuration?.subscriberURLs = Dictionary(
      apps.compactMap { app in app.subscriberURL.map { (app.key, $0) } },
      uniquingKeysWith: { first, _ in first })
    return configuration
  }

  /// The targets, ready to be sent to.
  ///
  /// - Parameters:
  ///   - name: the only one that is needed; nil for all.
  ///   - file: what messages call the configuration's file.
  /// - Throws: ``ConfigurationError`` with every target of a type that this version cannot send to. Only sending needs
  ///   them: all else works with such a configuration.
  func makeTargets(named name: String? = nil, file: String) throws(ConfigurationError) -> [any Forward.Target] {
    var made: [any Forward.Target] = []
    var problems: [ConfigurationError.Problem] = []
    for (index, target) in targets.enumerated() where name == nil || target.name == name {
      do {
        if let target = try targetConfiguration(target)?.makeTarget() { made.append(target) }
      } catch {
        problems.append(.init(path: "targets[\(index)].\(error.setting)", message: error.description))
      }
    }
    if !problems.isEmpty { throw ConfigurationError(file: file, problems: problems) }
    return made
  }

  /// How the forwarder works.
  var forwarderSettings: Forwarder.Settings {
    var settings = Forwarder.Settings()
    settings.rules.waitForWord = reporting.waitForWord
    settings.rules.currency = reporting.currency
    settings.rules.timezone = reporting.timezone
    return settings
  }
}

extension Configuration.Target {
  /// Puts down what is wrong with settings that are there but cannot be used, such as a secret that is none.
  func check(_ reader: ConfigurationReader) {
    guard let configuration = TargetConfiguration(self), TargetConfiguration.types.contains(configuration.type) else {
      return
    }
    do {
      _ = try configuration.makeTarget()
    } catch {
      // What is missing or unreadable has been said already.
      if !reader.hasProblem(error.setting), reader.text(error.setting) != nil {
        reader.problem(error.setting, error.message)
      }
    }
  }
}

extension TargetConfiguration {
  /// Takes over the settings of a target; nil for one whose settings could not be read.
  init?(_ target: Configuration.Target) {
    switch target.service {
    case .webhook(let url, let secret, let previousSecret):
      self.init(name: target.name, type: "webhook")
      self.url = url
      self.secret = secret
      self.previousSecret = previousSecret
    case .slack(let url):
      self.init(name: target.name, type: "slack")
      self.url = url
    case .discord(let url):
      self.init(name: target.name, type: "discord")
      self.url = url
    case .telegram(let token, let chatID):
      self.init(name: target.name, type: "telegram")
      self.token = token
      self.chatID = chatID
    case .amplitude(let apiKey, let region, let endpoint):
      self.init(name: target.name, type: "amplitude")
      projectKey = apiKey
      self.region = region
      self.endpoint = endpoint
    case .mixpanel(let projectToken, let region):
      self.init(name: target.name, type: "mixpanel")
      projectKey = projectToken
      self.region = region
    case nil: return nil
    }
    baseURL = target.baseURL
    events = target.events
    apps = target.apps
    environments = target.environments.map(StoreEnvironment.init(rawValue:))
    countries = target.countries
    minimumAmount = target.minimumAmount.flatMap(Micros.init(units:))
    maximumAge = target.maxAge
    if case .moment(let moment) = target.from { from = moment }
    pace = target.pace
    dailyQuota = target.dailyQuota
    isOrdered = target.isOrdered
    template = target.template
    tls = target.tls
    allowsPrivateNetwork = target.allowsPrivateNetwork
  }
}
