/// Why a command could not do its work: what was being done, on what, and what to do about it.
struct Failure: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}
