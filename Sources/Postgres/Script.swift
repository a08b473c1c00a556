/// A named text of SQL that a ``Migrator`` runs.
public struct Script: Sendable {
  /// Its name. A migration's begins with its number, such as `0001_ledger`.
  public let name: String
  /// One or several statements.
  public let text: String

  /// Makes a script.
  public init(name: String, text: String) {
    self.name = name
    self.text = text
  }
}
