import Forward

extension Configuration {
  /// The targets, ready to be sent to.
  ///
  /// - Parameter name: the only one that is needed; nil for all.
  /// - Throws: ``TargetProblem`` never for a configuration that was read from a file: reading finds it.
  func makeTargets(named name: String? = nil) throws(TargetProblem) -> [any Target] {
    var made: [any Target] = []
    for target in targets where name == nil || target.name == name { made.append(try target.makeTarget()) }
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
