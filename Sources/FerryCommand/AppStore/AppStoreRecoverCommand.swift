internal import ArgumentParser
internal import FerryAppStore
internal import FerryCore
internal import FerryPlatform
internal import FerryTerminal

/// The command `ferry appstore recover`.
struct AppStoreRecoverCommand: AsyncParsableCommand, SocketCommand {
    static let configuration = CommandConfiguration(
        commandName: "recover",
        abstract: "Fetches what was missed from Apple's history into the store.",
        discussion: """
            Apple keeps 180 days, in the sandbox 30. What the store has is not stored again; what is new is delivered like \
            all else. A recovery that was stopped goes on at its --checkpoint, and a later one begins where it ended. Prints \
            one JSON line.

            Exit status: 0, done; 1, some was set aside; 2, bad usage; 3, no connection, or refused credentials.

            Example:
              ferry appstore recover --since 2026-11-20 --checkpoint recovery.json \\
                --app com.example.app --environment production \\
                --p8 SubscriptionKey_ABCDE12345.p8 --key-id ABCDE12345 \\
                --issuer-id 57246542-96fe-1a63-e053-0824d011072a --store notifications.db
            """
    )

    @OptionGroup var options: AppStoreAPIOptions

    @OptionGroup var store: StoreOptions

    @Option(help: ArgumentHelp("From when on. Without it, where the checkpoint is.", valueName: "date"))
    var since: Since?

    @Option(help: ArgumentHelp("A file that keeps the place; made if there is none.", valueName: "file"))
    var checkpoint: String?

    @Flag(help: "All notifications, not only those that no server has taken: after the loss of a store.")
    var all = false

    @OptionGroup var progress: ProgressOptions

    var socketCount: Int { 4 }

    func validate() throws {
        guard self.since != nil || self.checkpoint != nil else {
            throw ValidationError("Say from when on: --since DATE, or --checkpoint FILE of an earlier recovery.")
        }
    }

    func run() async throws {
        let verifier = try self.options.verifier()
        let client = try self.options.client(verifier)
        let sink = try await CommandSink(self.store.store)
        var recovery = AppStoreRecovery(client: client, sink: sink, checkpoint: self.checkpoint)
        recovery.onlyFailures = !self.all
        let current = RecoverProgress()
        recovery.progress = { current.note($0) }
        let shown = self.progress.display?.show { current.now }
        let report: AppStoreRecoveryReport
        do throws(AppStoreRecoveryError) {
            report = try await recovery.run(from: self.since?.date)
            await shown?.end()
            await sink.close()
        } catch {
            await shown?.end()
            await sink.close()
            if let report = error.report { try Console.print(Self.json(report)) }
            throw Self.failure(error)
        }
        try Console.print(Self.json(report))
        if let lost = report.outOfReach {
            Console.error(
                "ferry: Apple no longer has what it sent from \(lost.lowerBound.formatted(.iso8601)) to "
                    + "\(lost.upperBound.formatted(.iso8601)): ask for the state of customers "
                    + "instead (subscription statuses, transaction history)."
            )
        }
        for item in report.setAside {
            Console.error("ferry: \(item.count) set aside: \(item.code.rawValue): \(item.reason)")
        }
        guard report.setAsideCount == 0 else { throw ExitStatus.notAllAccepted }
    }

    private static func failure(_ error: AppStoreRecoveryError) -> CommandFailure {
        if let cause = error.cause as? AppStoreServerError { return .api(cause) }
        return switch error.code {
        case .sinkFailed, .notVerifiable, .serverFailed, .cancelled: .refused(error.description)
        default: .usage(error.description)
        }
    }

    private static func json(_ report: AppStoreRecoveryReport) -> String {
        """
        {"from":\(Int64(report.window.lowerBound.timeIntervalSince1970 * 1000)),\
        "to":\(Int64(report.window.upperBound.timeIntervalSince1970 * 1000)),"pages":\(report.pages),\
        "fetched":\(report.fetched),"stored":\(report.stored),"stillComing":\(report.stillComing),\
        "duplicates":\(report.duplicates),"setAside":\(report.setAsideCount),"complete":\(report.isComplete)}
        """
    }
}

/// The progress of a recovery. Apple does not say how long its history is.
private final class RecoverProgress: Sendable {
    private let report = Locked<AppStoreRecoveryReport?>(nil)

    func note(_ report: AppStoreRecoveryReport) { self.report.withLock { $0 = report } }

    var now: WorkProgress? {
        self.report.withLock { $0 }.map {
            WorkProgress(count: $0.fetched, words: ["\($0.fetched) fetched", "\($0.stored) stored"])
        }
    }
}

/// The store of a recovery: the process that has it, or the file when there is no such process.
private struct CommandSink: AppStoreNotificationSink {
    private enum Way {
        case process(ControlClient)
        case file(AppStoreStore)
    }

    private let way: Way

    init(_ path: String) async throws {
        do throws(ControlClient.Failure) {
            let client = try ControlClient(store: path)
            _ = try await client.ask(.list(limit: 1, before: nil, state: nil))
            self.way = .process(client)
            return
        } catch {
            if case .failed(let sentence) = error { throw CommandFailure.usage(sentence) }
        }
        self.way = .file(try await StoreOptions.open(path))
    }

    func close() async { if case .file(let store) = self.way { await store.close() } }

    func take(_ notification: AppStoreNotification, signedPayload: String) async -> AppStoreSinkAnswer {
        switch self.way {
        case .file(let store): return await store.take(notification, signedPayload: signedPayload)
        case .process(let client):
            do throws(ControlClient.Failure) {
                return ControlAnswer.taken(try await client.ask(.take(signedPayload: signedPayload)))
            } catch {
                return switch error {
                case .noProcess: .failed("The process that had the store has ended.")
                case .failed(let sentence): .failed(sentence)
                }
            }
        }
    }
}
