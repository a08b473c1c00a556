import Forward
import Foundation
import HTTP
import Postgres
import Signatures
import Vocabulary

/// Looks at all that the program needs to do its work, and changes nothing.
struct Examination: Sendable {
  private let context: Context
  private let now: Instant

  /// - Parameter now: What the clock says.
  init(_ context: Context, now: Instant) {
    self.context = context
    self.now = now
  }

  /// What was found, in the order in which it is to be mended. What cannot be known without what came before is left out.
  func findings() async -> [Finding] {
    let configuration: Configuration
    do {
      configuration = try context.configuration()
    } catch let error as ConfigurationError {
      return problems(error)
    } catch {
      return [.bad("configuration", "\(error)", do: "correct \(context.configurationName)")]
    }
    let unreachable = configuration.targets.compactMap(Self.unreachable)
    let first = describe(configuration) + certificates(of: configuration) + unreachable
    do {
      // It may be of another version: what is asked of it is asked for carefully.
      return try await first
        + context.withDatabase(migrated: false) { try await findings(in: $0, knowsTargets: unreachable.isEmpty) }
    } catch {
      return first + [
        .bad(
          "database", "\(error)",
          do: "see that the server runs and that DATABASE_URL, or database of the configuration, names it")
      ]
    }
  }

  private func problems(_ error: ConfigurationError) -> [Finding] {
    error.problems.map {
      .bad(
        "configuration", "\(error.file): \($0.path.isEmpty ? "" : "\($0.path): ")\($0.message)",
        do: "correct it in \(error.file); docs/configuration.md has every setting")
    }
  }

  private func describe(_ configuration: Configuration) -> [Finding] {
    guard !configuration.apps.isEmpty else {
      return [.good("configuration", "no apps are configured: this is for trying out")]
    }
    let troubles = configuration.apps.indices.flatMap { backfillKey(ofApp: $0, in: configuration) }
    guard troubles.isEmpty else { return troubles }
    let apps = configuration.apps.map { app in
      let sources = app.sources.keys.map(\.rawValue).sorted().joined(separator: ", ")
      return "\(app.key) (\(sources.isEmpty ? "no sources" : sources))"
    }
    return [.good("configuration", "\(context.configurationName): \(apps.joined(separator: "; "))")]
  }

  /// What is wrong with the key that `tenure backfill` asks the App Store with about an app.
  private func backfillKey(ofApp index: Int, in configuration: Configuration) -> [Finding] {
    do {
      _ = try configuration.appStoreServerKey(ofApp: index, file: context.configurationName)
      return []
    } catch let error as ConfigurationError {
      return problems(error)
    } catch {
      return [
        .bad(
          "configuration", "\(error)",
          do: "put the key there, or correct apps[\(index)].app_store_server.private_key_file")
      ]
    }
  }

  // MARK: - Certificates

  /// How long before its end a certificate is told of: 60 days, in seconds.
  private static let warning: Int64 = 60 * 86_400

  private func certificates(of configuration: Configuration) -> [Finding] {
    let roots = Set(configuration.apps.flatMap { $0.sources.values.flatMap(\.roots) }).sorted()
    let builtIn = Finding.good("certificates", "Apple Root CA - G3 is built in, to 2039-04-30")
    // Of the authorities that a target believes one is enough; they may be all that a system has.
    let believed = Set(configuration.targets.compactMap(\.tls.authorityFile)).sorted()
    let shown = Set(configuration.targets.compactMap(\.tls.certificateFile)).sorted()
    let successor = "put its successor there: deliveries to the targets that name it fail without"
    return (roots.isEmpty ? [builtIn] : roots.map { certificate($0, ends: Self.ends(of: $0).min()) })
      + believed.map { certificate($0, ends: Self.ends(of: $0).max(), do: successor) }
      + shown.map { certificate($0, ends: Self.ends(of: $0).min(), do: successor) }
  }

  /// When the certificates in a file end, in seconds since 1970.
  private static func ends(of file: String) -> [Int64] {
    let bytes = FileManager.default.contents(atPath: file).map { Array($0) } ?? []
    return Certificate.certificates(inFile: bytes).map { $0.validity?.upperBound ?? 0 }
  }

  /// - Parameters:
  ///   - end: When the certificate of the file that counts ends, in seconds since 1970; nil when there is none in it.
  ///   - advice: What to do when that is soon.
  func certificate(
    _ file: String, ends end: Int64?,
    do advice: String = "put the new root there beside it: what was signed under the old one stays valid"
  ) -> Finding {
    guard let end else {
      return .bad("certificates", "\(file) holds no certificate", do: "put one there, in PEM or DER")
    }
    let day = Instant(microseconds: end * 1_000_000).description.prefix(10)
    let left = end - now.microseconds / 1_000_000
    guard left > Self.warning else {
      return .bad(
        "certificates", "\(file) \(left < 0 ? "ended" : "ends") on \(day)", do: advice)
    }
    return .good("certificates", "\(file) is valid to \(day)")
  }

  // MARK: - The database

