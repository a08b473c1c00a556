import Foundation
import Testing
import Vocabulary

/// Expects that an event's canonical text, which is what is stored of it, says the same when it is read again: else it could
/// be reported, but never announced.
func expectReadsBack(_ event: Event, sourceLocation: SourceLocation = #_sourceLocation) {
  do {
    let read = try JSONDecoder().decode(Event.self, from: Data(event.json.utf8))
    #expect(read.json == event.json, sourceLocation: sourceLocation)
  } catch {
    Issue.record("\(event.json): \(error)", sourceLocation: sourceLocation)
  }
}
