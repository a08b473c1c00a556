import Dispatch

/// Runs everything one connection does on a thread of its own queue.
///
/// libpq blocks while it waits for the server. Blocking is not allowed on the threads Swift's tasks share: there are only
/// as many of those as processor cores, and two waiting queries would stop the whole program.
final class ConnectionExecutor: SerialExecutor {
  let queue = DispatchQueue(label: "tenure.postgres.connection")

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
  }
}