  /// - Parameter knowsTargets: Whether nothing was found wrong with the targets before.
  private func findings(in database: Database, knowsTargets: Bool) async throws -> [Finding] {
    let connection = try await database.open()
    let (version, time) = try await (connection.serverVersion, clock(of: connection))
    let status = try await Database.migrator.status(on: connection)
    let server = "PostgreSQL \(version / 10_000)" + (database.isEmbedded ? " of its own, for trying out" : "")
    guard status.isCurrent else {
      await connection.close()
      let state =
        status.isEmpty ? "is empty" : status.pending.isEmpty ? "has other report views" : "lacks migrations"
      return [.bad("database", "\(server), which \(state)", do: "tenure migrate"), time]
    }
    var found: [Finding] = [.good("database", "\(server), of this version"), time]
    found += try await targets(connection).filter { !$0.ok || knowsTargets }
    found.append(try await runs(connection))
    found.append(
      try await quality(
        "rates", "missing_rates", good: "every charge can be converted", "charges cannot be converted", connection))
    found.append(
      try await quality(
        "products", "missing_products", good: "every product that was bought is in the catalogue",
        "products that were bought are not in the catalogue", connection))
    await connection.close()
    return found
  }

  /// How far this clock may be from the database's, in microseconds.
  private static let clockTolerance: Int64 = 5_000_000

  private func clock(of connection: Connection) async throws -> Finding {
    let before = Instant.now.microseconds
    let theirs = try await connection.query("select clock_timestamp() as now")[0].timestamp("now")
    let after = Instant.now.microseconds
    return clock(ahead: before + (after - before) / 2 - theirs, within: (after - before) / 2)
  }

  /// - Parameters:
  ///   - difference: How far this clock is ahead of the database's, in microseconds.
  ///   - error: How exactly that is known.
  func clock(ahead difference: Int64, within error: Int64 = 0) -> Finding {
    guard abs(difference) - error > Self.clockTolerance else {
      return .good("clock", "it agrees with the database's")
    }
    let seconds = abs(difference) / 1_000_000
    return .bad(
      "clock", "it is \(seconds) s \(difference > 0 ? "ahead of" : "behind") the database's",
      do: "set both by a time server (NTP): periods end by this clock, and signatures of webhooks hold for minutes")
  }

  // MARK: - Targets

  /// What the configuration alone says about a target that nothing can be sent to; `nil` when it may be.
  static func unreachable(_ target: TargetConfiguration) -> Finding? {
    guard !target.allowsPrivateNetwork, let address = target.url ?? target.baseURL,
      let refusal = HTTPAddress(address)?.refusal
    else { return nil }
    return .bad(
      "targets", "every delivery to \(target.name) is refused: its address is not allowed, \(refusal)",
      do:
        "name a public address with https://, or set allow_private_network: true of the target; what was refused is sent "
        + "again by: tenure targets replay \(target.name)")
  }

  /// How long a delivery may be due before something is wrong: an hour, in seconds.
  private static let backlog: Int64 = 3600

  private func targets(_ connection: Connection) async throws -> [Finding] {
    let standings = try await TargetRegister(connection).standings()
    let troubles = standings.compactMap(target)
    if !troubles.isEmpty { return troubles }
    let names = standings.map(\.name).joined(separator: ", ")
    return [.good("targets", names.isEmpty ? "none are configured" : names)]
  }

  /// What is wrong with a target; nil when nothing is.
  func target(_ standing: TargetRegister.Standing) -> Finding? {
    let name = standing.name
    if standing.isPaused {
      return .bad(
        "targets", "\(name) is paused\(standing.lastError.map { ": \($0)" } ?? "")",
        do: "correct what it says, try with: tenure targets test \(name), then: tenure targets resume \(name)")
    }
    guard standing.waiting > 0, let due = standing.oldestDue, due.adding(seconds: Self.backlog) < now else {
      return nil
    }
    return .bad(
      "targets",
      "\(standing.waiting) deliveries to \(name) wait, the oldest since \(due)"
        + (standing.lastError.map { ": \($0)" } ?? ""),
      do: "see that tenure run (or tenure forward) runs on schedule")
  }

  // MARK: - Runs and figures

  private func runs(_ connection: Connection) async throws -> Finding {
    let rows = try await connection.query(
      "select outcome, started_at, as_of from measure.run order by run_id desc limit 1")
    guard let row = rows.first else {
      return .bad("runs", "nothing was measured yet", do: "tenure measure, or on schedule: tenure run --every 15m")
    }
    return run(outcome: try row.text("outcome"), startedAt: Instant(microseconds: try row.timestamp("started_at")))
  }

  /// - Parameter outcome: How the last run ended.
  func run(outcome: String, startedAt: Instant) -> Finding {
    if outcome == "failed" {
      return .bad("runs", "the last run, at \(startedAt), failed", do: "tenure measure says why")
    }
    guard startedAt.adding(seconds: 86_400) > now else {
      return .bad(
        "runs", "the last run was at \(startedAt)", do: "let tenure run --every 15m run, or tenure run by cron")
    }
    return .good("runs", "the last run was at \(startedAt)")
  }

  /// What `report.data_quality` says of one of its checks, in Production.
  private func quality(
    _ check: String, _ name: String, good: String, _ trouble: String, _ connection: Connection
  ) async throws -> Finding {
    let rows = try await connection.query(
      """
      select sum(count)::bigint as count, string_agg(distinct example, ', ' order by example) as examples,
        min(what_to_do) as what_to_do
      from report.data_quality
      where "check" = $1 and environment = 'Production'
      having count(*) > 0
      """, [.text(name)])
    guard let row = rows.first else { return .good(check, good) }
    let examples = try row.optionalText("examples").map { ", such as of \($0)" } ?? ""
    return .bad(check, "\(try row.int("count")) \(trouble)\(examples)", do: try row.text("what_to_do"))
  }
}
